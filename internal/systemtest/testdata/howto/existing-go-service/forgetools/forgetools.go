// Package forgetools serves methods of an API client.
//
//mcp:server name=forge
package forgetools

import (
	"context"

	"example.com/howto/existing-go-service/forge"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// API has the methods of the client that are tools.
type API interface {
	// CloseIssue closes an issue.
	//
	//mcp:tool minrole=Manager idempotent
	//mcp:param number description="The number of the issue." minimum=1
	CloseIssue(ctx context.Context, repo string, number int64) (*forge.Issue, error)
}

// New serves the client itself.
func New(client *forge.Client, source identity.Source) (*runtime.Server, error) {
	return runtime.New(runtime.Options{Identity: source}, Toolset(client))
}
