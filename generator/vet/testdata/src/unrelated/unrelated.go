// Package unrelated has no guarded server and no directive.
package unrelated

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func Serve(ctx context.Context) error {
	mcp.NewServer().AddTool(&mcp.Tool{}, func() {})
	return nil
}
