// Package runtime has the declarations of mcpgen that the cases use.
package runtime

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	Server  struct{}
	Options struct{}
)

func New(options Options, toolsets ...any) (*Server, error) { return nil, nil }

func Adopt(server *mcp.Server, options Options, rules map[string]string) (*Server, error) {
	return nil, nil
}

func Elicit[T any](ctx context.Context, key, message string) (answer T, err error) { return }

func Roots(ctx context.Context) ([]string, error) { return nil, nil }
