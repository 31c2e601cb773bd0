package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// serverMessage is one message of a server.
type serverMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Level  string         `json:"level"`
		Logger string         `json:"logger"`
		Data   map[string]any `json:"data"`

		Meta map[string]json.RawMessage `json:"_meta"`

		ProgressToken json.RawMessage `json:"progressToken"`
		Progress      float64         `json:"progress"`
		Total         float64         `json:"total"`
		Message       string          `json:"message"`
	} `json:"params"`
	Result struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		IsError           bool              `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	text string
}

// serverMessages is all that came with one response, in its order.
type serverMessages []serverMessage

// logs are the log messages, as "level text".
func (h serverMessages) logs() (lines []string) {
	for _, m := range h {
		if m.Method == "notifications/message" {
			lines = append(lines, m.Params.Level+" "+fmt.Sprint(m.Params.Data["msg"]))
		}
	}
	return lines
}

func (h serverMessages) progress() (all []serverMessage) {
	for _, m := range h {
		if m.Method == "notifications/progress" {
			all = append(all, m)
		}
	}
	return all
}

// response is the last message, which must be the response.
func (h serverMessages) response(t testing.TB) serverMessage {
	t.Helper()
	if len(h) == 0 || h[len(h)-1].ID == nil {
		t.Fatalf("the last message is no response: %v", h)
	}
	return h[len(h)-1]
}

func (h serverMessages) String() string {
	var b strings.Builder
	for _, m := range h {
		b.WriteString(m.text + "\n")
	}
	return b.String()
}

func parseMessage(t testing.TB, text string) serverMessage {
	t.Helper()
	m := serverMessage{text: text}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return m
}

// listener is a client of any era over any transport that receives the messages of a response.
type listener struct {
	era  string
	meta string // further members of each _meta
	send func(t testing.TB, id any, message string, header map[string]string) serverMessages
}

var messageIDs atomic.Int64

// ask sends a request. name is of what is called, for the header of 2026-07-28.
func (l *listener) ask(t testing.TB, method, name, params string) serverMessages {
	t.Helper()
	return l.askAs(t, messageIDs.Add(1), method, name, params)
}

// askAs is ask with an id, as JSON.
func (l *listener) askAs(t testing.TB, id any, method, name, params string) serverMessages {
	t.Helper()
	var meta []string
	if l.era == "2026-07-28" {
		meta = append(
			meta,
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`)
	}
	if l.meta != "" {
		meta = append(meta, l.meta)
	}
	var members []string
	if len(meta) > 0 {
		members = append(members, `"_meta":{`+strings.Join(meta, ",")+`}`)
	}
	if params != "" {
		members = append(members, params)
	}
	header := map[string]string{}
	if l.era == "2026-07-28" {
		header["Mcp-Method"], header["Mcp-Name"] = method, name
	}
	return l.send(t, id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":{%s}}`, id,
		method, strings.Join(members, ",")), header)
}

func (l *listener) call(t testing.TB, tool, arguments string) serverMessages {
	t.Helper()
	return l.ask(t, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

// wants has the client want log messages from a level on, and further members of each _meta.
func (l *listener) wants(t testing.TB, level string, meta ...string) *listener {
	t.Helper()
	if level != "" && l.era == "2026-07-28" {
		meta = append(meta, `"io.modelcontextprotocol/logLevel":"`+level+`"`)
	} else if level != "" {
		if got := l.ask(t, "logging/setLevel", "", `"level":"`+level+
			`"`).response(t); got.Error != nil {
			t.Fatalf("%s: %s", level, got.text)
		}
	}
	l.meta = strings.Join(meta, ",")
	return l
}

// overHTTP is a listener of which each answer is a stream of its own.
func overHTTP(t testing.TB, url, token, era string) *listener {
	t.Helper()
	c := newRaw(t, url, token, era)
	return &listener{era: era,
		send: func(t testing.TB, _ any, message string, header map[string]string) (all serverMessages) {
			got := c.send(t, http.MethodPost, message, header)
			if strings.HasPrefix(got.body, "{") {
				return serverMessages{parseMessage(t, got.body)}
			}
			for line := range strings.Lines(got.body) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					all = append(all, parseMessage(t, strings.TrimSpace(data)))
				}
			}
			return all
		}}
}

// pipe is a session over lines.
type pipe struct {
	toServer *io.PipeWriter
	lines    *bufio.Scanner
}

func newPipe(t testing.TB, s *runtime.Server, p access.Principal, era string) *pipe {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.RunIO(context.Background(), in, out, p)
		out.Close()
		done <- err
	}()
	c := &pipe{toServer, bufio.NewScanner(fromServer)}
	c.lines.Buffer(nil, 1<<21)
	t.Cleanup(func() {
		toServer.Close()
		go func() {
			for c.lines.Scan() { // what was still on its way
			}
		}()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	if era != "2026-07-28" {
		c.write(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+
			era+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		c.until(t, 0)
	}
	return c
}

func (c *pipe) write(t testing.TB, message string) {
	t.Helper()
	if _, err := io.WriteString(c.toServer, message+"\n"); err != nil {
		t.Error(err)
	}
}

// until reads to the answer with an id.
func (c *pipe) until(t testing.TB, id any) (all serverMessages) {
	t.Helper()
	for c.lines.Scan() {
		m := parseMessage(t, c.lines.Text())
		if all = append(all, m); string(m.ID) == fmt.Sprint(id) {
			return all
		}
	}
	t.Errorf("no answer to %v", id)
	return all
}

func overPipe(t testing.TB, s *runtime.Server, p access.Principal, era string) *listener {
	t.Helper()
	c := newPipe(t, s, p, era)
	var mu sync.Mutex // what is said between two answers belongs to the second
	return &listener{era: era,
		send: func(t testing.TB, id any, message string, _ map[string]string) serverMessages {
			mu.Lock()
			defer mu.Unlock()
			c.write(t, message)
			return c.until(t, id)
		}}
}

// over is a client of a server over HTTP, or over pipes, for a bubble.
func over(t *testing.T, s *runtime.Server, era string, http bool) *listener {
	t.Helper()
	if http {
		return overHTTP(t, serve(t, s), tokens["Member"], era)
	}
	shutDown(t, s)
	return overPipe(t, s, principalOf("Member"), era)
}

// lines is a log of JSON lines.
type lines struct{ journal }

func (l *lines) at(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// of are the lines with a text.
func (l *lines) of(t testing.TB, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] == text {
			all = append(all, m)
		}
	}
	return all
}

// working is a tool "work" that does what a test wants with its context.
func working(do func(ctx context.Context)) toolset.Toolset {
	return oneTool("work", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		do(ctx)
		return toolset.Structured(map[string]any{"done": true}, nil)
	})
}

// offering is a toolset of one of everything that has a handler, each of which does the same.
func offering(do func(ctx context.Context)) toolset.Toolset {
	complete := func(ctx context.Context, begun string) ([]string, error) {
		do(ctx)
		return []string{begun}, nil
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/all", Server: toolset.ServerInfo{Name: "all", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "work", MinRole: []string{"Viewer"}}},
			Prompts:   []access.Rule{{Prompt: "greet", MinRole: []string{"Viewer"}}},
			Resources: []access.Rule{{Resource: "lib://books/{id}", MinRole: []string{"Viewer"}}},
		},
		Tools: []toolset.Tool{{Name: "work", Input: `{"type":"object"}`,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				do(ctx)
				return toolset.Done(nil)
			}}},
		Prompts: []toolset.Prompt{{Name: "greet",
			Arguments: []toolset.Argument{{Name: "a", Complete: complete}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				do(ctx)
				return toolset.PromptText("hello", nil)
			}}},
		Resources: []toolset.Resource{{URI: "lib://books/{id}", Name: "books",
			Variables: []toolset.Variable{{Name: "id"}},
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				do(ctx)
				return toolset.ResourceText("a book", nil)
			}}},
	})
}

// everyUse are the requests that reach a handler of [offering], and what the log calls what they
// use.
var everyUse = []struct{ method, name, params, kind, is string }{
	{"tools/call", "work", `"name":"work","arguments":{}`, "tool", "work"},
	{"prompts/get", "greet", `"name":"greet","arguments":{"a":"b"}`, "prompt", "greet"},
	{"resources/read", "lib://books/7", `"uri":"lib://books/7"`, "resource", "lib://books/{id}"},
	{"completion/complete", "",
		`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"a","value":"b"}`, "prompt",
		"greet"},
}

// without leaves members out.
func without(m map[string]any, names ...string) map[string]any {
	m = maps.Clone(m)
	for _, name := range names {
		delete(m, name)
	}
	return m
}
