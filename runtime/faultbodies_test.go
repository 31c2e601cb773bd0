package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
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
)

// metaLimit is the most that one _meta may have, in bytes of JSON.
const metaLimit = 64 << 10

// metaShapes are values of many kinds for a member of _meta, with about n bytes each.
var metaShapes = map[string]func(n int) string{
	"a text": func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` },
	"escapes": func(n int) string {
		return `"` + strings.Repeat(`\u0041`, (n-2)/6) + strings.Repeat("x", (n-2)%6) + `"`
	},
	"members": func(n int) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := 0; b.Len() < n-30; i++ {
			fmt.Fprintf(&b, `"%09d":1,`, i)
		}
		fmt.Fprintf(&b, `"x":"%s"}`, strings.Repeat("y", n-b.Len()-7))
		return b.String()
	},
	"a list": func(n int) string {
		return "[" + strings.Repeat("100000,", (n-4)/7) + strings.Repeat(" ", (n-4)%7) + "12]"
	},
	"white space": func(n int) string { return strings.Repeat(" ", n-1) + "1" },
}

// metaOf is a request whose _meta has exactly size bytes, if the shape can be so large.
func (c *raw) metaOf(t *testing.T, method, params, shape string, size int) string {
	t.Helper()
	own := ""
	if c.era == "2026-07-28" {
		own = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},`
	}
	head := `{` + own + `"acme/x":`
	meta := head + metaShapes[shape](size-len(head)-1) + `}`
	if len(meta) != size || !json.Valid([]byte(meta)) {
		t.Fatalf("%s: %d bytes, want %d", shape, len(meta), size)
	}
	if params != "" {
		params = "," + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"_meta":` + meta + params +
		`}}`
}

// metaUses are requests of [offering] and their names for the header.
var metaUses = []struct{ method, name, params string }{
	{"tools/list", "", ""}, {"tools/call", "work", `"name":"work"`},
	{"prompts/get", "greet", `"name":"greet","arguments":{"a":"b"}`},
	{"resources/read", "lib://books/7", `"uri":"lib://books/7"`},
	{"completion/complete", "",
		`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"a","value":"b"}`},
	{"foo", "", ""},
}

// A _meta of more than 64 KiB is refused, in each method and on both transports.
func TestMetaIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, offering(func(context.Context) {}))
	for _, era := range eras {
		c := newRaw(t, serve(t, s), tokens["Member"], era) // a handler counts refused bodies
		p := newPipe(t, s, principalOf("Member"), era)
		for shape := range metaShapes {
			for _, use := range metaUses {
				for _, size := range []int{metaLimit, metaLimit + 1, 2_300_000} {
					if size > 2*metaLimit && (shape != "members" || use.method != "tools/list") {
						continue // one of this size is enough
					}
					refused := size > metaLimit
					body := c.metaOf(t, use.method, use.params, shape, size)
					name := fmt.Sprintf("%s, %s, %s, %d bytes", era, shape, use.method, size)
					var further map[string]string
					if era == "2026-07-28" {
						further = map[string]string{"Mcp-Method": use.method, "Mcp-Name": use.name}
					}
					got := c.send(t, http.MethodPost, body, further)
					isRefused := got.status == http.StatusBadRequest &&
						strings.Contains(got.body, `"code":-32600`) &&
						strings.Contains(got.body, `"id":7`) && strings.Contains(got.body, "_meta")
					if isRefused != refused || !refused && use.method != "foo" &&
						!strings.Contains(got.body, `"result"`) {
						t.Errorf("%s: %s", name, got)
					}
					p.write(t, body)
					m := p.until(t, 7).response(t)
					isRefused = m.Error != nil && m.Error.Code == -32600 &&
						strings.Contains(m.Error.Message, "_meta")
					if isRefused != refused || !refused && use.method != "foo" && m.Error != nil {
						t.Errorf("stdio, %s: %s", name, m.text)
					}
				}
			}
		}
		// A notification has no answer, and over HTTP a status.
		body := c.metaOf(t, "notifications/cancelled", `"requestId":99`, "members", metaLimit+1)
		body = strings.Replace(body, `"id":7,`, "", 1)
		var further map[string]string
		if era == "2026-07-28" {
			further = map[string]string{"Mcp-Method": "notifications/cancelled"}
		}
		if got := c.send(t, http.MethodPost, body, further); got.status != http.StatusBadRequest ||
			!strings.Contains(got.body, `"code":-32600`) || !strings.Contains(got.body, `"id":null`) {
			t.Errorf("%s: a notification gets %s", era, got)
		}
	}
}

// posted is what one POST to a handler costs, in allocations.
func (c *raw) posted(t *testing.T, handler http.Handler, method, name, body string,
	status int) float64 {
	t.Helper()
	return testing.AllocsPerRun(1, func() {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		r.Host = "127.0.0.1"
		for name, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + c.token,
			"Mcp-Session-Id": c.session, "Mcp-Protocol-Version": c.era} {
			r.Header.Set(name, value)
		}
		if c.session == "" {
			r.Header.Del("Mcp-Session-Id")
			r.Header.Set("Mcp-Method", method)
			r.Header.Set("Mcp-Name", name)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%s, %s: %d %s", c.era, method, w.Code, w.Body)
		}
	})
}

// sessionOn opens a session on a handler without a network.
func sessionOn(t *testing.T, handler http.Handler, token, era string) *raw {
	t.Helper()
	c := &raw{token: token, era: era}
	if era == "2026-07-28" {
		return c
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp",
		strings.NewReader(strings.Replace(handshake, "2025-11-25", era, 1)))
	r.Host = "127.0.0.1"
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"},
		"Authorization": {"Bearer " + token}}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if c.session = w.Header().Get("Mcp-Session-Id"); c.session == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return c
}

// The work for a _meta that is too large does not depend on its members: it is refused before any
// is decoded. This test counts allocations, so it is not parallel.
func TestLargeMetaIsNotDecoded(t *testing.T) {
	s := newServer(t, runtime.Options{}, offering(func(context.Context) {}))
	shutDown(t, s)
	for _, era := range eras {
		handler := s.Handler() // which counts refused bodies
		c := sessionOn(t, handler, tokens["Member"], era)
		for _, use := range metaUses[:2] {
			cost := func(size int) float64 {
				return c.posted(t, handler, use.method, use.name,
					c.metaOf(t, use.method, use.params, "members", size), http.StatusBadRequest)
			}
			// The larger one has 155,000 members more. The body itself grows in a few steps.
			if small, large := cost(2*metaLimit), cost(2_300_000); large > small+1000 {
				t.Errorf("%s, %s: %v allocations, and %v for a smaller one", era, use.method, large,
					small)
			}
		}
	}
}

// Params are decoded once: a _meta of the largest size costs no more than its own decoding.
func TestParamsAreDecodedOnce(t *testing.T) {
	s := newServer(t, runtime.Options{}, offering(func(context.Context) {}))
	shutDown(t, s)
	handler := s.Handler()
	for _, era := range eras {
		c := sessionOn(t, handler, tokens["Member"], era)
		for _, use := range metaUses[:4] {
			body := c.metaOf(t, use.method, use.params, "members", metaLimit)
			var decoded struct {
				Params struct {
					Meta map[string]any `json:"_meta"`
				}
			}
			once := testing.AllocsPerRun(5, func() {
				decoded.Params.Meta = nil
				if err := json.Unmarshal([]byte(body), &decoded); err != nil {
					t.Fatal(err)
				}
			})
			least := c.posted(t, handler, use.method, use.name,
				c.metaOf(t, use.method, use.params, "members", 300), http.StatusOK)
			most := c.posted(t, handler, use.method, use.name, body, http.StatusOK)
			if more := most - least; more > once*3/2 {
				t.Errorf("%s, %s: %v allocations for _meta, and %v to decode it once", era,
					use.method, more, once)
			}
		}
	}
}

// sent sends a request whose head ends before the header of its length, with a body, on its own
// connection. It returns how much of the body the server has read, which a pipe has none of, and
// the response.
func sent(t *testing.T, address, head string, body []byte, chunked bool) (read int, status string,
	retry bool) {
	t.Helper()
	conn, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	if chunked {
		length = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(body))
	}
	written := make(chan int)
	go func() {
		n := 0
		if _, err := io.WriteString(conn, head+length); err == nil {
			n, _ = conn.Write(body)
		}
		if n == len(body) && chunked {
			_, _ = io.WriteString(conn, "\r\n0\r\n\r\n")
		}
		written <- n
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = conn.Close()
	return <-written, response.Status[:3], response.Header.Get("Retry-After") != ""
}

// The bytes of a caller's refused bodies that the server reads are bounded in number and in rate.
func TestRefusedLargeBodiesHaveARate(t *testing.T) {
	t.Parallel()
	const (
		most, rate = 16 << 20, 64 << 10
		requests   = 200
		slack      = 32 << 10 // of one request: what net/http has read with the head
	)
	large := []byte(strings.Repeat("x", 200<<10))
	post := func(path, headers string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Accept: application/json, text/event-stream\r\n" + headers
	}
	admin := "Authorization: Bearer " + tokens["Admin"] + "\r\n"
	modern := "Mcp-Protocol-Version: 2026-07-28\r\n"
	for name, c := range map[string]struct{ head, status, later string }{
		"nobody":        {post("/mcp", ""), "401", "401"},
		"a wrong token": {post("/mcp", "Authorization: Bearer x\r\n"), "401", "429"},
		"another site":  {post("/mcp", "Origin: https://evil.example\r\n"), "403", "403"},
		"another path":  {post("/nothing", ""), "404", "404"},
		"a probe":       {post("/healthz", ""), "405", "405"},
		"no console":    {post("/api/v1/orgs", ""), "404", "404"},
		"no JSON":       {post("/mcp", admin+modern), "400", "429"},
		"no session":    {post("/mcp", admin+"Mcp-Session-Id: x\r\n"), "400", "429"},
		"a handshake":   {post("/mcp", admin), "413", "429"},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(name, chunked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, runtime.Options{}, directory(&desk{}))
					address := strings.TrimSuffix(strings.TrimPrefix(serve(t, s), "http://"),
						runtime.PathMCP)
					defer time.Sleep(time.Second) // until net/http has closed the connections
					start, total := time.Now(), 0
					for i := range requests {
						read, status, retry := sent(t, address, c.head, large, chunked)
						if total += read; status != c.status && status != c.later ||
							retry != (status == "429") {
							t.Fatalf("request %d: %s, Retry-After %t", i, status, retry)
						}
					}
					bound := most + len(large) + requests*slack +
						int(time.Since(start).Seconds()*rate)
					if total > bound {
						t.Errorf("the server read %d of %d bytes, want at most %d", total,
							requests*len(large), bound)
					}
					// Small bodies are served, and large ones again after a while.
					call := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":` +
						`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
					_, small, _ := sent(t, address, post("/mcp", admin+modern), []byte(call), chunked)
					time.Sleep(time.Hour)
					_, later, _ := sent(t, address, c.head, large, chunked)
					if small == "429" || later != c.status {
						t.Errorf("a small body gets %s, and after a while the large one %s", small, later)
					}
				})
			})
		}
	}
}
