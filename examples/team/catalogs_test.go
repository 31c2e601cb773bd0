package main

import (
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

// kit is what the catalog of these tests holds; one of its names is no tool's.
var kit = []string{"get_all", "no_such_tool", "promote_to_manager", "update"}

// inKit is what a caller is listed of it.
func inKit(caller string) []string {
	var names []string
	for _, tool := range kit {
		if slices.Contains(expected[tool], caller) {
			names = append(names, tool)
		}
	}
	return names
}

// TestCatalogIsMadeThroughTheAPIAndListedToEveryKindOfClient takes each client's own way to ask: a
// stock one over HTTP can set nothing but the URL.
func TestCatalogIsMadeThroughTheAPIAndListedToEveryKindOfClient(t *testing.T) {
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			kept := database(t)
			p := start(t, "-store", kept)
			id := p.fill(t, "research kit", kit...)
			for _, caller := range callers[1:] {
				answer := p.must(t, 200, caller, "GET",
					"/mcp/tools?catalog="+url.QueryEscape("research kit"), nil)
				var names []string
				for _, item := range answer["items"].([]any) {
					if tool := item.(map[string]any); tool["canExecute"] == true {
						names = append(names, tool["name"].(string))
					}
				}
				if !slices.Equal(names, inKit(caller)) {
					t.Errorf("%s is listed %v by the API, want %v", caller, names, inKit(caller))
				}
				for _, era := range eras {
					for _, query := range []string{"?catalog=research+kit", "?catalog_id=" + id} {
						if names := list(t, connectHTTP(t, p.Base+"/mcp"+query, caller,
							era)); !slices.Equal(names, inKit(caller)) {
							t.Errorf("%s, %s: %s lists %v, want %v", era, query, caller, names,
								inKit(caller))
						}
					}
				}
				server := stdio("-db", filepath.Join(t.TempDir(), "team.db"), "-store", kept,
					"-stdio", caller)
				res, err := connect(t, server, "2025-11-25").ListTools(t.Context(),
					&mcp.ListToolsParams{Meta: mcp.Meta{runtime.MetaCatalog: "research kit"}})
				if err != nil {
					t.Fatal(err)
				}
				names = nil
				for _, tool := range res.Tools {
					names = append(names, tool.Name)
				}
				if !slices.Equal(names, inKit(caller)) {
					t.Errorf("over stdio %s lists %v, want %v", caller, names, inKit(caller))
				}
			}
			// What one may not use one is not shown, in a catalog or out of it, and is refused as
			// ever.
			session := connectHTTP(t, p.Base+"/mcp?catalog=research+kit", "vera", "")
			if _, err := session.CallTool(t.Context(),
				&mcp.CallToolParams{Name: "update", Arguments: arguments["update"]}); err == nil ||
				wire(t, err).Message != `unknown tool "update"` {
				t.Errorf("a tool of the catalog that is not the caller's: %v", err)
			}
			if _, err := session.CallTool(t.Context(),
				&mcp.CallToolParams{Name: "get_by_id",
					Arguments: arguments["get_by_id"]}); err != nil && wire(t, err).Code == -32602 {
				t.Errorf("a tool of the caller's that is not in the catalog: %v", err)
			}
		})
	}
}

// The catalog that the code of the example declares is there without a store.
func TestCatalogThatCodeDeclaresNeedsNoStore(t *testing.T) {
	url := serveHTTP(t, runtime.Options{Anonymous: true})
	for caller, want := range map[string][]string{"nobody": nil, "vera": {"get_by_id"},
		"mel": {"create", "get_by_id", "update"}, "ada": {"create", "get_by_id", "update"}} {
		for _, era := range eras {
			if got := list(t, connectHTTP(t, url+"?catalog=onboarding", caller,
				era)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", era, caller, got, want)
			}
		}
	}
}

func TestUnknownCatalogIsRefusedWhereThatIsRequired(t *testing.T) {
	p := start(t, "-store", engines["sqlite"](t), "-strict")
	session := connectHTTP(t, p.Base+"/mcp?catalog=nonsense", "ada", "")
	if _, err := session.ListTools(t.Context(), nil); err == nil ||
		wire(t, err).Message != "unknown catalog" {
		t.Errorf("%v", err)
	}
}

// TestToolIsOffOnceTheResponseReportsIt switches through the API and through the console, and calls
// at once.
func TestToolIsOffOnceTheResponseReportsIt(t *testing.T) {
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			p := start(t, "-store", database(t))
			session := connectHTTP(t, p.Base+"/mcp", "vera", "")
			byConsole := func(off bool) {
				form := url.Values{"tool": {"get_all"},
					"off": {map[bool]string{true: "yes", false: "no"}[off]}}
				req, err := http.NewRequest("POST", p.Base+"/console/tools",
					strings.NewReader(form.Encode()))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				req.AddCookie(&http.Cookie{Name: "mcpgen-console", Value: "demo-ada"})
				res, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != http.StatusSeeOther {
					t.Fatal(res.Status)
				}
			}
			byAPI := func(off bool) {
				p.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/get_all",
					map[string]any{"enabled": !off})
			}
			for n := range 40 {
				off := n%2 == 0
				if n%4 < 2 {
					byAPI(off)
				} else {
					byConsole(off)
				}
				_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_all"})
				if off != (err != nil) || off && wire(t, err).Message != `unknown tool "get_all"` {
					t.Errorf("off is %v, and the call got %v", off, err)
				}
			}
		})
	}
}
