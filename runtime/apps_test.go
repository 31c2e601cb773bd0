package runtime_test

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const boardURI = "ui://parts/board"

// boards is a toolset with two tools for members that share an MCP App, as mcpgen writes it.
func boards() toolset.Toolset {
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`, UI: boardURI,
			Meta: `{"ui":{"resourceUri":"` + boardURI + `"}}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}
	}
	view := func(uri string) toolset.Resource {
		return toolset.Resource{URI: uri, Name: uri, MIMEType: "text/html;profile=mcp-app",
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("<p>a board</p>", nil)
			}}
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/boards", Server: toolset.ServerInfo{Name: "boards", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "edit", MinRole: member}, {Tool: "show", MinRole: member}},
			Resources: []access.Rule{{Resource: boardURI, MinRole: member},
				{Resource: "ui://parts/other", Authenticated: true}}},
		Tools:     []toolset.Tool{tool("edit"), tool("show")},
		Resources: []toolset.Resource{view(boardURI), view("ui://parts/other")},
	})
}

// readsBoard compares the read of the app with that of a URI that does not exist, and reports
// whether the caller may read it.
func readsBoard(t *testing.T, endpoint, user, era string) bool {
	t.Helper()
	c := newRaw(t, endpoint, tokens[user], era)
	read := func(uri string) reply {
		var header map[string]string
		if era == "2026-07-28" {
			header = map[string]string{"Mcp-Name": uri}
		}
		return c.ask(t, "resources/read", `"uri":"`+uri+`"`, header)
	}
	list := c.ask(t, "resources/list", "", nil)
	unknown := strings.Repeat("x", len("board"))
	app, other := read(boardURI), read("ui://parts/"+unknown)
	other.body = strings.ReplaceAll(other.body, unknown, "board")
	may := strings.Contains(app.body, "a board")
	if may == (app.String() == other.String()) || may != strings.Contains(list.body, boardURI) {
		t.Errorf("%s, %q:\n%s\nan unknown resource:\n%s\n%s", era, user, app, other, list)
	}
	return may
}

func TestAnAppHasTheAccessOfItsTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, options := range []runtime.Options{{}, {
			Access: runtime.AccessOptions{Denial: access.Challenge}}} {
			source := &shelf{}
			options.Catalogs.Source = source
			s := newServer(t, options, boards())
			endpoint := serve(t, s)
			for _, era := range eras {
				session := connectHTTP(t, endpoint, tokens["Admin"], era)
				shows := func() bool {
					var uris []string
					for r, err := range session.Resources(t.Context(), nil) {
						if err != nil {
							t.Fatal(err)
						}
						uris = append(uris, r.URI)
					}
					return slices.Contains(uris, boardURI)
				}
				for _, test := range []struct {
					off  []string
					want bool
				}{{nil, true}, {[]string{"edit"}, true}, {[]string{"edit", "show"}, false}, {nil, true}} {
					source.turnOff(test.off...)
					if synctest.Wait(); shows() != test.want {
						t.Errorf("%s, off %v: the app is listed: %t", era, test.off, !test.want)
					}
					for user, may := range map[string]bool{"Viewer": false, "Member": true, "Admin": true} {
						if got := readsBoard(t, endpoint, user, era); got != (may && test.want) {
							t.Errorf("%s, %s, off %v: reads %t", era, user, test.off, got)
						}
					}
				}
			}
		}
	})
}

func TestAnAppOfRemovedToolsIsUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		set      toolset.Toolset
		want     bool
		declared int
	}{
		{boards().Without("edit"), true, 1}, {boards().Only(), false, 0},
		{boards().ReadOnly(), false, 0},
	} {
		endpoint := serve(t, newServer(t, runtime.Options{}, test.set))
		for _, era := range eras {
			if got := readsBoard(t, endpoint, "Admin", era); got != test.want {
				t.Errorf("%s: reads %t, want %t", era, got, test.want)
			}
			caps := connectHTTP(t, endpoint, tokens["Admin"], era).InitializeResult().Capabilities
			if len(caps.Extensions) != test.declared {
				t.Errorf("%s: %v", era, caps.Extensions)
			}
		}
	}
}

// Extensions follow what code declares, for every caller, whatever is switched off.
func TestExtensionsAreEqualForEveryCaller(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"depth": 1.0}
	source := &shelf{}
	options := runtime.Options{Catalogs: runtime.CatalogOptions{Source: source}, Anonymous: true,
		Protocol: runtime.ProtocolOptions{
			Extensions:   map[string]map[string]any{"com.example/x": settings, "com.example/y": nil},
			Experimental: map[string]map[string]any{"z": {"on": true}},
		}}
	want := map[string]any{"com.example/x": map[string]any{"depth": 1.0},
		"com.example/y": map[string]any{}, "io.modelcontextprotocol/ui": map[string]any{}}
	check := func(endpoint string, want map[string]any) {
		t.Helper()
		for _, era := range eras {
			for _, user := range []string{"", "Viewer", "Admin"} {
				caps := connectHTTP(t, endpoint, tokens[user], era).InitializeResult().Capabilities
				if !reflect.DeepEqual(caps.Extensions, want) ||
					!reflect.DeepEqual(caps.Experimental, map[string]any{"z": map[string]any{"on": true}}) {
					t.Errorf("%s, %q: %v %v", era, user, caps.Extensions, caps.Experimental)
				}
			}
		}
	}
	endpoint := serve(t, newServer(t, options, boards()))
	settings["depth"] = 2.0 // after the start it does not count
	check(endpoint, want)
	source.turnOff("edit", "show")
	check(endpoint, want)

	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Extensions:   map[string]any{"com.example/own": map[string]any{}},
			Experimental: map[string]any{"z": map[string]any{"on": true}}}})
	own.AddTool(&mcp.Tool{Name: "old", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	adopted, err := runtime.Adopt(own, runtime.Options{Identity: users(), Anonymous: true},
		map[string]access.Rule{"old": {MinRole: admin}})
	if err != nil {
		t.Fatal(err)
	}
	check(serve(t, adopted), map[string]any{"com.example/own": map[string]any{}})
}

// A tool whose values all need a higher role is unknown, and its app too.
func TestAnAppOfToolsThatTheirValuesHideIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := boards().Generated()
		for i := range g.Tools {
			g.Tools[i].Input = `{"type":"object","properties":{"v":{"type":"string","enum":["a"]}},` +
				`"required":["v"]}`
			g.Table.Values = append(g.Table.Values, access.Rule{Tool: g.Tools[i].Name, Argument: "v",
				Value: "a", MinRole: admin})
		}
		missing := map[string]string{} // by URI; an unknown one is in no event
		endpoint := serve(t, newServer(t, runtime.Options{
			Audit: runtime.AuditOptions{Sink: audit.SinkFunc(
				func(_ context.Context, e audit.Event) error {
					if e.Failure == audit.Denied {
						missing[e.Resource] = e.Missing
					}
					return nil
				})}}, toolset.NewToolset(g)))
		for _, era := range eras {
			if readsBoard(t, endpoint, "Member", era) || !readsBoard(t, endpoint, "Admin", era) {
				t.Errorf("%s: the app is not that of its tools", era)
			}
		}
		if !maps.Equal(missing, map[string]string{"": "does not exist",
			boardURI: "the caller may use no tool of this MCP App"}) {
			t.Errorf("refused for %q", missing)
		}
	})
}
