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

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

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
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 404,
		"/mcp/": 404} {
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

func TestOlderTransportGetsItsCure(t *testing.T) {
	t.Parallel()
	serveAt := func(path string) string {
		s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{Path: path}},
			directory(&desk{}))
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(ts.Close)
		return ts.URL
	}
	url := serveAt("/tools")
	for _, r := range []string{"GET /sse", "GET /sse/", "POST /message?sessionId=1",
		"POST /messages?sessionId=1", "POST /messages/?session_id=1"} {
		method, at, _ := strings.Cut(r, " ")
		if got := (&raw{url: url + at}).send(t, method, ping, nil); got.status != 404 ||
			got.body != "the transport HTTP+SSE is not served: set the client to Streamable HTTP, "+
				"with a URL that ends in /tools\n" {
			t.Errorf("%s: %s", r, got)
		}
	}
	if got := (&raw{url: serveAt("/sse") + "/sse"}).send(t, "POST", ping, nil); got.status != 401 {
		t.Errorf("the endpoint itself: %s", got)
	}
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

const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

func TestHandshakesAreBounded(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	long := strings.Replace(handshake, `"raw"`, `"`+strings.Repeat("n", 64<<10)+`"`, 1)
	if got := c.send(t, "POST", long, map[string]string{"Mcp-Session-Id": "",
		"Mcp-Protocol-Version": ""}); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%s", got)
	}
	if got := c.call(t, "get_by_id", `,"arguments":{"id":"`+strings.Repeat("n", 64<<10)+`"}`,
		nil); got.status != 200 {
		t.Errorf("a call on a session: %d", got.status)
	}
}

// TestUncheckedHostsAreWarnedOf calls a handler as over a public address, and as over loopback.
func TestUncheckedHostsAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		name    string
		options runtime.Options
		local   bool
		warned  bool
	}{
		{"anonymous callers over any address", runtime.Options{Anonymous: true}, false, true},
		{"anonymous callers over loopback", runtime.Options{Anonymous: true}, true, false},
		{"listed hosts", runtime.Options{Anonymous: true,
			HTTP: runtime.HTTPOptions{Hosts: []string{"example.com"}}},
			false, false},
		{"no anonymous callers", runtime.Options{}, false, false},
	} {
		var log journal
		test.options.Logger = log.logger()
		h := newServer(t, test.options, directory(&desk{})).Handler()
		for range 2 {
			if test.local {
				ts := httptest.NewServer(h)
				c := &raw{url: ts.URL + "/mcp"}
				c.send(t, "GET", "", nil)
				ts.Close()
				continue
			}
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://example.com/mcp",
				nil))
		}
		want := 0
		if test.warned {
			want = 1
		}
		if n := strings.Count(log.String(), "Options.HTTP.Hosts"); n != want {
			t.Errorf("%s: warned %d times:\n%s", test.name, n, log.String())
		}
	}
}
