package runtime_test

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// unlucky is a tool, a prompt and a resource that fail alike.
func unlucky(timeout time.Duration, fail func(context.Context) error) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/failing", Server: toolset.ServerInfo{Name: "failing", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "work", MinRole: viewer},
				{Tool: "result", MinRole: viewer}},
			Prompts:   []access.Rule{{Prompt: "greet", MinRole: viewer}},
			Resources: []access.Rule{{Resource: "lib://books/{id}", MinRole: viewer}},
		},
		Tools: []toolset.Tool{
			{Name: "work", Input: `{"type":"object"}`, Timeout: timeout,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					return toolset.Done(fail(ctx))
				}},
			{Name: "result", Input: `{"type":"object"}`, Timeout: timeout,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					if err := fail(ctx); err != nil {
						return toolset.Native(&mcp.CallToolResult{IsError: true,
							Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil, nil)
					}
					return toolset.Done(nil)
				}},
		},
		Prompts: []toolset.Prompt{{Name: "greet", Timeout: timeout,
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("hello", fail(ctx))
			}}},
		Resources: []toolset.Resource{{URI: "lib://books/{id}", Name: "book", Timeout: timeout,
			Variables: []toolset.Variable{{Name: "id"}},
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("book", fail(ctx))
			}}},
	})
}
