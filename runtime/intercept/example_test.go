package intercept_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/intercept"
)

// A middleware that counts the allowed calls of each tool.
func ExampleMiddleware() {
	calls := map[string]int{} // a server needs a lock around it
	count := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if call, ok := m.Params.(*mcp.CallToolParamsRaw); ok {
				calls[call.Name]++
			}
			return next(ctx, m)
		}
	}
	_ = runtime.Options{Interceptors: []intercept.Middleware{count}}

	handler := count(func(context.Context, intercept.Message) (mcp.Result, error) {
		return &mcp.CallToolResult{}, nil
	})
	call := intercept.Message{Method: "tools/call", Params: &mcp.CallToolParamsRaw{Name: "get_all"}}
	_, _ = handler(context.Background(), call)
	fmt.Println(calls)
	// Output: map[get_all:1]
}
