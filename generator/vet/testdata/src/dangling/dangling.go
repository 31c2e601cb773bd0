// Package dangling has directives without a declaration.
package dangling

import "context"

// want +2 `MCP011: //mcp:tool is not on a declaration`

//mcp:tool minrole=Member

// Get gets.
//
//mcp:tool public
func Get(ctx context.Context) error {
	// want +2 `MCP011: //mcp:limit is not on a declaration`
	x := 0
	x++ //mcp:limit timeout=1s
	_ = x
	return nil
}

// want +2 `MCP011: //mcp:roles is not on a declaration; fix: put it directly above`

//mcp:roles Guest < Owner
