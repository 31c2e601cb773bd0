package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// headerTool is a tool for admins whose schema binds an argument to an HTTP header.
func headerTool() toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/routes", Server: toolset.ServerInfo{Name: "routes", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "route", MinRole: admin}}},
		Tools: []toolset.Tool{{
			Name:  "route",
			Input: `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}},"required":["region"]}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured(map[string]string{"ok": "yes"}, nil)
			},
		}},
	})
}

// variants are ways to call that answer differently once a tool is known.
var variants = []struct {
	name, rest string
	headers    map[string]string
}{
	{"no arguments", ``, nil},
	{"good arguments", `,"arguments":{"id":"ada"}`, nil},
	{"an unknown argument", `,"arguments":{"secret_field":1}`, nil},
	{"an argument of the wrong type", `,"arguments":{"id":17}`, nil},
	{"arguments that are no object", `,"arguments":[1]`, nil},
	{"null arguments", `,"arguments":null`, nil},
	{"a bound argument without its header", `,"arguments":{"region":"eu"}`, nil},
	{"a bound argument with another header", `,"arguments":{"region":"eu"}`,
		map[string]string{"Mcp-Param-Region": "us"}},
	{"a header without its argument", `,"arguments":{}`,
		map[string]string{"Mcp-Param-Region": "us"}},
	{"made-up input responses", `,"inputResponses":{"a":{"action":"accept"}},"requestState":"x"`,
		nil},
	{"a progress token", `,"arguments":{},"task":{}`, nil},
}

func TestHiddenToolIsByteForByteAnUnknownTool(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, directory(&desk{}), headerTool())
	url := serve(t, s)
	compared := 0
	for _, era := range eras {
		for column, user := range callers {
			c := newRaw(t, url, tokens[user], era)
			for tool, who := range withRoute(expected) {
				if who[column] == 'y' {
					continue
				}
				unknown := strings.Repeat("x", len(tool))
				for _, v := range variants {
					hidden := c.call(t, tool, v.rest, v.headers)
					other := c.call(t, unknown, v.rest, v.headers)
					other.body = strings.ReplaceAll(other.body, unknown, tool)
					if hidden.String() != other.String() {
						t.Errorf("%s, %s, %s with %s:\n%s\nan unknown tool:\n%s", era, user, tool,
							v.name, hidden, other)
					}
					if !strings.Contains(hidden.body, "unknown tool") {
						t.Errorf("%s, %s, %s with %s: not refused:\n%s", era, user, tool, v.name,
							hidden)
					}
					compared++
				}
			}
		}
	}
	if compared < 3*20*len(variants) {
		t.Errorf("compared %d pairs only", compared)
	}
}

func withRoute(m map[string]string) map[string]string {
	m = maps.Clone(m)
	m["route"] = "nnnnny"
	return m
}

func TestHiddenToolIsByteForByteAnUnknownToolOnStdio(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, directory(&desk{}), headerTool())
	for _, user := range []string{"", "Viewer", "Member", "Manager"} {
		column := slices.Index(callers, user)
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.RunIO(context.Background(), in, out, principalOf(user)) }()
		lines := bufio.NewScanner(fromServer)
		talk := func(line string) string {
			t.Helper()
			if _, err := io.WriteString(toServer, line+"\n"); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() {
				t.Fatalf("no answer to %s", line)
			}
			return lines.Text()
		}
		talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		for tool, who := range withRoute(expected) {
			if who[column] == 'y' {
				continue
			}
			unknown := strings.Repeat("x", len(tool))
			for _, v := range variants {
				ask := func(name string) string {
					return talk(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` +
						name + `"` + v.rest + `}}`)
				}
				hidden, other := ask(tool), strings.ReplaceAll(ask(unknown), unknown, tool)
				if hidden != other || !strings.Contains(hidden, "unknown tool") {
					t.Errorf("%s, %s with %s:\n%s\nan unknown tool:\n%s", user, tool, v.name,
						hidden, other)
				}
			}
		}
		toServer.Close()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	}
}

// BenchmarkHiddenAndUnknown measures what timing tells: the two take the same way, so their
// figures differ by noise alone. A handler, a decoder or a backend on one of the two ways
// would show here.
func BenchmarkHiddenAndUnknown(b *testing.B) {
	s := newServer(b, runtime.Options{}, directory(&desk{}))
	c := newRaw(b, serve(b, s), tokens["Viewer"], "2026-07-28")
	for _, test := range []struct{ kind, name string }{{"hidden", "promote_to_manager"},
		{"unknown", "promote_to_managex"}} {
		b.Run(test.kind, func(b *testing.B) {
			for b.Loop() {
				c.call(b, test.name, `,"arguments":{"id":"ada"}`, nil)
			}
		})
	}
}

func TestToolNamesMatchExactly(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	for _, name := range []string{"Update", "UPDATE", "update ", " update", "updat", "updates",
		"update\\u0000", "upd\\u0430te", "./update", ""} {
		if got := c.call(t, name, `,"arguments":{"id":"ada"}`, nil); !strings.Contains(got.body,
			"unknown tool") {
			t.Errorf("%q: %s", name, got)
		}
	}
	if got := c.call(t, "update", `,"arguments":{"id":"ada"}`, nil); !strings.Contains(got.body,
		`"structuredContent"`) {
		t.Errorf("update: %s", got)
	}
}

func TestBoundHeadersAreCheckedOnceTheCallIsAllowed(t *testing.T) {
	for _, sdkOnly := range []bool{false, true} {
		s := newServer(t, runtime.Options{SDKOnly: sdkOnly}, headerTool())
		testBoundHeaders(t, newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28"))
	}
}

func testBoundHeaders(t *testing.T, c *raw) {
	t.Helper()
	for _, test := range []struct {
		arguments string
		headers   map[string]string
		refused   bool
	}{
		{`{"region":"eu"}`, map[string]string{"Mcp-Param-Region": "eu"}, false},
		{`{"region":"é"}`, map[string]string{"Mcp-Param-Region": "=?base64?w6k=?="}, false},
		{`{"region":"é"}`, map[string]string{"Mcp-Param-Region": "=?base64?!?="}, true},
		{`{"region":"eu"}`, nil, true},
		{`{"region":"eu"}`, map[string]string{"Mcp-Param-Region": "us"}, true},
		{`{"region":["eu"]}`, map[string]string{"Mcp-Param-Region": "eu"}, true},
		{`{}`, map[string]string{"Mcp-Param-Region": "eu"}, true},
		{`{"region":null}`, nil, false},
		{`{"region":null}`, map[string]string{"Mcp-Param-Region": "eu"}, true},
		{`{"n":5}`, map[string]string{"Mcp-Param-N": "5"}, false},
		{`{"n":5}`, map[string]string{"Mcp-Param-N": "5.0"}, false},
		{`{"n":5}`, map[string]string{"Mcp-Param-N": "6"}, true},
		{`{"n":16}`, map[string]string{"Mcp-Param-N": "0x10"}, true},
		{`{"n":10}`, map[string]string{"Mcp-Param-N": "1_0"}, true},
		{`{"n":5}`, map[string]string{"Mcp-Param-N": "+5"}, true},
		{`{"n":5}`, map[string]string{"Mcp-Param-N": "05"}, true},
		{`{"n":-5}`, map[string]string{"Mcp-Param-N": "-5"}, false},
		{`{"n":5.5}`, map[string]string{"Mcp-Param-N": "5.5"}, true},
		{`{"deep":{"on":true}}`, map[string]string{"Mcp-Param-On": "true"}, false},
		{`{"deep":{"on":true}}`, map[string]string{"Mcp-Param-On": "false"}, true},
		{`{"deep":7}`, nil, false},
	} {
		got := c.call(t, "route", `,"arguments":`+test.arguments, test.headers)
		refused := strings.Contains(got.body, "-32020")
		if refused != test.refused || refused != (got.status == http.StatusBadRequest) {
			t.Errorf("%s with %v: refused %v, want %v:\n%s", test.arguments, test.headers, refused,
				test.refused, got)
		}
	}
}

func TestBoundHeaderSentTwiceIsRefused(t *testing.T) {
	url := serve(t, newServer(t, runtime.Options{}, headerTool()))
	c := newRaw(t, url, tokens["Admin"], "2026-07-28")
	for _, values := range [][]string{{"eu", "us"}, {"eu", "eu"}, {"us", "eu"}, {"eu", ""}} {
		req, err := http.NewRequest("POST", url,
			strings.NewReader(c.request("tools/call",
				`"name":"route","arguments":{"region":"eu"}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Authorization":        {"Bearer " + c.token},
			"Mcp-Protocol-Version": {c.era}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"route"},
			"Mcp-Param-Region": values,
		}
		res, err := c.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 400 || !strings.Contains(string(body),
			"is sent more than once") {
			t.Errorf("%q: %d %s, %v", values, res.StatusCode, body, err)
		}
	}
}

func TestSuggestionsAreNotMade(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	got := c.call(t, "promote_to_manage", ``, nil)
	if want := fmt.Sprintf("unknown tool %q", "promote_to_manage"); !strings.Contains(got.body,
		strings.ReplaceAll(want, `"`, `\"`)) || strings.Contains(got.body, "promote_to_manager") {
		t.Errorf("%s", got)
	}
}
