package runtime_test

import (
	"context"
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
