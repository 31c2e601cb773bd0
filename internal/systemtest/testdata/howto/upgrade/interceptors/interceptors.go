// Package interceptors has the excerpt of the page.
package interceptors

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/intercept"
)

// Options returns options with an interceptor in place of a middleware.
func Options() runtime.Options {
	return runtime.Options{
		Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
			return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
				return next(ctx, m)
			}
		}},
	}
}
