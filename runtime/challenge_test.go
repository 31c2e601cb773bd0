package runtime_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
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

func nameOf(era, name string) map[string]string {
	if era != "2026-07-28" {
		return nil
	}
	return map[string]string{"Mcp-Name": name}
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
