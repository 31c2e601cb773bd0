package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
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

// The failure of an interceptor has one line in the log as well.
func TestFailuresOfMiddlewareAreLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		res  *mcp.CallToolResult
		err  error
		line string
		want string
	}{
		"a result": {&mcp.CallToolResult{IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "no stock"},
				&mcp.TextContent{Text: "password=t0psecret"}}}, nil, "call failed",
			"no stock\npassword=***MASKED***"},
		"an error": {nil, &jsonrpc.Error{Code: -32050, Message: "no stock"}, "call failed",
			"no stock"},
		"a plain one": {nil, errors.New("no stock"), "a request failed", "no stock"},
		"a cancelling": {nil, fmt.Errorf("upstream: %w", context.Canceled), "call failed",
			"upstream: context canceled"},
	} {
		var log lines
		s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo),
			Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					switch {
					case m.Method != "tools/call":
						return next(ctx, m)
					case test.err != nil:
						return nil, test.err
					}
					return test.res, nil
				}
			}}}, directory(&desk{}))
		overPipe(t, s, principalOf("Member"), "2026-07-28").call(t, "get_by_id", `{}`)
		got := append(log.of(t, "call failed"), log.of(t, "a request failed")...)
		if len(got) != 1 || got[0]["msg"] != test.line || got[0]["error"] != test.want ||
			got[0]["request_id"] == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
