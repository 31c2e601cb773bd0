package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// scoped is a toolset whose rules ask for scopes, and tell which.
func scoped() toolset.Toolset {
	needs := func(denial access.Denial) access.Rule {
		return access.Rule{MinRole: member, Scopes: []string{"stock:write", "stock:read"},
			Denial: denial}
	}
	move, hush, hall, book, ask := needs(access.Challenge), needs(access.Conceal),
		access.Rule{Resource: "lib://hall", Public: true}, needs(access.Challenge),
		needs(access.Challenge)
	move.Tool, hush.Tool, book.Resource, ask.Prompt = "move", "hush", "lib://books/{id}", "ask"
	call := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]string{"moved": "yes"}, nil)
	}
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("a book", nil)
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/stock", Server: toolset.ServerInfo{Name: "stock", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{move, hush,
			{Tool: "look", Public: true}},
			Prompts: []access.Rule{ask}, Resources: []access.Rule{book, hall}},
		Tools: []toolset.Tool{
			{Name: "move", Input: `{"type":"object"}`, Call: call},
			{Name: "hush", Input: `{"type":"object"}`, Call: call},
			{Name: "look", Input: `{"type":"object"}`, Call: call},
		},
		Prompts: []toolset.Prompt{{Name: "ask",
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("ask", nil)
			}}},
		Resources: []toolset.Resource{
			{URI: "lib://books/{id}", Name: "b", Read: read,
				Variables: []toolset.Variable{{Name: "id"}}}, {URI: "lib://hall", Name: "h",
				Read: read},
		},
	})
}

// holders are callers by token: role and scopes.
func holders() identity.Source {
	return identity.Static(map[string]access.Principal{
		identity.HashToken("few"): {Subject: "few", Role: "Member", Scopes: []string{"stock:read",
			"else", "zwölf", `qu"ote`}},
		identity.HashToken("low"): {Subject: "low", Role: "Viewer",
			Scopes: []string{"stock:read"}},
		identity.HashToken("full"): {Subject: "full", Role: "Admin", Scopes: []string{"stock:read",
			"stock:write"}},
	})
}

// uses are the ways to use what is challenged, and its unknown likeness.
var uses = []struct{ method, params, unknown, name string }{
	{"tools/call", `"name":"move"`, `"name":"mov_"`, "move"},
	{"prompts/get", `"name":"ask"`, `"name":"as_"`, "ask"},
	{"resources/read", `"uri":"lib://books/a"`, `"uri":"lib://book_/a"`, "lib://books/a"},
	{"completion/complete",
		`"ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"a","value":"b"}`,
		`"ref":{"type":"ref/prompt","name":"as_"},"argument":{"name":"a","value":"b"}`, "ask"},
}

func TestWhoLacksScopesOnlyGetsTheirNames(t *testing.T) {
	for _, server := range []access.Denial{access.Conceal, access.Challenge} {
		s := newServer(t, runtime.Options{Anonymous: true, Identity: holders(), Denial: server},
			scoped())
		url := serve(t, s)
		for _, era := range eras {
			for _, use := range uses {
				name := fmt.Sprintf("%v/%s/%s", server, era, use.method)
				for _, token := range []string{"few", "low", ""} {
					c := newRaw(t, url, token, era)
					headers := func(name string) map[string]string {
						if era != "2026-07-28" {
							return nil
						}
						return map[string]string{"Mcp-Name": name}
					}
					got := c.ask(t, use.method, use.params, headers(use.name))
					if token == "few" {
						want := `Bearer realm="stock", error="insufficient_scope", scope="else stock:read stock:write"`
						if got.status != http.StatusForbidden ||
							got.header.Get("WWW-Authenticate") != want ||
							strings.Contains(got.body, "stock") {
							t.Errorf("%s: %s", name, got)
						}
						continue
					}
					mangle := func(s string) string {
						return strings.NewReplacer("mov_", "move", `"as_"`, `"ask"`, `\"as_\"`,
							`\"ask\"`, "book_", "books").Replace(s)
					}
					odd := mangle(c.ask(t, use.method, use.unknown,
						headers(strings.NewReplacer("move", "mov_", "ask", "as_", "books",
							"book_").Replace(use.name))).String())
					if got.String() != odd {
						t.Errorf("%s as %q:\n%s\nunknown:\n%s", name, token, got, odd)
					}
				}
				if got := newRaw(t, url, "full", era).ask(t, use.method, use.params,
					nameOf(era, use.name)); got.status != http.StatusOK ||
					strings.Contains(got.body, `"error"`) {
					t.Errorf("%s: who has all is answered %s", name, got)
				}
			}
		}
	}
}

func nameOf(era, name string) map[string]string {
	if era != "2026-07-28" {
		return nil
	}
	return map[string]string{"Mcp-Name": name}
}

func TestChallengedToolsAreListedToWhomTheyAreChallenged(t *testing.T) {
	for server, want := range map[access.Denial]map[string]string{
		access.Conceal: {"few": "look move", "low": "look", "full": "hush look move", "": "look"},
	} {
		s := newServer(t, runtime.Options{Anonymous: true, Identity: holders(), Denial: server},
			scoped())
		url := serve(t, s)
		for token, names := range want {
			for _, era := range eras {
				session := connectHTTP(t, url, token, era)
				var listed []string
				for tool, err := range session.Tools(context.Background(), nil) {
					if err != nil {
						t.Fatal(err)
					}
					listed = append(listed, tool.Name)
				}
				if got := strings.Join(listed, " "); got != names {
					t.Errorf("%s, %s: %q, want %q", token, era, got, names)
				}
			}
		}
	}
}

func TestServersDenialIsAChallengeWhereRulesSayNone(t *testing.T) {
	rule := access.Rule{Tool: "t", Scopes: []string{"s"}}
	set := toolsetOf([]toolset.Tool{{Name: "t", Input: `{"type":"object"}`,
		Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		}}}, rule)
	for _, all := range []bool{false, true} {
		url := serve(t, newServer(t, runtime.Options{Identity: holders(), Denial: access.Challenge,
			ListAll: all}, set))
		if got := newRaw(t, url, "few", "2025-11-25").call(t, "t", "",
			nil); got.status != http.StatusForbidden {
			t.Errorf("all=%v: %s", all, got)
		}
	}
	url := serve(t, newServer(t, runtime.Options{Identity: holders()}, set))
	if got := newRaw(t, url, "few", "2025-11-25").call(t, "t", "",
		nil); got.status != http.StatusOK || !strings.Contains(got.body, "unknown tool") {
		t.Errorf("concealed: %s", got)
	}
}

func TestChallengeIsAForbidOnStdio(t *testing.T) {
	s := newServer(t, runtime.Options{}, scoped())
	for _, era := range eras {
		session := connectIO(t, s, access.Principal{Subject: "few", Role: "Member",
			Scopes: []string{"stock:read"}}, era)
		ctx := context.Background()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "move"})
		if err != nil || !res.IsError ||
			res.Content[0].(*mcp.TextContent).Text != `403 Forbidden: tool "move" needs scope stock:write` {
			t.Errorf("%s: %+v, %v", era, res, err)
		}
		if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "ask"}); err == nil ||
			!strings.Contains(err.Error(), `403 Forbidden: prompt "ask" needs scope stock:write`) {
			t.Errorf("%s: %v", era, err)
		}
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hush"}); err == nil ||
			!strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: %v", era, err)
		}
	}
}

func TestChallengesAreRecorded(t *testing.T) {
	var events []audit.Event
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		events = append(events, e)
		return nil
	})
	url := serve(t, newServer(t, runtime.Options{Identity: holders(), Audit: sink}, scoped()))
	c := newRaw(t, url, "few", "2026-07-28")
	if got := c.call(t, "move", "", nil); got.status != http.StatusForbidden {
		t.Fatalf("%s", got)
	}
	if len(events) != 1 || events[0].Failure != audit.Denied || events[0].Axis != "scopes" ||
		events[0].Missing != "needs scope stock:write" {
		t.Errorf("%+v", events)
	}
}

func TestChallengeThatCannotBeRecordedIsNoChallenge(t *testing.T) {
	sink := audit.SinkFunc(func(context.Context, audit.Event) error { return fmt.Errorf("full") })
	url := serve(t, newServer(t, runtime.Options{Identity: holders(), Audit: sink}, scoped()))
	if got := newRaw(t, url, "few", "2025-11-25").call(t, "move", "",
		nil); got.status != http.StatusOK || !strings.Contains(got.body, "internal error") ||
		got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s", got)
	}
}

// guarded is a source that says where its tokens come from.
type guarded struct {
	identity.Source
	resource identity.Resource
}

func (g guarded) Resource() identity.Resource { return g.resource }

// oneHiddenScope is a tool whose scope only its callers know.
func oneHiddenScope() toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/secret", Server: toolset.ServerInfo{Name: "secret"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "secret", Scopes: []string{"secret:read"}}}},
		Tools: []toolset.Tool{{Name: "secret", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}},
	})
}

func TestProtectedResourcesSayWhereTheirTokensComeFrom(t *testing.T) {
	source := guarded{holders(), identity.Resource{
		URL: "https://mcp.example/mcp", AuthorizationServers: []string{"https://id.example"},
		Scopes: []string{"stock:read"}, Name: "Stock", Documentation: "https://mcp.example/docs",
	}}
	url := serve(t, newServer(t, runtime.Options{Identity: source}, scoped()))
	root := strings.TrimSuffix(url, runtime.PathMCP)
	const document = `{"resource":"https://mcp.example/mcp","authorization_servers":["https://id.example"],"scopes_supported":["stock:read"],"bearer_methods_supported":["header"],"resource_name":"Stock","resource_documentation":"https://mcp.example/docs"}`
	for _, path := range []string{"", "/mcp"} {
		c := &raw{url: root + runtime.PathResourceMetadata + path}
		if got := c.send(t, http.MethodGet, "", nil); got.status != http.StatusOK ||
			strings.TrimSpace(got.body) != document ||
			got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %s", path, got)
		}
	}
	const pointer = `, resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`
	for token, want := range map[string]string{"": `Bearer realm="stock"` + pointer,
		"bad": `Bearer realm="stock", error="invalid_token"` + pointer} {
		c := &raw{url: url, token: token}
		if got := c.send(t, http.MethodPost, c.request("ping", ""),
			nil); got.status != http.StatusUnauthorized ||
			got.header.Get("WWW-Authenticate") != want {
			t.Errorf("%q: %s", token, got)
		}
	}
	if got := newRaw(t, url, "few", "2026-07-28").call(t, "move", "",
		nil); got.status != http.StatusForbidden ||
		!strings.HasSuffix(got.header.Get("WWW-Authenticate"), pointer) {
		t.Errorf("%s", got)
	}
	// By default the scopes are those of rules with denial=challenge, which is not that of hush.
	for want, scopes := range map[string][]string{`["stock:read","stock:write"]`: nil, "": {}} {
		source.resource.Scopes = scopes
		c := &raw{url: strings.TrimSuffix(serve(t, newServer(t, runtime.Options{Identity: source},
			scoped(), oneHiddenScope())), runtime.PathMCP) + runtime.PathResourceMetadata}
		var published struct {
			Scopes json.RawMessage `json:"scopes_supported"`
		}
		got := c.send(t, http.MethodGet, "", nil)
		if err := json.Unmarshal([]byte(got.body), &published); err != nil ||
			string(published.Scopes) != want {
			t.Errorf("%v: %s, %v", scopes, got, err)
		}
	}
	// Others publish nothing.
	root = strings.TrimSuffix(serve(t, newServer(t, runtime.Options{Identity: holders()},
		scoped())), runtime.PathMCP)
	c := &raw{url: root + runtime.PathResourceMetadata}
	if got := c.send(t, http.MethodGet, "", nil); got.status != http.StatusNotFound {
		t.Errorf("%s", got)
	}
}

// Wherever the resource is, the pointer leads to its document, and other paths to none.
func TestPointerLeadsToTheDocument(t *testing.T) {
	for _, resource := range []string{
		"https://mcp.example", "https://mcp.example/", "https://mcp.example/mcp",
		"https://mcp.example/mcp/", "https://mcp.example/tools/mcp",
		"https://mcp.example/a%2Fb/100%25", "https://mcp.example/with%20space/{x}/{y...}",
		"https://mcp.example/%C3%BC",
	} {
		s := newServer(t, runtime.Options{Identity: guarded{holders(),
			identity.Resource{URL: resource,
				AuthorizationServers: []string{"https://id.example"}}}}, scoped())
		root := strings.TrimSuffix(serve(t, s), runtime.PathMCP)
		challenge := (&raw{url: root + runtime.PathMCP}).send(t, http.MethodPost, ping,
			nil).header.Get("Www-Authenticate")
		_, at, _ := strings.Cut(challenge, `resource_metadata="https://mcp.example`)
		at = strings.TrimSuffix(at, `"`)
		if want := runtime.PathResourceMetadata + strings.TrimSuffix(strings.TrimPrefix(resource,
			"https://mcp.example"), "/"); !strings.HasPrefix(at, "/.well-known/") ||
			!strings.ContainsAny(resource, "{}") && at != want {
			t.Errorf("%s: %s", resource, challenge)
		}
		for _, path := range []string{at, runtime.PathResourceMetadata,
			runtime.PathResourceMetadata + "/mcp"} {
			if got := (&raw{url: root + path}).send(t, http.MethodGet, "",
				nil); got.status != http.StatusOK || !strings.Contains(got.body, `"resource":"`+
				resource+`"`) {
				t.Errorf("%s: %s: %s", resource, path, got)
			}
		}
		if got := (&raw{url: root + runtime.PathResourceMetadata + "/other"}).send(t,
			http.MethodGet, "", nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %s", resource, got)
		}
	}
}

func TestResourcesThatCannotBeFoundDoNotStart(t *testing.T) {
	servers := []string{"https://id.example"}
	for want, resource := range map[string]identity.Resource{
		`the resource's URL is ""`: {AuthorizationServers: servers},
		`the resource's URL is "http://mcp.example/mcp"`: {URL: "http://mcp.example/mcp",
			AuthorizationServers: servers},
		`the resource's URL is "https://a.example/?q"`: {URL: "https://a.example/?q",
			AuthorizationServers: servers},
		`the resource's URL is "https://a.example/#f"`: {URL: "https://a.example/#f",
			AuthorizationServers: servers},
		`the resource's URL is "https://u:p@a.example/m"`: {URL: "https://u:p@a.example/m",
			AuthorizationServers: servers},
		"the resource has no authorization server: add the issuers whose tokens it " +
			"accepts": {URL: "http://localhost:8080/mcp"},
	} {
		_, err := runtime.New(runtime.Options{Identity: guarded{holders(), resource},
			Logger: quiet()}, scoped())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := runtime.New(runtime.Options{Identity: guarded{holders(),
		identity.Resource{URL: "http://127.0.0.1:1/mcp", AuthorizationServers: servers}},
		Logger: quiet()}, scoped()); err != nil {
		t.Error(err)
	}
}

func TestGateHoldsStreamsUntilTheDecision(t *testing.T) {
	// Middleware and handlers may talk before they answer; what they send stays in order.
	set := toolsetOf([]toolset.Tool{{Name: "talk", SDK: true, Input: `{"type":"object"}`,
		Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			for i := range 3 {
				_ = toolset.Request[mcp.CallToolRequest](call).Session.NotifyProgress(ctx,
					&mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i)})
			}
			return toolset.Structured(map[string]int{"said": 3}, nil)
		}}, {Name: "scoped", Input: `{"type":"object"}`,
		Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		}}},
		access.Rule{Tool: "scoped", Scopes: []string{"s"}, Denial: access.Challenge})
	url := serve(t, newServer(t, runtime.Options{Identity: holders()}, set))
	for _, era := range eras {
		got := newRaw(t, url, "few", era).call(t, "talk", `,"arguments":{}`, nil)
		var at []int
		for _, text := range []string{`"progress":1`, `"progress":2`, `"said":3`} {
			at = append(at, strings.Index(got.body, text))
		}
		if got.status != http.StatusOK || !slices.IsSorted(at) || at[0] < 0 {
			t.Errorf("%s: %s", era, got)
		}
	}
}
