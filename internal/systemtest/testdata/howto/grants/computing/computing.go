// Package computing has the excerpts of the page about grants.
//
//mcp:server name=computing
//mcp:default minrole=Member
package computing

import "context"

// Add adds two numbers.
//
//mcp:tool
//mcp:limit nonblocking
func Add(ctx context.Context, a, b int) (int, error) { return a + b, nil }
