package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// Tool is a tool as the caller may use it. The names are those of MCP's tools/list.
type Tool struct {
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description,omitempty"`
	InputSchema  any      `json:"inputSchema,omitempty"`
	OutputSchema any      `json:"outputSchema,omitempty"`
	CanExecute   bool     `json:"canExecute" doc:"A call would be let through"`
	Missing      string   `json:"missing,omitempty" doc:"What the caller lacks where canExecute is false"`
	Off          bool     `json:"off,omitempty" doc:"It is switched off: shown to admins alone"`
	Catalogs     []string `json:"catalogs,omitempty" nullable:"false" doc:"Those that the source of the server puts it into"`
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
	Note  string `json:"note,omitempty" doc:"What is to be known of the catalog that was asked for"`
}

type toolsOutput struct {
	Link string `header:"Link" doc:"The next page, as rel=next; absent on the last"`
	Body Tools
}

// tools registers the list of tools, which is for everybody who is somebody.
func (a *API) tools() {
	type listed struct {
		Paging
		Catalog   string `query:"catalog" doc:"The name of a catalog: the caller's teams' first, then its organizations', then global"`
		CatalogID string `query:"catalog_id" doc:"The id of a catalog. It counts where both are sent"`
	}
	op := huma.Operation{
		OperationID: "list-tools", Method: http.MethodGet, Path: runtime.PathAPI + "mcp/tools", Tags: []string{"tools"},
		Summary: "List the tools that the caller is shown, by name", Errors: []int{http.StatusNotFound},
	}
	register(a, op, anybody, func(ctx context.Context, r *request, i *listed) (*toolsOutput, error) {
		page, err := i.names()
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
