package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
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

// adoptedWith returns a guarded server of somebody else's whose hidden tool has a header and a
// schema of 4 kB.
func adoptedWith(t testing.TB, options runtime.Options) *runtime.Server {
	t.Helper()
	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	answers := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}
	for _, name := range []string{"shown", "promote"} {
		own.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(
			`{"type":"object","description":"` + strings.Repeat("x", 4<<10) + `","properties":{` +
				`"region":{"type":"string","x-mcp-header":"Region"},"id":{"type":"string"}},` +
				`"required":["region"]}`)}, answers)
	}
	options.Logger = cmp.Or(options.Logger, quiet())
	if options.Identity == nil {
		options.Identity = users()
	}
	s, err := runtime.Adopt(own, options, map[string]access.Rule{"shown": {Authenticated: true},
		"promote": {MinRole: admin}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The guard decides before anything reads the schema of an adopted tool, and a call of a hidden one
// is logged and recorded as one of an unknown tool is.
func TestHiddenToolOfAnAdoptedServerIsByteForByteUnknown(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		var log, events journal
		s := adoptedWith(t, runtime.Options{
			Audit:  runtime.AuditOptions{Sink: audit.JSONLines(&events)},
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c := newRaw(t, serve(t, s), tokens["Viewer"], era)
		for _, v := range variants {
			call := func(tool string) string {
				return strings.ReplaceAll(c.call(t, tool, v.rest, v.headers).String(), tool, "NAME")
			}
			if hidden, unknown := call("promote"), call("promot_"); hidden != unknown {
				t.Errorf("%s, %s:\n%s\nunknown:\n%s", era, v.name, hidden, unknown)
			}
		}
		for _, name := range []string{"promote", "promot_"} {
			recorded, logged := strings.Count(events.String(), `"`+name+`"`),
				strings.Count(log.String(), "tool="+name)
			if recorded != len(variants) || logged != len(variants) {
				t.Errorf("%s: %d events and %d lines of the log of %d calls of %s", era, recorded, logged,
					len(variants), name)
			}
		}
	}
}

// BenchmarkHiddenAndUnknown measures what timing tells: the two take the same way, so their
// figures differ by noise alone. A handler, a decoder or a backend on one of the two ways
// would show here.
func BenchmarkHiddenAndUnknown(b *testing.B) {
	own := newRaw(b, serve(b, newServer(b, runtime.Options{}, directory(&desk{}))), tokens["Viewer"],
		"2026-07-28")
	adopted := newRaw(b, serve(b, adoptedWith(b, runtime.Options{})), tokens["Viewer"], "2026-07-28")
	for _, test := range []struct {
		c          *raw
		kind, name string
	}{{own, "hidden", "promote_to_manager"}, {own, "unknown", "promote_to_managex"},
		{adopted, "adopted/hidden", "promote"}, {adopted, "adopted/unknown", "promotx"}} {
		b.Run(test.kind, func(b *testing.B) {
			c := test.c
			for b.Loop() {
				c.call(b, test.name, `,"arguments":{"id":"ada"}`, nil)
			}
		})
	}
}
