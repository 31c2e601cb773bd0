package runtime_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func boundaryFile(t testing.TB, text string) boundary.Source {
	t.Helper()
	source, err := static.OpenFS(fstest.MapFS{"b.yaml": {Data: []byte(text)}}, "b.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// issuing is a source of identities that lists its issuers.
type issuing struct{ identity.Source }

func (issuing) Issuers() []string { return []string{"https://id.example"} }

// A name of a boundary that the server does not have is an error at start, with its place and cure.
func TestBoundariesOfWrongNamesDoNotStart(t *testing.T) {
	source := issuing{identity.Static(map[string]access.Principal{})}
	file := boundaryFile(t, `boundaries:
  - {issuer: https://id.exmple, client: a, items: [tool:look, catalog:a, prompt:greet]}
  - {issuer: https://id.example, client: b, roles: [Membr, Member]}
  - {issuer: https://id.example, client: c, items: [tool:lok, tool:greet, tool:look x=y, prompt:gret]}
  - {issuer: https://id.example, client: d, items: [catalog:z, resource:look, skill:skill://x]}
  - {issuer: elsewhere, actor: e, roles: "*", items: "*"}
`)
	_, err := runtime.New(runtime.Options{Identity: source,
		Access: runtime.AccessOptions{Boundaries: file}}, depot())
	const at = "mcp server: Options.Access.Boundaries: b.yaml:"
	want := []string{
		at + `2: Options.Identity has no issuer "https://id.exmple": did you mean "https://id.example"?`,
		at + `3: roles has "Membr", which is not a role of Viewer < Member < Manager < Admin: ` +
			`use one of them`,
		at + `4: the item "tool:lok" names no tool of the server: did you mean "look"?`,
		at + `4: the item "tool:greet" names no tool of the server: correct the name, or remove it`,
		at + `4: the item "tool:look x=y" names no value of an argument with rules of the server: ` +
			`correct the name, or remove it`,
		at + `4: the item "prompt:gret" names no prompt of the server: did you mean "greet"?`,
		at + `5: the item "catalog:z" names no catalog that code declares (//mcp:tool catalog=): did you ` +
			`mean "a"?. A boundary takes no other catalogs: people who may change one could widen the boundary`,
		at + `5: the item "resource:look" names no resource, or URI template as its author wrote it, of ` +
			`the server: correct the name, or remove it`,
		at + `5: the item "skill:skill://x" names no resource, or URI template as its author wrote it, of ` +
			`the server: correct the name, or remove it`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("%v\nwant:\n%s", err, strings.Join(want, "\n"))
	}
	_, err = runtime.New(runtime.Options{Identity: source,
		Access: runtime.AccessOptions{BoundariesOptional: true}}, depot())
	if err == nil || !strings.Contains(err.Error(), "BoundariesOptional is set without") {
		t.Error(err)
	}
}

// A boundary of an alias names the tool, and one that has ended is a warning at start.
func TestBoundariesOfAliasesAndOfThePast(t *testing.T) {
	bounded := func(entry string) (string, error) {
		var log journal
		_, err := runtime.New(runtime.Options{Anonymous: true, Logger: log.logger(),
			Access: runtime.AccessOptions{Boundaries: boundaryFile(t,
				"boundaries:\n  - {issuer: i, client: a, "+entry+"}\n")}}, renamed())
		return log.String(), err
	}
	if text, err := bounded("until: 2000-01-01T00:00:00Z"); err != nil ||
		!strings.Contains(text, "a boundary has ended: its client may use nothing") {
		t.Error(err, text)
	}
	g := renamed().Generated()
	alias, name := g.Tools[0].Aliases[0], g.Tools[0].Name
	_, err := bounded("items: [tool:" + alias + "]")
	if err == nil || !strings.Contains(err.Error(), "is an alias: write tool:"+name) {
		t.Error(err)
	}
}

// registering is a source of identities whose issuers let clients register.
type registering struct {
	identity.Source
	report func(issuer, field string)
}

func (r *registering) OnRegistration(report func(issuer, field string)) { r.report = report }

// Optional boundaries do not hold a client that can register again, unless new clients have one.
func TestOptionalBoundariesAndRegistrationAreAWarning(t *testing.T) {
	const everybody = "boundaries: [{issuer: i, client: '*', items: '*'}, {issuer: j, client: a}]"
	for _, test := range []struct {
		source   boundary.Source
		optional bool
		want     string // issuers with a warning
	}{
		{nil, false, ""}, {boundaryFile(t, everybody), false, ""}, {boundaryFile(t, everybody),
			true, "j"},
		{boundaryFile(t, "boundaries: []"), true, "ij"}, {failingBoundaries{}, true, "ij"},
	} {
		var log lines
		source := &registering{Source: identity.Static(map[string]access.Principal{})}
		newServer(t, runtime.Options{Identity: source, Logger: log.at(slog.LevelDebug),
			Access: runtime.AccessOptions{Boundaries: test.source,
				BoundariesOptional: test.optional}}, depot())
		if source.report != nil {
			source.report("i", "registration_endpoint")
			source.report("j", "registration_endpoint")
		}
		got := ""
		for _, line := range log.of(t, "boundaries are optional, and the issuer lets clients register: "+
			"a client that registers again has no boundary. Add a boundary of the client \"*\" "+
			"of the issuer, "+
			"or remove Options.Access.BoundariesOptional") {
			got += line["issuer"].(string)
			if line["level"] != "WARN" || line["metadata"] != "registration_endpoint" {
				t.Errorf("%v", line)
			}
		}
		if got != test.want {
			t.Errorf("%T, optional %t: %q, want %q", test.source, test.optional, got, test.want)
		}
	}
}

// Code that reads the server beside MCP gets the boundary too.
func TestBoundaryOfExplanationsAndIdentify(t *testing.T) {
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	other := agent
	other.Client = "desk"
	file := boundaryFile(t, "boundaries: [{issuer: i, client: agent, roles: [Member], items: "+
		"['catalog:b'], readonly: true}]")
	for _, optional := range []bool{false, true} {
		s := newServer(t, runtime.Options{Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("agent-token"): agent, identity.HashToken("desk-token"): other}),
			Access: runtime.AccessOptions{Boundaries: file, BoundariesOptional: optional}}, depot())
		for tool, want := range map[string]bool{"read": true, "edit": false, "look": false,
			"drop": false} {
			e := s.Explain(context.Background(), agent, tool)
			if e.Allowed != want || e.Listed != want || want != (e.Missing == "") ||
				strings.Contains(e.String(), "boundary fails") == want {
				t.Errorf("%s: %s", tool, e)
			}
			if e := s.Explain(context.Background(), other, tool); e.Allowed != (optional || tool == "look") {
				t.Errorf("%s: %s", tool, e)
			}
		}
		for token, want := range map[string]bool{"agent-token": false, "desk-token": optional} {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			ctx, err := s.Identify(r)
			if err != nil {
				t.Fatal(err)
			}
			caller, _ := runtime.Caller(ctx)
			if table := s.Table(); caller.Bounds == nil || table.Holds(caller, "Admin") != want {
				t.Errorf("%s: %+v", token, caller)
			}
		}
	}
}

// What a server offers beside the messages of MCP has the boundary as well: the tools of
// GuardedTools, lists for REST, and instructions.
func TestBoundaryOfGuardedToolsListsAndInstructions(t *testing.T) {
	guarded := func(name string, call func(context.Context) string) toolset.Tool {
		return toolset.Tool{Name: name, Returns: toolset.Text,
			Input: `{"type":"object","properties":{"q":{"type":"string"}}}`,
			Allow: []toolset.Allow{{Kind: "queue.push", Argument: "q"}},
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				return toolset.Result{Out: call(ctx), HasOut: true}, nil
			}}
	}
	names := func(ctx context.Context) string {
		var all []string
		for _, tool := range runtime.GuardedTools(ctx) {
			all = append(all, tool.Name)
		}
		return strings.Join(all, " ")
	}
	set := toolsetOf([]toolset.Tool{guarded("push", names), guarded("drain", names)})
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	desk := agent
	desk.Client = "desk"
	var server runtime.Administered
	s := newServer(t, runtime.Options{Identity: identity.Static(map[string]access.Principal{
		identity.HashToken("agent-token"): agent, identity.HashToken("desk-token"): desk}),
		Grants: runtime.GrantOptions{Source: grant.NewMemory()},
		Texts: runtime.TextOptions{InstructionsFor: func(_ access.Principal, tools []string) string {
			if len(tools) > 1 {
				return "drain empties what push fills"
			}
			return "listed: " + strings.Join(tools, " ")
		}},
		Access: runtime.AccessOptions{Boundaries: boundaryFile(t,
			"boundaries: [{issuer: i, client: agent, "+
				"roles: '*', items: ['tool:push']}, {issuer: i, client: desk, roles: '*', items: '*'}]")},
		Admin: func(a runtime.Administered) (http.Handler, error) {
			server = a
			return http.NotFoundHandler(), nil
		}}, set)
	for token, test := range map[string]struct {
		p                  access.Principal
		tools, instruction string
	}{"agent-token": {agent, "push", "listed: push"},
		"desk-token": {desk, "drain push", "drain empties what push fills"}} {
		session := connectIO(t, s, test.p, "2025-11-25")
		if got := session.InitializeResult().Instructions; got != test.instruction {
			t.Errorf("%s: %q", token, got)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "push"})
		if err != nil || mcptest.Text(result) != test.tools {
			t.Errorf("%s: %v, %v", token, result, err)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		ctx, err := s.Identify(r)
		if err != nil {
			t.Fatal(err)
		}
		listing, err := server.ListTools(ctx, catalog.Ref{})
		var listed []string
		for _, tool := range listing.Tools {
			listed = append(listed, tool.Tool.Name)
		}
		if got := strings.Join(listed, " "); err != nil || got != test.tools {
			t.Errorf("%s: %q, %v", token, got, err)
		}
	}
}

// A list beside MCP has the values that the caller may send within the boundary of its client.
func TestListBesideMCPHasTheValuesOfTheCaller(t *testing.T) {
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Member"}}
	s := newServer(t, runtime.Options{
		Identity: identity.Static(map[string]access.Principal{identity.HashToken("token"): agent}),
		Access: runtime.AccessOptions{Boundaries: boundaryFile(t, "boundaries: [{issuer: i, client: "+
			"agent, roles: '*', items: ['tool:manage action=add', 'tool:manage action=delete', "+
			"'tool:tidy']}]")}}, crew())
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer token")
	ctx, err := s.Identify(r)
	if err != nil {
		t.Fatal(err)
	}
	listing, err := runtime.Administer(s).ListTools(ctx, catalog.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, tool := range listing.Tools {
		got += fmt.Sprint(tool.Tool.Name, tool.Choices)
	}
	if got != "manage[{action [add]}]tidy[{mode [fast]}]" {
		t.Error(got)
	}
}

// With boundaries, listed clients alone administer, and their boundary does not limit them there.
func TestBoundedClientsAdministerNothing(t *testing.T) {
	by := func(client, actor, role string) access.Principal {
		p := access.Principal{Issuer: "i", Subject: "ada", Client: client, Roles: []string{role}}
		p.Actor.Subject = actor
		return p
	}
	for _, source := range []boundary.Source{nil, boundaryFile(t,
		"boundaries: [{issuer: i, client: agent, roles: '*', items: '*'}]")} {
		var server runtime.Administered
		newServer(t, runtime.Options{Anonymous: true, Access: runtime.AccessOptions{Boundaries: source},
			Admin: func(a runtime.Administered) (http.Handler, error) {
				server = a
				return http.NotFoundHandler(), nil
			}}, depot())
		listed := server.AdministeredBy([]boundary.Party{{Issuer: "i", Client: "console"}, {Issuer: "i"}})
		elsewhere := by("console", "", "Admin")
		elsewhere.Issuer = "j"
		for _, test := range []struct {
			p                        access.Principal
			without, listed, manages bool
		}{
			{by("agent", "", "Admin"), true, false, false}, {by("", "", "Admin"), true, false, false},
			{by("console", "", "Admin"), true, true, true},
			{by("console", "", "Manager"), false, false, true},
			{by("console", "robot", "Admin"), true, false, false}, {elsewhere, true, false, false},
		} {
			want := test.listed
			if source == nil {
				want = test.without
			}
			if got := listed.IsAdmin(test.p); got != want || server.IsAdmin(test.p) != (want &&
				source == nil) {
				t.Errorf("boundaries %t, %+v: %v, want %v", source != nil, test.p, got, want)
			}
			manages := source == nil || test.manages
			if got := listed.MayManage(test.p); got != manages ||
				server.MayManage(test.p) != (source == nil) {
				t.Errorf("boundaries %t, %+v manages: %v, want %v", source != nil, test.p, got, manages)
			}
		}
	}
}

// The blast radius of a client is that of its boundary, also of an ended or blocked one. A client
// without a boundary reaches public items, unless boundaries are optional or the server has none.
func TestReachOfAClient(t *testing.T) {
	file := boundaryFile(t, "boundaries: []")
	one := &boundary.Boundary{Roles: []string{"Member"}, Items: []string{"catalog:b"}, ReadOnly: true,
		Blocked: true, Until: time.Unix(1, 0)}
	const public, all = "tool:look", "tool:drop tool:edit tool:look tool:read tool:shout prompt:greet"
	for _, test := range []struct {
		access        runtime.AccessOptions
		bounded, none string
	}{
		{runtime.AccessOptions{}, all, all},
		{runtime.AccessOptions{Boundaries: file}, "tool:look tool:read", public},
		{runtime.AccessOptions{Boundaries: file, BoundariesOptional: true}, "tool:look tool:read", all},
	} {
		var server runtime.Administered
		newServer(t, runtime.Options{Anonymous: true, Access: test.access,
			Admin: func(a runtime.Administered) (http.Handler, error) {
				server = a
				return http.NotFoundHandler(), nil
			}}, depot())
		for b, want := range map[*boundary.Boundary]string{one: test.bounded, nil: test.none} {
			private, untrusted, egress := server.Reach(t.Context(), b)
			for _, got := range [][]string{private, untrusted, egress} {
				if strings.Join(got, " ") != want {
					t.Errorf("%+v with %+v: %q, want %q", b, test.access, got, want)
				}
			}
		}
	}
}

// A blocked client gets nothing beside MCP either, and each request has an event. A listed client
// administers all the same, and its token for an actor does not.
func TestBlockedClientsBesideMCP(t *testing.T) {
	by := func(client, actor string) access.Principal {
		p := access.Principal{Issuer: "i", Subject: "ada", Client: client, Roles: []string{"Admin"}}
		p.Actor.Subject = actor
		return p
	}
	var events []audit.Event
	var server runtime.Administered
	s := newServer(t, runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("agent-token"): by("agent", ""),
			identity.HashToken("desk-token"):  by("desk", ""),
			identity.HashToken("robot-token"): by("desk", "robot")}),
		Audit: runtime.AuditOptions{Sink: audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			events = append(events, e)
			return nil
		})},
		Access: runtime.AccessOptions{Boundaries: boundaryFile(t,
			"boundaries: [{issuer: i, client: '*', roles: '*', items: '*', blocked: true}]")},
		Admin: func(a runtime.Administered) (http.Handler, error) {
			server = a.AdministeredBy([]boundary.Party{{Issuer: "i", Client: "desk"}})
			return http.NotFoundHandler(), nil
		}}, depot())
	refused := 0
	for _, test := range []struct {
		token    string
		identify func(*http.Request) (context.Context, error)
		admitted bool
	}{
		{"agent-token", s.Identify, false}, {"desk-token", s.Identify, false},
		{"agent-token", server.Identify, false}, {"desk-token", server.Identify, true},
		{"robot-token", server.Identify, false},
	} {
		r := httptest.NewRequest("GET", "/api/v1/whoami", nil)
		r.Header.Set("Authorization", "Bearer "+test.token)
		ctx, err := test.identify(r)
		if (err == nil) != test.admitted {
			t.Errorf("%+v: %v", test, err)
		}
		if err == nil {
			p, _ := runtime.Caller(ctx)
			if !server.IsAdmin(p) || s.Table().Visible(p).Len() > 0 {
				t.Errorf("%+v: %+v", test, p)
			}
			continue
		}
		if refusal := (*runtime.Refusal)(nil); !errors.As(err, &refusal) ||
			*refusal != (runtime.Refusal{Status: http.StatusForbidden, Reason: "forbidden"}) {
			t.Errorf("%+v: %#v", test, err)
		}
		if refused++; len(events) != refused {
			t.Fatalf("%d events of %d refused requests", len(events), refused)
		}
		e := events[refused-1]
		if e.Type != audit.Refused || e.Failure != audit.Denied || e.Action != "GET /api/v1/whoami" ||
			e.Axis != "boundary" || e.Missing != "blocked" || e.Principal != "ada" {
			t.Errorf("%+v: %+v", test, e)
		}
	}
	e := s.Explain(context.Background(), by("agent", ""), "look")
	if e.Allowed || e.Listed || !strings.Contains(e.String(),
		"its client is blocked (403 over HTTP)") {
		t.Error(e)
	}
}

// everyParty is a source that has one boundary for every party, and that does not list it.
type everyParty boundary.Boundary

func (b everyParty) Boundary(context.Context, boundary.Party) (boundary.Boundary, bool, error) {
	return boundary.Boundary(b), true, nil
}

// An item that the server no longer has allows nothing, also if it is a template that the URIs of
// resources match.
func TestBoundaryWithAnUnknownTemplateAllowsNothing(t *testing.T) {
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	for item, want := range map[string]bool{"resource:lib://{+x}": false, "skill:lib://{x}": false,
		"resource:lib://none": false, "resource:lib://hall": true, "skill:lib://hall": true} {
		s := newServer(t, runtime.Options{Anonymous: true, Access: runtime.AccessOptions{
			Boundaries: everyParty{Roles: []string{"*"}, Items: []string{item}}}}, updating())
		for _, uri := range []string{"lib://hall", "lib://safe", "lib://books/{id}"} {
			e := s.ExplainOf(t.Context(), agent, access.Resources, uri)
			if e.Allowed != (want && uri == "lib://hall") {
				t.Errorf("%s allows %s: %t", item, uri, e.Allowed)
			}
		}
	}
}

// noted are the callers that functions of a program got.
type noted struct{ *sync.Map }

func (n noted) of(ctx context.Context, function string) {
	p, _ := runtime.Caller(ctx)
	n.Store(function, p)
}

type callersHost struct {
	*fakeHost
	noted
}

func (h callersHost) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	h.Store("Capabilities", p)
	return h.fakeHost.Capabilities(ctx, p)
}

func (h callersHost) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	h.Store("Resolve", p)
	return h.fakeHost.Resolve(ctx, p)
}

type callersCatalogs struct{ noted }

func (c callersCatalogs) Catalog(_ context.Context, p access.Principal,
	_ catalog.Ref) (catalog.Found, error) {
	c.Store("Catalog", p)
	return catalog.Found{}, catalog.ErrUnknown
}

func (callersCatalogs) ToolsOff(context.Context) ([]string, error) { return nil, nil }

func (callersCatalogs) Changes(context.Context) <-chan catalog.Change { return nil }

// A function of the program may compare the names of roles. Each one gets the roles that count
// within the boundary of the client.
func TestFunctionsOfTheProgramGetTheRolesWithinTheBoundary(t *testing.T) {
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", User: "ada",
		Roles: []string{"Admin"}}
	for roles, want := range map[string]string{"[Member]": "Member", "[Admin]": "Admin", "[]": "",
		`"*"`: "Admin"} {
		got, host := noted{&sync.Map{}}, newHost(nil)
		host.set("ada")
		s := newServer(t, runtime.Options{
			Identity: identity.Static(map[string]access.Principal{identity.HashToken("token"): agent}),
			Access: runtime.AccessOptions{
				Boundaries: boundaryFile(t, `boundaries: [{issuer: i, client: agent, items: "*", roles: `+
					roles+`}]`)},
			Host:     runtime.HostOptions{Source: callersHost{host, got}, TTL: time.Hour},
			Catalogs: runtime.CatalogOptions{Source: callersCatalogs{got}},
			Texts: runtime.TextOptions{InstructionsFor: func(p access.Principal, _ []string) string {
				got.Store("InstructionsFor", p)
				return ""
			}},
			Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					got.of(ctx, "an interceptor")
					return next(ctx, m)
				}
			}},
			Audit: runtime.AuditOptions{Sink: audit.SinkFunc(func(ctx context.Context, _ audit.Event) error {
				got.of(ctx, "the audit sink")
				return nil
			})},
		}, toolsetOf([]toolset.Tool{{Name: "roles", Input: `{"type":"object"}`,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				got.of(ctx, "a handler")
				return toolset.Result{}, nil
			}}}, access.Rule{Tool: "roles", Authenticated: true, Permission: access.NoPermission()}))
		session := connectIO(t, s, agent, "2025-11-25")
		list := &mcp.ListToolsParams{Meta: mcp.Meta{runtime.MetaCatalog: "any"}}
		_, listed := session.ListTools(t.Context(), list)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "roles"})
		if listed != nil || err != nil || result.IsError {
			t.Fatalf("%v, %v, %s", listed, err, mcptest.Text(result))
		}
		s.InvalidateCapabilities(func(p access.Principal) bool {
			got.Store("InvalidateCapabilities", p)
			return false
		})
		s.Doctor(t.Context(), agent)
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer token")
		ctx, err := s.Identify(r)
		if err != nil {
			t.Fatal(err)
		}
		got.of(ctx, "Identify")
		functions := 0
		for function, p := range got.Range {
			p := p.(access.Principal)
			if strings.Join(p.Roles, " ") != want || p.Subject != "ada" {
				t.Errorf("roles: %s: %s got %+v, want %q", roles, function, p, want)
			}
			functions++
		}
		if functions != 9 {
			t.Errorf("%d functions were called", functions)
		}
	}
}

// A source that does not answer denies: its own principal does not widen what it returned.
func TestPrincipalsOwnBoundsDoNotCount(t *testing.T) {
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	table := depot().Generated().Table
	agent.Bounds = table.Bounds(table.Hierarchy(), func(access.Kind, access.Rule) bool { return true })
	s := newServer(t, runtime.Options{Identity: identity.Static(map[string]access.Principal{
		identity.HashToken("agent-token"): agent}), Access: runtime.AccessOptions{
		Boundaries: failingBoundaries{}}}, depot())
	if e := s.Explain(context.Background(), agent, "look"); e.Allowed {
		t.Error(e)
	}
}

type failingBoundaries struct{}

func (failingBoundaries) Boundary(context.Context, boundary.Party) (boundary.Boundary, bool,
	error) {
	return boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"}}, true, errors.New("no")
}

// A resource outside of a boundary answers no URI that one inside matches, by each combination of
// three resources that match the same URI: the first one inside answers and notifies.
func TestResourceInsideABoundaryAnswersInPlaceOfOneOutside(t *testing.T) {
	uris := []string{"doc://7", "doc://{+path}", "doc://{id}"} // in the order of their answers
	g := toolset.Generated{Package: "example.com/docs",
		Table:  access.Table{Roles: access.DefaultRoles()},
		Server: toolset.ServerInfo{Name: "docs", Version: "1"}}
	for _, uri := range uris {
		r := toolset.Resource{URI: uri, Name: uri, Subscribe: true,
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText(uri, nil)
			}}
		if _, name, ok := strings.Cut(strings.TrimSuffix(uri, "}"), "{"); ok {
			r.Variables = []toolset.Variable{{Name: strings.TrimPrefix(name, "+")}}
		}
		g.Resources = append(g.Resources, r)
		g.Table.Resources = append(g.Table.Resources, access.Rule{Resource: uri, Authenticated: true})
	}
	for inside := range 1 << len(uris) {
		want, items := "", ""
		for i, uri := range uris {
			if inside&(1<<i) != 0 {
				items += `"resource:` + uri + `",`
				want = cmp.Or(want, uri)
			}
		}
		server, err := runtime.New(runtime.Options{Identity: mcptest.Identities{},
			Access: runtime.AccessOptions{Boundaries: boundaryFile(t,
				`boundaries: [{issuer: "", client: agent, roles: "*", items: [`+items+`]}]`)}},
			toolset.NewToolset(g))
		if err != nil {
			t.Fatal(err)
		}
		session := mcptest.As(t, server, access.Principal{Subject: "ada", Client: "agent"},
			"2025-11-25")
		res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://7"})
		got := ""
		if err == nil {
			got = res.Contents[0].Text
		}
		if got != want {
			t.Errorf("with %s inside, %q answers: %v", items, got, err)
		}
		err = session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "doc://7"})
		if (err == nil) != (want != "") {
			t.Errorf("with %s inside, a subscription: %v", items, err)
		}
	}
}

// The context of a request beside MCP ends with a block of its client.
func TestABlockEndsRequestsBesideMCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &blockSource{changes: make(chan boundary.Party)}
		s := newServer(t, runtime.Options{Identity: identity.Bearer(func(_ context.Context,
			token string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Issuer: "i", Subject: "ada",
				Client: token}}, nil
		}, identity.NamesUsers()), Access: runtime.AccessOptions{Boundaries: inMemory{source}}}, depot())
		shutDown(t, s)
		found := map[string]context.Context{}
		for _, client := range []string{"agent", "desk"} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+client)
			var err error
			if found[client], err = s.Identify(r); err != nil {
				t.Fatal(err)
			}
		}
		source.block(boundary.Party{})
		synctest.Wait()
		if found["agent"].Err() == nil || found["desk"].Err() != nil {
			t.Errorf("%v, %v", context.Cause(found["agent"]), found["desk"].Err())
		}
	})
}

// An item with a value that the server does not have allows nothing.
func TestItemsOfUnknownValuesAllowNothing(t *testing.T) {
	nothing := func(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }
	g := toolsetOf([]toolset.Tool{
		{Name: "plain", Input: anyInput, Call: nothing},
		{Name: "ruled", Call: nothing, Input: `{"type":"object","required":["a"],` +
			`"properties":{"a":{"type":"string","enum":["x","y"]}}}`}}).Generated()
	for _, v := range []string{"x", "y"} {
		g.Table.Values = append(g.Table.Values, access.Rule{Tool: "ruled", Argument: "a", Value: v,
			Authenticated: true})
	}
	set := toolset.NewToolset(g)
	agent := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	for _, test := range []struct {
		item, tool string
	}{
		{"tool:plain name=rack", "plain"}, // the argument has no rules (any more)
		{"tool:ruled b=x", "ruled"},       // another argument
		{"tool:ruled a=z", "ruled"},       // another value
		{"tool:ruled A=x", "ruled"},
	} {
		s := newServer(t, runtime.Options{Anonymous: true, Access: runtime.AccessOptions{
			Boundaries: everyParty{Roles: []string{"*"}, Items: []string{test.item}}}}, set)
		e := s.Explain(context.Background(), agent, test.tool)
		if e.Allowed {
			t.Errorf("the item %q allows the tool %s: %s", test.item, test.tool, e)
		}
		for _, v := range []string{"x", "y"} {
			if e := s.ExplainOf(context.Background(), agent, access.Values, "ruled a="+v); e.Allowed {
				t.Errorf("the item %q allows %s", test.item, e.Name)
			}
		}
	}
}
