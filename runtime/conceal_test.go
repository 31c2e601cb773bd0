package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// headerTool is a tool for admins whose schema binds an argument to an HTTP header.
func headerTool() toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/routes", Server: toolset.ServerInfo{Name: "routes", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "route", MinRole: []string{"Admin"}}}},
		Tools: []toolset.Tool{{
			Name:  "route",
			Input: `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}},"required":["region"]}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured(map[string]string{"ok": "yes"}, nil)
			},
		}},
	})
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
		"promote": {MinRole: []string{"Admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
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
