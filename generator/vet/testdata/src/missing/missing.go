// Package missing has handlers without a directive.
package missing

import "context"

// Get gets.
//
//mcp:tool public
func Get(ctx context.Context, id string) error { return nil }

// List lists.
func List(ctx context.Context) error { return nil } // want `MCP001: handler List has no`

func Create(ctx context.Context) error { return nil } // want `MCP001: handler Create`

// Directives of other programs stay.
//
//go:noinline
func Pin(ctx context.Context) error { return nil } // want `MCP001: handler Pin`

// Store stores.
type Store interface {
	//mcp:tool public
	Read(ctx context.Context) error
	// Write writes.
	Write(ctx context.Context) error // want `MCP001: handler Store.Write`
}

func helper(ctx context.Context) error { return nil }
