package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/seccomp"
)

// These tests are the server of a helper themselves, up to its end: it is not killed when it has
// answered, but ends by itself, and so leaves in its directory what it has covered.

func init() {
	for name, run := range map[string]jobHandler{
		"look around": func(ctx context.Context, job Job) ([]byte, error) {
			space, err := Workspace(ctx)
			if err != nil {
				return nil, err
			}
			file, err := io.ReadAll(job.Files["file"])
			if err != nil {
				return nil, err
			}
			granted, err := os.ReadFile(string(job.Arguments))
			if err != nil {
				return nil, err
			}
			value, _ := space.Get("a")
			return []byte(string(file) + string(granted) + value), space.Set("a", "new")
		},
		"refuse":  func(context.Context, Job) ([]byte, error) { return nil, errors.New("refused") },
		"explode": func(context.Context, Job) ([]byte, error) { panic("on purpose") },
		"probe":   probe,
	} {
		Register("end after "+name, func(ctx context.Context, job Job) ([]byte, error) {
			asked := make(chan os.Signal, 1)
			signal.Notify(asked, unix.SIGTERM)
			go func() { <-asked; os.Exit(0) }()
			return run(ctx, job)
		})
	}
}

// frame is what a helper sends.
type frame struct {
	kind    byte
	payload string
}

// frames gives a helper a request, and returns what it has sent when it has ended. Once it has sent
// its result, it is asked to end.
func frames(t *testing.T, p *pool, my role, r request) (all []frame) {
	t.Helper()
	runtime.LockOSThread() // a helper ends with the thread that has started it
	defer runtime.UnlockOSThread()
	h, err := start(p.options, my, p.host.namespaces, p.null)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		h.end()
		if h.ended.ExitCode() != 0 {
			t.Errorf("it ended with %s, %s", h.ended, h.printed.bytes())
		}
		keepCoverage(t, r.Dir.Name())
	}()
	r.Limits = r.Limits.over(standard)
	o, descriptors, release, err := p.prepare(r)
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	request, err := encodeRequest(o, r.Arguments, r.Caller)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.warm(startWithin); err != nil {
		t.Fatal(err)
	}
	if err := h.send(request, descriptors); err != nil {
		t.Fatal(err)
	}
	_ = h.response.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		kind, length, err := readPrefix(h.response)
		if errors.Is(err, io.EOF) {
			return all
		}
		payload := make([]byte, length)
		if err == nil {
			_, err = io.ReadFull(h.response, payload)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, frame{kind, string(payload)})
		if kind == frameResult || kind == frameFailure {
			if err := h.proc.Signal(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// keepCoverage takes what a helper has covered into the profile of this test, where there is to be
// one.
func keepCoverage(t *testing.T, dir string) {
	t.Helper()
	to := flag.Lookup("test.gocoverdir").Value.String()
	if testing.CoverMode() == "" || to == "" {
		return
	}
	counters, err := filepath.Glob(filepath.Join(dir, "covcounters.*"))
	if err != nil || len(counters) == 0 {
		t.Errorf("there are no counters: %v", err)
	}
	for _, name := range counters {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// The helper is number 1 of its namespace each time.
		unique := fmt.Sprintf("%s%d", filepath.Base(name), len(t.Name()))
		if err := errors.Join(os.WriteFile(filepath.Join(to, unique), b, 0o600),
			os.Remove(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// kinds are the kinds of frames, in their order.
func kinds(all []frame) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteByte(f.kind)
	}
	return b.String()
}

func TestAHelperAnswersInItsOrder(t *testing.T) {
	p := newPool(t, Options{Warm: 1, Env: []string{"GOMAXPROCS=2", "GOCOVERDIR=."}})
	w, _ := newWorkspaces(t, WorkspaceOptions{})
	space, _ := acquire(t, w, "a")
	if err := space.Set("a", "old"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "granted")
	err := errors.Join(os.WriteFile(name, []byte("granted "), 0o644), os.Chmod(name, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	passable(t, filepath.Dir(name))
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	grouped := p.shelves[0].role.Group
	for _, test := range []struct {
		handler   string
		role      seccomp.Options
		arguments string
		space     bool
		kinds     string
		last      string
	}{
		{"look around", seccomp.Options{Group: grouped}, name, true, "bvr", "granted granted old"},
		{"look around", seccomp.Options{Group: true, Net: true}, name, true, "bvr", "granted granted old"},
		{"look around", seccomp.Options{Group: grouped}, name, false, "bf", "no workspaces here"},
		{"refuse", seccomp.Options{Group: grouped, Partial: true}, "", true, "bf", `"refused"`},
		{"explode", seccomp.Options{Group: grouped, Net: true}, "", true, "bf", `"Panic":true`},
		{"probe", seccomp.Options{Group: grouped}, `{"Landlock":true,"Seccomp":true,"Mounts":true}`, true,
			"br", ""},
	} {
		t.Run(test.handler, func(t *testing.T) {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			r := request{Name: "end after " + test.handler,
				Arguments: json.RawMessage(test.arguments), Net: test.role.Net, Dir: space.Dir()}
			if test.space {
				r.space = space
			} else {
				r.noSpace = errors.New("no workspaces here")
			}
			if test.handler == "look around" {
				r.Files = map[string]*os.File{"file": file}
				r.Paths = []granted{{File: file, Access: mayRead | mayExec}}
			}
			test.role.Mounts = p.host.mounts
			all := frames(t, p, role{Options: test.role, Named: p.host.named}, r)
			if kinds(all) != test.kinds {
				t.Fatalf("it sent %q", all)
			}
			if last := all[len(all)-1].payload; !strings.Contains(last, test.last) {
				t.Errorf("it sent last %q, want %q", last, test.last)
			}
			if test.kinds == "bvr" && !strings.Contains(all[1].payload, "bmV3") { // new
				t.Errorf("the variables: %q", all[1].payload)
			}
		})
	}
}

func TestWhatAHandlerComesTo(t *testing.T) {
	before := maps.Clone(registry.handlers)
	defer func() { registry.handlers = before }()
	for want, test := range map[string]struct {
		run jobHandler
		o   order
	}{
		`{"Message":"no handler is registered`: {nil, order{}},
		`"Limit":"timeout"`: {func(ctx context.Context, _ Job) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, order{}},
		`"Limit":"open files"`: {func(context.Context, Job) ([]byte, error) {
			return nil, &os.PathError{Op: "open", Err: unix.EMFILE}
		}, order{}},
		`"Limit":"file size"`: {func(context.Context, Job) ([]byte, error) {
			return nil, unix.EFBIG
		}, order{}},
		`"Limit":"processes"`: {func(context.Context, Job) ([]byte, error) {
			return nil, unix.EAGAIN
		}, order{}},
		`"Limit":"memory"`: {func(context.Context, Job) ([]byte, error) {
			return nil, unix.ENOMEM
		}, order{}},
		`"Limit":"output"`: {func(context.Context, Job) ([]byte, error) {
			return make([]byte, 11), nil
		}, order{}},
		`"Limit":"workspace","Bound":"3 clients"`: {askForWorkspace,
			order{NoSpace: "full", NoSpaceLimit: &limitError{Limit: limitQuota, Bound: "3 clients"}}},
		`"Message":"there is none"`: {askForWorkspace,
			order{NoSpace: "there is none"}},
		`sandbox.Options.Workspaces`: {askForWorkspace, order{}},
		`"Panic":true`: {func(context.Context, Job) ([]byte, error) {
			panic(errors.New("on purpose"))
		}, order{}},
		`nil`: {func(context.Context, Job) ([]byte, error) {
			runtime.Goexit()
			return nil, nil
		}, order{}},
		"…": {func(context.Context, Job) ([]byte, error) {
			return nil, errors.New(strings.Repeat("x", maxMessage+1))
		}, order{}},
	} {
		test.o.Name = "comes to " + want
		if test.run != nil {
			Register(test.o.Name, test.run)
		}
		test.o.Limits = Limits{Timeout: time.Minute, Output: 10}
		if strings.Contains(want, "timeout") {
			test.o.Limits.Timeout = 20 * time.Millisecond
		}
		result, changed, failed := perform(test.o, Job{}, io.Discard)
		var answer bytes.Buffer
		if err := respond(&answer, result, changed, failed); err != nil {
			t.Fatal(err)
		}
		if text := answer.String(); text[0] != frameFailure || !strings.Contains(text, want) {
			t.Errorf("%s: it sent %.300q", want, text)
		}
	}
}

func askForWorkspace(ctx context.Context, _ Job) ([]byte, error) {
	_, err := Workspace(ctx)
	return nil, err
}

func TestRequestsArriveWholeOrNotAtAll(t *testing.T) {
	long, err := encodeRequest(order{Name: "x"}, bytes.Repeat([]byte("a"), 300<<10), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		sent []byte
		want string // of the error
	}{
		"in parts":      {long, ""},
		"nothing":       {nil, "EOF"},
		"half a prefix": {long[:3], "unexpected EOF"},
		"half":          {long[:1000], "unexpected EOF"},
		"another kind":  {[]byte{frameResult, 0, 0, 0, 0}, "is not a request"},
		"a forged size": {[]byte{frameRequest, 0xff, 0xff, 0xff, 0xff}, "is not a request"},
		"two of them": {append(append([]byte{}, long[:prefix]...), make([]byte, len(long))...),
			"more than one"},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				f := os.NewFile(uintptr(pair[1]), "server")
				_, _ = f.Write(test.sent)
				f.Close()
			}()
			payload, _, err := receive(pair[0])
			<-sent
			if test.want == "" {
				if err != nil || !bytes.Equal(payload, long[prefix:]) {
					t.Errorf("%d bytes, %v", len(payload), err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%d bytes, %v", len(payload), err)
			}
		})
	}
}

func TestAHelperTakesNoOddRequest(t *testing.T) {
	for want, test := range map[string]struct {
		o           order
		descriptors []int
	}{
		"1 descriptors arrived of 0": {order{}, []int{0}},
		"0 descriptors arrived of 3": {order{Files: []string{"a"}, Paths: []rights{mayRead},
			Dir: true}, nil},
	} {
		if _, err := confine(role{}, test.o, test.descriptors, strings.NewReader("")); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestAHelperEndsByItselfOnWhatItCannotServe starts helpers as anybody could, and as a server that
// is mistaken would.
func TestAHelperEndsByItselfOnWhatItCannotServe(t *testing.T) {
	encoded := func(o order) []byte {
		b, err := encodeRequest(o, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, test := range map[string]struct {
		role    string
		byHand  bool
		request []byte
		message string // on standard error, or in the answer
		code    int
	}{
		"no request":    {"{}", false, nil, "", 0},
		"no role":       {"{", false, nil, "role:", 3},
		"by hand":       {"{}", true, nil, "only a server starts a helper", 3},
		"another frame": {"{}", false, []byte{frameResult, 0, 0, 0, 0}, "is not a request", 3},
		"half an order": {"{}", false, []byte{frameRequest, 0, 0, 0, 4, 0, 0, 0, 9}, "request:",
			3},
		"too few files": {"{}", false, encoded(order{Files: []string{"a"}, Limits: standard}),
			`"Setup":true`, 0},
		"a limit below it": {`{"Net":true}`, false,
			encoded(order{Paths: []rights{mayRead}, Limits: standard}), "0 descriptors arrived of 1",
			0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("/proc/self/exe")
			cmd.Args, cmd.Env, cmd.Dir = []string{helperName, test.role}, []string{"GOCOVERDIR=."},
				dir
			var printed bytes.Buffer
			cmd.Stderr = &printed
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]),
				"theirs")
			answer, end, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Close()
			if !test.byHand {
				cmd.ExtraFiles = []*os.File{theirs, end}
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			end.Close()
			_, _ = ours.Write(test.request) // it may have ended
			ours.Close()
			said, err := io.ReadAll(answer)
			_ = cmd.Wait()
			if err != nil || cmd.ProcessState.ExitCode() != test.code ||
				!strings.Contains(string(said)+printed.String(), test.message) {
				t.Errorf("it ended with %s, %v, answered %q and said %q", cmd.ProcessState, err,
					said, printed.String())
			}
			keepCoverage(t, dir)
		})
	}
}

func TestTheProbeFindsWhatIsOpen(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"Landlock":true}`: "the process can open the root directory despite Landlock",
		`{"Seccomp":true}`:  "the process can open a socket despite seccomp",
		`{"Mounts":true}`:   "a file of the server is visible despite the mount namespace",
		`{`:                 "unexpected end",
	} {
		if _, err := probe(t.Context(), Job{Arguments: json.RawMessage(arguments)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s in a process that is not confined: %v", arguments, err)
		}
	}
}

func TestAHelperThatDoesNotStartReportsWhy(t *testing.T) {
	for want, sent := range map[string]string{
		"EOF. Its output: out of luck": "",
		"unexpected EOF":               "w\x00\x00\x00\x09{",
		"kind 'r'":                     "r\x00\x00\x00\x02{}",
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		h := &process{response: read, printed: newCapture(100)}
		_, _ = h.printed.Write([]byte("out of luck\n"))
		_, _ = write.WriteString(sent)
		write.Close()
		if err := h.warm(time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", sent, err)
		}
		read.Close()
	}
}

func TestWhyAHelperEnded(t *testing.T) {
	ended := func(script string) *os.ProcessState {
		cmd := exec.Command("/bin/sh", "-c", script)
		_ = cmd.Run()
		return cmd.ProcessState
	}
	for name, test := range map[string]struct {
		ended   *os.ProcessState
		printed string
		cpu     time.Duration
		starved bool
		want    limitName
	}{
		"unknown":     {nil, "", 0, false, ""},
		"starved":     {ended("exit 0"), "", 0, true, limitMemory},
		"system call": {ended("kill -SYS $$"), "", 0, false, limitSyscall},
		"computing":   {ended("kill -KILL $$"), "", 5 * time.Second, false, limitCPU},
		"killed":      {ended("kill -KILL $$"), "", 0, false, ""},
		"ended well":  {ended("exit 0"), "fatal error: out of memory", 0, false, ""},
		"stacks": {ended("exit 2"),
			"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort",
			0, false, limitMemory},
		"threads": {ended("exit 2"), "runtime: failed to create new OS thread", 0, false,
			limitProcesses},
		"memory": {ended("exit 2"), "fatal error: runtime: out of memory", 0, false, limitMemory},
		"the collector": {ended("exit 2"),
			"SIGSEGV: segmentation violation\nPC=0\n\ngoroutine 0 [idle]", 0, false, limitMemory},
		"otherwise": {ended("exit 2"), "panic: no", 0, false, ""},
	} {
		if got := causeOf(test.ended, response{Printed: []byte(test.printed), CPU: test.cpu},
			Limits{CPU: 5 * time.Second}, test.starved); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	h := &process{}
	if state(nil) == "" || h.cpu() != 0 {
		t.Error("something is known of a process that is not")
	}
}
