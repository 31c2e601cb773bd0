package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func init() {
	// variables does to the variables what the arguments say, and returns what it finds then.
	Register("variables", func(ctx context.Context, job Job) ([]byte, error) {
		var in struct {
			Set   map[string]string
			Unset []string
			Clear bool
			End   string
		}
		if err := json.Unmarshal(job.Arguments, &in); err != nil {
			return nil, err
		}
		space, err := Workspace(ctx)
		if err != nil {
			return nil, err
		}
		if space.Dir() != job.Dir {
			return nil, errors.New("the workspace has another directory than the job")
		}
		if in.Clear {
			if err := space.Clear(); err != nil {
				return nil, err
			}
		}
		for _, name := range in.Unset {
			space.Unset(name)
		}
		for name, value := range in.Set {
			if err := space.Set(name, value); err != nil {
				return nil, err
			}
		}
		switch in.End {
		case "error":
			return nil, errors.New("refused")
		case "panic":
			panic("on purpose")
		case "exit":
			os.Exit(3)
		case "time":
			<-ctx.Done()
			forever()
		case "long":
			return make([]byte, 2<<20), nil
		}
		return json.Marshal(space.Variables())
	})
	Register("keep a file", func(ctx context.Context, job Job) ([]byte, error) {
		space, err := Workspace(ctx)
		if err != nil {
			return nil, err
		}
		if b, err := os.ReadFile("kept"); err == nil { // the working directory is the workspace
			return b, nil
		}
		return []byte("first"), space.Dir().WriteFile("kept", job.Arguments, 0o600)
	})
	Register("many files", func(_ context.Context, job Job) ([]byte, error) {
		for i := 0; ; i++ {
			if err := job.Dir.WriteFile(fmt.Sprint(i), []byte("x"), 0o600); err != nil {
				return nil, err
			}
		}
	})
	Register("many long files", func(_ context.Context, job Job) ([]byte, error) {
		b := make([]byte, 1<<20)
		for i := range 64 { // several times the quotas
			if err := job.Dir.WriteFile(fmt.Sprint(i), b, 0o600); err != nil {
				return nil, err
			}
		}
		forever()
		return nil, nil
	})
	Register("reserve space", func(_ context.Context, job Job) ([]byte, error) {
		f, err := job.Dir.Create("reserved")
		if err != nil {
			return nil, err
		}
		return nil, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 1<<30)
	})
	// What is counted is a folder at one moment, and at the next something that a count would wait
	// for: were pipes to be had.
	Register("fill behind a pipe", func(_ context.Context, job Job) ([]byte, error) {
		if err := unix.Mkdir("y", 0o700); err != nil {
			return nil, err
		}
		if err := unix.Mkfifo("z", 0o600); !errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("a pipe: %w", err)
		}
		if err := job.Dir.Symlink("y", "z"); err != nil {
			return nil, err
		}
		b := make([]byte, 1<<20)
		for i := 0; ; i++ {
			for range 100 {
				if err := unix.Renameat2(unix.AT_FDCWD, "y", unix.AT_FDCWD, "z",
					unix.RENAME_EXCHANGE); err != nil {
					return nil, err
				}
			}
			if err := job.Dir.WriteFile(fmt.Sprint(i), b, 0o600); err != nil {
				return nil, err
			}
		}
	})
	Register("deep folders", func(context.Context, Job) ([]byte, error) {
		for {
			if err := errors.Join(unix.Mkdir("d", 0o700), unix.Chdir("d")); err != nil {
				return nil, err
			}
		}
	})
	Register("remove all", func(_ context.Context, job Job) ([]byte, error) {
		entries, err := fs.ReadDir(job.Dir.FS(), ".")
		for _, e := range entries {
			err = errors.Join(err, job.Dir.RemoveAll(e.Name()))
		}
		return nil, err
	})
	Register("write a little", func(_ context.Context, job Job) ([]byte, error) {
		return nil, job.Dir.WriteFile("little", []byte("some words"), 0o600)
	})
	Register("say", func(context.Context, Job) ([]byte, error) {
		fmt.Println("said in passing")
		return []byte("null"), nil
	})
}

// started returns a sandbox that a server with isolated tools has started, and what is logged.
func started(t testing.TB, o Options) (*Sandbox, *logged) {
	t.Helper()
	leavesNothing(t)
	o.Warm = cmp.Or(o.Warm, 1)
	s, log := newSandbox(t, o), new(logged)
	possible(t, s.Start(isolate.Start{Isolated: []string{"echo"}, Logger: log.logger()}))
	return s, log
}

// logged is a log at debug level.
type logged struct {
	mu   sync.Mutex
	more sync.Cond
	text bytes.Buffer
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more.L = &l.mu
	l.more.Broadcast()
	return l.text.Write(b)
}

// await waits until the text of the log is as it should be.
func (l *logged) await(is func(text string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more.L = &l.mu
	for !is(l.text.String()) {
		l.more.Wait()
	}
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runIsolated runs one call of a client, from its beginning to its end.
func runIsolated(t testing.TB, s *Sandbox, client isolate.Client,
	call isolate.Call) (string, error) {
	t.Helper()
	ctx, leave := s.Enter(context.Background(), client)
	defer leave()
	result, err := s.Isolate(ctx, call)
	return string(result), err
}

// echoes fails the test unless a call that needs nothing succeeds.
func echoes(t testing.TB, s *Sandbox, client isolate.Client, what string) {
	t.Helper()
	echo := isolate.Call{Name: "echo", Arguments: json.RawMessage("1")}
	if got, err := runIsolated(t, s, client, echo); err != nil || got != "1" {
		t.Errorf("%s: %q, %v", what, got, err)
	}
}

func TestWhatIsInTheWayOfIsolationIsReportedAtStart(t *testing.T) {
	s := newSandbox(t, Options{})
	quiet := slog.New(slog.DiscardHandler)
	err := s.Start(isolate.Start{Isolated: []string{"echo", "example.com/a.b", "example.com/a.c"},
		Logger: quiet})
	if err == nil || !strings.Contains(err.Error(), `"example.com/a.b"`) ||
		!strings.Contains(err.Error(), `"example.com/a.c"`) || strings.Contains(err.Error(),
		`"echo"`) {
		t.Errorf("handlers that are not linked: %v", err)
	}
	called.Store(false)
	err = s.Start(isolate.Start{Isolated: []string{"echo"}, Logger: quiet})
	called.Store(true)
	if err == nil || !strings.Contains(err.Error(), "sandbox.Main()") ||
		!strings.Contains(err.Error(), "first line") {
		t.Errorf("a forgotten Main: %v", err)
	}
	if err := newSandbox(t, Options{Cgroup: t.TempDir(), BestEffort: true}).Start(
		isolate.Start{Isolated: []string{"echo"}, Logger: quiet}); err == nil {
		t.Error("a cgroup that is none was taken")
	}
}

func TestTwoServersShareASandbox(t *testing.T) {
	s, _ := started(t, Options{Warm: 1})
	first := s.pool.Load()
	if err := s.Start(isolate.Start{Isolated: []string{"fail"},
		Logger: slog.New(slog.DiscardHandler)}); err != nil || s.pool.Load() != first {
		t.Errorf("a second server: %v", err)
	}
	if err := s.Start(isolate.Start{Isolated: []string{"missing"}}); err == nil {
		t.Error("a second server with a handler that is not linked started")
	}
}

func TestTheLogOfEachServerHasWhatTheSystemLacks(t *testing.T) {
	s, _ := started(t, Options{Warm: 1, BestEffort: true})
	s.pool.Load().host.missing = []string{"Landlock: none", "seccomp: none"}
	log := new(logged)
	if err := s.Start(isolate.Start{Isolated: []string{"echo"},
		Logger: log.logger()}); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "level=WARN") != 2 ||
		!strings.Contains(text, "Landlock: none") || !strings.Contains(text, "seccomp: none") {
		t.Errorf("the log says\n%s", text)
	}
}

func TestHelpersForTheNetworkAreKeptWhereToolsConnect(t *testing.T) {
	s := newSandbox(t, Options{Warm: 1})
	if err := s.Start(isolate.Start{Isolated: []string{"echo"}, Network: true,
		Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if s.pool.Load().options.WarmNet == 0 {
		t.Error("none are")
	}
}

func TestVariablesOfIsolatedCalls(t *testing.T) {
	s, _ := started(t, Options{Workspaces: t.TempDir(), Workspace: WorkspaceOptions{Variables: 3}})
	call := func(text string) (string, error) {
		timeout := time.Minute
		if strings.Contains(text, "time") {
			timeout = quickly.Timeout
		}
		return runIsolated(t, s, ann, isolate.Call{Name: "variables",
			Arguments: json.RawMessage(text), Timeout: timeout})
	}
	for _, step := range []struct{ call, want, fails string }{
		{`{}`, `{}`, ""},
		{`{"Set":{"a":"1","b":"2"}}`, `{"a":"1","b":"2"}`, ""},
		{`{"Set":{"a":"3"},"Unset":["b"],"End":"error"}`, `{"a":"3"}`, "refused"},
		{`{"Set":{"a":"4"},"End":"panic"}`, `{"a":"3"}`, "panicked"},
		{`{"Set":{"a":"4"},"End":"exit"}`, `{"a":"3"}`, "exit status 3"},
		{`{"Set":{"a":"4"},"End":"time"}`, `{"a":"3"}`, "timeout (300ms)"},
		{`{"Set":{"a":"5"},"End":"long"}`, `{"a":"5"}`, "output (1 MiB)"},
		{`{"Set":{"b":"1","c":"1","d":"1"}}`, "", "3 variables"},
		{`{"Clear":true,"Set":{"e":"1"}}`, `{"e":"1"}`, ""},
		{`{"Clear":true}`, `{}`, ""},
	} {
		got, err := call(step.call)
		if (err == nil) != (step.fails == "") || err != nil && !strings.Contains(err.Error(),
			step.fails) {
			t.Errorf("%s: %v, want %q", step.call, err, step.fails)
		}
		if err == nil && got != step.want {
			t.Errorf("%s: the handler found %s, want %s", step.call, got, step.want)
		}
		if step.want == "" {
			continue // which ones fit is for the order of a map
		}
		if after, err := call(`{}`); err != nil || after != step.want {
			t.Errorf("after %s there is %s, %v, want %s", step.call, after, err, step.want)
		}
	}
	if got, err := runIsolated(t, s, bob, isolate.Call{Name: "variables",
		Arguments: json.RawMessage(`{}`)}); err != nil || got != `{}` {
		t.Errorf("another client has %s, %v", got, err)
	}
	// A handler in the server finds the same.
	if _, err := call(`{"Set":{"from":"helper"}}`); err != nil {
		t.Fatal(err)
	}
	ctx, _ := enter(t, s, ann)
	space := workspaceOf(t, ctx)
	if value, _ := space.Get("from"); value != "helper" {
		t.Errorf("the server has %q", space.Variables())
	}
	if err := space.Set("from", "server"); err != nil {
		t.Fatal(err)
	}
	if got, err := call(`{}`); err != nil || got != `{"from":"server"}` {
		t.Errorf("the next helper has %s, %v", got, err)
	}
}

func TestForgedVariablesAreRefused(t *testing.T) {
	for name, payload := range map[string]string{"no JSON": "{",
		"none of this call": `{"Set":[{"Name":"YQ==","Value":"MQ=="}]}`,
		"too many":          `{"Set":[` + strings.Repeat("{},", 100) + `{}]}`,
		"no list":           `{"Unset":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Warm: 1}
			if name != "none of this call" {
				o.Workspaces = t.TempDir()
			}
			s, _ := started(t, o)
			if got, err := runIsolated(t, s, ann, isolate.Call{Name: "forge variables",
				Arguments: json.RawMessage(payload)}); err == nil {
				t.Errorf("it answered %s", got)
			}
			echoes(t, s, ann, "the next call")
		})
	}
}

func init() {
	Register("forge variables", func(_ context.Context, job Job) ([]byte, error) {
		_ = writeFrame(os.NewFile(responseFD, "answer"), frameJournal, job.Arguments)
		forever()
		return nil, nil
	})
}

func TestVariablesThatDoNotFitAnyMoreFailTheCall(t *testing.T) {
	s, _ := started(t, Options{Workspaces: t.TempDir(), Workspace: WorkspaceOptions{Variables: 1}})
	ctx, _ := enter(t, s, ann)
	space := workspaceOf(t, ctx)
	_, err := runIsolated(t, s, ann, isolate.Call{Name: "set late", Arguments: telling,
		Emitted: func(json.RawMessage) { // once the call has a copy of the variables
			if err := space.Set("mine", "1"); err != nil {
				t.Error(err)
			}
		}})
	if limitOfErr(err) != limitQuota {
		t.Errorf("the call ended with %v", err)
	}
	if value, _ := space.Get("mine"); value != "1" || len(space.Variables()) != 1 {
		t.Errorf("there is %q", space.Variables())
	}
}

func init() {
	Register("set late", func(ctx context.Context, job Job) ([]byte, error) {
		space, err := Workspace(ctx)
		if err != nil {
			return nil, err
		}
		tell(job)
		return nil, space.Set("theirs", "1")
	})
}

func TestIsolatedCallsWorkInTheWorkspace(t *testing.T) {
	s, _ := started(t, Options{Workspaces: t.TempDir()})
	for _, step := range []struct {
		client isolate.Client
		text   string
		want   string
	}{{ann, "1", "first"}, {ann, "2", "1"}, {bob, "3", "first"}, {ann, "4", "1"}, {bob, "5", "3"}} {
		got, err := runIsolated(t, s, step.client, isolate.Call{Name: "keep a file",
			Arguments: json.RawMessage(step.text)})
		if err != nil || got != step.want {
			t.Errorf("%s found %q, %v, want %q", step.client.ID, got, err, step.want)
		}
	}
}

func TestIsolatedCallsWithoutAWorkspaceGetTheReason(t *testing.T) {
	for want, test := range map[string]struct {
		options Options
		client  isolate.Client
	}{
		"sandbox.Options.Workspaces": {Options{Warm: 1}, bob},
		"anonymous":                  {Options{Warm: 1, Workspaces: t.TempDir()}, isolate.Client{}},
		"1 clients": {Options{Warm: 1, Workspaces: t.TempDir(),
			Workspace: WorkspaceOptions{Clients: 1}}, bob},
	} {
		t.Run(want, func(t *testing.T) {
			s, _ := started(t, test.options)
			ctx, leave := enter(t, s, ann)
			_, _ = Workspace(ctx) // where there is one only, it is taken now
			if _, err := runIsolated(t, s, test.client,
				isolate.Call{Name: "keep a file"}); err == nil || !strings.Contains(err.Error(),
				want) {
				t.Errorf("it failed with %v", err)
			}
			echoes(t, s, test.client, "a handler that needs none")
			leave()
			if _, err := s.Isolate(ctx,
				isolate.Call{Name: "echo"}); (test.options.Workspaces != "") != errors.Is(err,
				errLeft) {
				t.Errorf("a call that is over: %v", err)
			}
		})
	}
}

func TestNoCallFillsTheDisk(t *testing.T) {
	const quota = 8 << 20
	for i, test := range []struct{ handler, bound string }{
		{"many long files", "8 MiB"},
		{"many files", "1000 files"},
		{"deep folders", "64 deep"},
		{"fill the disk", "8 MiB"},
		{"reserve space", ""}, // which is refused
		{"fill behind a pipe", "8 MiB"},
	} {
		if testing.Short() && i > 2 {
			break
		}
		t.Run(test.handler, func(t *testing.T) {
			s, _ := started(t, Options{Warm: 1, Workspaces: t.TempDir(),
				Workspace: WorkspaceOptions{Bytes: quota, Files: 1000}})
			_, err := runIsolated(t, s, ann, isolate.Call{Name: test.handler,
				Timeout: 20 * time.Second})
			if test.bound == "" {
				if !errors.As(err, new(*handlerError)) || !strings.Contains(err.Error(),
					unix.EOPNOTSUPP.Error()) {
					t.Errorf("it ended with %v", err)
				}
				return
			}
			if limitOfErr(err) != limitQuota || !strings.Contains(err.Error(), test.bound) {
				t.Fatalf("it ended with %v", err)
			}
			if got, err := runIsolated(t, s, bob, isolate.Call{Name: "keep a file",
				Arguments: json.RawMessage("1")}); err != nil || got != "first" {
				t.Errorf("another client: %q, %v", got, err)
			}
			_, err = runIsolated(t, s, ann, isolate.Call{Name: "write a little"})
			if limitOfErr(err) != limitQuota {
				t.Errorf("the next call wrote: %v", err)
			}
			// deeper than what a call could take apart in its time
			if test.handler == "deep folders" {
				if found, err := s.ClearWorkspace(t.Context(), ann); !found || err != nil {
					t.Errorf("a workspace cannot be cleared: %v, %v", found, err)
				}
			} else if _, err := runIsolated(t, s, ann,
				isolate.Call{Name: "remove all"}); err != nil {
				t.Errorf("a full workspace cannot be tidied: %v", err)
			}
			if _, err := runIsolated(t, s, ann, isolate.Call{Name: "write a little"}); err != nil {
				t.Errorf("there is room again: %v", err)
			}
		})
	}
}

func TestNoClientTakesAllHelpers(t *testing.T) {
	s, _ := started(t, Options{Warm: 2, Max: 4})
	ended, end := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer end()
	for range 2 {
		ctx, leave := s.Enter(ended, ann)
		begun := make(chan struct{})
		wait.Go(func() {
			defer leave()
			_, _ = s.Isolate(ctx, isolate.Call{Name: "wait", Arguments: telling,
				Emitted: func(json.RawMessage) { close(begun) }})
		})
		<-begun
	}
	echo := isolate.Call{Name: "echo", Arguments: json.RawMessage("1")}
	for range 3 {
		if _, err := runIsolated(t, s, ann, echo); limitOfErr(err) != limitCalls ||
			!strings.Contains(err.Error(), "2 isolated ones of one client") {
			t.Errorf("a third call of one client: %v", err)
		}
		for _, other := range []isolate.Client{bob, {}} {
			echoes(t, s, other, "a call of another client")
		}
	}
}

func TestOneCallAfterAnotherIsNoneTooMany(t *testing.T) {
	s, _ := started(t, Options{Warm: 1, Max: 1})
	for range 10 {
		echoes(t, s, ann, "a call")
	}
}

func TestASlotThatIsAboutToBeFreeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pool{slots: make(chan struct{}, 1), closing: make(chan struct{}),
			options: Options{Max: 1}}
		p.slots <- struct{}{}
		if err := p.slot(t.Context()); limitOfErr(err) != limitCalls {
			t.Errorf("a slot of a call that runs: %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), slotWithin/2)
		defer stop()
		if err := p.slot(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call whose time ends before a slot is free: %v", err)
		}
		p.ending.Add(1)
		time.AfterFunc(slotWithin*3/2, func() { <-p.slots; p.ending.Add(-1) })
		if err := p.slot(t.Context()); err != nil {
			t.Errorf("a slot of a call that has ended: %v", err)
		}
		p.ending.Add(1)
		if err := p.slot(t.Context()); limitOfErr(err) != limitCalls {
			t.Errorf("a slot that does not become free: %v", err)
		}
	})
}

func TestWhatCertificatesLieBesideIsNotRead(t *testing.T) {
	o, err := Options{}.filled()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"/etc/ssl/private/server.key",
		"/etc/pki/tls/private/localhost.key", "/etc/pki/nssdb/key4.db", "/etc/ssl/openssl.cnf"} {
		for _, granted := range o.NetPaths {
			if secret == granted || strings.HasPrefix(secret, granted+"/") {
				t.Errorf("%s grants %s", granted, secret)
			}
		}
	}
}

func TestHelpersAreInNoGroupOfARootServer(t *testing.T) {
	root := os.Geteuid() == 0
	if root {
		before, err := syscall.Getgroups()
		if err == nil {
			err = syscall.Setgroups([]int{4, 6})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setgroups(before); err != nil {
				t.Error(err)
			}
		}()
	}
	s, _ := started(t, Options{Warm: 1})
	if got, err := runIsolated(t, s, ann, isolate.Call{Name: "groups"}); err != nil || root &&
		got != "[]" {
		t.Errorf("it is in %s, %v", got, err)
	}
}

func init() {
	Register("groups", func(context.Context, Job) ([]byte, error) {
		groups, err := os.Getgroups()
		if err != nil {
			return nil, err
		}
		return json.Marshal(append([]int{}, groups...))
	})
}

func TestWhatACallPrintsIsLogged(t *testing.T) {
	s, log := started(t, Options{Warm: 1})
	if got, err := runIsolated(t, s, ann, isolate.Call{Name: "say"}); err != nil || got != "null" {
		t.Fatalf("%s, %v", got, err)
	}
	// It is said when the process is gone, and the answer does not wait for that.
	log.await(func(text string) bool {
		return strings.Contains(text, "level=DEBUG") && strings.Contains(text, "said in passing") &&
			strings.Contains(text, "tool=say")
	})
	if _, err := runIsolated(t, s, ann, isolate.Call{Name: "panic"}); err == nil {
		t.Error("a panic is an answer")
	}
	if text := log.String(); !strings.Contains(text, "level=ERROR") ||
		!strings.Contains(text, "secret of the handler") || !strings.Contains(text, "tool=panic") {
		t.Errorf("the log says\n%s", text)
	}
}

func TestErrorsOfIsolatedCallsAreTheServers(t *testing.T) {
	s, _ := started(t, Options{Warm: 1})
	_, err := runIsolated(t, s, ann, isolate.Call{Name: "fail"})
	var words interface{ HandlerError() string }
	if !errors.As(err, &words) || words.HandlerError() != "no such customer" {
		t.Errorf("a handler's own: %v", err)
	}
	for limit, call := range map[string]isolate.Call{
		"timeout": {Name: "wait", Timeout: quickly.Timeout},
		"memory":  {Name: "allocate", Limits: toolset.Limits{Memory: 64 << 20}},
		"output":  {Name: "answer long", Limits: toolset.Limits{Output: 1 << 10}},
	} {
		_, err := runIsolated(t, s, ann, call)
		var reached toolset.LimitError
		if !errors.As(err, &reached) || reached.Reached() != limit {
			t.Errorf("%s: %v", limit, err)
		}
	}
	// A call that ends for a reason once it has begun.
	wait := func(reason error) error {
		ctx, end := context.WithCancelCause(t.Context())
		_, err := s.Isolate(ctx, isolate.Call{Name: "wait", Timeout: time.Minute,
			Arguments: telling, Emitted: func(json.RawMessage) { end(reason) }})
		return err
	}
	// A deadline of the server's, which began earlier, is no other limit.
	if err := wait(context.DeadlineExceeded); limitOfErr(err) != limitTime ||
		!strings.Contains(err.Error(), "1m") {
		t.Errorf("the server's deadline: %v", err)
	}
	gone := errors.New("the client went away")
	if err := wait(gone); !errors.Is(err, gone) {
		t.Errorf("a client that went away: %v", err)
	}
}

func TestProgramsAndTheNetworkAreOnlyForCallsThatHaveThem(t *testing.T) {
	s, _ := started(t, Options{Warm: 1})
	echo := isolate.Call{Name: "sh", Arguments: json.RawMessage(`"echo one"`)}
	if _, err := runIsolated(t, s, ann, echo); err == nil {
		t.Error("a program started that was not granted")
	}
	echo.Programs = true
	if got, err := runIsolated(t, s, ann, echo); err != nil || got != "one\n" {
		t.Errorf("%q, %v", got, err)
	}
	sockets := isolate.Call{Name: "sockets"}
	if got, err := runIsolated(t, s, ann, sockets); err != nil || got != `"[]"` {
		t.Errorf("without a network: %q, %v", got, err)
	}
	sockets.Network = true
	// AF_INET and AF_INET6
	if got, err := runIsolated(t, s, ann, sockets); err != nil || got != `"[2 10]"` {
		t.Errorf("with a network: %q, %v", got, err)
	}
}

func init() {
	Register("sockets", func(context.Context, Job) ([]byte, error) {
		var families []int
		for family := range 50 {
			if slices.ContainsFunc(kindsOfSockets, func(kind int) bool {
				return socket(family, kind, 0) == nil
			}) {
				families = append(families, family)
			}
		}
		return json.Marshal(fmt.Sprint(families))
	})
}

// BenchmarkIsolatedCall compares a call that a server lets in and runs itself with one that it lets
// in and isolates, while helpers are warm, and with one that works in its client's workspace
// besides.
func BenchmarkIsolatedCall(b *testing.B) {
	for name, o := range map[string]Options{"without workspaces": {},
		"with workspaces": {Workspaces: b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			s, _ := started(b, o)
			run, _ := handlerOf("echo")
			for name, call := range map[string]func(ctx context.Context) error{
				"plain": func(ctx context.Context) error { _, err := run(ctx, Job{}); return err },
				"isolated": func(ctx context.Context) error {
					_, err := s.Isolate(ctx, isolate.Call{Name: "echo"})
					return err
				},
				"isolated and listened to": func(ctx context.Context) error {
					_, err := s.Isolate(ctx, isolate.Call{Name: "echo",
						Emitted: func(json.RawMessage) {}})
					return err
				},
			} {
				b.Run(name, func(b *testing.B) { benchmarkCall(b, s, call) })
			}
		})
	}
}

func benchmarkCall(b *testing.B, s *Sandbox, call func(context.Context) error) {
	var all []time.Duration
	for b.Loop() {
		b.StopTimer()
		warm(s.pool.Load(), 4)
		b.StartTimer()
		begin := b.Elapsed()
		ctx, leave := s.Enter(context.Background(), ann)
		err := call(ctx)
		leave()
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, b.Elapsed()-begin)
	}
	report(b, all)
}

// report reports how long calls took.
func report(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds()), "median-ns")
	b.ReportMetric(float64(all[len(all)/10].Nanoseconds()), "p10-ns")
}
