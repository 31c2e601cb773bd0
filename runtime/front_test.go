package runtime_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// hostile are bodies that one reader takes for one thing and another for something else, or
// for nothing at all. Each would call a tool of admins if it were read generously.
func hostile(c *raw) map[string]string {
	good := c.request("tools/call", `"name":"promote_to_manager","arguments":{"id":"ada"}`)
	return map[string]string{
		"a batch":                    "[" + good + "]",
		"a batch after white space":  " \n[" + good + "]",
		"an empty batch":             "[]",
		"UTF-16":                     "\xff\xfe{\x00}\x00",
		"invalid UTF-8":              strings.Replace(good, "ada", "a\xffa", 1),
		"half a surrogate pair":      strings.Replace(good, "ada", `\ud800`, 1),
		"a key twice in the message": strings.Replace(good, `"id":7`, `"id":7,"method":"ping"`, 1),
		"a key twice, escaped": strings.Replace(good, `"id":7`,
			`"id":7,"m\u0065thod":"ping"`, 1),
		"a key twice in params": strings.Replace(good, `"name":"promote_to_manager"`,
			`"name":"get_all","name":"promote_to_manager"`, 1),
		"a key twice in arguments": strings.Replace(good, `"id":"ada"`, `"id":"ada","id":"bob"`,
			1),
		"something after the message": good + `{"jsonrpc":"2.0"}`,
		"a NUL after the message":     good + "\x00",
		"half a message":              good[:len(good)-2],
		"single quotes":               strings.ReplaceAll(good, `"`, `'`),
		"a comment":                   "/* */" + good,
		"a trailing comma":            strings.Replace(good, `}}`, `,}}`, 1),
		"NaN":                         strings.Replace(good, `"ada"`, `NaN`, 1),
		"an id with a fraction":       strings.Replace(good, `"id":7`, `"id":7.5`, 1),
		"an id beyond int64": strings.Replace(good, `"id":7`, `"id":99999999999999999999`,
			1),
		"an id that is an object": strings.Replace(good, `"id":7`, `"id":{}`, 1),
		"a string":                `"tools/call"`,
		"null":                    `null`,
		"nothing":                 ``,
		"white space":             "   ",
		"too deep": strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}",
			2000),
		"a huge exponent": strings.Replace(good, `"ada"`, `1e999999999`, 1),
	}
}

func TestBodiesThatReadersDisagreeOnAreRefusedForEverybody(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		for name, body := range hostile(c) {
			headers := map[string]string{}
			if era == "2026-07-28" {
				headers["Mcp-Method"], headers["Mcp-Name"] = "tools/call", "promote_to_manager"
			}
			got := c.send(t, "POST", body, headers)
			if got.status != http.StatusBadRequest ||
				strings.Contains(got.body, "structuredContent") ||
				!strings.Contains(got.body, `"error":{"code":-32`) {
				t.Errorf("%s, %s: %s", era, name, got)
			}
		}
		if got := c.send(t, "POST", c.request("ping", ""),
			map[string]string{"Mcp-Method": "ping"}); era != "2026-07-28" && got.status != 200 {
			t.Errorf("%s: the session does not live on: %s", era, got)
		}
	}
}

func TestOtherSpellingsOfKeysDoNotChangeWhatIsDecided(t *testing.T) {
	t.Parallel()
	// encoding/json would take "Method" for the method.
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","Method":"ping","params":{"name":"promote_to_manager","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":7,"Method":"ping","method":"tools/call","params":{"name":"promote_to_manager","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"Name":"get_all","name":"promote_to_manager","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"promote_to_manager","NAME":"get_all"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"promote_to_manager"},"Params":{"name":"get_all"}}`,
		`{"jsonrpc":"2.0","id":7,"m\u0065thod":"tools/call","params":{"n\u0061me":"promote_to_manager"}}`,
	} {
		if got := c.send(t, "POST", body, nil); !strings.Contains(got.body,
			`unknown tool \"promote_to_manager\"`) {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestWrongContentTypeIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	for value, status := range map[string]int{
		"application/json":                         200,
		"application/json; charset=utf-8":          200,
		"Application/JSON":                         200,
		"application/json; charset=utf-16":         415,
		"text/plain":                               415,
		"application/x-www-form-urlencoded":        415,
		"multipart/form-data; boundary=x":          415,
		"application/json, text/plain":             415,
		"application/jsonp":                        415,
		"application/vnd.api+json":                 415,
		"application/json; charset=utf-8; charset": 415,
	} {
		if got := c.send(t, "POST", ping,
			map[string]string{"Content-Type": value}); got.status != status {
			t.Errorf("%s: %s", value, got)
		}
	}
	if got := c.send(t, "POST", ping, map[string]string{"Content-Type": ""}); got.status != 415 {
		t.Errorf("none: %s", got)
	}
}

func TestUnusualMethodsAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := &raw{url: serve(t, s), token: tokens["Admin"], era: "2026-07-28"}
	for _, method := range []string{"PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND",
		"post"} {
		got := c.send(t, method, ping, nil)
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") == "" {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{MaxBody: 1000}}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		got := c.call(t, "get_by_id", `,"arguments":{"id":"`+strings.Repeat("a", 1000)+`"}`, nil)
		if got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %s", era, got)
		}
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		options      runtime.Options
		host, origin string
		status       int
	}{
		{"the server's own name", runtime.Options{}, "", "", 200},
		{"localhost", runtime.Options{}, "localhost:1234", "", 200},
		{"IPv6 loopback", runtime.Options{}, "[::1]:1234", "", 200},
		{"a rebound name", runtime.Options{}, "evil.example", "", 403},
		{"a rebound name with a port", runtime.Options{}, "evil.example:80", "", 403},
		{"a name that looks like loopback", runtime.Options{}, "127.0.0.1.evil.example", "", 403},
		{"a name with loopback as a user", runtime.Options{}, "localhost.evil.example", "", 403},
		{"an allowed host", runtime.Options{
			HTTP: runtime.HTTPOptions{Hosts: []string{"mcp.example"}}},
			"MCP.example:8443", "", 200},
		{"loopback where hosts are listed", runtime.Options{
			HTTP: runtime.HTTPOptions{Hosts: []string{"mcp.example"}}},
			"localhost", "", 403},
		{"a foreign origin", runtime.Options{}, "", "https://evil.example", 403},
		{"another port of this machine", runtime.Options{}, "", "http://localhost:9", 403},
		{"the null origin", runtime.Options{}, "", "null", 403},
		{"an origin that is not a URL", runtime.Options{}, "", "://", 403},
		{"the server's own origin", runtime.Options{}, "localhost:77", "http://localhost:77", 200},
		{"an allowed origin", runtime.Options{
			HTTP: runtime.HTTPOptions{Origins: []string{"https://app.example"}}}, "",
			"https://app.example", 200},
		{"an origin below an allowed one",
			runtime.Options{
				HTTP: runtime.HTTPOptions{Origins: []string{"https://app.example"}}}, "",
			"https://app.example.evil.example", 403},
		{"an allowed origin by another scheme",
			runtime.Options{
				HTTP: runtime.HTTPOptions{Origins: []string{"https://app.example"}}}, "",
			"http://app.example", 403},
	} {
		s := newServer(t, test.options, directory(&desk{}))
		ts := httptest.NewServer(s.Handler())
		c := &raw{url: ts.URL + "/mcp", token: tokens["Admin"], era: "2026-07-28"}
		headers := map[string]string{"Origin": test.origin, "Mcp-Method": "tools/list"}
		if test.host != "" {
			headers["Host"] = test.host
		}
		if got := c.send(t, "POST", c.request("tools/list", ""),
			headers); got.status != test.status {
			t.Errorf("%s: %s", test.name, got)
		}
		ts.Close()
	}
}

func TestAllowedOriginsArePreflighted(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{
		HTTP: runtime.HTTPOptions{Origins: []string{"https://app.example"}}},
		directory(&desk{}))
	c := &raw{url: serve(t, s)}
	preflight := map[string]string{"Origin": "https://app.example",
		"Access-Control-Request-Method":  "POST",
		"Access-Control-Request-Headers": "authorization,mcp-method"}
	got := c.send(t, "OPTIONS", "", preflight)
	if got.status != 204 ||
		got.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		got.header.Get("Access-Control-Allow-Headers") != "authorization,mcp-method" ||
		got.header.Get("Vary") != "Origin" {
		t.Errorf("%s", got)
	}
	got = c.send(t, "POST", ping, map[string]string{"Origin": "https://app.example"})
	if got.status != 401 || got.header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("%s", got)
	}
	preflight["Origin"] = "https://evil.example"
	if got := c.send(t, "OPTIONS", "", preflight); got.status != 403 ||
		got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s", got)
	}
}

// makers make a server of the directory in both ways.
var makers = map[string]func(runtime.Options) (*runtime.Server, error){
	"New": func(o runtime.Options) (*runtime.Server, error) {
		return runtime.New(o, directory(&desk{}))
	},
	"Adopt": func(o runtime.Options) (*runtime.Server, error) {
		return runtime.Adopt(existing(), o, nil, directory(&desk{}))
	},
}

func TestPathOfTheEndpointIsAnOption(t *testing.T) {
	t.Parallel()
	const metadata = runtime.PathResourceMetadata
	for kind, build := range makers {
		for _, option := range []string{"", "/tools/mcp", "/tools/mcp/", "/v1.2/a_b~c-D", "/.well",
			"/api", "/"} {
			s, err := build(runtime.Options{HTTP: runtime.HTTPOptions{Path: option},
				Logger: quiet(), Admin: desktop,
				Identity: guarded{users(), identity.Resource{URL: "https://mcp.example/front",
					AuthorizationServers: []string{"https://id.example"}}}})
			if err != nil {
				t.Fatal(err)
			}
			path, url := cmp.Or(option, "/mcp"), serve(t, s)
			base, below := strings.TrimSuffix(url, path), strings.TrimSuffix(path, "/")
			slash := strings.HasSuffix(path, "/") // then both forms are served
			if s.Path() != path || base+path != url {
				t.Errorf("%s %q: it is at %s, %s", kind, option, s.Path(), url)
			}
			for _, era := range eras {
				session := connectHTTP(t, url, tokens["Admin"], era)
				if got := mcptest.Tools(t, session); len(got) == 0 {
					t.Errorf("%s %q, %s: no tools", kind, option, era)
				}
			}
			want := map[string]int{"/mcp": 404, "/mcpx": 404, "/other": 404, below + "/x": 404,
				"/healthz": 200, "/readyz": 200, "/api/v1/x": 401, "/console": 401,
				metadata: 200, metadata + below: 200, metadata + "/front": 200,
				metadata + below + "/": 200, metadata + "/other": 404, "/api/v1": 404,
				"//mcp": 404, "/" + path: 404, below + "//": 404, "//healthz": 404, "//evil.example/": 404,
				"//console": 404}
			if below != "" {
				want["/"], want[below+"/"] = 404, 404
			}
			if want[below] = 401; slash {
				want[below+"/"] = 401
			}
			for at, status := range want {
				if got := (&raw{url: base + at}).send(t, "GET", "", nil); got.status != status {
					t.Errorf("%s %q: %s: %s", kind, option, at, got)
				}
			}
			const pointer = `resource_metadata="https://mcp.example` + metadata + `/front"`
			if got := (&raw{url: url}).send(t, "POST", ping, nil); !strings.HasSuffix(
				got.header.Get("Www-Authenticate"), pointer) {
				t.Errorf("%s %q: %s", kind, option, got)
			}
		}
	}
}

// A server is often behind http.StripPrefix, or a proxy that removes a prefix. A redirect would
// lead out of it.
func TestNothingIsRedirected(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"", "/mcp/", "/"} {
		s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{Path: option},
			Identity: guarded{users(),
				identity.Resource{URL: "https://mcp.example/app/mcp",
					AuthorizationServers: []string{"https://id.example"}}}}, directory(&desk{}))
		handler := http.StripPrefix("/app", s.Handler())
		path := cmp.Or(option, "/mcp")
		want := map[string]int{"/app" + path: 401, "/app" + strings.TrimSuffix(path, "/"): 401,
			"/app/healthz": 200}
		for _, at := range []string{"", "/", "//", "//mcp", "/mcp", "/mcp/", "/mcp//", "/./mcp",
			"/x/../mcp", "//evil.example", "//evil.example/..", "///mcp", "/%2Fmcp", "/mcp/%2e%2e/mcp",
			"//healthz",
			"/healthz/", "/healthz", "/console", "/console/", "//console", "/api/v1", "/api/v1/"} {
			for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS", "CONNECT"} {
				r := httptest.NewRequest(method, "/app"+at, nil)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				status, listed := want["/app"+at]
				if w.Code/100 == 3 || w.Header().Get("Location") != "" ||
					listed && method == "GET" && w.Code != status ||
					!listed && w.Code != 404 {
					t.Errorf("%q: %s %s: %d %s", option, method, at, w.Code, w.Header().Get("Location"))
				}
			}
		}
	}
}

func TestPathsThatCannotBeServedDoNotStart(t *testing.T) {
	t.Parallel()
	const form = "write a path such as /mcp or /tools/mcp"
	wants := map[string]string{}
	for _, path := range []string{"mcp", "/mcp//", "/../", "/./", "//", "//mcp", "/a//b", "/a/../b",
		"/..", "/.", "/a/./b", "/a?b", "/a#b", "/a%20b", "/a b", "/{x}", "/{$}", "/\u00fc", "GET /a", ".",
		"https://mcp.example/mcp", "/a\n", `/a\b`} {
		wants[path] = form
	}
	for _, taken := range []string{"/healthz", "/readyz", "/api/v1/", "/console",
		runtime.PathResourceMetadata} {
		path := strings.TrimSuffix(taken, "/")
		wants[path] = "the server serves " + taken + " itself: use another path"
		wants[path+"/mcp"] = wants[path]
	}
	for path, want := range wants {
		for kind, build := range makers {
			_, err := build(runtime.Options{HTTP: runtime.HTTPOptions{Path: path},
				Identity: users(), Logger: quiet()})
			if err == nil || !strings.HasPrefix(err.Error(),
				fmt.Sprintf("mcp server: Options.HTTP.Path is %q: ", path)+want) {
				t.Errorf("%s %q: %v", kind, path, err)
			}
		}
	}
}

func TestHealthRequiresNoCredential(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	get := func(path string) int {
		res, err := http.Get(ts.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 404, "/sse": 404,
		"/messages": 404, "/mcp/": 404} {
		if got := get(path); got != status {
			t.Errorf("%s: %d, want %d", path, got, status)
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if get("/healthz") != 200 || get("/readyz") != 503 {
		t.Errorf("after shutdown: healthz %d, readyz %d", get("/healthz"), get("/readyz"))
	}
	c := &raw{url: ts.URL + "/mcp", token: tokens["Admin"]}
	if got := c.send(t, "POST", ping, nil); got.status != 503 {
		t.Errorf("after shutdown: %s", got)
	}
	if err := s.RunIO(context.Background(), strings.NewReader(""), io.Discard,
		principalOf("Admin")); err == nil {
		t.Error("after shutdown a client is served on streams")
	}
}

func TestShutdownWaitsForCallsAndClosesStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		s := newServer(t, runtime.Options{}, h.tools())
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		stream := make(chan reply, 1)
		go func() { stream <- c.send(t, "GET", "", nil) }()
		answer := c.later(t, "hold")
		<-h.started
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		if synctest.Wait(); len(down) > 0 {
			t.Error("it does not wait for the call")
		}
		h.release <- struct{}{}
		if got := <-answer; got.status != 200 || <-h.ended != nil {
			t.Errorf("the call under way: %s", got)
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-stream
	})
}

func TestShutdownCancelsWhatDoesNotEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		s := newServer(t, runtime.Options{}, h.tools())
		newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28").later(t, "hold")
		<-h.started
		const grace = 10 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), grace)
		defer cancel()
		start := time.Now()
		if err := s.Shutdown(ctx); err != context.DeadlineExceeded ||
			time.Since(start) != grace {
			t.Errorf("shutdown: %v after %v", err, time.Since(start))
		}
		if err := <-h.ended; err != context.Canceled {
			t.Errorf("the call: %v", err)
		}
	})
}

// TestCallsStillRunningAtTheEndOfTheGraceAreAnswered shuts the HTTP server down after it: net/http
// sends the end of a response after the handler has returned.
func TestCallsStillRunningAtTheEndOfTheGraceAreAnswered(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{}, h.tools())
			web := &http.Server{Handler: s.Handler()}
			url := memnet.Start(t, web)
			var answers []chan reply
			for _, tool := range []string{"hold", "held"} {
				answers = append(answers,
					newRaw(t, url+"/mcp", tokens["Admin"], era).later(t, tool))
				<-h.started
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := s.Shutdown(ctx); err != context.DeadlineExceeded {
				t.Errorf("%s: shutdown: %v", era, err)
			}
			if err := web.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			for tool, answer := range answers {
				if got := <-answer; got.status != 200 || !strings.Contains(got.body, "error") &&
					!strings.Contains(got.body, "isError") {
					t.Errorf("%s, tool %d: %s", era, tool, got)
				}
			}
		})
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Hour
		s := newServer(t, runtime.Options{
			HTTP: runtime.HTTPOptions{SessionTimeout: idle}}, directory(&desk{}))
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		start := time.Now()
		// The stream ends with its session; waiting for it keeps nothing alive.
		if c.send(t, "GET", "", nil); time.Since(start) != idle {
			t.Errorf("the session ends after %v", time.Since(start))
		}
		synctest.Wait()
		if got := c.send(t, "POST", ping, nil); got.status != http.StatusNotFound {
			t.Errorf("%s", got)
		}
	})
}

func TestEveryEraIsServedOnOneEndpoint(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
		"2026-07-28"} {
		list, err := connectHTTP(t, url, tokens["Member"], era).ListTools(context.Background(), nil)
		if err != nil || len(list.Tools) != 4 {
			t.Errorf("%s: %v, %v", era, list, err)
		}
	}
	// Requests without the header belong to the first version with this transport.
	c := newRaw(t, url, tokens["Member"], "2025-03-26")
	if got := c.ask(t, "tools/list", "",
		map[string]string{"Mcp-Protocol-Version": ""}); got.status != 200 ||
		!strings.Contains(got.body, "get_by_id") {
		t.Errorf("without the header: %s", got)
	}
	for _, version := range []string{"1999-01-01", "2026-07-29", "latest",
		"2025-11-25, 2026-07-28"} {
		if got := c.ask(t, "tools/list", "",
			map[string]string{"Mcp-Protocol-Version": version}); strings.Contains(got.body,
			"get_by_id") {
			t.Errorf("version %s: %s", version, got)
		}
	}
}

// A client may write anything as the version of its handshake. Handlers get the negotiated one.
func TestProtocolOfARequestIsTheNegotiatedOne(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		of, _ := runtime.RequestOf(ctx)
		got <- of.Protocol
	}))
	for sent, want := range map[string]string{"2025-06-18": "2025-06-18", "": "2025-11-25",
		"1999-01-01": "2025-11-25", `2025-\u000aforged`: "2025-11-25", "zzz": "2025-11-25"} {
		l := overPipe(t, s, principalOf("Member"), sent)
		l.era = "2025-11-25"
		l.call(t, "work", `{}`)
		if protocol := <-got; protocol != want {
			t.Errorf("%q: %q", sent, protocol)
		}
	}
}

func TestHandshakeThatRequestsTheSessionlessVersionStaysWithSessions(t *testing.T) {
	t.Parallel()
	versions := make(chan string, 1)
	s := newServer(t, runtime.Options{},
		oneSDKTool("look", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			versions <- toolset.Request[mcp.CallToolRequest](
				call).Session.InitializeParams().ProtocolVersion
			return toolset.Done(nil)
		}))
	c := &raw{url: serve(t, s), token: tokens["Admin"]}
	got := c.send(
		t, "POST",
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	if !strings.Contains(got.body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("%s", got)
	}
	c.session, c.era = got.header.Get("Mcp-Session-Id"), "2025-11-25"
	c.call(t, "look", "", nil)
	if version := <-versions; version != "2025-11-25" {
		t.Errorf("the session speaks %s", version)
	}
}

func TestOnlyListedMethodsAreAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		for method, params := range map[string]string{
			"prompts/get":           `"name":"x"`,
			"resources/read":        `"uri":"file:///x"`,
			"resources/subscribe":   `"uri":"file:///x"`,
			"resources/unsubscribe": `"uri":"file:///x"`,
			"completion/complete":   `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`,
			"acme/custom":           `"a":1`,
			"tools/call2":           `"name":"get_all"`,
			"Tools/Call":            `"name":"get_all"`,
			"":                      ``,
		} {
			headers := map[string]string{}
			if era == "2026-07-28" {
				headers["Mcp-Name"] = map[string]string{"prompts/get": "x",
					"resources/read": "file:///x"}[method]
			}
			got := c.ask(t, method, params, headers)
			if strings.Contains(got.body, `"result"`) || !strings.Contains(got.body, "error") &&
				got.status < 400 {
				t.Errorf("%s, %s: %s", era, method, got)
			}
		}
		for method, member := range map[string]string{"prompts/list": `"prompts":[]`,
			"resources/list":           `"resources":[]`,
			"resources/templates/list": `"resourceTemplates":[]`} {
			if got := c.ask(t, method, "", nil); !strings.Contains(got.body, member) {
				t.Errorf("%s, %s: %s", era, method, got)
			}
			if got := c.ask(t, method, `"cursor":"abc"`, nil); !strings.Contains(got.body,
				"-32602") {
				t.Errorf("%s, %s with a cursor: %s", era, method, got)
			}
		}
	}
}

func TestCapabilitiesAndInstructionsAreTheSameForEverybody(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{Anonymous: true}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		var first string
		for _, user := range callers {
			res := connectHTTP(t, url, tokens[user], era).InitializeResult()
			got := fmt.Sprintf("%s %q", marshalled(t, res.Capabilities), res.Instructions)
			if want := `{"logging":{},"tools":{}} ""`; got != want {
				t.Errorf("%s, %q: capabilities that depend on the caller: %s", era, user, got)
			}
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s, %q: %s, others %s", era, user, got, first)
			}
		}
	}
}

func TestSubscriptionsReceiveNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2026-07-28")
	// It ends at once, since there is nothing to wait for.
	got := c.ask(t, "subscriptions/listen",
		`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///x"]}`, nil)
	if got.status != 200 || !strings.Contains(got.body, `"notifications":{}`) ||
		!strings.Contains(got.body, `"result"`) {
		t.Errorf("%s", got)
	}
}

func TestMiddlewareRunsInsideTheGuard(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 100)
	change := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if p, ok := m.Params.(*mcp.CallToolParamsRaw); ok {
				seen <- p.Name
				// It answers first, for everybody that it sees.
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.TextContent{Text: "cached"}}}, nil
			}
			res, err := next(ctx, m)
			if r, ok := res.(*mcp.ListToolsResult); ok {
				for _, tool := range r.Tools {
					tool.Description = "changed for one caller"
				}
			}
			return res, err
		}
	}
	for _, listAll := range []bool{false, true} {
		s := newServer(t, runtime.Options{Interceptors: []intercept.Middleware{change},
			Lists: runtime.ListOptions{ListAll: listAll}}, directory(&desk{}))
		c := newRaw(t, serve(t, s), tokens["Viewer"], "2026-07-28")
		if got := c.call(t, "promote_to_manager", ``, nil); strings.Contains(got.body, "cached") {
			t.Errorf("the interceptor answered a refused call: %s", got)
		}
		if len(seen) != 0 {
			t.Errorf("the interceptor saw a refused call of %s", <-seen)
		}
		if got := c.call(t, "get_by_id", ``, nil); !strings.Contains(got.body, "cached") {
			t.Errorf("%s", got)
		}
		<-seen
		c.ask(t, "tools/list", "", nil)
		admins := newRaw(t, c.url, tokens["Admin"], "2025-11-25")
		admins.ask(t, "tools/list", "", nil)
		session := connectIO(t, s, principalOf("Admin"), "2025-11-25")
		list, err := session.ListTools(context.Background(), nil)
		if err != nil || len(list.Tools) != 6 {
			t.Errorf("%v, %v", list, err)
		}
	}
}

// A body that does not come holds nobody up, whatever is answered.
func TestBodyThatDoesNotComeIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, want string }{
		"nobody": {"Content-Type: application/json\r\n", "401"},
		"a wrong token": {"Authorization: Bearer nonsense\r\nContent-Type: application/json\r\n",
			"401"},
		"another type": {"Authorization: Bearer " + tokens["Admin"] + "\r\n", "415"},
		"a caller": {"Authorization: Bearer " + tokens["Admin"] +
			"\r\nContent-Type: application/json\r\n", "400"},
		"another site": {"Origin: https://evil.example\r\nContent-Type: application/json\r\n",
			"403"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, runtime.Options{Admin: desktop}, directory(&desk{}))
			address := strings.TrimSuffix(strings.TrimPrefix(serve(t, s), "http://"),
				runtime.PathMCP)
			conn, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			start := time.Now()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, "+
				"text/event-stream\r\nContent-Length: 100\r\n%s\r\n{\"jsonrpc\"", address,
				c.head)
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(line, c.want) ||
				time.Since(start) > transport.BodyReadTimeout {
				t.Errorf("%s: after %v %q, %v", name, time.Since(start), line, err)
			}
		})
	}
}

// The time that a body has is no bound for the call that it asks for.
func TestCallMayTakeLongerThanItsBodyMay(t *testing.T) {
	t.Parallel()
	const takes = 2 * transport.BodyReadTimeout
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, runtime.Options{}, toolsetOf([]toolset.Tool{{Name: "slow",
				Input: `{"type":"object"}`, Timeout: 2 * takes,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					time.Sleep(takes)
					return toolset.Done(ctx.Err())
				}}}))
			res, err := connectHTTP(t, serve(t, s), tokens["Admin"], era).CallTool(t.Context(),
				&mcp.CallToolParams{Name: "slow"})
			if err != nil || res.IsError {
				t.Errorf("%s: %v, %v", era, res, err)
			}
		})
	}
}
