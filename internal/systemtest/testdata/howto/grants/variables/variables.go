// Package variables has an excerpt of the page.
//
//mcp:server name=variables
package variables

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/sandbox"
)

// SetVariable keeps a value for later calls of this client.
//
//mcp:tool name=set_variable minrole=Member idempotent
func SetVariable(ctx context.Context, name, value string) error {
	space, err := sandbox.Workspace(ctx)
	if err != nil {
		return err
	}
	return space.Set(name, value)
}
