package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// purse is a source of grants that the test fills. All clients have the same.
type purse struct {
	held     []grant.Grant
	revision uint64
	failure  error
	asked    int
}

func (p *purse) Grants(_ context.Context, issuer, client string) ([]grant.Grant, uint64, error) {
	p.asked++
	held := make([]grant.Grant, len(p.held))
	for i, g := range p.held {
		g.Issuer, g.Client = issuer, client
		held[i] = g
	}
	return held, p.revision, p.failure
}

func (p *purse) Changes(context.Context) <-chan grant.Change { return nil }

// put replaces the grants.
func (p *purse) put(permissions ...grant.Permission) {
	p.revision++
	p.held = nil
	for i, permission := range permissions {
		p.held = append(p.held,
			grant.Grant{ID: fmt.Sprintf("%d.%d", p.revision, i), Permission: permission})
	}
}

func newRoots(t testing.TB, files ...string) *grant.Roots {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("A"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := grant.OpenRoots(map[string]string{"docs": dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close() })
	return roots
}

func newGrants(t testing.TB, source grant.Source, defaults ...grant.Permission) *Grants {
	t.Helper()
	g, err := NewGrants(source, defaults, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var reading = []toolset.Allow{{Kind: grant.FileRead, Argument: "path"}}

// permitting is a tool that needs permissions on its arguments.
func permitting(t testing.TB, allow []toolset.Allow, handle func(context.Context) error) *Tool {
	return newTool(t, toolset.Tool{Allow: allow},
		func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			var arguments map[string]string
			if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
				return toolset.Result{}, err
			}
			var named []toolset.Named
			for _, a := range allow {
				named = append(named,
					toolset.Named{Argument: a.Argument, Kinds: []string{a.Kind},
						Values: []string{arguments[a.Argument]}})
			}
			ctx, err := call.Allow(ctx, named...)
			if err != nil {
				return toolset.Result{}, err
			}
			return toolset.Done(handle(ctx))
		})
}

func TestGrantsAreCompiledOnceForARevision(t *testing.T) {
	p := &purse{}
	g := newGrants(t, p, grant.Permission{Type: "queue.push", Resource: "mail", Unrestricted: true})
	p.put(grant.Permission{Type: "queue.push", Resource: "post", Unrestricted: true})
	of := func(caller access.Principal) *grant.Set {
		set, err := g.Of(t.Context(), request.ClientOf(&caller))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	first := of(member)
	if of(member) != first || len(first.Grants()) != 2 || p.asked != 2 {
		t.Errorf("%v after %d questions", first.Grants(), p.asked)
	}
	p.put()
	if set := of(member); set == first || len(set.Grants()) != 1 {
		t.Errorf("%v", set.Grants())
	}
	if set := of(access.Principal{}); len(set.Grants()) != 1 || p.asked != 3 {
		t.Error("an anonymous caller's grants were asked for")
	}
	p.failure = errors.New("away")
	if _, err := g.Of(t.Context(), request.ClientOf(&member)); !errors.Is(err, p.failure) {
		t.Error(err)
	}
	p.failure = nil
	for i := range maxGrantSets + 10 {
		of(access.Principal{Issuer: "test", Subject: fmt.Sprint(i)})
	}
	if len(g.sets) != maxGrantSets {
		t.Errorf("%d sets are kept", len(g.sets))
	}
}

func TestGrantsThatCannotWork(t *testing.T) {
	if g, err := NewGrants(nil, nil, nil); g != nil || err != nil || g.Defaults() != nil {
		t.Error(g, err)
	}
	if g := newGrants(t, nil,
		grant.Permission{Type: "queue.push", Resource: "mail",
			Unrestricted: true}); len(g.Defaults()) != 1 {
		t.Error(g.Defaults())
	}
	for want, permission := range map[string]grant.Permission{
		"Options.Grants.Defaults: ": {Type: grant.FileRead, Resource: "/etc"},
		`unknown root "pubic"; the roots are docs`: {
			Type: grant.FileRead, Resource: "pubic/**"},
	} {
		if _, err := NewGrants(nil, []grant.Permission{permission}, newRoots(t)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestCallsAreDecidedByGrants(t *testing.T) {
	r, logged := newRunner(t)
	p := &purse{}
	r.Grants, r.Roots = newGrants(t, p), newRoots(t, "a")
	const unreadable = "!permission_denied: your grants could not be read: try again later"
	var file *os.File
	tool := permitting(t, reading, func(ctx context.Context) (err error) {
		file, err = grant.File(ctx, "path")
		return err
	})
	for name, test := range map[string]struct {
		before func()
		want   string
		report string
	}{
		"granted": {func() {
			p.put(grant.Permission{
				Type: grant.FileRead, Resource: "docs/**", Unrestricted: true})
		}, "",
			"   by file.read of path"},
		"none": {func() { p.put() }, `!permission_denied: file.read "docs/a": no grant allows it`,
			"denied grant file.read (no_grant)"},
		"no list": {func() { p.failure = errors.New("away") },
			unreadable, "denied grant the grants could not be read"},
		"no set": {func() {
			p.put(grant.Permission{Type: grant.FileRead, Resource: "docs/{a,b}",
				Unrestricted: true})
		},
			unreadable, "denied grant the grants could not be read"},
	} {
		p.failure = nil
		test.before()
		got, report, err := called(r, tool, `{"path":"docs/a"}`)
		described := fmt.Sprint(report.Failure, " ", report.Axis, " ", report.Missing)
		for _, use := range report.Grants {
			described += " by " + use.Kind + " of " + use.Argument
		}
		if got != test.want || err != nil || described != test.report {
			t.Errorf("%s: %q, %s, %v", name, got, described, err)
		}
	}
	if _, err := file.Stat(); err == nil {
		t.Error("a file of the call is open after its end")
	}
	if !strings.Contains(logged.String(), "error=away") {
		t.Errorf("logged %s", logged)
	}
}

// The pattern of //mcp:allow is for one argument, and grants decide first.
func TestCallsStayWithinTheBoundsOfTheirTool(t *testing.T) {
	allow := []toolset.Allow{{Kind: grant.FileRead, Argument: "path", Within: "**/a.txt"},
		{Kind: grant.FileRead, Argument: "other"}}
	r, _ := newRunner(t)
	p := &purse{}
	p.put(grant.Permission{Type: grant.FileRead, Resource: "docs/?.txt", Unrestricted: true})
	r.Grants, r.Roots = newGrants(t, p), newRoots(t, "a.txt", "b.txt", "a")
	tool := permitting(t, allow, func(context.Context) error { return nil })
	for arguments, want := range map[string]string{
		`{"path":"docs/a.txt","other":"docs/b.txt"}`: "  ",
		`{"path":"docs/b.txt","other":"docs/a.txt"}`: "denied grant file.read (out_of_bounds)",
		`{"path":"docs/a","other":"docs/a.txt"}`:     "denied grant file.read (no_grant)",
	} {
		_, report, err := called(r, tool, arguments)
		got := fmt.Sprint(report.Failure, " ", report.Axis, " ", report.Missing)
		if got != want || err != nil {
			t.Errorf("%s: %s, %v", arguments, got, err)
		}
	}
	allow[0].Within = "../x"
	if _, err := NewTool(toolset.Tool{Name: "t", Allow: allow, Call: tool.Call},
		Schemas{}); err == nil ||
		!strings.Contains(err.Error(), "the bound of path") {
		t.Errorf("a pattern that is not valid: %v", err)
	}
}

func TestGrantsOfACallAreReportedHoweverItEnds(t *testing.T) {
	synctest.Test(t, testGrantsAreReported)
}

func testGrantsAreReported(t *testing.T) {
	r, _ := newRunner(t)
	p := &purse{}
	p.put(grant.Permission{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true})
	r.Grants, r.Roots = newGrants(t, p), newRoots(t, "a")
	for want, end := range map[audit.Failure]func() error{
		audit.Crashed: func() error { panic("!") },
		audit.Errored: func() error { return errors.New("no") },
		audit.Timeout: func() error { time.Sleep(time.Hour); return nil },
	} {
		tool := permitting(t, reading, func(context.Context) error { return end() })
		tool.Timeout = time.Minute
		if _, report, _ := called(r, tool, `{"path":"docs/a"}`); report.Failure != want ||
			len(report.Grants) != 1 {
			t.Errorf("%+v, want %s", report, want)
		}
	}
	time.Sleep(time.Hour) // until the late handler has returned
}

func TestRefusedCallLeavesNoFile(t *testing.T) {
	r, _ := newRunner(t)
	p := &purse{}
	p.put(grant.Permission{Type: grant.FileWrite, Resource: "docs/**", Unrestricted: true})
	r.Grants, r.Roots = newGrants(t, p), newRoots(t)
	tool := permitting(t,
		[]toolset.Allow{{Kind: grant.FileWrite, Argument: "to"},
			{Kind: "queue.push", Argument: "queue"}}, func(context.Context) error {
			return errors.New("it ran")
		})
	if got, _, _ := called(r, tool,
		`{"to":"docs/new","queue":"mail"}`); !strings.HasPrefix(
		got, "!permission_denied: queue.push") {
		t.Error(got)
	}
	if got, report, _ := called(r, permitting(
		t, reading, func(context.Context) error { return nil }),
		`{"path":"docs/new"}`); report.Failure == "" {
		t.Errorf("a refused call has made a file: %s", got)
	}
}

func TestToolThatIsNotRequestedAsItWasDeclaredIsRefused(t *testing.T) {
	r, _ := newRunner(t)
	p := &purse{}
	p.put(grant.Permission{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true})
	r.Grants, r.Roots = newGrants(t, p), newRoots(t, "a")
	for name, named := range map[string][]toolset.Named{
		"none": {},
		"another one": {{Argument: "to", Kinds: []string{grant.FileRead},
			Values: []string{"docs/a"}}},
		"another kind": {{Argument: "path", Kinds: []string{grant.FileWrite},
			Values: []string{"docs/a"}}},
		"no kind": {{Argument: "path", Values: []string{"docs/a"}}},
		"no kind beside": {{Argument: "path", Kinds: []string{grant.FileRead},
			Values: []string{"docs/a"}}, {Argument: "to"}},
		"several values": {{Argument: "path", Kinds: []string{grant.FileRead},
			Values: []string{"docs/a", "docs/b"}}},
	} {
		tool := newTool(t, toolset.Tool{Allow: reading},
			func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				_, err := call.Allow(ctx, named...)
				return toolset.Done(err)
			})
		if got, report, _ := called(r, tool, `{}`); report.Failure != audit.Errored ||
			!strings.Contains(got, "run go generate") {
			t.Errorf("%s: %s %+v", name, got, report)
		}
	}
	without, _ := newRunner(t)
	tool := permitting(t, reading, func(context.Context) error { return nil })
	if got, _, _ := called(without, tool,
		`{"path":"docs/a"}`); got != "!"+toolset.ErrOutsideServer.Error() {
		t.Error(got)
	}
}

func TestToolNeedsWhatItWasDeclaredWith(t *testing.T) {
	all := Dependencies{Grants: true, Roots: true, Sandbox: true}
	for want, test := range map[string]struct {
		tool toolset.Tool
		has  Dependencies
	}{
		"set Options.Grants.Source": {toolset.Tool{Allow: reading}, Dependencies{Roots: true}},
		"set Options.Grants.Roots":  {toolset.Tool{Allow: reading}, Dependencies{Grants: true}},
		"isolate=process of":        {toolset.Tool{Isolate: "x"}, Dependencies{}},
		"calls at a time":           {toolset.Tool{Limits: toolset.Limits{Concurrency: -1}}, all},
		"on their rate": {toolset.Tool{Limits: toolset.Limits{Rate: toolset.Rate{
			Calls: 1}}}, all},
		"is not positive": {toolset.Tool{Limits: toolset.Limits{Rate: toolset.Rate{
			Per: 1}}}, all},
		"isolate=process only": {toolset.Tool{Limits: toolset.Limits{Memory: 1}}, all},
		"it has //mcp:allow or isolate=process, but its generated code uses neither: run " +
			"go generate": {toolset.Tool{Isolate: "x", Handle: answer}, all},
	} {
		test.tool.Name = "t"
		err := CheckGuarded(&Tool{Tool: test.tool}, test.has)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), `tool "t": `) {
			t.Errorf("%s: %v", want, err)
		}
		if err := CheckGuarded(&Tool{Tool: test.tool}, all); (err != nil) != (test.has == all) {
			t.Errorf("%s: with all of it: %v", want, err)
		}
	}
}

func answer(context.Context, *decode.Reader) (any, error) { return nil, nil }

func TestRefusalOffersToAskAnAdministrator(t *testing.T) {
	const (
		refused        = `!permission_denied: file.read "docs/./a[1]": no grant allows it`
		refusedContent = `{"error":"permission_denied","kind":"file.read",` +
			`"resource":"docs/./a[1]","cause":"no_grant","permission":"docs/a\\[1\\]","restricted":false`
	)
	accept := func(reason any) mcp.InputResponseMap {
		return mcp.InputResponseMap{inputKey: &mcp.ElicitResult{Action: "accept",
			Content: map[string]any{"reason": reason}}}
	}
	for name, test := range map[string]struct {
		responses mcp.InputResponseMap
		change    func(*Runner, *request.Info)
		asks      bool
		want      string
		reason    string // of the request that is made; empty for none
	}{
		"asked": {asks: true},
		"declined": {responses: mcp.InputResponseMap{
			inputKey: &mcp.ElicitResult{Action: "decline"}},
			want: refused},
		//lint:ignore SA1019 older clients send it
		"of another kind": {responses: mcp.InputResponseMap{inputKey: &mcp.ListRootsResult{}},
			want: refused},
		"accepted": {responses: accept("to index it"),
			want:   refused + "; the server sent an administrator the request 1",
			reason: "to index it"},
		"without elicitation": {change: func(_ *Runner, i *request.Info) { i.Inputs.Form = false },
			want: refused},
		"without requests": {change: func(r *Runner, _ *request.Info) { r.Requests = nil },
			want: refused},
		"refused by those": {change: func(r *Runner,
			_ *request.Info) {
			r.Requests = failing{grant.NewMemory()}
		}, responses: accept("x"), want: refused},
		"by a tool": {change: func(r *Runner, i *request.Info) {
			r.Requests,
				i.Principal.Roles = nil, []string{"Admin"}
		}, want: refused + "; request it with the tool request_permission and restricted=false"},
	} {
		r, _ := newRunner(t)
		kept := grant.NewMemory()
		r.Grants, r.Roots, r.Requests = newGrants(t, kept), newRoots(t, "a[1]"), kept
		r.Event = func(i *request.Info) audit.Event {
			return audit.Event{
				Principal: i.Principal.Subject}
		}
		info := message(r, member)
		info.Inputs.Form = true
		if test.change != nil {
			test.change(r, info)
		}
		tool := permitting(t, reading, func(context.Context) error { return errors.New("it ran") })
		res, report, err := r.Tool(t.Context(), info, tool,
			mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
				Arguments:      json.RawMessage(`{"path":"docs/./a[1]"}`),
				InputResponses: test.responses,
			}})
		if err != nil || report.Failure != audit.Denied || report.Axis != audit.AxisGrant ||
			report.Missing != "file.read (no_grant)" {
			t.Errorf("%s: %+v %v", name, report, err)
		}
		if (res.InputRequests[inputKey] != nil) != test.asks || text(res) != test.want {
			t.Errorf("%s: %q %+v", name, text(res), res)
		}
		content, _ := json.Marshal(res.StructuredContent)
		if !test.asks && !strings.HasPrefix(string(content), refusedContent) {
			t.Errorf("%s: %s", name, content)
		}
		open, err := kept.Requests(t.Context(), grant.Filter{})
		if err != nil || (len(open) == 1) != (test.reason != "") || len(open) == 1 &&
			(open[0].Reason != test.reason || !bool(open[0].Unrestricted)) {
			t.Errorf("%s: %+v %v", name, open, err)
		}
	}
}

// failing takes no requests.
type failing struct{ *grant.Memory }

func (failing) Ask(context.Context, grant.Request) (grant.Request, error) {
	return grant.Request{}, grant.ErrTooMany
}

func TestPermissionsThatHoldASecretAreNotOffered(t *testing.T) {
	r, _ := newRunner(t)
	kept := grant.NewMemory()
	r.Grants, r.Roots, r.Requests = newGrants(t, kept), newRoots(t), kept
	info := message(r, member)
	info.Inputs.Form = true
	tool := permitting(t, reading, func(context.Context) error { return nil })
	res, _, err := r.Tool(t.Context(), info, tool,
		mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Arguments: json.RawMessage(`{"path":"docs/password=hunter2hunter2"}`),
		}})
	content, _ := json.Marshal(res.StructuredContent)
	if err != nil || res.InputRequests != nil ||
		strings.Contains(string(content)+text(res), "hunter2") ||
		strings.Contains(string(content), `"permission":`) {
		t.Errorf("%s %s %v", text(res), content, err)
	}
}

// A handler that ran may report a refusal itself, which is not an offer to ask.
func TestHandlersDoNotMakeUpOffers(t *testing.T) {
	made := &grant.Denied{Kind: grant.NetConnect, Resource: "made-up.example:1",
		Cause:  grant.NoGrant,
		Reason: "made up"}
	r, _ := newRunner(t)
	kept := grant.NewMemory()
	r.Grants, r.Requests = newGrants(t, kept), kept
	info := message(r, member)
	info.Inputs.Form = true
	tool := newTool(t, toolset.Tool{}, returns(toolset.Done(made)))
	res, report, err := r.Tool(t.Context(), info, tool,
		mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
	if err != nil || res.InputRequests != nil || !res.IsError || report.Failure != audit.Errored ||
		report.Axis != audit.AxisGrant {
		t.Errorf("%+v %+v %v", res, report, err)
	}
}
