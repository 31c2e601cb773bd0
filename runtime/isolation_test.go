package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// box is a sandbox without walls, which keeps what it was asked for.
type box struct {
	start   error
	enter   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	mu      sync.Mutex
	started []isolate.Start
	entered []string
	inside  int
}

type insideKey struct{}

func (b *box) Start(s isolate.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
	return b.start
}

func (b *box) Enter(ctx context.Context, client isolate.Client, tool string,
	limits toolset.Limits) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entered = append(b.entered, fmt.Sprint(client, " ", tool, " ", limits.Concurrency))
	if b.enter != nil {
		return nil, nil, b.enter
	}
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inside--
	}, nil
}

func (b *box) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	return b.isolate(ctx, call)
}

// reached is a [toolset.LimitError].
type reached string

func (r reached) Error() string   { return "the tool reached its limit on " + string(r) }
func (r reached) Reached() string { return string(r) }

// words are the error of a handler in another process.
type words string

func (w words) Error() string        { return string(w) }
func (w words) HandlerError() string { return string(w) }

// apart is a toolset whose one tool runs in a process of its own, as generated code has it.
func apart(tool toolset.Tool) toolset.Toolset {
	tool.Isolate = "example.com/apart." + tool.Name
	tool.Input = `{"type":"object"}`
	tool.Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		var in named
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return toolset.Result{}, err
		}
		if len(tool.Allow) > 0 {
			var err error
			ctx, err = call.Allow(ctx,
				toolset.Named{Argument: "path", Kinds: []string{grant.FileRead},
					Values: []string{in.Path}},
				toolset.Named{Argument: "argv", Kinds: []string{grant.SystemCommand},
					Values: in.Argv},
				toolset.Named{Argument: "host", Kinds: []string{grant.NetConnect},
					Values: []string{in.Host}})
			if err != nil {
				return toolset.Result{}, err
			}
		}
		return toolset.Wrapped(call.Isolated(ctx))
	}
	return toolsetOf([]toolset.Tool{tool}, access.Rule{Tool: tool.Name, Authenticated: true})
}

var everyFamily = []toolset.Allow{{Kind: grant.FileRead, Argument: "path"},
	{Kind: grant.SystemCommand, Argument: "argv"}, {Kind: grant.NetConnect, Argument: "host"}}

func TestHandlerInItsOwnProcessFindsWhatWasDecided(t *testing.T) {
	p := &purse{}
	p.put(client("Member"),
		grant.Permission{Type: grant.FileRead, Resource: "docs/**"},
		grant.Permission{Type: grant.SystemCommand, Resource: "echo *", Unrestricted: true},
		grant.Permission{Type: grant.NetConnect, Resource: "127.0.0.1:1-9", Unrestricted: true})
	var told isolate.Call
	handler := func(ctx context.Context) (string, error) {
		who, ok := runtime.Caller(ctx)
		if !ok || who.Subject != "user-Member" || who.Role != "Member" || who.Permits != nil {
			return "", fmt.Errorf("the caller is %+v", who)
		}
		text, err := readAll(ctx, named{})
		if err != nil {
			return "", err
		}
		path, err := grant.TruePath(ctx, "path")
		if err != nil {
			return "", err
		}
		cmd, err := grant.Command(ctx, "argv")
		if err != nil {
			return "", err
		}
		if _, err := grant.Dial(ctx, "host"); err == nil || strings.Contains(err.Error(),
			grant.Code) {
			return "", fmt.Errorf("the host that is granted: %v", err)
		}
		dialer, err := grant.Connect(ctx, "host")
		if err != nil {
			return "", err
		}
		if _, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:80"); err == nil ||
			!strings.Contains(err.Error(), grant.Code) {
			return "", fmt.Errorf("another host: %v", err)
		}
		return fmt.Sprint(text, " ", path, " ", cmd.Args, " ", runtime.RequestID(ctx) != ""), nil
	}
	b := &box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
		told = call
		ctx, err := invoke.ChildContext(t.Context(), call.Caller, call.Files)
		if err != nil {
			return nil, err
		}
		return isolate.Encoded(handler(ctx))
	}}
	s := newServer(t, runtime.Options{Grants: p, Roots: roots(t, map[string]string{"a": "A"}),
		Sandbox: b}, apart(toolset.Tool{
		Name: "look", Allow: everyFamily, Timeout: 7 * time.Second,
		Limits: toolset.Limits{Memory: 1 << 20, Concurrency: 3}}))
	session := connectHTTP(t, serve(t, s), tokens["Member"], "")
	if got := callText(t, session, "look",
		`{"path":"docs/a","argv":["echo","x"],"host":"127.0.0.1:9"}`); got != `{"result":"A docs/a [echo x] true"}` {
		t.Error(got)
	}
	if told.Name != "example.com/apart.look" || !told.Network || !told.Programs ||
		told.Limits.Memory != 1<<20 ||
		told.Timeout > 7*time.Second || told.Timeout < time.Second ||
		!strings.Contains(string(told.Arguments), `"echo"`) ||
		!slices.Equal(slices.Collect(maps.Keys(told.Files)), []string{"path"}) {
		t.Errorf("%+v", told)
	}
	if start := b.started[0]; !slices.Equal(start.Isolated, []string{"example.com/apart.look"}) ||
		!start.Network || !start.Programs || start.BestEffort {
		t.Errorf("%+v", start)
	}
	if want := "{test user-Member} look 3"; b.entered[0] != want || b.inside != 0 {
		t.Errorf("%q, %d inside; want %q", b.entered[0], b.inside, want)
	}
}

func TestWhatAnIsolatedCallComesTo(t *testing.T) {
	denied := &grant.Denied{Kind: grant.NetConnect, Resource: "x:1", Cause: grant.NoGrant,
		Reason: "no grant holds it"}
	made := &grant.Denied{Kind: grant.SystemCommand, Resource: "sh -c x", Cause: grant.NoGrant,
		Reason: "made up"}
	p := &purse{}
	p.put(client("Member"), grant.Permission{Type: grant.FileRead, Resource: "docs/**",
		Unrestricted: true},
		grant.Permission{Type: grant.SystemCommand, Resource: "echo *", Unrestricted: true},
		grant.Permission{Type: grant.NetConnect, Resource: "x", Unrestricted: true})
	for name, test := range map[string]struct {
		answer       string
		err          error
		want         string
		status       audit.Failure
		axis, logged string
	}{
		"a result": {`"fine"`, nil, `{"result":"fine"}`, "", "authentication", ""},
		"its own error": {"", words("no such thing"), "!no such thing", audit.Errored,
			"authentication", ""},
		"a limit": {"", reached("memory"), "!the tool reached its limit on memory",
			audit.Limited, audit.AxisLimit, ""},
		"a refusal": {"", words(isolate.Refused(denied).Error()),
			`!permission_denied: net.connect "x:1": no grant holds it`, audit.Errored,
			audit.AxisGrant, ""},
		"no answer": {"", errors.New("exit status 3, at /srv/secret"), "!internal error",
			audit.Crashed, "authentication", "/srv/secret"},
		"an odd refusal": {"", words("\x00denied\x00{"), "!{", audit.Errored, "authentication",
			""},
		"one of another kind": {"", words(isolate.Refused(made).Error()),
			`!{"Kind":"system.command"`, audit.Errored, "authentication", ""},
	} {
		sink, logged := &keeper{}, &journal{}
		s := newServer(t, runtime.Options{Audit: sink, Logger: logged.logger(), Grants: p,
			Roots: roots(t, map[string]string{"a": "A"}),
			Sandbox: &box{isolate: func(context.Context, isolate.Call) (json.RawMessage, error) {
				return json.RawMessage(test.answer), test.err
			}}}, apart(toolset.Tool{Name: "look", Allow: everyFamily}))
		if got := callText(t, connectHTTP(t, serve(t, s), tokens["Member"], ""), "look",
			`{"path":"docs/a","argv":["echo","x"],"host":"x:2"}`); !strings.HasPrefix(got,
			test.want) {
			t.Errorf("%s: %s", name, got)
		}
		events := sink.taken()
		if e := events[len(events)-1]; len(e.Grants) != 3 {
			t.Errorf("%s: it was allowed by %v", name, e.Grants)
		} else if e.Failure != test.status || e.Axis != test.axis ||
			!strings.Contains(logged.String(), test.logged) {
			t.Errorf("%s: %s %s", name, e.Status, e.Axis)
		}
	}
}

// folder is a sandbox that keeps workspaces.
type folder struct {
	box
	at string
}

func (f *folder) Folder() string { return f.at }

func TestWorkspacesAreNoFolderThatClientsAreGranted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"files/deep/ws", "files2"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "files", "deep"),
		filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	opened, err := grant.OpenRoots(map[string]string{"files": filepath.Join(dir, "files")})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for at, want := range map[string]string{"files": `in the root "files"`,
		"files/deep/ws": `in the root "files"`, "link/ws": `in the root "files"`, "files2": "",
		".": "", "none": "no such file"} {
		_, err := runtime.New(runtime.Options{Logger: quiet(), Roots: opened,
			Sandbox: &folder{at: filepath.Join(dir, at)}},
			oneTool("a", func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}))
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestCallThatIsNotLetInDoesNotRun(t *testing.T) {
	sink := &keeper{}
	b := &box{enter: reached("rate")}
	ran := false
	s := newServer(t, runtime.Options{Audit: sink, Sandbox: b},
		toolsetOf([]toolset.Tool{{Name: "a", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				ran = true
				return toolset.Done(nil)
			}}}))
	if got := callText(t, connectHTTP(t, serve(t, s), tokens["Member"], ""), "a", `{}`); ran ||
		got != "!the tool reached its limit on rate" {
		t.Error(ran, got)
	}
	if e := sink.taken()[0]; e.Failure != audit.Limited || e.Missing != "rate" {
		t.Errorf("%+v", e)
	}
}

func TestHandlersGetTheContextOfTheSandbox(t *testing.T) {
	b := &box{}
	s := newServer(t, runtime.Options{Sandbox: b},
		toolsetOf([]toolset.Tool{{Name: "a", Input: `{"type":"object"}`,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				if ctx.Value(insideKey{}) == nil {
					return toolset.Done(errors.New("it is not there"))
				}
				panic("while it is inside")
			}}}))
	if got := callText(t, connectHTTP(t, serve(t, s), tokens["Member"], ""), "a",
		`{}`); got != "!internal error" {
		t.Error(got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inside != 0 {
		t.Error("the call that panicked is inside for ever")
	}
}

func TestAnswerBeyondTheLimitIsAnError(t *testing.T) {
	for name, answer := range map[string]func(size int) (toolset.Result, error){
		"a result": func(size int) (toolset.Result, error) {
			return toolset.Wrapped(strings.Repeat("x", size-len(`{"result":""}`)), nil)
		},
		"a content": func(size int) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{
					Text: strings.Repeat("x",
						size-len(`{"content":[{"type":"text","text":""}]}`))}}}, nil, nil)
		},
	} {
		sink := &keeper{}
		size := 2048
		s := newServer(t, runtime.Options{Audit: sink},
			toolsetOf([]toolset.Tool{{Name: "a", Input: `{"type":"object"}`,
				Limits: toolset.Limits{Output: 2048},
				Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					return answer(size)
				}}}))
		session := connectHTTP(t, serve(t, s), tokens["Member"], "")
		if got := callText(t, session, "a", `{}`); strings.HasPrefix(got, "!") {
			t.Errorf("%s at its limit: %s", name, got)
		}
		size++
		if got := callText(t, session, "a",
			`{}`); got != "!the tool reached its limit on output (2 KiB): request less" {
			t.Errorf("%s beyond it: %.80s", name, got)
		}
		if e := sink.taken()[1]; e.Failure != audit.Limited || e.Missing != "output" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestConstraintsReachTheProcessOfACall(t *testing.T) {
	one := capability.Constraint(`{"site":"x"}`)
	var caller json.RawMessage
	b := &box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
		caller = call.Caller
		return json.RawMessage(`1`), nil
	}}
	tool := toolset.Tool{Name: "look", Isolate: "x", Input: `{"type":"object"}`,
		Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Wrapped(call.Isolated(capability.WithConstraints(ctx,
				[]capability.Constraint{one})))
		}}
	s := newServer(t, runtime.Options{Sandbox: b}, toolsetOf([]toolset.Tool{tool}))
	callText(t, connectHTTP(t, serve(t, s), tokens["Member"], ""), "look", `{}`)
	ctx, err := invoke.ChildContext(t.Context(), caller, nil)
	if got := capability.Constraints(ctx); err != nil || len(got) != 1 ||
		string(got[0]) != string(one) {
		t.Errorf("%s %v", got, err)
	}
}

func TestProcessThatGetsNonsenseRunsNothing(t *testing.T) {
	for _, caller := range []string{``, `[]`, `{"grants":[{"type":"x","resource":""}]}`,
		`{"bound":{"path":{"path":"docs/a"}}}`} {
		if _, err := invoke.ChildContext(t.Context(), json.RawMessage(caller),
			map[string]*os.File{}); err == nil {
			t.Errorf("%s is inherited", caller)
		}
	}
}

func TestResultsOfAHelperAreJSON(t *testing.T) {
	if text, err := isolate.Encoded(map[string]int{"a": 1}, nil); err != nil ||
		string(text) != `{"a":1}` {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := isolate.Encoded(nil, io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if _, err := isolate.Encoded(func() {}, nil); err == nil {
		t.Error("a func is no JSON")
	}
	if err := isolate.Refused(nil); err != nil {
		t.Error(err)
	}
}
