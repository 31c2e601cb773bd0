// Package constructed has a handler that a constructor returns.
//
//mcp:server name=constructed
package constructed

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// API is a dependency of the old constructors.
type API interface {
	Open(ctx context.Context, repo string) ([]string, error)
}

// ListInput names a repository.
type ListInput struct {
	Repo string `json:"repo"`
}

// ListOutput has the titles of issues.
type ListOutput struct {
	Titles []string `json:"titles"`
}

func listIssues(api API) mcp.ToolHandlerFor[ListInput, ListOutput] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, in ListInput) (
		*mcp.CallToolResult, ListOutput, error) {
		titles, err := api.Open(ctx, in.Repo)
		return nil, ListOutput{titles}, err
	}
}

// Tools has the arguments of the constructors.
type Tools struct{ API API }

// ListIssues lists the open issues of a repository.
//
//mcp:tool minrole=Viewer readonly
func (t Tools) ListIssues(ctx context.Context, req *mcp.CallToolRequest, in ListInput) (
	*mcp.CallToolResult, ListOutput, error) {
	return listIssues(t.API)(ctx, req, in)
}
