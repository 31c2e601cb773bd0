package runtime_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
)

// raw is a client that compares bytes: it sends given bytes and keeps all that comes back.
type raw struct {
	url, token, era string
	session         string
	client          http.Client
}

// reply is an answer without what differs between any two answers.
type reply struct {
	status int
	header http.Header // without Date
	body   string
}

func (r reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.status)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.header[name])
	}
	return b.String() + "\n" + r.body
}

// abilities are the MCP capabilities of a raw client of 2026-07-28. Older ones have none: nobody
// would respond on their session.
const abilities = `{"elicitation":{},"sampling":{},"roots":{}}`

// eventIDs are the events that only name their place in a stream, and the ids of the others.
var eventIDs = regexp.MustCompile(`event: prime\nid: \S+\ndata: \n\n|(?m:^id: \S+\n)`)

// newRaw opens a session where the era has sessions.
func newRaw(t testing.TB, url, token, era string) *raw {
	t.Helper()
	c := &raw{url: url, token: token, era: era}
	if era == "2026-07-28" {
		return c
	}
	got := c.send(t, http.MethodPost,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+era+
			`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	if got.status != http.StatusOK {
		t.Fatalf("initialize: %s", got)
	}
	c.session = got.header.Get("Mcp-Session-Id")
	if got := c.send(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		nil); got.status != http.StatusAccepted {
		t.Fatalf("initialized: %s", got)
	}
	return c
}

// send sends a body with the headers of the era; further headers replace them, and an empty
// value takes one away.
func (c *raw) send(t testing.TB, method, body string, further map[string]string) reply {
	t.Helper()
	req, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.session != "" || c.era == "2026-07-28" {
		req.Header.Set("Mcp-Protocol-Version", c.era)
	}
	for name, value := range further {
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	res, err := c.client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Header.Del("Date")
	return reply{res.StatusCode, res.Header, eventIDs.ReplaceAllString(string(text), "")}
}

// request is a message of the era, with _meta where the era wants it.
func (c *raw) request(method, params string) string {
	if c.era == "2026-07-28" {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` + abilities + `}`
		if params != "" {
			meta += ","
		}
		params = meta + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
}

// ask sends a request with the headers that the era wants for it.
func (c *raw) ask(t testing.TB, method, params string, further map[string]string) reply {
	t.Helper()
	headers := map[string]string{}
	if c.era == "2026-07-28" {
		headers["Mcp-Method"] = method
	}
	maps.Copy(headers, further)
	return c.send(t, http.MethodPost, c.request(method, params), headers)
}

// call calls a tool with the given text after its name, as in `,"arguments":{}`.
func (c *raw) call(t testing.TB, tool, rest string, further map[string]string) reply {
	t.Helper()
	headers := map[string]string{}
	if c.era == "2026-07-28" {
		headers["Mcp-Name"] = tool
	}
	maps.Copy(headers, further)
	return c.ask(t, "tools/call", `"name":"`+tool+`"`+rest, headers)
}

// Clients of the tests reach the servers of [serve], which have no sockets.
func init() { http.DefaultTransport = memnet.Transport{Other: http.DefaultTransport} }

// serve serves until the test ends, and returns the endpoint. It also works in a bubble.
func serve(t testing.TB, s *runtime.Server) string {
	t.Helper()
	url := memnet.Start(t, &http.Server{Handler: s.Handler()})
	shutDown(t, s)
	return url + s.Path()
}

// shutDown shuts a server down when the test ends. A bubble needs this for its goroutines to end.
func shutDown(t testing.TB, s *runtime.Server) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutting the server down: %v", err)
		}
	})
}
