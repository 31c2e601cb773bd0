package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// protocols are the versions of MCP that differ in their errors: with sessions, and without. The
// tables are what a server of the runtime returns.
var protocols = []string{"2025-11-25", "2026-07-28"}

// decodeOrder reads the input of the tools.
func decodeOrder(r *decode.Reader) {
	var count int
	for o := r.Object(1, "count"); o.Next(); {
		if o.Property == 0 {
			decode.Int(r, &count, math.MinInt64, math.MaxInt64)
		}
	}
}

// served has a tool for each way of refusing, and for each way in which a handler can fail.
func served() toolset.Toolset {
	const input = `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],` +
		`"additionalProperties":false}`
	tool := func(name string, answer func(context.Context) error) toolset.Tool {
		return toolset.Tool{Name: name, Input: input, Returns: toolset.Nothing,
			Handle: func(ctx context.Context, r *decode.Reader) (any, error) {
				decodeOrder(r)
				if err := r.Finish(); err != nil {
					return nil, err
				}
				return nil, answer(ctx)
			}}
	}
	works := func(context.Context) error { return nil }
	slow := tool("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	slow.Timeout = 20 * time.Millisecond
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/shop", Server: toolset.ServerInfo{Name: "shop", Version: "1.0.0"},
		Table: access.Table{
			Roles: access.DefaultRoles(),
			Rules: []access.Rule{
				{Tool: "challenged", Scopes: []string{"orders"}, Denial: access.Challenge},
				{Tool: "concealed", MinRole: []string{"Admin"}},
				{Tool: "fails", Authenticated: true},
				{Tool: "forbidden", MinRole: []string{"Admin"}, Denial: access.Forbid},
				{Tool: "panics", Authenticated: true},
				{Tool: "slow", Authenticated: true},
				{Tool: "works", Authenticated: true},
			},
			Prompts: []access.Rule{
				{Prompt: "concealed", MinRole: []string{"Admin"}},
				{Prompt: "forbidden", MinRole: []string{"Admin"}, Denial: access.Forbid},
			},
		},
		Tools: []toolset.Tool{
			tool("challenged", works), tool("concealed", works),
			tool("fails", func(context.Context) error { return errors.New("no such order") }),
			tool("forbidden", works),
			tool("panics", func(context.Context) error { panic("a mistake") }),
			slow, tool("works", works),
		},
		Prompts: []toolset.Prompt{{Name: "concealed", Get: welcome}, {Name: "forbidden", Get: welcome}},
	})
}

func welcome(context.Context, toolset.Call) (toolset.PromptResult, error) {
	return toolset.PromptText("welcome", nil)
}

// client sends requests to a server as one caller, in one version of MCP.
type client struct {
	handler           http.Handler
	protocol, session string
}

// httpRequest is a method of HTTP, a body, and headers that replace those of the client.
type httpRequest struct {
	method, body string
	header       map[string]string
}

func (c client) do(a httpRequest) *httptest.ResponseRecorder {
	if a.method == "" {
		a.method = http.MethodPost
	}
	r := httptest.NewRequest(a.method, "http://shop.example/mcp", strings.NewReader(a.body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer member")
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	r.Header.Set("Mcp-Protocol-Version", c.protocol)
	var m struct {
		Method string
		Params struct{ Name, URI string }
	}
	if json.Unmarshal([]byte(a.body), &m) == nil && c.session == "" {
		r.Header.Set("Mcp-Method", m.Method)
		r.Header.Set("Mcp-Name", m.Params.Name+m.Params.URI)
	}
	for name, value := range a.header {
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	rec := httptest.NewRecorder()
	c.handler.ServeHTTP(rec, r)
	return rec
}

// message is a request as JSON, with what its version of MCP needs.
func (c client) message(method, params string) string {
	if c.session == "" {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + c.protocol +
			`","io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			meta = "," + meta
		}
		params += meta
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
}

// clients starts a server, and a client for each version.
func clients() (list []client, stop func(), err error) {
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("member"): {Subject: "mel", Roles: []string{"Member"}}}),
		Logger: slog.New(slog.DiscardHandler),
		HTTP:   runtime.HTTPOptions{Hosts: []string{"shop.example"}},
	}, served())
	if err != nil {
		return nil, nil, err
	}
	stop = func() { _ = server.Shutdown(context.Background()) }
	handler := server.Handler()
	for _, version := range protocols {
		c := client{handler: handler, protocol: version}
		if version < "2026" {
			got := c.do(httpRequest{body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":` +
				`{"protocolVersion":"` + version + `","capabilities":{},` +
				`"clientInfo":{"name":"docs","version":"1"}}}`})
			c.session = got.Header().Get("Mcp-Session-Id")
			c.do(httpRequest{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
		}
		list = append(list, c)
	}
	return list, stop, nil
}

// outcome is the response as a table shows it: the status, the code, and the text.
func outcome(rec *httptest.ResponseRecorder) string {
	body, _ := io.ReadAll(rec.Result().Body)
	text := strings.TrimSpace(string(body))
	if _, data, ok := strings.Cut(text, "data: "); ok { // a stream of one event
		text, _, _ = strings.Cut(data, "\n")
	}
	var m struct {
		Error *struct {
			Code    int
			Message string
		}
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	status := fmt.Sprint("HTTP ", rec.Code)
	if c := rec.Header().Get("WWW-Authenticate"); c != "" {
		status += ", " + code("WWW-Authenticate: "+c)
	}
	switch err := json.Unmarshal([]byte(text), &m); {
	case err != nil:
		return status + ": " + code(text)
	case m.Error != nil:
		return fmt.Sprintf("%s, error %d: %s", status, m.Error.Code, code(m.Error.Message))
	case m.Result != nil && m.Result.IsError:
		return status + ", tool error: " + code(m.Result.Content[0].Text)
	}
	return status
}

// situation is one row: what a caller does.
type situation struct {
	name    string
	request func(client) httpRequest
}

// sessionless is the cell of a situation that needs a session, in a version without sessions.
const sessionless = "no sessions"

// table has a row for each situation and a column for each version.
func (r *repository) table(situations []situation) string {
	list, stop, err := clients()
	if err != nil {
		r.fault("%w", err)
		return ""
	}
	defer stop()
	var b strings.Builder
	b.WriteString(head(append([]string{"situation"}, protocols...)...))
	for _, s := range situations {
		cells := []string{s.name}
		for _, c := range list {
			if a := s.request(c); a.body == sessionless {
				cells = append(cells, sessionless)
			} else {
				cells = append(cells, outcome(c.do(a)))
			}
		}
		if cells[1] == cells[2] {
			cells[2] = "the same"
		}
		b.WriteString(row(cells...))
	}
	return b.String()
}

// call is a call of a tool.
func call(name, arguments string) func(client) httpRequest {
	return func(c client) httpRequest {
		return httpRequest{body: c.message("tools/call",
			`"name":"`+name+`","arguments":{`+arguments+`}`)}
	}
}

func request(method, params string) func(client) httpRequest {
	return func(c client) httpRequest { return httpRequest{body: c.message(method, params)} }
}

// with is a call that works, with other headers.
func with(header map[string]string) func(client) httpRequest {
	return func(c client) httpRequest {
		a := call("works", `"count":1`)(c)
		a.header = header
		return a
	}
}

func denials(r *repository) string {
	return r.table([]situation{
		{"an unknown tool", call("unknown", `"count":1`)},
		{"a tool with `conceal`", call("concealed", `"count":1`)},
		{"a tool with `forbid`", call("forbidden", `"count":1`)},
		{"a tool with `challenge`, if only scopes are missing", call("challenged", `"count":1`)},
		{"an unknown prompt", request("prompts/get", `"name":"unknown"`)},
		{"a prompt with `conceal`", request("prompts/get", `"name":"concealed"`)},
		{"a prompt with `forbid`", request("prompts/get", `"name":"forbidden"`)},
		{"an unknown or concealed resource", request("resources/read", `"uri":"shop://none"`)},
	})
}

func callErrors(r *repository) string {
	return r.table([]situation{
		{"arguments that do not fit the schema", call("works", `"count":"many","colour":"red"`)},
		{"the handler returns an error", call("fails", `"count":1`)},
		{"the handler panics", call("panics", `"count":1`)},
		{"the handler exceeds its time limit", call("slow", `"count":1`)},
		{"a list with a bad cursor", request("tools/list", `"cursor":"none"`)},
		{"an unknown method", request("tools/none", "")},
		{"malformed JSON", func(client) httpRequest { return httpRequest{body: `{"jsonrpc"`} }},
		{"a batch", func(c client) httpRequest {
			return httpRequest{body: "[" + c.message("ping", "") + "]"}
		}},
	})
}

func httpErrors(r *repository) string {
	return r.table([]situation{
		{"no credential", with(map[string]string{"Authorization": ""})},
		{"an invalid credential", with(map[string]string{"Authorization": "Bearer other"})},
		{"a host that is not among `HTTP.Hosts`", with(map[string]string{"Host": "evil.example"})},
		{"an origin that is not among `HTTP.Origins`",
			with(map[string]string{"Origin": "https://evil.example"})},
		{"a content type that is not JSON", with(map[string]string{"Content-Type": "text/plain"})},
		{"a body above `HTTP.MaxBody`", func(client) httpRequest {
			return httpRequest{body: strings.Repeat(" ", 4<<20+1)}
		}},
		{"an unknown session", func(c client) httpRequest {
			if c.session == "" {
				return httpRequest{body: sessionless}
			}
			return httpRequest{body: c.message("ping", ""),
				header: map[string]string{"Mcp-Session-Id": "other"}}
		}},
		{"an unknown protocol version", with(map[string]string{"Mcp-Protocol-Version": "1999-01-01"})},
		{"`Mcp-Name` that is not the name in the body", with(map[string]string{"Mcp-Name": "other"})},
		{"a method of HTTP other than GET, POST and DELETE",
			func(client) httpRequest { return httpRequest{method: http.MethodPut} }},
	})
}
