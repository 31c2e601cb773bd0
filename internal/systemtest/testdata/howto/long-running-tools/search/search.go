// Package search searches documents.
//
//mcp:server name=search version=1.0.0
package search

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Search has the documents.
type Search struct{}

// Summary is what was indexed.
type Summary struct {
	Documents int `json:"documents"`
}

// BuildIndex indexes all documents.
//
//mcp:tool minrole=Member task
//mcp:limit timeout=2h
func (s *Search) BuildIndex(ctx context.Context) (Summary, error) {
	return Summary{}, ctx.Err()
}

// New returns the server and its database.
func New(ctx context.Context, users identity.Source, search *Search) (*runtime.Server, error) {
	db, err := store.Open(ctx, "postgres://mcp@db/mcp")
	if err != nil {
		return nil, err
	}
	return runtime.New(runtime.Options{Identity: users,
		Tasks: runtime.TaskOptions{Store: db.Tasks()}}, Toolset(search))
}
