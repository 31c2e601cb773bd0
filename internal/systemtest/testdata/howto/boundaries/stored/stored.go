// Package stored has a server whose boundaries administrators change.
package stored

import (
	"context"
	"os"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/boundary/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// NewServer returns a server with the boundaries of a database.
func NewServer(ctx context.Context, source identity.Source, sets ...toolset.Toolset) (
	*runtime.Server, error) {
	s, err := store.Open(ctx, os.Getenv("MCP_DATABASE")) // such as sqlite:mcp.db
	if err != nil {
		return nil, err
	}
	boundaries := stored.New(s) // runtime/boundary/stored
	return runtime.New(runtime.Options{
		Identity: source,
		Access:   runtime.AccessOptions{Boundaries: boundaries},
	}, sets...)
}
