package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// idPairs are ids of a call and of a cancellation, and whether they are equal.
var idPairs = []struct {
	call, cancelled string
	equal           bool
}{
	{"7", "7", true}, {"7", "7.0", true}, {"7", "7e0", true}, {"7", "70e-1", true},
	{"7.0", "7", true}, {"7e0", "7.00", true}, {"0", "-0", true}, {"-7.0", "-7", true},
	{"9007199254740993", "9007199254740993", true},
	{"9007199254740993", "9007199254740993.0", true},
	{"9223372036854775807", "9223372036854775807", true}, {`"a"`, `"a"`, true},
	{`"a"`, `"\u0061"`, true},

	{"7", "8", false}, {"7", "-7", false}, {"7", `"7"`, false}, {`"7"`, "7", false},
	{`"7"`, `"7.0"`, false}, {"7", "7.5", false}, {"7", "null", false},
	{"9007199254740993", "9007199254740992", false},
	{"9007199254740993", "9007199254740993.5", false},
	{"9223372036854775807", "9223372036854775808", false},
	{"9223372036854775807", "9223372036854775806", false},
}

// withID replaces the id of a message.
func withID(message, id string) string {
	return strings.Replace(message, `"id":7`, `"id":`+id, 1)
}

func cancellation(id string) string {
	return strings.Replace(cancelled7, ":7", ":"+id, 1)
}

// A cancellation ends the call whose id has the same value, however the two are written.
func TestCancellationsCompareIDsByValue(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		for _, overHTTP := range []bool{true, false} {
			if overHTTP && version == "2026-07-28" {
				continue // it has no cancellation but the end of the connection
			}
			for _, tool := range []string{"hold", "held"} {
				for _, ids := range idPairs {
					name := fmt.Sprintf("%s, HTTP %v, %s, %s and %s", version, overHTTP, tool,
						ids.call, ids.cancelled)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							h := newHeld()
							s := newServer(t, runtime.Options{}, h.tools())
							call := (&raw{era: version}).request("tools/call", `"name":"`+tool+`"`)
							call = withID(call, ids.call)
							var send func(string)
							if overHTTP {
								c := newRaw(t, serve(t, s), tokens["Member"], version)
								send = func(text string) { c.watchInBubble(t, http.MethodPost, text, nil) }
							} else {
								send = lineTo(t, s, version)
							}
							send(call)
							synctest.Wait()
							started := len(h.started) == 1
							send(cancellation(ids.cancelled))
							synctest.Wait()
							cancelled := len(h.ended) == 1
							h.release <- struct{}{}
							if !started || cancelled != ids.equal {
								t.Errorf("started %v, cancelled %v", started, cancelled)
							}
						})
					})
				}
			}
		}
	}
}

// lineTo opens a connection on stdio, for a bubble, and returns the func that sends a message.
func lineTo(t *testing.T, s *runtime.Server, era string) func(message string) {
	t.Helper()
	shutDown(t, s)
	in, toServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, io.Discard, principalOf("Member")) }()
	t.Cleanup(func() {
		toServer.Close()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	send := func(message string) {
		if _, err := io.WriteString(toServer, message+"\n"); err != nil {
			t.Error(err)
		}
	}
	if era != "2026-07-28" {
		send(strings.Replace(handshake, "2025-11-25", era, 1))
		send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
	}
	return send
}

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

// A byte order mark of UTF-8 before a message has no meaning. Over HTTP it is accepted.
func TestByteOrderMarkIsAccepted(t *testing.T) {
	t.Parallel()
	const mark = "\xef\xbb\xbf"
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		further := map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "get_by_id"}
		if era != "2026-07-28" {
			further = map[string]string{}
		}
		call := c.request("tools/call", `"name":"get_by_id","arguments":{"id":"é"}`)
		for _, media := range []string{"application/json", "application/json; charset=utf-8",
			"application/json; charset=utf8"} {
			further["Content-Type"] = media
			for _, before := range []string{mark, mark + " ", mark + "\r\n\t"} {
				got := c.send(t, http.MethodPost, before+call, further)
				if got.status != http.StatusOK || !strings.Contains(got.body, `"id":"é"`) {
					t.Errorf("%s, %q: %s", era, before, got)
				}
			}
		}
		further["Content-Type"] = "application/json"
		for _, body := range []string{mark, mark + mark + call, " " + mark + call, call + mark,
			mark + "[" + call + "]", "\xff\xfe" + call, "\xfe\xff" + call,
			mark + call[:len(call)-1]} {
			got := c.send(t, http.MethodPost, body, further)
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"code":-32`) ||
				!strings.Contains(got.body, `"id":null`) {
				t.Errorf("%s, %.20q: %s", era, body, got)
			}
		}
		if era != "2026-07-28" {
			fresh := &raw{url: url, token: c.token, era: era}
			got := fresh.send(t, http.MethodPost, mark+handshake, nil)
			if got.status != http.StatusOK || got.header.Get("Mcp-Session-Id") == "" {
				t.Errorf("%s: %s", era, got)
			}
		}
	}
}

// separators end a line for some readers of text. In a line of an event stream they are escaped.
const separators = "a\u0085b\u2028c\u2029d"

// separated is a toolset whose tools, prompt and resource return the separators, and report them.
func separated() toolset.Toolset {
	report := func(ctx context.Context) {
		runtime.Progress(ctx).Report(1, 2, separators)
		runtime.Logger(ctx).Info(separators, separators, separators)
	}
	call := func(kind string) func(context.Context, toolset.Call) (toolset.Result, error) {
		return func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			report(ctx)
			switch kind {
			case "fails":
				return toolset.Result{}, errors.New(separators)
			case "text":
				return toolset.Result{Out: separators, HasOut: true}, nil
			}
			return toolset.Structured(map[string]string{separators: separators}, nil)
		}
	}
	var tools []toolset.Tool
	for _, name := range []string{"work", "held", "text", "fails"} {
		tool := toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: call(name),
			SDK: name == "held"}
		if name == "text" {
			tool.Returns = toolset.Text
		}
		tools = append(tools, tool)
	}
	g := toolsetOf(tools).Generated()
	g.Table.Prompts = []access.Rule{{Prompt: "p", Authenticated: true}}
	g.Table.Resources = []access.Rule{{Resource: "file:///p", Authenticated: true}}
	g.Prompts = []toolset.Prompt{{Name: "p", Description: separators,
		Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
			report(ctx)
			return toolset.PromptText(separators, nil)
		}}}
	g.Resources = []toolset.Resource{{URI: "file:///p", Name: "p",
		Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
			report(ctx)
			return toolset.ResourceText(separators, nil)
		}}}
	return toolset.NewToolset(g)
}

// adoptedSeparators is a go-sdk server that returns and reports them.
func adoptedSeparators(t *testing.T) *runtime.Server {
	own := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	own.AddTool(&mcp.Tool{Name: "work", Description: separators,
		InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Message: separators, Progress: 1})
			}
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: separators}}}, nil
		})
	return adopt(t, own, runtime.Options{}, map[string]access.Rule{"work": {Authenticated: true}})
}

func TestSeparatorsInEventStreamsAreEscaped(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*runtime.Server{
		"toolset": newServer(t, runtime.Options{}, separated()), "adopted": adoptedSeparators(t)} {
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Member"], era)
			if era != "2026-07-28" {
				c.ask(t, "logging/setLevel", `"level":"debug"`, nil)
			}
			requests := []string{`tools/call work "name":"work"`, `tools/list  `}
			if name == "toolset" {
				requests = append(requests, `tools/call held "name":"held"`,
					`tools/call text "name":"text"`, `tools/call fails "name":"fails"`,
					`prompts/get p "name":"p"`, `resources/read file:///p "uri":"file:///p"`,
					`prompts/list  `)
			}
			for _, request := range requests {
				words := strings.SplitN(request, " ", 3)
				got := c.separated(t, words[0], words[1], words[2])
				for _, r := range []string{"\u0085", "\u2028", "\u2029"} {
					if strings.Contains(got.body, r) {
						t.Errorf("%s, %s: %s has a raw %+q: %q", name, era, request, r, got.body)
					}
				}
				if got.status != http.StatusOK ||
					!strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
					t.Errorf("%s, %s: %s: %s", name, era, request, got)
				}
				found := false
				for _, m := range strings.Split(got.body, "\n") {
					data, ok := strings.CutPrefix(m, "data: ")
					if !ok || data == "" {
						continue
					}
					var v any
					if err := json.Unmarshal([]byte(data), &v); err != nil {
						t.Errorf("%s, %s: %s: %v: %q", name, era, request, err, data)
					}
					found = found || strings.Contains(fmt.Sprint(v), separators)
				}
				// The lists of tools have no text of the handler but for descriptions.
				if isList := words[0] == "tools/list" && name == "toolset"; !found && !isList {
					t.Errorf("%s, %s: %s lost the text: %q", name, era, request, got.body)
				}
			}
		}
	}
}

// separated sends a request of a client that wants a stream, progress and log messages.
func (c *raw) separated(t *testing.T, method, name, params string) reply {
	t.Helper()
	further := map[string]string{"Accept": "text/event-stream, application/json"}
	meta := `"progressToken":1`
	if c.era == "2026-07-28" {
		further["Mcp-Method"], further["Mcp-Name"] = method, name
		meta += `,"io.modelcontextprotocol/logLevel":"debug",` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{}`
	}
	if params = strings.TrimSpace(params); params != "" {
		params = "," + params
	}
	return c.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"`+method+
		`","params":{"_meta":{`+meta+`}`+params+`}}`, further)
}

// A resumed stream has the same bytes, and so has a question of the server.
func TestSeparatorsInOtherStreamsAreEscaped(t *testing.T) {
	t.Parallel()
	for _, era := range withSessions {
		ask := visits(func(ctx context.Context) (string, error) {
			runtime.Progress(ctx).Report(1, 2, separators)
			_, err := runtime.Elicit[order](ctx, "order", separators)
			return "", err
		})
		c := &raw{url: serve(t, newServer(t, runtime.Options{}, ask)), token: tokens["Viewer"],
			era: era}
		c.session = c.send(t, http.MethodPost, strings.Replace(hello, "2025-11-25", era, 1),
			nil).header.Get("Mcp-Session-Id")
		c.send(t, http.MethodPost, ready, nil)
		stream := c.stream(t, http.MethodPost, strings.Replace(meet, `"name"`,
			`"_meta":{"progressToken":1},"name"`, 1), "")
		var first string
		missed := 0 // events with data after the first one
		for events := 0; events < 2; {
			e := stream.next(t)
			if e.data != "" {
				events++
				escaped(t, era, e.data)
				if first != "" {
					missed++
				}
			}
			first = cmp.Or(first, e.id)
		}
		stream.drop()
		again := c.stream(t, http.MethodGet, "", first)
		if again.status != http.StatusOK {
			t.Errorf("%s: the stream cannot be resumed: %d", era, again.status)
			continue
		}
		for missed > 0 {
			if e := again.next(t); e.data != "" {
				missed--
				escaped(t, era+", resumed", e.data)
			}
		}
		again.drop()
	}
}

func escaped(t *testing.T, name, data string) {
	t.Helper()
	if strings.ContainsAny(data, "\u0085\u2028\u2029") {
		t.Errorf("%s: %q", name, data)
	}
}

// Errors that the transport answers before it reads the message are JSON-RPC too.
func TestErrorsBeforeTheMessageAreJSONRPC(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{MaxBody: 1000}}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		long := c.request("tools/list", `"cursor":"`+strings.Repeat("x", 2000)+`"`)
		var further map[string]string
		if era == "2026-07-28" {
			further = map[string]string{"Mcp-Method": "tools/list"}
		}
		isError(t, era+", a long body", c.send(t, http.MethodPost, long, further),
			http.StatusRequestEntityTooLarge, "null", "1000")
		if era == "2026-07-28" {
			continue
		}
		fresh := &raw{url: url, token: c.token, era: era}
		for name, body := range map[string]string{
			"no params": `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
			"null":      `{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`,
			"a list":    `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`,
			"a number":  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		} {
			got := fresh.send(t, http.MethodPost, body, nil)
			if got.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%s, %s: a session is open: %s", era, name, got)
			}
			status := got.status
			if status != http.StatusOK {
				status = http.StatusBadRequest
			}
			isError(t, era+", initialize, "+name, got, status, "1", "-32602")
		}
	}
}

// isError fails the test unless an answer is a JSON-RPC error with a status, an id and a word.
func isError(t *testing.T, name string, got reply, status int, id, word string) {
	t.Helper()
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *struct {
			Code    int
			Message string
		}
	}
	err := json.NewDecoder(io.LimitReader(strings.NewReader(got.body), 1<<20)).Decode(&m)
	if err != nil || got.status != status || m.JSONRPC != "2.0" || m.Error == nil ||
		string(m.ID) != id || m.Error.Code > -32000 || !strings.Contains(got.body, word) ||
		!strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		t.Errorf("%s: %s", name, got)
	}
}
