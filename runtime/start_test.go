package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func good(name string) toolset.Tool {
	return toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: nothing}
}

// trio has a tool, a prompt and a resource for authenticated callers.
func trio() toolset.Generated {
	return toolset.Generated{Package: "example.com/p", Server: toolset.ServerInfo{Name: "p"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules:     []access.Rule{{Tool: "t", Authenticated: true}},
			Prompts:   []access.Rule{{Prompt: "p", Authenticated: true}},
			Resources: []access.Rule{{Resource: "x:{a}", Authenticated: true}}},
		Tools: []toolset.Tool{good("t")},
		Prompts: []toolset.Prompt{{Name: "p",
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("", nil)
			}}},
		Resources: []toolset.Resource{{URI: "x:{a}", Name: "r",
			Variables: []toolset.Variable{{Name: "a"}},
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("", nil)
			}}}}
}

// refused checks that New returns an error with a text, or no error for an empty text.
func refused(t *testing.T, want string, o runtime.Options, sets ...toolset.Toolset) error {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet()
	}
	s, err := runtime.New(o, sets...)
	switch {
	case err == nil && want == "":
		_ = s.Shutdown(context.Background())
	case err == nil || want == "" || s != nil || !strings.Contains(err.Error(), want):
		t.Errorf("%v\nwant %s", err, want)
	case strings.Contains(err.Error(), "t0psecret"):
		t.Errorf("the error has a token: %v", err)
	}
	return err
}

// The tables below are of these.
type (
	opts = runtime.Options
	gen  = toolset.Generated
)

type nilSource struct{ identity.Source }

// Packages invoke, toolset and access test what a generated package can lack. Here is one case for
// each of their checks, and for each option.
func TestServersThatCannotWorkDoNotStart(t *testing.T) {
	t.Parallel()
	sound := toolset.NewToolset(trio())
	refused(t, "", runtime.Options{}, sound)
	for _, name := range []string{"HTTP.MaxSessions", "HTTP.MaxPerUser", "HTTP.MaxBody",
		"Lists.PageSize", "Tasks.Max", "Tasks.MaxPerUser", "Audit.Timeout", "HTTP.SessionTimeout",
		"HTTP.IdentityTimeout", "HTTP.KeepAlive", "Lists.TTL", "Tasks.TTL", "Host.Timeout",
		"Host.TTL", "Host.Recheck"} {
		value := "-1ns"
		if strings.Contains(name, ".Max") || strings.HasSuffix(name, "Size") {
			value = "-1"
		}
		var o runtime.Options
		setOption(t, &o, name, value)
		refused(t, "Options."+name+" is "+value, o, sound)
	}
	unreadable := kits()
	unreadable.failing(func(context.Context) error { return errors.New("no such table") })
	static := func(token string, p access.Principal) identity.Source {
		return identity.Static(map[string]access.Principal{token: p})
	}
	const cannotRead = "Options.Catalogs.Source: cannot read which tools are switched off: "
	for _, test := range []struct {
		want   string
		change func(*opts)
	}{
		{"Options.Access.Denial is 9", func(o *opts) { o.Access.Denial = 9 }},
		{`Options.Access.AdminRole is "Root", which is not a role of Viewer < Member < Manager`,
			func(o *opts) {
				o.Access.AdminRole = "Root"
			}},
		{`Options.Audit.Intent is "some"`, func(o *opts) { o.Audit.Intent = "some" }},
		{"Options.Audit.Sink is a nil *runtime_test.k",
			func(o *opts) { o.Audit.Sink = (*keeper)(nil) }},
		{"Options.Catalogs.Source is a nil *runtime_t", func(o *opts) {
			o.Catalogs.Source = (*shelf)(nil)
		}},
		{cannotRead + "no such table", func(o *opts) { o.Catalogs.Source = unreadable }},
		{"Options.Admin: the store is missing", func(o *opts) { o.Admin = noAdmin }},
		{"Options.Grants.Offer is set",
			func(o *opts) { o.Grants.Source, o.Grants.Offer = &purse{}, true }},
		{"Options.Grants.Source is a nil *runtime_tes",
			func(o *opts) { o.Grants.Source = (*purse)(nil) }},
		{"Options.Grants.Defaults: ", func(o *opts) { o.Grants.Defaults = grant.Minimal("/etc") }},
		{"no helper is there",
			func(o *opts) { o.Sandbox = &box{start: errors.New("no helper is there")} }},
		{"Options.Sandbox is a nil *runtime_test.box", func(o *opts) { o.Sandbox = (*box)(nil) }},
		{"Options.Identity is a nil *runtime_test.nil",
			func(o *opts) { o.Identity = (*nilSource)(nil) }},
		{"Options.Identity: identity.Bearer has no ve",
			func(o *opts) { o.Identity = identity.Bearer(nil) }},
		{`the key of principal "ada" is not a token hash`, func(o *opts) {
			o.Identity = static("t0psecret", access.Principal{Subject: "ada"})
		}},
		{`principal "ada": a role of the principal is "admin"`, func(o *opts) {
			p := access.Principal{Subject: "ada", Roles: []string{"admin"}}
			o.Identity = static(identity.HashToken("t"), p)
		}},
		{`mcp server: Options.Identity: its role mapping results in "Manger", which is not a role`,
			func(o *opts) {
				o.Identity = mapping{users()}
			}},
		{"the resource has no authorization server: add the issuers whose tokens it accepts", func(
			o *opts) {
			o.Identity = guarded{users(), identity.Resource{URL: "https://mcp.example/mcp"}}
		}},
		{"Options.Interceptors[0] is nil", func(o *opts) {
			o.Interceptors = []intercept.Middleware{nil}
		}},
		{"Options.Lists.TTL is 25h0m0s", func(o *opts) { o.Lists.TTL = 25 * time.Hour }},
		{"Options.Observe.Observer is a nil *runtime",
			func(o *opts) { o.Observe.Observer = (*nobody)(nil) }},
		{`Options.Observe.Readiness["db"] is nil: give it a check, or remove it`, func(o *opts) {
			o.Observe.Readiness = map[string]func(context.Context) error{"db": nil}
		}},
		{`Options.Observe.Readiness has a check named "": give it a name`, func(o *opts) {
			o.Observe.Readiness = map[string]func(context.Context) error{"": nothingToCheck}
		}},
		{"Options.Tasks.Store is a nil *task.Memory", func(o *opts) {
			o.Tasks.Store = (*task.Memory)(nil)
		}},
		{"Options.Protocol.StateKey has 5 bytes",
			func(o *opts) { o.Protocol.StateKey = []byte("short") }},
		{`Options.Protocol.Extensions has "x": write a prefix`, func(o *opts) {
			o.Protocol.Extensions = map[string]map[string]any{"x": nil}
		}},
		{`Options.Protocol.Experimental["y"] cannot be JSON`, func(o *opts) {
			o.Protocol.Experimental = map[string]map[string]any{"y": {"f": func() {}}}
		}},
		{`Options.Texts.Descriptions has "s", which is not the name of a tool: did you mean t?`,
			func(o *opts) { o.Texts.Descriptions = map[string]string{"s": "x"} }},
		{"Options.Texts.Instructions and Options.Texts.InstructionsFor are both", func(o *opts) {
			o.Texts.Instructions = "a"
			o.Texts.InstructionsFor = func(access.Principal, []string) string { return "" }
		}},
		{`Options.HTTP.Origins has "https://a.example/"`, func(o *opts) {
			o.HTTP.Origins = []string{"https://a.example/"}
		}},
		{`Options.HTTP.Origins has "*"`, func(o *opts) { o.HTTP.Origins = []string{"*"} }},
		{`Options.HTTP.Hosts has "a.example:80"`,
			func(o *opts) { o.HTTP.Hosts = []string{"a.example:80"} }},
	} {
		var o runtime.Options
		test.change(&o)
		refused(t, test.want, o, sound)
	}
	for _, p := range []netip.Prefix{{}, netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("::/0"), netip.MustParsePrefix("::ffff:10.0.0.0/104")} {
		refused(t, "Options.HTTP.TrustedProxies", runtime.Options{
			HTTP: runtime.HTTPOptions{TrustedProxies: []netip.Prefix{p}}}, sound)
	}
	paths := map[string]string{}
	for _, path := range []string{"mcp", "/mcp//", "/../", "/./", "//", "//mcp", "/a//b", "/a/../b",
		"/..", "/.", "/a/./b", "/a?b", "/a#b", "/a%20b", "/a b", "/{x}", "/{$}", "/\u00fc",
		"GET /a", ".", "https://mcp.example/mcp", "/a\n", `/a\b`} {
		paths[path] = "write a path such as /mcp or /tools/mcp"
	}
	for _, taken := range []string{"/healthz", "/readyz", "/api/v1/", "/console",
		runtime.PathResourceMetadata} {
		path := strings.TrimSuffix(taken, "/")
		paths[path] = "the server serves " + taken + " itself: use another path"
		paths[path+"/mcp"] = paths[path]
	}
	for path, want := range paths {
		refused(t, fmt.Sprintf("mcp server: Options.HTTP.Path is %q: %s", path, want),
			runtime.Options{HTTP: runtime.HTTPOptions{Path: path}}, sound)
	}
}

func noAdmin(runtime.Administered) (http.Handler, error) {
	return nil, errors.New("the store is missing")
}

func TestPackagesThatCannotWorkDoNotStart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want   string
		change func(*gen)
	}{
		{"package example.com/p: argument 2 of Toolset is nil", func(g *gen) {
			g.Receivers = []any{&desk{}, (*desk)(nil)}
		}},
		{"argument 1 of Toolset is nil", func(g *gen) { g.Receivers = []any{nil} }},
		{`tool "u" has no rule in Generated.Table: run go gen`,
			func(g *gen) { g.Tools = append(g.Tools, good("u")) }},
		{"not a tool name", func(g *gen) { g.Tools[0].Name = "" }},
		{`prompt "p": it has no handler: run go generate`, func(g *gen) { g.Prompts[0].Get = nil }},
		{`resource "x:{a}": its timeout is -1ns`, func(g *gen) { g.Resources[0].Timeout = -1 }},
		{`alias "no name": not a tool name`, func(g *gen) { g.Tools[0].Aliases = []string{"no name"} }},
		{"x-mcp-header at a.b", func(g *gen) {
			g.Tools[0].Input = `{"type":"object","properties":{"a":{"properties":{"b":{"x-mcp-header":7}}}}}`
		}},
		{`$ref "#/$defs/X" has no target`,
			func(g *gen) { g.Tools[0].Output = `{"$ref":"#/$defs/X"}` }},
		{`has the role "Boss", which its hierarchy`,
			func(g *gen) { g.Table.Rules[0].MinRole = []string{"Boss"} }},
		{"a rule of another kind among those of", func(g *gen) { g.Table.Prompts = g.Table.Rules }},
		{"isolate=process of", func(g *gen) { g.Tools[0].Isolate = "x" }},
		{"set Options.Grants.Source", func(g *gen) { g.Tools[0].Allow = reading.Allow }},
		{`tool "t" has the task "x": run go generate`, func(g *gen) { g.Tools[0].Task = "x" }},
		{`the alias "t" of tool "t" is also a name of tool`,
			func(g *gen) { g.Tools[0].Aliases = []string{"t"} }},
		{`the alias "u" of tool "t" is also a name of tool "u"`, func(g *gen) {
			g.Tools = append(g.Tools, good("u"))
			g.Tools[0].Aliases = []string{"u"}
		}},
		{"x:{a} and x:all match the same URI", func(g *gen) {
			all := g.Resources[0]
			all.URI, all.Variables = "x:all", nil
			g.Resources = append(g.Resources, all)
			rule := access.Rule{Resource: "x:all", MinRole: []string{"Admin"}}
			g.Table.Resources = append(g.Table.Resources, rule)
		}},
	} {
		g := trio()
		test.change(&g)
		refused(t, test.want, runtime.Options{}, toolset.NewToolset(g))
	}
	for _, test := range []struct {
		want   string
		change func(*gen)
	}{
		{`tool "work": it has NonBlocking and the timeout 1s`,
			func(g *gen) { g.Tools[0].Timeout = time.Second }},
		{`tool "work": it has NonBlocking and SDK`, func(g *gen) { g.Tools[0].SDK = true }},
		{`tool "work": it has NonBlocking and Elicits`, func(g *gen) { g.Tools[0].Elicits = true }},
		{`tool "work": it has NonBlocking and Task`,
			func(g *gen) { g.Tools[0].Task = toolset.TaskOptional }},
		{`tool "work": it has NonBlocking and Isolate`,
			func(g *gen) { g.Tools[0].Isolate = "Work" }},
		{`tool "work": it has NonBlocking and Allow`,
			func(g *gen) { g.Tools[0].Allow = reading.Allow }},
		{`prompt "greet": it has NonBlocking and the timeout`,
			func(g *gen) { g.Prompts[0].Timeout = time.Second }},
		{`prompt "greet": it has NonBlocking and Elicits`,
			func(g *gen) { g.Prompts[0].Elicits = true }},
		{`{id}": it has NonBlocking and the timeout 1s`,
			func(g *gen) { g.Resources[0].Timeout = time.Second }},
		{`{id}": it has NonBlocking and Elicits`, func(g *gen) { g.Resources[0].Elicits = true }},
		{"", func(g *gen) { // of others
			g.Timeout, g.Tools[0].Limits.Output = time.Second, 1<<10
		}},
	} {
		g := nonBlocking(offering(func(context.Context) {})).Generated()
		test.change(&g)
		refused(t, test.want, runtime.Options{}, toolset.NewToolset(g))
	}
	for _, change := range []func(*gen){ // of rules by value
		func(g *gen) { g.Table.Values = g.Table.Values[1:] },
		func(g *gen) { g.Table.Values[0].Value = "else" },
		func(g *gen) { g.Tools[0].Input = anyInput },
		func(g *gen) {
			g.Tools[0].Input = strings.Replace(g.Tools[0].Input, `,"action"]`, "]", 1)
		},
	} {
		g := crew().Generated()
		change(&g)
		refused(t, "run go generate", runtime.Options{}, toolset.NewToolset(g))
	}
	other := func(change func(*gen)) toolset.Toolset {
		g := trio()
		g.Package, g.Prompts, g.Resources = "example.com/q", nil, nil
		g.Table.Prompts, g.Table.Resources = nil, nil
		change(&g)
		return toolset.NewToolset(g)
	}
	first := toolset.NewToolset(trio())
	for want, sets := range map[string][]toolset.Toolset{
		"no toolset: pass the results of generated Toolset functions": {},
		"toolset 2 is empty": {first, {}},
		"package example.com/p: its Toolset is passed twice: pass it once": {first, first},
		`tool "t" is declared by package example.com/p and by package example.com/q: rename one`: {
			first, other(func(*gen) {})},
		"p and example.com/q have different role hierarchies (Viewer < Member < Manager < Admin " +
			"and A < B)": {first, other(func(g *gen) {
			g.Table.Roles = [][]string{{"A", "B"}}
		})},
		`the alias "t" of tool "u" is also a name of tool "t"`: {first, other(func(g *gen) {
			g.Tools[0].Name, g.Table.Rules[0].Tool, g.Tools[0].Aliases = "u", "u", []string{"t"}
		})},
	} {
		refused(t, want, runtime.Options{}, sets...)
	}
	alone := trio()
	alone.Table.Rules[0] = access.Rule{Tool: "t", Permission: permission("dcim.view_device")}
	recorded := runtime.Options{Host: runtime.HostOptions{RecordOnly: true}}
	refused(t, `tool "t" has only the rule dcim.view_device`, recorded, toolset.NewToolset(alone))
}

func TestNewReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := runtime.New(runtime.Options{Logger: quiet(),
		Lists: runtime.ListOptions{PageSize: -1}, Access: runtime.AccessOptions{Denial: 9}},
		toolset.NewToolset(toolset.Generated{
			Package: "example.com/p", Receivers: []any{nil}, Tools: []toolset.Tool{{Name: "a b"}},
			Table: access.Table{Roles: [][]string{{"A", "A"}},
				Rules: []access.Rule{{Tool: "x", Public: true, Authenticated: true}}},
		}))
	for _, want := range []string{"PageSize", "Denial", "argument 1", "not a tool name", "no rule",
		"no tool", "server has no name", "the role A stands twice",
		"public excludes other requirements"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestToolsetsForAnybodyTakeTheServersHierarchy(t *testing.T) {
	t.Parallel()
	tools := toolset.NewToolset(toolset.Generated{
		Package: "example.com/debug", Server: toolset.ServerInfo{Name: "debug"},
		Table: access.Table{Rules: []access.Rule{{Tool: "low", MinRole: []string{access.Lowest}},
			{Tool: "high", MinRole: []string{access.Highest}}}},
		Tools: []toolset.Tool{good("low"), good("high")},
	})
	own := toolset.NewToolset(toolset.Generated{
		Package: "example.com/own", Server: toolset.ServerInfo{Name: "own", Version: "2"},
		Table: access.Table{Roles: [][]string{{"Guest", "Clerk"}},
			Rules: []access.Rule{{Tool: "mine", MinRole: []string{"Clerk"}}}},
		Tools: []toolset.Tool{good("mine")},
	})
	s := newServer(t, runtime.Options{}, own, tools)
	for role, want := range map[string]string{"": "", "Guest": "low", "Clerk": "high low mine",
		"Admin": ""} {
		if got := strings.Join(s.Visible(access.Principal{Subject: "x", Roles: []string{role}}),
			" "); got != want {
			t.Errorf("%q: %s", role, got)
		}
	}
	session := connectIO(t, s, access.Principal{Subject: "x", Roles: []string{"Clerk"}}, "2025-11-25")
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
		access.Rule{Tool: "told", MinRole: []string{"Admin"}, Denial: access.Forbid},
		access.Rule{Tool: "hidden", MinRole: []string{"Admin"}, Denial: access.Conceal},
		access.Rule{Tool: "plain", MinRole: []string{"Admin"}})
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

// TestTableOfAServerIsACopy changes all that the table of a server reaches.
func TestTableOfAServerIsACopy(t *testing.T) {
	t.Parallel()
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}
	}
	rules := []access.Rule{{Tool: "a", Scopes: []string{"x", "y"}}, {Tool: "b",
		MinRole: []string{"Admin"}}}
	s := newServer(t, runtime.Options{}, toolsetOf([]toolset.Tool{tool("a"), tool("b")}, rules...))
	scopes, _ := s.Table().Of(access.Tools).Tool("a")
	scopes.Scopes[0], scopes.Scopes[1] = "z", "z"
	table := s.Table()
	table.Rules[0].Scopes, table.Rules[0].Authenticated = nil, true
	table.Rules[1].MinRole, table.Rules[1].Public = nil, true
	table.Roles[0][0], table.Roles[0][3] = "nobody", "Viewer"
	for _, name := range []string{"a", "b"} {
		e := s.Explain(t.Context(), principalOf("Viewer"), name)
		if e.Allowed {
			t.Errorf("%s is open to a Viewer: %s", name, e)
		}
	}
}

func TestManifestsAreThoseOfTheToolsets(t *testing.T) {
	t.Parallel()
	o := runtime.Options{Identity: users(), Logger: slog.New(slog.DiscardHandler)}
	want := []runtime.Manifest{{Package: "example.com/team", Digest: "sha256:1"},
		{Package: "example.com/library"}}
	made, err := runtime.New(o, directory(&desk{}).ReadOnly(), library())
	if err != nil {
		t.Fatal(err)
	}
	server := runtime.Administer(made)
	got := server.Manifests()
	if !slices.Equal(got, want) || server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
	got[0].Digest = "sha256:2"
	if !slices.Equal(server.Manifests(), want) {
		t.Error("a change of the list changes the server")
	}
	g := directory(&desk{}).Generated()
	for i := range g.Table.Rules {
		g.Table.Rules[i].Denial = access.Forbid
	}
	if made, err = runtime.New(o, toolset.NewToolset(g)); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); len(got) != 1 || got[0].Digest != "" {
		t.Errorf("changed rules have the digest of the reviewed ones: %v", got)
	}
	own := func() *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	}
	if made, err = runtime.Adopt(own(), o, nil); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); len(got) > 0 || !server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
	if made, err = runtime.Adopt(own(), o, nil, directory(&desk{})); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); !slices.Equal(got, want[:1]) || !server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
}
