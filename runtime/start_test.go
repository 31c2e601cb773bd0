package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func good(name string) toolset.Tool {
	return toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: nothing}
}

func TestNewNamesTheSettingAndTheCure(t *testing.T) {
	t.Parallel()
	generated := func(change func(*toolset.Generated)) toolset.Toolset {
		g := toolset.Generated{Package: "example.com/p", Server: toolset.ServerInfo{Name: "p"},
			Table: access.Table{Roles: access.DefaultRoles(),
				Rules: []access.Rule{{Tool: "t", Authenticated: true}}},
			Tools: []toolset.Tool{good("t")}}
		change(&g)
		return toolset.NewToolset(g)
	}
	rule := func(r access.Rule) toolset.Toolset {
		r.Tool = "t"
		return generated(func(g *toolset.Generated) { g.Table.Rules[0] = r })
	}
	tool := func(change func(*toolset.Tool)) toolset.Toolset {
		return generated(func(g *toolset.Generated) { change(&g.Tools[0]) })
	}
	fine := generated(func(*toolset.Generated) {})
	for name, test := range map[string]struct {
		options  runtime.Options
		toolsets []toolset.Toolset
		want     string
	}{
		"no toolset": {runtime.Options{}, nil,
			"no toolset: pass the results of generated Toolset functions"},
		"a zero toolset": {runtime.Options{}, []toolset.Toolset{fine, {}},
			"toolset 2 is empty"},
		"a nil receiver": {runtime.Options{},
			[]toolset.Toolset{generated(func(g *toolset.Generated) {
				g.Receivers = []any{&desk{}, (*desk)(nil)}
			})}, "package example.com/p: argument 2 of Toolset is nil"},
		"a nil interface": {runtime.Options{},
			[]toolset.Toolset{generated(func(g *toolset.Generated) {
				g.Receivers = []any{nil}
			})}, "argument 1 of Toolset is nil"},
		"a tool without a rule": {runtime.Options{},
			[]toolset.Toolset{generated(func(g *toolset.Generated) {
				g.Tools = append(g.Tools, good("u"))
			})}, `tool "u" has no rule in Generated.Table: run go generate`},
		"a rule without a tool": {runtime.Options{},
			[]toolset.Toolset{generated(func(g *toolset.Generated) {
				g.Tools = nil
			})}, `the rule of "t" has no tool: run go generate`},
		"a tool twice": {runtime.Options{}, []toolset.Toolset{generated(func(g *toolset.Generated) {
			g.Tools = append(g.Tools, good("t"))
		})}, `tool "t" is there twice: run go generate`},
		"no server name": {runtime.Options{},
			[]toolset.Toolset{generated(func(g *toolset.Generated) {
				g.Server.Name = ""
			})}, "write //mcp:server name="},
		"a permission alone": {runtime.Options{Host: runtime.HostOptions{RecordOnly: true}},
			[]toolset.Toolset{rule(access.Rule{Permission: access.Permission{App: "dcim",
				Action: "view", Object: "device"}})},
			`tool "t" has only the rule dcim.view_device, which only permission-aware discovery ` +
				`enforces: add authenticated, minrole= or scopes=`},
		"public and a role": {runtime.Options{},
			[]toolset.Toolset{rule(access.Rule{Public: true, MinRole: viewer})},
			"public excludes other requirements"},
		"public and a permission": {runtime.Options{},
			[]toolset.Toolset{rule(access.Rule{Public: true, Permission: access.Permission{App: "a",
				Action: "b"}})}, "public excludes other requirements"},
		"a role out of reach": {runtime.Options{},
			[]toolset.Toolset{rule(access.Rule{MinRole: 5})}, "role number 5, but the hierarchy has 4"},
		"a toolset twice": {runtime.Options{}, []toolset.Toolset{fine, fine},
			"package example.com/p: its Toolset is passed twice: pass it once"},
		"tool names twice": {runtime.Options{},
			[]toolset.Toolset{fine, generated(func(g *toolset.Generated) {
				g.Package = "example.com/q"
			})}, `tool "t" is declared by package example.com/p and by package example.com/q: rename one`},
		"unequal hierarchies": {runtime.Options{},
			[]toolset.Toolset{fine, generated(func(g *toolset.Generated) {
				g.Package, g.Table.Roles = "example.com/q", []string{"A", "B"}
			})}, "packages example.com/p and example.com/q have different role hierarchies (Viewer < Member < Manager < Admin; A < B)"},
		"no handler": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Call = nil
		})}, "it has no handler: run go generate"},
		"a name with a space": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Name = "a b"
		})}, "not a tool name"},
		"an empty name": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Name = ""
		})}, "not a tool name"},
		"a long name": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Name = strings.Repeat("a", 129)
		})}, "not a tool name"},
		"a catalog without a name": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Catalogs = []string{"a", ""}
			})}, `tool "t": it is in a catalog without a name: run go generate`},
		"a catalog twice": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Catalogs = []string{"a", "b", "a"}
		})}, `tool "t": it is in the catalog "a" twice: run go generate`},
		"a negative timeout": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Timeout = -1
		})}, "its timeout is -1ns"},
		"an input that is no JSON": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Input = "{"
			})}, "its input schema is not JSON"},
		"an input that is no object": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Input = `{"type":"array"}`
			})}, `its input schema is not of type "object"`},
		"an output that is no JSON": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Output = "{"
			})}, "output schema"},
		"an output that refers to nothing": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Output = `{"$ref":"#/$defs/X"}`
			})}, `$ref "#/$defs/X" has no target`},
		"a header that is no name": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Input = `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`
			})}, "x-mcp-header at a"},
		"a header that is a number": {runtime.Options{},
			[]toolset.Toolset{tool(func(t *toolset.Tool) {
				t.Input = `{"type":"object","properties":{"a":{"properties":{"b":{"x-mcp-header":7}}}}}`
			})}, "x-mcp-header at a.b"},
		"a header twice": {runtime.Options{}, []toolset.Toolset{tool(func(t *toolset.Tool) {
			t.Input = `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"R"}}}`
		})}, "binds two properties to the header R"},
		"an unknown denial": {runtime.Options{
			Access: runtime.AccessOptions{Denial: 9}}, []toolset.Toolset{fine},
			"Options.Access.Denial is 9"},
		"a negative number of sessions": {runtime.Options{
			HTTP: runtime.HTTPOptions{MaxSessions: -1}},
			[]toolset.Toolset{fine}, "Options.HTTP.MaxSessions is -1"},
		"a negative share of sessions": {runtime.Options{HTTP: runtime.HTTPOptions{MaxPerUser: -1}},
			[]toolset.Toolset{fine}, "Options.HTTP.MaxPerUser is -1"},
		"a negative time for the audit": {runtime.Options{Audit: runtime.AuditOptions{Timeout: -1}},
			[]toolset.Toolset{fine}, "Options.Audit.Timeout is -1ns"},
		"a negative page": {runtime.Options{
			Lists: runtime.ListOptions{PageSize: -1}}, []toolset.Toolset{fine},
			"Options.Lists.PageSize is -1"},
		"a negative body": {runtime.Options{HTTP: runtime.HTTPOptions{MaxBody: -1}},
			[]toolset.Toolset{fine}, "Options.HTTP.MaxBody is -1"},
		"a negative timeout of sessions": {runtime.Options{
			HTTP: runtime.HTTPOptions{SessionTimeout: -1}},
			[]toolset.Toolset{fine}, "Options.HTTP.SessionTimeout is -1ns"},
		"a negative timeout of identity": {runtime.Options{
			HTTP: runtime.HTTPOptions{IdentityTimeout: -1}},
			[]toolset.Toolset{fine}, "Options.HTTP.IdentityTimeout is -1ns"},
		"a nil interceptor": {runtime.Options{Interceptors: []intercept.Middleware{nil}},
			[]toolset.Toolset{fine}, "Options.Interceptors[0] is nil"},
		"a role that is not": {runtime.Options{Access: runtime.AccessOptions{AdminRole: "Root"}},
			[]toolset.Toolset{fine},
			`Options.Access.AdminRole is "Root", which is not a role of Viewer < Member < Manager < Admin`},
		"an origin with a path": {runtime.Options{
			HTTP: runtime.HTTPOptions{Origins: []string{"https://a.example/"}}},
			[]toolset.Toolset{fine}, `Options.HTTP.Origins has "https://a.example/"`},
		"any origin": {runtime.Options{HTTP: runtime.HTTPOptions{Origins: []string{"*"}}},
			[]toolset.Toolset{fine}, `Options.HTTP.Origins has "*"`},
		"a host with a port": {runtime.Options{
			HTTP: runtime.HTTPOptions{Hosts: []string{"a.example:80"}}},
			[]toolset.Toolset{fine}, `Options.HTTP.Hosts has "a.example:80"`},
		"a short key": {runtime.Options{
			Protocol: runtime.ProtocolOptions{StateKey: []byte("short")}},
			[]toolset.Toolset{fine}, "Options.Protocol.StateKey has 5 bytes"},
		"a verifier that is nil": {runtime.Options{Identity: identity.Bearer(nil)},
			[]toolset.Toolset{fine}, "Options.Identity: identity.Bearer has no verifier"},
		"tokens that are not hashed": {runtime.Options{Identity: identity.Static(map[string]access.Principal{"secret-token": {Subject: "ada"}})}, []toolset.Toolset{fine}, `Options.Identity: identity.Static: the key of principal "ada" is not a token hash`},
		"a token of a misspelt role": {runtime.Options{Identity: identity.Static(map[string]access.Principal{identity.HashToken("t"): {Subject: "ada", Role: "admin"}})}, []toolset.Toolset{fine}, `Options.Identity: principal "ada": the principal's role is "admin", which is not a role of Viewer < Member < Manager < Admin`},
		"a nil sink": {runtime.Options{Audit: runtime.AuditOptions{Sink: (*keeper)(nil)}},
			[]toolset.Toolset{fine}, "Options.Audit.Sink is a nil *runtime_test.keeper"},
		"a nil source": {runtime.Options{Identity: (*nilSource)(nil)},
			[]toolset.Toolset{fine}, "Options.Identity is a nil *runtime_test.nilSource"},
	} {
		test.options.Logger = quiet()
		s, err := runtime.New(test.options, test.toolsets...)
		if err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: the error shows a token: %v", name, err)
		}
	}
}

type nilSource struct{ identity.Source }

func TestNewReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := runtime.New(runtime.Options{Logger: quiet(),
		Lists: runtime.ListOptions{PageSize: -1}, Access: runtime.AccessOptions{Denial: 9}},
		toolset.NewToolset(toolset.Generated{
			Package: "example.com/p", Receivers: []any{nil}, Tools: []toolset.Tool{{Name: "a b"}},
			Table: access.Table{Roles: []string{"A", "A"},
				Rules: []access.Rule{{Tool: "x", Public: true, Authenticated: true}}},
		}))
	for _, want := range []string{"PageSize", "Denial", "argument 1", "not a tool name", "no rule",
		"no tool", "server has no name", "role A twice", "public excludes other requirements"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestToolsetsForAnybodyTakeTheServersHierarchy(t *testing.T) {
	t.Parallel()
	tools := toolset.NewToolset(toolset.Generated{
		Package: "example.com/debug", Server: toolset.ServerInfo{Name: "debug"},
		Table: access.Table{Rules: []access.Rule{{Tool: "low", MinRole: access.Lowest},
			{Tool: "high", MinRole: access.Highest}}},
		Tools: []toolset.Tool{good("low"), good("high")},
	})
	own := toolset.NewToolset(toolset.Generated{
		Package: "example.com/own", Server: toolset.ServerInfo{Name: "own", Version: "2"},
		Table: access.Table{Roles: []string{"Guest", "Clerk"},
			Rules: []access.Rule{{Tool: "mine", MinRole: 2}}},
		Tools: []toolset.Tool{good("mine")},
	})
	s := newServer(t, runtime.Options{}, own, tools)
	for role, want := range map[string]string{"": "", "Guest": "low", "Clerk": "high low mine",
		"Admin": ""} {
		if got := strings.Join(s.Visible(access.Principal{Subject: "x", Role: role}),
			" "); got != want {
			t.Errorf("%q: %s", role, got)
		}
	}
	session := connectIO(t, s, access.Principal{Subject: "x", Role: "Clerk"}, "2025-11-25")
	if info := session.InitializeResult().ServerInfo; info.Name != "own" || info.Version != "2" {
		t.Errorf("the first toolset names the server: %+v", info)
	}
	alone := newServer(t, runtime.Options{}, tools)
	if got := strings.Join(alone.Table().Hierarchy(),
		" < "); got != "Viewer < Member < Manager < Admin" {
		t.Errorf("%s", got)
	}
}

func TestRecordedPermissionsAreLoggedAtStart(t *testing.T) {
	t.Parallel()
	var log journal
	newServer(t, runtime.Options{Logger: log.logger(), Host: runtime.HostOptions{RecordOnly: true}},
		toolsetOf([]toolset.Tool{good("a"), good("b")},
			access.Rule{Tool: "a", Authenticated: true, Permission: access.Permission{App: "dcim",
				Action: "view", Object: "device"}}))
	if got := log.String(); !strings.Contains(got, "recorded and not enforced") ||
		!strings.Contains(got, "[a]") {
		t.Errorf("%s", got)
	}
}

func TestToolsDenialOverridesTheServers(t *testing.T) {
	t.Parallel()
	set := toolsetOf([]toolset.Tool{good("told"), good("hidden"), good("plain")},
		access.Rule{Tool: "told", MinRole: admin, Denial: access.Forbid},
		access.Rule{Tool: "hidden", MinRole: admin, Denial: access.Conceal},
		access.Rule{Tool: "plain", MinRole: admin})
	for denial, plain := range map[access.Denial]string{access.DenialDefault: "unknown tool",
		access.Conceal: "unknown tool", access.Forbid: "403 Forbidden"} {
		s := newServer(t, runtime.Options{Access: runtime.AccessOptions{Denial: denial}}, set)
		c := newRaw(t, serve(t, s), tokens["Viewer"], "2026-07-28")
		for tool, want := range map[string]string{"told": "403 Forbidden", "hidden": "unknown tool",
			"plain": plain} {
			if got := c.call(t, tool, "", nil); !strings.Contains(got.body, want) {
				t.Errorf("%v, %s: %s", denial, tool, got)
			}
		}
		if got := c.call(t, "told", "", nil); !strings.Contains(got.body,
			`"resultType":"complete"`) ||
			!strings.Contains(got.body, `403 Forbidden: tool \"told\" needs role Admin`) {
			t.Errorf("%v: %s", denial, got)
		}
		if got := c.ask(t, "tools/list", "", nil); !strings.Contains(got.body, `"tools":[]`) {
			t.Errorf("%v: %s", denial, got)
		}
	}
}

func TestScopesAreEnforced(t *testing.T) {
	t.Parallel()
	set := toolsetOf([]toolset.Tool{good("both"), good("one")},
		access.Rule{Tool: "both", MinRole: member, Scopes: []string{"read", "write"}},
		access.Rule{Tool: "one", Scopes: []string{"read"}})
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: audit.Slog(quiet())}}, set)
	for _, test := range []struct {
		p    access.Principal
		want string
	}{
		{access.Principal{Subject: "x", Role: "Admin", Scopes: []string{"read", "write"}},
			"both one"},
		{access.Principal{Subject: "x", Role: "Admin", Scopes: []string{"read"}}, "one"},
		{access.Principal{Subject: "x", Role: "Admin", Scopes: []string{"READ", "write", "*", ""}},
			""},
		{access.Principal{Subject: "x", Role: "Admin"}, ""},
		{access.Principal{Subject: "x", Role: "Viewer", Scopes: []string{"read", "write"}}, "one"},
		{access.Principal{Scopes: []string{"read", "write"}}, ""},
	} {
		if got := strings.Join(s.Visible(test.p), " "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.p, got, test.want)
		}
	}
}

func TestZeroTimeoutIsTheDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := make(chan time.Duration, 1)
		s := newServer(t, runtime.Options{},
			oneTool("look", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				deadline, _ := ctx.Deadline()
				got <- time.Until(deadline)
				return toolset.Done(nil)
			}))
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		c.call(t, "look", "", nil)
		if left := <-got; left != runtime.DefaultTimeout {
			t.Errorf("%s left", left)
		}
	})
}

// TestTableOfAServerIsACopy changes all that the table of a server reaches.
func TestTableOfAServerIsACopy(t *testing.T) {
	t.Parallel()
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}
	}
	rules := []access.Rule{{Tool: "a", Scopes: []string{"x", "y"}}, {Tool: "b", MinRole: 4}}
	s := newServer(t, runtime.Options{}, toolsetOf([]toolset.Tool{tool("a"), tool("b")}, rules...))
	scopes, _ := s.Table().Of(access.Tools).Tool("a")
	scopes.Scopes[0], scopes.Scopes[1] = "z", "z"
	table := s.Table()
	table.Rules[0].Scopes, table.Rules[0].Authenticated = nil, true
	table.Rules[1].MinRole, table.Rules[1].Public = 0, true
	table.Roles[0], table.Roles[3] = "nobody", "Viewer"
	for _, name := range []string{"a", "b"} {
		e := s.Explain(t.Context(), principalOf("Viewer"), name)
		if e.Allowed {
			t.Errorf("%s is open to a Viewer: %s", name, e)
		}
	}
}
