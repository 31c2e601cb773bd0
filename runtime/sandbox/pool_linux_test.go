package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/seccomp"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

func init() {
	serveInstead = func(tag string) {
		if tag == withoutMounts {
			serveWithoutMounts()
			return
		}
		serve()
	}
	Register("echo", func(_ context.Context, job Job) ([]byte, error) { return job.Arguments, nil })
	Register("caller", func(_ context.Context, job Job) ([]byte, error) { return job.Caller, nil })
	Register("whoami", func(ctx context.Context, _ Job) ([]byte, error) {
		who, known := runtime.Caller(ctx)
		return fmt.Appendf(nil, "%s %t", who.Subject, known), nil
	})
	Register("fail", func(context.Context, Job) ([]byte, error) {
		return nil, errors.New("no such customer")
	})
	Register("panic", func(context.Context, Job) ([]byte, error) { panic("secret of the handler") })
	Register("exit", func(context.Context, Job) ([]byte, error) { os.Exit(0); return nil, nil })
}

// newPool returns a pool that ends with the test, which then has left nothing behind. It keeps one
// helper ready unless the options have another number.
func newPool(t testing.TB, o Options) *pool {
	t.Helper()
	o.Warm = cmp.Or(o.Warm, 1)
	leavesNothing(t)
	if o.Log == nil {
		o.Log = func(name, message string) { t.Logf("log of %q: %s", name, message) }
	}
	p, err := startPool(o)
	possible(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// possible ends a test whose pool did not start: this system may lack a part of isolation.
func possible(t testing.TB, err error) {
	t.Helper()
	if errors.As(err, new(*missingError)) {
		testdb.Unavailable(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leavesNothing fails a test that leaves descriptors or processes behind.
func leavesNothing(t testing.TB) {
	t.Helper()
	before := openDescriptors(t)
	t.Cleanup(func() {
		var after int
		if !settles(func() bool { // a count of the quota may have begun before the end
			after = openDescriptors(t)
			return after <= before
		}) {
			t.Errorf("there are %d descriptors, %d before", after, before)
		}
		var left []int
		if !settles(func() bool {
			left = children(t)
			return left == nil
		}) {
			t.Errorf("there are processes left: %v", left)
		}
	})
}

func openDescriptors(t testing.TB) int {
	t.Helper()
	r, w, err := os.Pipe() // the runtime opens its poller with the first one, for good
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the processes that this one has, those that ended and were not waited for
// included.
func children(t testing.TB) []int { return childrenOf(t, os.Getpid()) }

func childrenOf(t testing.TB, pid int) (all []int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	} else if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, child)
		}
	}
	return all
}

func TestAnswersCrossTheProcess(t *testing.T) {
	p := newPool(t, Options{})
	long := json.RawMessage(`"` + strings.Repeat("x", 900_000) + `"`)
	for _, test := range []struct {
		name              string
		arguments, caller json.RawMessage
		want              string
	}{
		{"echo", json.RawMessage(`{"a":1}`), nil, `{"a":1}`},
		{"echo", nil, nil, ""},
		{"echo", long, json.RawMessage(`{}`), string(long)},
		{"caller", json.RawMessage(`{"a":1}`), json.RawMessage(`{"role":"admin"}`),
			`{"role":"admin"}`},
	} {
		a, err := p.Run(context.Background(), request{Name: test.name, Arguments: test.arguments,
			Caller: test.caller})
		if err != nil || string(a.Result) != test.want {
			t.Errorf("%s: %d bytes, %v", test.name, len(a.Result), err)
		}
		if a.MaxRSS == 0 {
			t.Error("there is no peak of memory")
		}
	}
}

func TestTheHandlersContextHasTheCaller(t *testing.T) {
	p := newPool(t, Options{})
	for caller, want := range map[string]string{
		`{"principal":{"Subject":"ada"}}`: "ada true",
		"":                                " false", // no server made the call
	} {
		a, err := p.Run(context.Background(),
			request{Name: "whoami", Caller: json.RawMessage(caller)})
		if err != nil || string(a.Result) != want {
			t.Errorf("%q: %q, %v", caller, a.Result, err)
		}
	}
	a, err := p.Run(context.Background(), request{Name: "whoami", Caller: json.RawMessage("{")})
	var failed *handlerError
	if !errors.As(err, &failed) || a.Result != nil {
		t.Errorf("a caller that is no JSON: %q, %v", a.Result, err)
	}
}

func TestFailuresOfHandlers(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	p := newPool(t, Options{Log: func(name, message string) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(name + ": " + message + "\n")
	}})
	_, err := p.Run(context.Background(), request{Name: "fail"})
	var failed *handlerError
	if !errors.As(err, &failed) || failed.Message != "no such customer" {
		t.Errorf("error of a handler: %v", err)
	}
	for _, test := range []struct {
		name  string
		panic bool
	}{{"panic", true}, {"exit", false}} {
		_, err := p.Run(context.Background(), request{Name: test.name})
		var crash *crashError
		if !errors.As(err, &crash) || crash.Panic != test.panic {
			t.Errorf("%s: %v", test.name, err)
		}
		if strings.Contains(fmt.Sprint(err), "secret") || strings.Contains(fmt.Sprint(err),
			".go:") {
			t.Errorf("%s tells the client: %v", test.name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "panic: secret of the handler") ||
		!strings.Contains(log.String(), "pool_linux_test.go") {
		t.Errorf("the log has no stack:\n%s", log.String())
	}
	if _, err := p.Run(context.Background(), request{Name: "unknown"}); err == nil {
		t.Error("an unknown handler ran")
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), request{Name: "echo"}); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func TestAHelperThatDiedWhileItWaitedIsReplaced(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	warm(p, 1)
	p.mu.Lock()
	h := p.shelves[0].ready[0]
	p.mu.Unlock()
	if err := h.proc.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), request{Name: "echo"}); err != nil {
		t.Error(err)
	}
}

func TestAPoolThatCannotStartHelpersReportsItAndRecovers(t *testing.T) {
	plain := t.TempDir()
	for cgroup, reason := range map[string]string{
		filepath.Join(plain, "missing"): "cgroup: mkdir",
		plain:                           "start a helper", // a folder that is no cgroup
	} {
		t.Run(reason, func(t *testing.T) {
			logged := make(chan string, 1)
			p := newPool(t, Options{Warm: 1, Log: func(_, message string) {
				select {
				case logged <- message:
				default:
				}
			}})
			warm(p, 1)
			set := func(cgroup string) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.options.Cgroup = cgroup
			}
			set(cgroup)
			if _, err := p.Run(context.Background(), request{Name: "echo"}); err != nil {
				t.Fatal(err) // it had a helper
			}
			if message := <-logged; !strings.Contains(message, reason) {
				t.Errorf("logged %q, want %q", message, reason)
			}
			if _, err := p.Run(context.Background(), request{Name: "echo"}); err == nil ||
				!strings.Contains(err.Error(), reason) {
				t.Errorf("error %v, want %q", err, reason)
			}
			set("")
			warm(p, 1)
			if _, err := p.Run(context.Background(), request{Name: "echo"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAHelperThatDoesNotStartLeavesNoDescriptors starts helpers in a folder that is no cgroup, so
// that clone(2) fails.
func TestAHelperThatDoesNotStartLeavesNoDescriptors(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	warm(p, 1)
	o := p.options
	o.Cgroup = t.TempDir()
	before := openDescriptors(t)
	for range 3 {
		if _, err := start(o, p.shelves[0].role, p.host.namespaces, p.null); err == nil ||
			!errors.Is(err, unix.EBADF) {
			t.Fatalf("it started: %v", err)
		}
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("there are %d descriptors, %d before", after, before)
	}
}

// TestNoHelperIsLostOnACallThatGaveUp gives a helper to a call at the moment it gives up.
func TestNoHelperIsLostOnACallThatGaveUp(t *testing.T) {
	taken, kept := 0, 0
	for taken == 0 || kept == 0 {
		p := &pool{}
		p.changed = sync.NewCond(&p.mu)
		s := &shelf{pool: p}
		done, result := make(chan struct{}), make(chan *process)
		go func() {
			h, err := s.take(done)
			if err != nil {
				t.Error(err)
			}
			result <- h
		}()
		h := &process{}
		p.mu.Lock()
		for len(s.waiting) == 0 {
			p.changed.Wait()
		}
		if taken > 0 {
			close(done) // it sees that first
		}
		p.entering++
		s.waiting[0] <- got{process: h} // as admit does
		s.waiting = s.waiting[1:]
		if taken == 0 {
			close(done)
		}
		p.mu.Unlock()
		switch got := <-result; {
		case got == h && len(s.ready) == 0 && p.entering == 1:
			taken++
		case got == nil && len(s.ready) == 1 && p.entering == 0:
			kept++
		default:
			t.Fatalf("got %v, %d ready, %d entering", got, len(s.ready), p.entering)
		}
	}
	p := &pool{}
	p.changed = sync.NewCond(&p.mu)
	s := &shelf{pool: p}
	done := make(chan struct{})
	close(done)
	if h, err := s.take(done); h != nil || err != nil || len(s.waiting) > 0 {
		t.Errorf("%v, %v, %d waiting", h, err, len(s.waiting))
	}
}

func TestMaxBoundsTheCallsThatRun(t *testing.T) {
	p := newPool(t, Options{Max: 1})
	ctx, cancel := context.WithCancel(context.Background())
	begun, first := make(chan struct{}), make(chan error)
	go func() {
		_, err := p.Run(ctx, request{Name: "wait", Arguments: telling,
			emitted: func(json.RawMessage) { close(begun) }})
		first <- err
	}()
	<-begun
	if _, err := p.Run(context.Background(),
		request{Name: "echo"}); limitOfErr(err) != limitCalls || !strings.Contains(err.Error(),
		"1 isolated") {
		t.Errorf("a second call: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first call: %v", err)
	}
	if _, err := p.Run(context.Background(), request{Name: "echo"}); err != nil {
		t.Errorf("a third call: %v", err)
	}
}

func TestCallsThatWaitForTheirTurnEndWithThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pool{slots: make(chan struct{}, 1), closing: make(chan struct{})}
		p.slots <- struct{}{}
		result := make(chan error, 1)
		go func() { result <- p.slot(t.Context()) }()
		synctest.Wait()
		close(p.closing) // as Close does
		if err := <-result; !errors.Is(err, errClosed) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	many := map[string]*os.File{}
	for i := range maxFiles + 1 {
		many[strconv.Itoa(i)] = os.Stdin
	}
	for name, r := range map[string]request{
		"too many files":  {Name: "echo", Files: many},
		"too many paths":  {Name: "echo", Paths: make([]granted, maxPaths)},
		"no file":         {Name: "echo", Files: map[string]*os.File{"a": nil}},
		"negative limit":  {Name: "echo", Limits: Limits{Timeout: -1}},
		"too few threads": {Name: "echo", Limits: Limits{Processes: 1}},
		"too few bytes":   {Name: "echo", Limits: Limits{Memory: 1}},
		"the probe":       {Name: probeName},
	} {
		if _, err := p.Run(context.Background(), r); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	for name, o := range map[string]Options{
		"negative":  {Warm: -1},
		"limits":    {Limits: Limits{CPU: -1}},
		"no cgroup": {Cgroup: t.TempDir(), BestEffort: true},
	} {
		if p, err := startPool(o); err == nil {
			p.Close()
			t.Errorf("options %s: there is a pool", name)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	none := errors.New("not in this kernel")
	const all = unix.CLONE_NEWUSER | unix.CLONE_NEWPID
	for _, test := range []struct {
		landlock   int
		seccomp    error
		namespaces uintptr
		pids       bool
		want       []string
	}{
		{7, nil, all, true, nil},
		{3, nil, all, true, nil},
		{2, nil, all, true, []string{"Landlock"}},
		{7, none, all, true, []string{"seccomp"}},
		{7, nil, unix.CLONE_NEWPID, true, []string{"user namespaces"}},
		{7, nil, unix.CLONE_NEWUSER, true, []string{"pid namespaces"}},
		{7, nil, unix.CLONE_NEWUSER, false, nil},
		{5, nil, unix.CLONE_NEWUSER, false, []string{"signals"}},
		{0, none, 0, true, []string{"Landlock", "seccomp", "user namespaces", "pid namespaces"}},
	} {
		got := judge(test.landlock, test.seccomp, test.namespaces, test.pids).missing
		var names []string
		for _, part := range got {
			name, _, _ := strings.Cut(part, ":")
			names = append(names, name)
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("%+v: %q", test, got)
		}
		if text := (&missingError{Parts: got}).Error(); len(got) > 0 &&
			!strings.Contains(text, got[0]) {
			t.Errorf("the error names no part: %s", text)
		}
	}
	if p := newPool(t, Options{BestEffort: true}); p.Missing() != nil {
		t.Errorf("here is missing: %v", p.Missing())
	}
}

func TestAHelperWhoseMemoryCannotBeWatchedIsNone(t *testing.T) {
	gone := exec.Command("/bin/true")
	answer, end, err := os.Pipe()
	if err = errors.Join(err, gone.Run()); err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	defer end.Close()
	if err := writeFrame(end, frameWarm, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	h := &process{proc: gone.Process, response: answer, printed: newCapture(0)}
	if err := h.warm(time.Second); err == nil || !strings.Contains(err.Error(),
		"cannot measure the helper's memory") {
		t.Errorf("%v", err)
	}
}

// inGroup runs a call in a helper without a pid namespace, as all are in programs with cgo.
func inGroup(t *testing.T, p *pool, r request) (response, error) {
	t.Helper()
	goruntime.LockOSThread() // a helper ends with the thread that has started it
	defer goruntime.UnlockOSThread()
	h, err := start(p.options, role{Options: seccomp.Options{Group: true}}, 0, p.null)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.warm(startWithin); err != nil {
		t.Fatal(err)
	}
	r.Limits = r.Limits.over(standard)
	o, descriptors, release, err := p.prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	frame, err := encodeRequest(o, r.Arguments, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.entering++ // as take does
	p.mu.Unlock()
	return p.once(context.Background(), h, r, frame, descriptors)
}

func TestWithoutPIDsOfItsOwn(t *testing.T) {
	p := newPool(t, Options{})
	tag := fmt.Sprintf("3600.%d77", os.Getpid())
	_, err := inGroup(t, p, request{
		Name: "sh", Limits: Limits{Timeout: quickly.Timeout}, Paths: programs(),
		Arguments: json.RawMessage(fmt.Sprintf(`"(setsid sleep %s &) ; (sleep %s &) ; sleep 3600"`,
			tag, tag)),
	})
	if limitOfErr(err) != limitTime {
		t.Errorf("error %v", err)
	}
	if left := tagged(t, tag); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
	if a, err := inGroup(t, p, request{Name: "have siblings"}); err != nil ||
		string(a.Result) != "0" || len(zombies(t)) > 0 {
		t.Errorf("the server has %s children more, %v, %v not waited for", a.Result, err,
			zombies(t))
	}
	if a, err := inGroup(t, p, request{Name: "slow the server down"}); err != nil ||
		string(a.Result) != "null" {
		t.Errorf("a handler did to the server: %s, %v", a.Result, err)
	}
}

func init() {
	Register("outlive the server", func(ctx context.Context, job Job) ([]byte, error) {
		spread(func() { _ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) })
		const script = "(setsid sh -c 'echo; exec sleep 3600' &) ; echo; exec sleep 3600"
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			return nil, err
		}
		programs := 2
		if !threads.OwnPIDs {
			programs = 1 // none may begin a session of its own there
		}
		if _, err := io.ReadFull(out, make([]byte, programs)); err != nil {
			return nil, err
		}
		_, _ = unix.Write(responseFD, emission("{}"))
		return nil, cmd.Wait()
	})
}

// serve runs a call that starts programs, and never ends by itself. It prints a line once they run.
func serve() {
	p, err := startPool(Options{Warm: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = p.Run(context.Background(), request{Name: "outlive the server", Paths: programs(),
		emitted: func(json.RawMessage) { fmt.Println() }})
	fmt.Println(err)
}

// TestAServerThatIsKilledLeavesNoProcess: in a program with cgo, which has no pid namespaces, the
// helpers end with the server, and what they have started ends by its own limits.
func TestAServerThatIsKilledLeavesNoProcess(t *testing.T) {
	server := exec.Command("/proc/self/exe")
	server.Env = append(os.Environ(), "SANDBOX_TEST_SERVER=with programs")
	out, err := server.StdoutPipe()
	if err = errors.Join(err, server.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { // also if the test fails
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ended := map[int]int{} // descriptors that are readable once a process has ended
	for below := childrenOf(t, server.Process.Pid); len(below) > 0; below = below[1:] {
		below = append(below, childrenOf(t, below[0])...)
		fd, err := unix.PidfdOpen(below[0], 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		} else if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		ended[below[0]] = fd
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	for pid, fd := range ended {
		for {
			// A process may get this name while the test waits.
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if string(name) == "sleep\n" && !threads.OwnPIDs {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10); n > 0 {
				break
			}
		}
	}
}

// settles reports whether something holds once other goroutines, which end without an event, have
// run. It looks a bounded number of times.
func settles(holds func() bool) bool {
	for range 50_000 {
		if holds() {
			return true
		}
		goruntime.Gosched()
	}
	return false
}

// warm waits until as many helpers are ready.
func warm(p *pool, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.shelves[0].ready) < n {
		p.changed.Wait()
	}
}

// idle waits until no call has a process any more.
func idle(p *pool) {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for range cap(p.slots) {
		<-p.slots
	}
}

// BenchmarkCall compares a call of a handler with an isolated one while helpers are warm, and with
// starting a program, which is what isolation would cost without them.
func BenchmarkCall(b *testing.B) {
	ctx := context.Background()
	b.Run("direct", func(b *testing.B) {
		run, _ := handlerOf("echo")
		for b.Loop() {
			if _, err := run(ctx, Job{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("isolated", func(b *testing.B) {
		p := newPool(b, Options{})
		var all []time.Duration
		for b.Loop() {
			b.StopTimer()
			warm(p, p.options.Warm)
			b.StartTimer()
			begin := b.Elapsed()
			if _, err := p.Run(ctx, request{Name: "echo"}); err != nil {
				b.Fatal(err)
			}
			all = append(all, b.Elapsed()-begin)
		}
		report(b, all)
	})
	b.Run("program", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRefill calls as fast as helpers can be started.
func BenchmarkRefill(b *testing.B) {
	p := newPool(b, Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Run(context.Background(), request{Name: "echo"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "helpers/s")
}
