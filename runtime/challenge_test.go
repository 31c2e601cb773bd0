package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// scoped is a toolset whose rules ask for scopes, and tell which.
func scoped() toolset.Toolset {
	needs := func(denial access.Denial) access.Rule {
		return access.Rule{MinRole: []string{"Member"}, Scopes: []string{"stock:write", "stock:read"},
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
		identity.HashToken("few"): {Subject: "few", Roles: []string{"Member"},
			Scopes: []string{"stock:read",
				"else", "zwölf", `qu"ote`}},
		identity.HashToken("low"): {Subject: "low", Roles: []string{"Viewer"},
			Scopes: []string{"stock:read"}},
		identity.HashToken("full"): {Subject: "full", Roles: []string{"Admin"},
			Scopes: []string{"stock:read",
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
	const scope = `, scope="stock:read"`
	for token, want := range map[string]string{"": `Bearer realm="stock"` + scope + pointer,
		"bad": `Bearer realm="stock", error="invalid_token"` + scope + pointer} {
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
		for _, path := range []string{at, at + "/", runtime.PathResourceMetadata,
			runtime.PathResourceMetadata + "/mcp", runtime.PathResourceMetadata + "/mcp/"} {
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

// The metadata and the challenges name the URL of the configuration, with the catalogs in the URL
// of the request, and nothing else of it. A catalog need not exist.
func TestResourceIsTheURLOfTheClient(t *testing.T) {
	const at = "https://mcp.example/tools/mcp"
	s := newServer(t, runtime.Options{Identity: guarded{holders(), identity.Resource{
		URL: at, AuthorizationServers: []string{"https://id.example"}}}}, scoped())
	url := serve(t, s)
	root := strings.TrimSuffix(url, runtime.PathMCP)
	for query, want := range map[string]string{
		"":            "",
		"catalog=ops": "?catalog=ops",
		"readonly=false&x=1&catalog=night%20shift,a&token=t": "?readonly=false&catalog=night%20shift,a",
		"x=<script>&resource=https://evil.example":           "",
		"catalog=%22,%20realm=%22x&catalog=":                 "?catalog=%22,%20realm=%22x&catalog=",
		"catalog=" + strings.Repeat("a", 2000):               "",
	} {
		for _, path := range []string{"", "/mcp", "/tools/mcp"} {
			c := &raw{url: root + runtime.PathResourceMetadata + path + "?" + query}
			for _, headers := range []map[string]string{nil, {"Host": "evil.example",
				"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}} {
				got := c.send(t, http.MethodGet, "", headers)
				var document struct{ Resource string }
				if err := json.Unmarshal([]byte(got.body), &document); err != nil ||
					document.Resource != at+want || strings.Contains(got.String(), "evil.example") {
					t.Errorf("%q: %s, %v", query, got, err)
				}
			}
		}
		pointer := `, resource_metadata="https://mcp.example` + runtime.PathResourceMetadata +
			`/tools/mcp` + want + `"`
		for token, status := range map[string]int{"": 401, "bad": 401, "few": 403} {
			got := newRaw(t, url+"?"+query, token, "2026-07-28").call(t, "move", "", nil)
			if got.status != status || !strings.HasSuffix(got.header.Get("Www-Authenticate"), pointer) {
				t.Errorf("%q, %q: %s", query, token, got)
			}
		}
	}
	// The admin API has a parameter of this name too, and no catalogs of a client.
	_, err := s.Identify(httptest.NewRequest("GET", "/api/v1/mcp/tools?catalog=ops", nil))
	if refused, ok := errors.AsType[*runtime.Refusal](err); !ok ||
		!strings.HasSuffix(refused.Challenge, `/tools/mcp"`) {
		t.Errorf("%+v", err)
	}
}

func TestMetadataIsForPagesOfEveryOrigin(t *testing.T) {
	root := strings.TrimSuffix(serve(t, newServer(t, runtime.Options{Identity: guarded{holders(),
		identity.Resource{URL: "https://mcp.example/mcp",
			AuthorizationServers: []string{"https://id.example"}}}}, scoped())), runtime.PathMCP)
	for _, path := range []string{"", "/mcp?catalog=ops"} {
		c := &raw{url: root + runtime.PathResourceMetadata + path}
		got := map[string]reply{}
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
			got[method] = c.send(t, method, "", map[string]string{"Origin": "https://page.example",
				"Access-Control-Request-Method":  "GET",
				"Access-Control-Request-Headers": "mcp-protocol-version"})
			if got[method].header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: %s", method, got[method])
			}
		}
		if got["GET"].status != 200 || got["HEAD"].status != 200 || got["HEAD"].body != "" ||
			got["HEAD"].header.Get("Content-Type") != "application/json" {
			t.Errorf("%s\n%s", got["GET"], got["HEAD"])
		}
		for _, method := range []string{"POST", "DELETE"} {
			if got[method].status != 405 || got[method].header.Get("Allow") != "GET, HEAD, OPTIONS" {
				t.Errorf("%s", got[method])
			}
		}
		if preflight := got["OPTIONS"]; preflight.status != 204 ||
			!strings.Contains(strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers")),
				"mcp-protocol-version") ||
			!strings.Contains(preflight.header.Get("Access-Control-Allow-Methods"), "GET") {
			t.Errorf("%s", preflight)
		}
	}
}

// The scopes of a 401 are those of the configuration, whatever the request names.
func TestUnknownCallersGetTheScopesOfTheConfiguration(t *testing.T) {
	for want, scopes := range map[string][]string{
		`, scope="stock:read stock:write"`: nil, // of the rules with denial=challenge, not that of secret
		`, scope="mcp offline"`:            {"mcp", "offline", "", "no scope", `qu"ote`},
		"":                                 {},
	} {
		url := serve(t, newServer(t, runtime.Options{Identity: guarded{holders(), identity.Resource{
			URL: "https://mcp.example/mcp", AuthorizationServers: []string{"https://id.example"},
			Scopes: scopes}}}, scoped(), oneHiddenScope()))
		want = `Bearer realm="stock"` + want +
			`, resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`
		for _, era := range eras {
			c := &raw{url: url, era: era}
			for _, name := range []string{"move", "hush", "look", "secret", "missing"} {
				if got := c.call(t, name, "", nil); got.status != http.StatusUnauthorized ||
					got.header.Get("Www-Authenticate") != want {
					t.Errorf("%s, %s: %s", era, name, got)
				}
			}
			for _, method := range []string{"GET", "DELETE", "POST"} {
				if got := c.send(t, method, "", nil); got.header.Get("Www-Authenticate") != want {
					t.Errorf("%s, %s: %s", era, method, got)
				}
			}
		}
	}
}

// A challenge names the alternative of which the fewest scopes are missing. Before 2026-07-28 it
// has the other scopes of the caller too. scopes_supported has the first alternative of each rule.
func TestChallengeNamesTheNearestAlternative(t *testing.T) {
	set := toolset.NewToolset(toolset.Generated{
		Package: "example.com/stock", Server: toolset.ServerInfo{Name: "stock"},
		Table: access.Table{Rules: []access.Rule{
			{Tool: "move", Scopes: []string{"read", "write"}, OrScopes: [][]string{{"own"}, {"root"}},
				Denial: access.Challenge},
			{Tool: "hush", Scopes: []string{"hush"}, OrScopes: [][]string{{"move"}}}}},
		Tools: []toolset.Tool{{Name: "move", Input: `{"type":"object"}`, Call: nothing},
			{Name: "hush", Input: `{"type":"object"}`, Call: nothing}},
	})
	tokens := map[string]access.Principal{}
	for _, scopes := range []string{"none", "write.else", "else", "root"} {
		tokens[identity.HashToken(scopes)] = access.Principal{Subject: scopes,
			Scopes: strings.Split(scopes, ".")}
	}
	source := guarded{identity.Static(tokens), identity.Resource{URL: "https://mcp.example/mcp",
		AuthorizationServers: []string{"https://id.example"}}}
	url := serve(t, newServer(t, runtime.Options{Identity: source}, set))
	for _, era := range eras {
		for token, want := range map[string]string{"none": "none own", "write.else": "else read write",
			"else": "else own"} {
			if era == "2026-07-28" {
				want = strings.TrimPrefix(strings.TrimPrefix(want, "none "), "else ")
			}
			got := newRaw(t, url, token, era).call(t, "move", "", nil)
			if got.status != http.StatusForbidden || !strings.Contains(
				got.header.Get("Www-Authenticate"), `error="insufficient_scope", scope="`+want+`"`) {
				t.Errorf("%s, %q: %s, want %s", era, token, got, want)
			}
		}
		if got := newRaw(t, url, "root", era).call(t, "move", "", nil); got.status != http.StatusOK {
			t.Errorf("%s: %s", era, got)
		}
	}
	c := &raw{url: strings.TrimSuffix(url, runtime.PathMCP) + runtime.PathResourceMetadata}
	if got := c.send(t, http.MethodGet, "", nil); !strings.Contains(got.body,
		`"scopes_supported":["read","write"]`) {
		t.Errorf("%s", got)
	}
}

// authorizes is an authorization server and, below it, whatever else is at the URL. A code is the
// resource that the client has requested, and the token is that in base64url.
func authorizes(t *testing.T, next func(url string) http.Handler) (url string) {
	mux := http.NewServeMux()
	url = memnet.Start(t, &http.Server{Handler: mux})
	reply := func(w http.ResponseWriter, document map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(document); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter,
		_ *http.Request) {
		reply(w, map[string]any{"issuer": url, "authorization_endpoint": url + "/authorize",
			"token_endpoint": url + "/token", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("resource") != r.FormValue("code") {
			t.Errorf("the client requests a token for %q and %q", r.FormValue("code"),
				r.FormValue("resource"))
		}
		reply(w, map[string]any{"token_type": "Bearer",
			"access_token": base64.RawURLEncoding.EncodeToString([]byte(r.FormValue("resource")))})
	})
	mux.Handle("/", next(url))
	return url
}

// go-sdk's client compares the resource with its own URL, and requests a token for it.
func TestClientSignsInWithTheCatalogsInItsURL(t *testing.T) {
	client := &http.Client{Transport: memnet.Transport{}}
	for _, path := range []string{"/mcp", "/mcp/", "/"} {
		var resource identity.Resource
		url := authorizes(t, func(url string) http.Handler {
			resource = identity.Resource{URL: url + path, AuthorizationServers: []string{url}}
			s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{Path: path},
				Identity: guarded{identity.Bearer(
					func(_ context.Context, token string) (identity.Identity, error) {
						audience, err := base64.RawURLEncoding.DecodeString(token)
						if err != nil || resource.Audience(string(audience)) != resource.URL {
							return identity.Identity{}, identity.ErrInvalidToken
						}
						return identity.Identity{Principal: access.Principal{Subject: "ada"}}, nil
					}), resource}}, scoped())
			shutDown(t, s)
			return s.Handler()
		}) + path
		for _, query := range []string{"", "?catalog=ops", "?readonly=true&catalog=night%20shift,a"} {
			asked := 0
			handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
				Client:              client,
				PreregisteredClient: &oauthex.ClientCredentials{ClientID: "cli"},
				RedirectURL:         "http://127.0.0.1:9/callback",
				AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (
					*auth.AuthorizationResult, error) {
					asked++
					u, err := neturl.Parse(args.URL)
					if err != nil {
						return nil, err
					}
					requested := u.Query()
					if got := requested.Get("resource"); got != url+query {
						t.Errorf("%s: the client requests %s", url+query, got)
					}
					return &auth.AuthorizationResult{Code: requested.Get("resource"),
						State: requested.Get("state")}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "cli", Version: "1"}, nil).Connect(
				t.Context(), &mcp.StreamableClientTransport{Endpoint: url + query, HTTPClient: client,
					OAuthHandler: handler}, nil)
			if err != nil {
				t.Errorf("%s: %v", url+query, err)
				continue
			}
			if tools, err := session.ListTools(t.Context(), nil); err != nil || asked != 1 ||
				query == "" && len(tools.Tools) == 0 {
				t.Errorf("%s: %v, signed in %d times", url+query, err, asked)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
