package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// box is a sandbox without walls.
type box struct {
	folder  string
	start   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	started isolate.Start
	entered []isolate.Client
	inside  int
}

type insideKey struct{}

func (b *box) Folder() string { return b.folder }

func (b *box) Start(s isolate.Start) error {
	b.started = s
	return b.start
}

func (b *box) Enter(ctx context.Context, client isolate.Client) (context.Context, func()) {
	b.entered = append(b.entered, client)
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() { b.inside-- }
}

func (b *box) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	return b.isolate(ctx, call)
}

// words are the error of a handler in another process.
type words string

func (w words) Error() string        { return string(w) }
func (w words) HandlerError() string { return string(w) }

var everyFamily = []toolset.Allow{
	{Kind: grant.FileRead, Argument: "path"}, {Kind: grant.SystemCommand, Argument: "argv"},
	{Kind: grant.NetConnect, Argument: "host"}, {Kind: "queue.push", Argument: "queue"},
}

// apart is a tool that runs in a process of its own, as generated code has it.
func apart(t testing.TB, tool toolset.Tool) *Tool {
	tool.Isolate = "example.com/apart.t"
	return newTool(t, tool, func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		if len(tool.Allow) > 0 {
			var err error
			if ctx, err = call.Allow(ctx,
				toolset.Named{Argument: "path", Kinds: []string{grant.FileRead},
					Values: []string{"docs/a"}},
				toolset.Named{Argument: "argv", Kinds: []string{grant.SystemCommand},
					Values: []string{"echo", "x"}},
				toolset.Named{Argument: "host", Kinds: []string{grant.NetConnect},
					Values: []string{"127.0.0.1:9"}},
				toolset.Named{Argument: "queue", Kinds: []string{"queue.push"},
					Values: []string{"mail"}}); err != nil {
				return toolset.Result{}, err
			}
		}
		return toolset.Structured(call.Isolated(ctx))
	})
}

// isolating returns a runner for isolated tools, with grants of every family.
func isolating(t testing.TB, b *box) (*Runner, *journal) {
	r, logged := newRunner(t)
	p := &purse{}
	p.put(grant.Permission{Type: grant.FileRead, Resource: "docs/**"},
		grant.Permission{Type: grant.SystemCommand, Resource: "echo *", Unrestricted: true},
		grant.Permission{Type: grant.NetConnect, Resource: "127.0.0.1:1-9", Unrestricted: true},
		grant.Permission{Type: "queue.push", Resource: "mail", Unrestricted: true})
	r.Grants, r.Roots, r.Sandbox = newGrants(t, p), newRoots(t, "a"), b
	return r, logged
}

func TestHandlerInItsOwnProcessFindsWhatWasDecided(t *testing.T) {
	synctest.Test(t, testHandlerInItsOwnProcess)
}

func testHandlerInItsOwnProcess(t *testing.T) {
	var sent isolate.Call
	handle := func(ctx context.Context) (string, error) {
		who, ok := request.Caller(ctx)
		if !ok || who.Subject != "ada" || !slices.Equal(who.Roles, []string{"Member"}) ||
			who.Permits != nil {
			return "", fmt.Errorf("the caller is %+v", who)
		}
		file, err := grant.File(ctx, "path")
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
		dialer, err := grant.Connect(ctx, "host")
		if err != nil {
			return "", err
		}
		if _, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:80"); err == nil ||
			!strings.Contains(err.Error(), grant.Code) {
			return "", fmt.Errorf("another host: %v", err)
		}
		_, err = dialer.DialContext(ctx, "tcp", "127.0.0.1:8")
		if d, ok := errors.AsType[*grant.Denied](err); !ok || d.Cause != grant.OutOfBounds {
			return "", fmt.Errorf("a granted host out of the bounds: %v", err)
		}
		return fmt.Sprint(file != nil, " ", path, " ", cmd.Args, " ", request.From(ctx).ID), nil
	}
	b := &box{isolate: func(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
		sent = call
		if ctx.Value(insideKey{}) == nil {
			return nil, errors.New("it is outside")
		}
		call.Emitted(json.RawMessage(`{"advice":{"priority":1,"text":"hint"}}`))
		call.Emitted(json.RawMessage(`{`))
		inside, err := ChildContext(t.Context(), call.Caller, call.Files)
		if err != nil {
			return nil, err
		}
		return isolate.Encoded(handle(inside))
	}}
	r, logged := isolating(t, b)
	bounded := slices.Clone(everyFamily)
	bounded[2].Within = "127.0.0.1:9"
	got, report, err := called(r,
		apart(t,
			toolset.Tool{Allow: bounded, Timeout: 7 * time.Second,
				Limits: toolset.Limits{Memory: 1 << 20, Concurrency: 3}}), `{"n":1}`)
	if got != `"true docs/a [echo x] m"+hint` || err != nil || report.Failure != "" ||
		len(report.Grants) != 4 {
		t.Errorf("%s %+v %v", got, report, err)
	}
	if sent.Name != "example.com/apart.t" || !sent.Network || !sent.Programs ||
		sent.Limits.Memory != 1<<20 || string(sent.Arguments) != `{"n":1}` ||
		sent.Timeout != 7*time.Second || len(sent.Files) != 1 ||
		sent.Files["path"] == nil {
		t.Errorf("%+v", sent)
	}
	if b.entered[0] != (isolate.Client{Issuer: "test", ID: "ada"}) || b.inside != 0 {
		t.Errorf("%q, %d inside", b.entered[0], b.inside)
	}
	if !strings.Contains(logged.String(), "messages=1") {
		t.Errorf("logged %s", logged)
	}
}

func TestWhatAnIsolatedCallComesTo(t *testing.T) {
	denied := &grant.Denied{Kind: grant.NetConnect, Resource: "x:1", Cause: grant.NoGrant,
		Reason: "no grant holds it"}
	made := &grant.Denied{Kind: grant.SystemCommand, Resource: "sh -c x", Cause: grant.NoGrant,
		Reason: "made up"}
	long := &grant.Denied{Kind: grant.NetConnect, Resource: strings.Repeat("x", 8<<10),
		Cause: grant.NoGrant}
	for name, test := range map[string]struct {
		answer string
		err    error
		want   string
		status audit.Failure
		axis   string
		logged string
		killed bool
	}{
		"a result": {`"fine"`, nil, `"fine"`, "", "", "", false},
		"its own error": {"", words("no such thing"), "!no such thing", audit.Errored, "", "",
			false},
		"a limit": {"", limited("memory"), "!the tool reached its limit on memory",
			audit.Limited, audit.AxisLimit, "", true},
		"a refusal": {"", words(isolate.Refused(denied).Error()),
			`!permission_denied: net.connect "x:1": no grant holds it`,
			audit.Errored, audit.AxisGrant, "", false},
		"a question": {"", words("the amount: " + errCannotAsk.Error()), "!internal error",
			audit.Crashed, "", "write elicits", false},
		"no answer": {"", errors.New("exit status 3, at /srv/secret"), "!internal error",
			audit.Crashed, "", "/srv/secret", false},
		"an odd refusal": {"", words("\x00denied\x00{"), "!{", audit.Errored, "", "", false},
		"one that is null": {"", words("\x00denied\x00null"), "!null", audit.Errored, "", "",
			false},
		"one of another kind": {"", words(isolate.Refused(made).Error()),
			`!{"Kind":"system.command"`,
			audit.Errored, "", "", false},
		"a long one": {"", words(isolate.Refused(long).Error()), `!{"Kind":"net.connect"`,
			audit.Errored, "", "", false},
	} {
		r, logged := isolating(t,
			&box{isolate: func(context.Context, isolate.Call) (json.RawMessage, error) {
				return json.RawMessage(test.answer), test.err
			}})
		got, report, err := called(r, apart(t, toolset.Tool{Allow: everyFamily}), `{}`)
		if !strings.HasPrefix(got, test.want) || err != nil || report.Failure != test.status ||
			report.Axis != test.axis ||
			report.Killed != test.killed || len(report.Grants) != 4 ||
			!strings.Contains(logged.String(), test.logged) {
			t.Errorf("%s: %s %+v %v", name, got, report, err)
		}
	}
}

func TestIsolatedCallThatTakesTooLongIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := isolating(t,
			&box{isolate: func(ctx context.Context, _ isolate.Call) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, errors.New("signal: killed")
			}})
		if got, report, _ := called(r, apart(t, toolset.Tool{Timeout: 500 * time.Millisecond}),
			`{}`); got != "!timed out after 500ms" || !report.Killed || report.Failure != audit.Timeout {
			t.Errorf("%s %+v", got, report)
		}
	})
}

func TestIsolatedCallNeedsASandboxAndADecision(t *testing.T) {
	r, _ := newRunner(t)
	if got, _, _ := called(r, apart(t, toolset.Tool{}),
		`{}`); got != "!"+toolset.ErrOutsideServer.Error() {
		t.Error(got)
	}
	r, _ = isolating(t, &box{})
	tool := newTool(t, toolset.Tool{Allow: reading, Isolate: "x"},
		func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Structured(call.Isolated(ctx))
		})
	const unchecked = "!the permissions of the call were not checked: run go generate"
	if got, _, _ := called(r, tool, `{}`); got != unchecked {
		t.Error(got)
	}
}

// The calls of a tool with a rate or a concurrency are counted without a sandbox too.
func TestCallBeyondALimitDoesNotRun(t *testing.T) {
	r, _ := newRunner(t)
	runs := 0
	var inner func() (string, Report, error)
	tool := newTool(t, toolset.Tool{Limits: toolset.Limits{
		Concurrency: 1, Rate: toolset.Rate{Calls: 2, Per: 1000 * time.Hour}}},
		func(context.Context, toolset.Call) (toolset.Result, error) {
			if runs++; runs == 1 {
				got, report, _ := inner()
				if got != "!the tool reached its limit on calls at a time (1)" ||
					report.Failure != audit.Limited || report.Missing != "calls at a time" {
					t.Errorf("a call in a call: %s %+v", got, report)
				}
				return toolset.Done(nil)
			}
			panic("it runs")
		})
	inner = func() (string, Report, error) { return called(r, tool, `{}`) }
	inner()
	inner() // which panics, and is over all the same
	got, report, _ := inner()
	if runs != 2 || !strings.HasPrefix(got, "!the limit on the rate (2 in 1000h0m0s) is reached") ||
		report.Failure != audit.Limited || report.Missing != "rate" {
		t.Errorf("%s %+v after %d runs", got, report, runs)
	}
}

func TestACallLeavesItsSandbox(t *testing.T) {
	b := &box{}
	r, _ := isolating(t, b)
	called(r,
		newTool(t, toolset.Tool{},
			func(context.Context, toolset.Call) (toolset.Result,
				error) {
				panic("while it is inside")
			}), `{}`)
	if len(b.entered) != 1 || b.inside != 0 {
		t.Errorf("%d inside", b.inside)
	}
}

func TestConstraintsReachTheProcessOfACall(t *testing.T) {
	one := capability.Constraint(`{"site":"x"}`)
	var caller json.RawMessage
	r, _ := isolating(t,
		&box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
			caller = call.Caller
			return json.RawMessage(`1`), nil
		}})
	tool := newTool(t, toolset.Tool{Isolate: "x"},
		func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Structured(call.Isolated(capability.WithConstraints(ctx,
				[]capability.Constraint{one})))
		})
	called(r, tool, `{}`)
	ctx, err := ChildContext(t.Context(), caller, nil)
	if got := capability.Constraints(ctx); err != nil || len(got) != 1 ||
		string(got[0]) != string(one) {
		t.Errorf("%s %v", got, err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(caller, &keys); err != nil || keys["log"] == nil ||
		keys["progress"] != nil || string(keys["requestId"]) != `"m"` {
		t.Errorf("%s %v", caller, err)
	}
}

// The process of a call has no boundary, and so only the roles that count within it.
func TestProcessOfACallGetsTheRolesWithinTheBoundary(t *testing.T) {
	var caller json.RawMessage
	r, _ := isolating(t,
		&box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
			caller = call.Caller
			return json.RawMessage(`1`), nil
		}})
	admin := access.Principal{Issuer: "test", Subject: "ada", Roles: []string{"Admin"}}
	admin.Bounds = r.Policy.Table.Bounds([]string{"Member"},
		func(access.Kind, access.Rule) bool { return true })
	calledBy(r, message(r, admin), apart(t, toolset.Tool{}),
		&mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{}`)})
	ctx, err := ChildContext(t.Context(), caller, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := request.Caller(ctx); !slices.Equal(p.Roles, []string{"Member"}) || p.Bounds != nil {
		t.Errorf("%+v", p)
	}
}

func TestProcessThatGetsNonsenseRunsNothing(t *testing.T) {
	for _, caller := range []string{``, `[]`, `{"grants":[{"type":"x","resource":""}]}`,
		`{"bound":[{"Argument":"path","Opened":{"Path":"docs/a"}}]}`} {
		if _, err := ChildContext(t.Context(), json.RawMessage(caller),
			map[string]*os.File{}); err == nil {
			t.Errorf("%s is inherited", caller)
		}
	}
}

func TestIsolatedHandlerSendsWhatIsWanted(t *testing.T) {
	for caller, want := range map[string]bool{`{"log":"INFO","progress":true}`: true, `{}`: false} {
		sent := 0
		ctx, end := notify.Emitting(t.Context(),
			func(json.RawMessage, bool) bool { sent++; return true })
		ctx, err := ChildContext(ctx, json.RawMessage(caller), nil)
		if err != nil {
			t.Fatal(err)
		}
		notify.Logger(ctx).Info("fine")
		notify.Progress(ctx).Report(1, 2, "half")
		end()
		if (sent == 2) != want || (sent == 0) == want {
			t.Errorf("%s: %d events", caller, sent)
		}
	}
}

func TestSandboxIsStartedForItsTools(t *testing.T) {
	tools := map[string]*Tool{
		"a": apart(t, toolset.Tool{Name: "a"}), "b": apart(t,
			toolset.Tool{Name: "b", Allow: everyFamily}),
		"c": newTool(t, toolset.Tool{Name: "c", Allow: everyFamily}, idle),
	}
	tools["a"].Isolate = "z"
	b := &box{}
	if err := StartSandbox(b, isolate.Start{}, nil, tools); err != nil || !b.started.Network ||
		!b.started.Programs ||
		!slices.Equal(b.started.Isolated, []string{"example.com/apart.t", "z"}) {
		t.Errorf("%+v %v", b.started, err)
	}
	delete(tools, "b")
	if err := StartSandbox(b, isolate.Start{}, nil, tools); err != nil || b.started.Network ||
		b.started.Programs || len(b.started.Isolated) != 1 {
		t.Errorf("%+v %v", b.started, err)
	}
	b.start = errors.New("no helper")
	if err := StartSandbox(b, isolate.Start{}, nil, tools); err == nil ||
		err.Error() != "Options.Sandbox: no helper" {
		t.Error(err)
	}
	if err := StartSandbox(nil, isolate.Start{}, nil, tools); err != nil {
		t.Error(err)
	}
}

func idle(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

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
	roots, err := grant.OpenRoots(map[string]string{"files": filepath.Join(dir, "files")})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	const inside = `in the root "files"`
	for at, want := range map[string]string{
		"files": inside, "files/deep/ws": inside, "link/ws": inside,
		"files2": "", ".": "", "none": "no such file",
	} {
		err := StartSandbox(&box{folder: filepath.Join(dir, at)}, isolate.Start{}, roots, nil)
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
