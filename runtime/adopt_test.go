package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// existing is a go-sdk server from before mcpgen, with the given tools, a prompt, a resource
// and a custom method.
func existing(tools ...string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "0.9"}, nil)
	for _, name := range tools {
		addTool(server, name, name+" answered")
	}
	server.AddPrompt(&mcp.Prompt{Name: "p"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "secret prompt"}, nil
		})
	server.AddResource(&mcp.Resource{Name: "r", URI: "file:///r"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///r",
				Text: "secret resource"}}}, nil
		})
	return server
}

func addTool(server *mcp.Server, name, answer string) {
	server.AddTool(&mcp.Tool{Name: name, Description: "what " + name + " does",
		InputSchema: &jsonschema.Schema{Type: "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			switch name {
			case "panics":
				panic("hunter2")
			case "nothing":
				return nil, nil
			case "fails":
				return &mcp.CallToolResult{IsError: true}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}}, nil
		})
}

func adopt(t *testing.T, server *mcp.Server, options runtime.Options, rules map[string]access.Rule,
	sets ...toolset.Toolset) *runtime.Server {
	t.Helper()
	if options.Logger == nil {
		options.Logger = quiet()
	}
	options.Identity = users()
	s, err := runtime.Adopt(server, options, rules, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAdoptNamesTheSettingAndTheCure(t *testing.T) {
	refusing := existing("a")
	refusing.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "go away"}
		}
	})
	alone := access.Rule{Permission: permission("x.y")}
	host := newHost(nil)
	host.set("ada")
	for _, test := range []struct {
		want   string
		server *mcp.Server
		rule   access.Rule // of the tool "a"
		change func(*opts)
		sets   []toolset.Toolset
	}{
		{"Adopt has no server", nil, access.Rule{}, nil, nil},
		{`no tool "a", which has a rule`, existing("b"), access.Rule{Public: true}, nil, nil},
		{`has Tool "b"`, existing("a"), access.Rule{Tool: "b", Public: true}, nil, nil},
		{`Options.Host.Source is nil, but tool "a" needs a permission of the host`, existing("a"), alone,
			nil, nil},
		{"has only the rule x.y", existing("a"), alone, func(o *opts) { o.Host.RecordOnly = true }, nil},
		{`tool "a" has neither a permission of the host nor action=none`, existing("a"),
			access.Rule{Authenticated: true}, func(o *opts) { o.Host.Source = host }, nil},
		{"role number 9", existing("a"), access.Rule{MinRole: 9}, nil, nil},
		{"Options.Lists.PageSize", existing("a"), alone, func(o *opts) { o.Lists.PageSize = -1 }, nil},
		{"Options.Access.AdminRole", existing("a"), access.Rule{Public: true},
			func(o *opts) { o.Access.AdminRole = "Root" }, nil},
		{"cannot list what the adopted server serves", refusing, alone, nil, nil},
		{`tool "update" of a toolset is also a tool of the adopted server`, existing("a", "update"),
			access.Rule{Public: true}, nil, []toolset.Toolset{directory(&desk{})}},
		{`contains the tool "bare_tool"`, existing("a", "bare_tool"), access.Rule{Public: true},
			func(o *opts) { o.Texts.Instructions = "Call bare_tool." }, nil},
		// a name or alias of a tool that the server lists to some clients, or that ReadOnly removes
		{`"ask"`, picky(), access.Rule{MinRole: member}, conditional, []toolset.Toolset{toolsetOf(
			[]toolset.Tool{{Name: "zap", Aliases: []string{"ask"}, Input: anyInput, Call: nothing}})}},
		{`"ask"`, picky(), access.Rule{MinRole: member}, conditional,
			[]toolset.Toolset{toolsetOf([]toolset.Tool{good("ask")})}},
		{`"ask"`, picky(), access.Rule{MinRole: member}, func(o *opts) { conditional(o); o.ReadOnly = true },
			[]toolset.Toolset{toolsetOf([]toolset.Tool{{Name: "ask", Input: anyInput, Call: nothing,
				Annotations: toolset.Annotations{ReadOnlyHint: true}}})}},
	} {
		o := opts{Logger: quiet(), Identity: hosted()}
		if test.change != nil {
			test.change(&o)
		}
		rules := map[string]access.Rule{"a": test.rule}
		if o.Adopt.Conditional != nil {
			rules = map[string]access.Rule{"ask": test.rule}
		}
		s, err := runtime.Adopt(test.server, o, rules, test.sets...)
		if err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

func conditional(o *opts) { o.Adopt.Conditional = []string{"ask"} }
