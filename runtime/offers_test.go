package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// library is a toolset of prompts and resources as mcpgen writes them.
func library() toolset.Toolset {
	get := func(_ context.Context, call toolset.Call) (toolset.PromptResult, error) {
		return toolset.PromptText("secret "+string(call.Arguments), nil)
	}
	read := func(_ context.Context, call toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("secret "+string(call.Arguments), nil)
	}
	complete := func(_ context.Context, begun string) ([]string, error) {
		return []string{begun + "!"}, nil
	}
	prompt := func(name string) toolset.Prompt {
		return toolset.Prompt{Name: name, Description: name + " asks.", Get: get,
			Arguments: []toolset.Argument{
				{Name: "a", Required: true, Complete: complete},
				{Name: "b", Values: []string{"one", "two"}},
			}}
	}
	resource := func(uri string, variables ...toolset.Variable) toolset.Resource {
		return toolset.Resource{URI: uri, Name: "r", Read: read, Variables: variables}
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/library", Server: toolset.ServerInfo{Name: "library", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(),
			Prompts: []access.Rule{
				{Prompt: "greet", Public: true}, {Prompt: "hire", MinRole: []string{"Manager"}},
				{Prompt: "join", Authenticated: true}, {Prompt: "rule", MinRole: []string{"Admin"}},
			},
			Resources: []access.Rule{
				{Resource: "lib://hall", Public: true}, {Resource: "lib://safe", MinRole: []string{"Admin"}},
				{Resource: "lib://shelf", MinRole: []string{"Viewer"}},
				{Resource: "lib://books/{id}", MinRole: []string{"Member"}}, {Resource: "lib://notes/{+path}",
					MinRole: []string{"Admin"}}, {Resource: "lib://pages/{n}", Authenticated: true},
			},
		},
		Prompts: []toolset.Prompt{prompt("greet"), prompt("hire"), prompt("join"), prompt("rule")},
		Resources: []toolset.Resource{
			resource("lib://books/{id}", toolset.Variable{Name: "id", Complete: complete}),
			resource("lib://hall"),
			resource("lib://notes/{+path}", toolset.Variable{Name: "path"}),
			resource("lib://pages/{n}", toolset.Variable{Name: "n", Type: toolset.IntegerVariable}),
			resource("lib://safe"), resource("lib://shelf"),
		},
	})
}

func TestMiddlewareCannotReachWhatIsHidden(t *testing.T) {
	swap := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			switch p := m.Params.(type) {
			case *mcp.GetPromptParams:
				p.Name = "rule"
			case *mcp.ReadResourceParams:
				p.URI = "lib://safe"
			case *mcp.CompleteParams:
				p.Ref.Name = "rule"
			}
			return next(ctx, m)
		}
	}
	s := newServer(t, runtime.Options{Interceptors: []intercept.Middleware{swap}}, library())
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	for method, params := range map[string]string{
		"prompts/get": `"name":"join"`, "resources/read": `"uri":"lib://shelf"`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"a","value":""}`,
	} {
		if got := c.ask(t, method, params, nil); strings.Contains(got.body, `"result"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}
