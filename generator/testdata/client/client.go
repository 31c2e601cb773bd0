// Package client has handlers of every shape. Its name is that of its typed client.
//
//mcp:server name=shapes
//mcp:default public
package client

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolset"

	"example.com/scratch/generator/client/toolclient"
)

// Service has methods.
type Service struct{}

// Other has a method of the same name.
type Other struct{}

// Page is generic.
type Page[T any] struct {
	Items []T `json:"items"`
}

// Input is an input.
type Input struct {
	Name string                  `json:"name" jsonschema:"minLength=2"`
	Note *string                 `json:"note,omitempty"`
	When toolset.Optional[int64] `json:"when,omitzero"`
}

// Nothing takes and returns nothing.
//
//mcp:tool
func Nothing(ctx context.Context) error { return nil }

// New has the name of a func of the client.
//
//mcp:tool
func New(ctx context.Context, in Input) (Page[toolclient.Session], error) {
	return Page[toolclient.Session]{}, nil
}

// Client has plain parameters with names that generated code uses.
//
//mcp:tool
//mcp:param c default=3
//mcp:param list nullable
func Client(ctx context.Context, c int, session string, in *time.Time, list []string,
	e toolset.Optional[bool]) (map[string][]*Page[int], error) {
	return nil, nil
}

// Get is a method.
//
//mcp:tool
func (s *Service) Get(ctx context.Context, in *Input) (*Input, error) { return in, nil }

// Get is a method of another type.
//
//mcp:tool name=other_get
func (o Other) Get(ctx context.Context, id string) (time.Duration, error) { return 0, nil }

// Anonymous has types without names.
//
//mcp:tool
func Anonymous(ctx context.Context, in struct {
	At time.Time `json:"at"`
}) ([]struct {
	Session toolclient.Session `json:"session"`
}, error) {
	return nil, nil
}

// Words returns a text.
//
//mcp:tool output=text description="//go:build ignore"
func Words(ctx context.Context) (string, error) { return "", nil }

// Table returns JSON as text.
//
//mcp:tool output=none description="/* rows"
func Table(ctx context.Context) ([][]string, error) { return nil, nil }

// Image returns bytes.
//
//mcp:tool output=text mimetype=image/png
func Image(ctx context.Context) ([]byte, error) { return nil, nil }

// Parts returns content.
//
//mcp:tool
func Parts(ctx context.Context, n int) ([]mcp.Content, error) { return nil, nil }

// Result returns a result.
//
//mcp:tool
func Result(ctx context.Context) (*mcp.CallToolResult, error) { return nil, nil }

// Native has go-sdk's shape.
//
//mcp:tool
func Native(ctx context.Context, r *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, Input,
	error) {
	return nil, in, nil
}

// Any has go-sdk's shape and any output.
//
//mcp:tool
func Any(ctx context.Context, r *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
}
