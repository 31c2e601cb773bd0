package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// Tool is a tool that the caller may use. The names are those of MCP's tools/list.
type Tool struct {
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description,omitempty"`
	InputSchema  any      `json:"inputSchema,omitempty"`
	OutputSchema any      `json:"outputSchema,omitempty"`
	CanExecute   bool     `json:"canExecute" doc:"The server would allow the call"`
	Missing      string   `json:"missing,omitempty" doc:"The missing requirements if canExecute is false"`
	Off          bool     `json:"off,omitempty" doc:"It is switched off; shown to admins only"`
	Catalogs     []string `json:"catalogs,omitempty" nullable:"false" doc:"The catalogs that the source of the server declares"`
}

func toolOf(t runtime.ListedTool) Tool {
	return Tool{
		Name: t.Tool.Name, Title: t.Tool.Title, Description: t.Tool.Description, InputSchema: t.Tool.InputSchema, OutputSchema: t.Tool.OutputSchema,
		CanExecute: t.CanExecute, Missing: t.Missing, Off: t.Off, Catalogs: t.Catalogs,
	}
}

// Tools is a page of tools.
type Tools struct {
	Items []Tool `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Send it as after for the next page; absent on the last"`
	Note  string `json:"note,omitempty" doc:"A note about the requested catalog"`
}

type toolsOutput struct {
	Link string `header:"Link" doc:"The next page, as rel=next; absent on the last"`
	Body Tools
}

// tools registers the list of tools, which is for everybody who is somebody.
func (a *API) tools() {
	type listed struct {
		Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"The largest number of items"`
		After     string `query:"after" maxLength:"1024" doc:"The value of next in the previous page"`
		Catalog   string `query:"catalog" doc:"The name of a catalog: the caller's teams' first, then its organizations', then global"`
		CatalogID string `query:"catalog_id" doc:"The id of a catalog. It takes precedence over the name"`
	}
	op := huma.Operation{
		OperationID: "list-tools", Method: http.MethodGet, Path: runtime.PathAPI + "mcp/tools", Tags: []string{"tools"},
		Summary: "List the tools that the caller may see, by name", Errors: []int{http.StatusNotFound},
	}
	register(a, op, anybody, func(ctx context.Context, r *request, i *listed) (*toolsOutput, error) {
		page, err := Paging{i.Limit, i.After}.names()
		if err != nil {
			return nil, err
		}
		listing, err := a.server.ListTools(ctx, catalog.Ask{ID: i.CatalogID, Name: i.Catalog})
		if err != nil {
			return nil, err
		}
		name := func(t runtime.ListedTool) string { return t.Tool.Name }
		some, more := cut(listing.Tools, name, page)
		out := paged(r, some, more, toolOf, func(t runtime.ListedTool) string { return cursorOf(byName, name(t)) })
		return &toolsOutput{Link: out.Link, Body: Tools{Items: out.Body.Items, Next: out.Body.Next, Note: listing.Note}}, nil
	})
}
