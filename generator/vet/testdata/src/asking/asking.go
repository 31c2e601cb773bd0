// Package asking has handlers that ask their client.
//
//mcp:server name=asking
//mcp:default minrole=Viewer
package asking

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
)

type confirm struct{ Amount int }

type Shop struct{}

//mcp:tool readonly
func (s *Shop) Order(ctx context.Context, id string) error {
	// want +1 `MCP051: the handler Shop.Order asks its client without elicits`
	_, err := runtime.Elicit[confirm](ctx, "sure", "?")
	if err == nil {
		_, err = runtime.Elicit[confirm](ctx, "really", "?")
	}
	return err
}

//mcp:prompt
func Draft(ctx context.Context) (string, error) {
	run := func() error {
		_, err := runtime.Roots(ctx) // want `MCP051`
		return err
	}
	return "", run()
}

// Apart runs in a process of its own.
//
//mcp:tool
//mcp:limit isolate=process
func Apart(ctx context.Context) error {
	_, err := runtime.Roots(ctx) // want `MCP051: .* remove the call`
	return err
}

// Quick only computes.
//
//mcp:tool
//mcp:limit nonblocking
func Quick(ctx context.Context) error {
	_, err := runtime.Roots(ctx) // want `MCP051: .* remove the call, or remove nonblocking and write`
	return err
}

//mcp:tool elicits
func Declared(ctx context.Context) error {
	_, err := runtime.Roots(ctx)
	return err
}

func helper(ctx context.Context) error {
	_, err := runtime.Roots(ctx)
	return err
}
