package runtime_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/intercept"
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

func TestMiddlewareThatEndsItsGoroutineIsACrash(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "exits", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			goruntime.Goexit()
			return nil, nil
		})
	sink := &keeper{}
	s := adopt(t, server, runtime.Options{Audit: runtime.AuditOptions{Sink: sink}},
		map[string]access.Rule{"exits": {Authenticated: true}}, directory(&desk{}))
	url := serve(t, s)
	exits := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method == "tools/list" {
				goruntime.Goexit()
			}
			return next(ctx, m)
		}
	}
	url2 := serve(t, newServer(t, runtime.Options{Interceptors: []intercept.Middleware{exits}},
		directory(&desk{})))
	for _, era := range eras {
		c := newRaw(t, url, tokens["Admin"], era)
		sink.taken()
		if got := c.call(t, "exits", "", nil); !strings.Contains(got.body, "internal error") {
			t.Errorf("%s: %s", era, got)
		}
		if events := sink.taken(); len(events) != 1 || events[0].Failure != audit.Crashed {
			t.Errorf("%s: %+v", era, events)
		}
		if got := c.call(t, "get_all", "", nil); !strings.Contains(got.body, "structuredContent") {
			t.Errorf("%s: the session does not live on: %s", era, got)
		}
		c = newRaw(t, url2, tokens["Admin"], era)
		if got := c.ask(t, "tools/list", "", nil); !strings.Contains(got.body, "internal error") {
			t.Errorf("%s: %s", era, got)
		}
	}
}

func TestAdoptNamesTheSettingAndTheCure(t *testing.T) {
	refusing := existing("a")
	refusing.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "go away"}
		}
	})
	for name, test := range map[string]struct {
		server  *mcp.Server
		options runtime.Options
		rules   map[string]access.Rule
		sets    []toolset.Toolset
		want    string
	}{
		"no server": {nil, runtime.Options{}, nil, nil, "Adopt has no server"},
		"a rule of no tool": {existing("a"), runtime.Options{},
			map[string]access.Rule{"b": {Public: true}}, nil, `no tool "b", which has a rule`},
		"a rule of another tool": {existing("a"), runtime.Options{},
			map[string]access.Rule{"a": {Tool: "b", Public: true}}, nil, `has Tool "b"`},
		"a permission without a host": {existing("a"), runtime.Options{},
			map[string]access.Rule{"a": {Permission: access.Permission{App: "x", Action: "y"}}}, nil,
			"Options.Host.Source is nil, but tool \"a\" needs a permission of the host"},
		"a permission alone": {existing("a"),
			runtime.Options{Host: runtime.HostOptions{RecordOnly: true}},
			map[string]access.Rule{"a": {Permission: access.Permission{App: "x", Action: "y"}}},
			nil, "has only the rule x.y"},
		"a role out of reach": {existing("a"), runtime.Options{},
			map[string]access.Rule{"a": {MinRole: 9}}, nil, "role number 9"},
		"a tool in both": {existing("update"), runtime.Options{}, nil,
			[]toolset.Toolset{directory(&desk{})},
			`tool "update" of a toolset is also a tool of the adopted server`},
		"an option": {existing("a"), runtime.Options{
			Lists: runtime.ListOptions{PageSize: -1}}, nil, nil,
			"Options.Lists.PageSize"},
		"an admin role": {existing("a"), runtime.Options{
			Access: runtime.AccessOptions{AdminRole: "Root"}}, nil, nil,
			"Options.Access.AdminRole"},
		"a server that refuses us": {refusing, runtime.Options{}, nil, nil,
			"cannot list what the adopted server serves"},
	} {
		test.options.Logger = quiet()
		s, err := runtime.Adopt(test.server, test.options, test.rules, test.sets...)
		if err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
	}
}

func TestAdoptedServerWithoutTools(t *testing.T) {
	s := adopt(t, mcp.NewServer(&mcp.Implementation{Name: "bare"}, nil), runtime.Options{}, nil,
		directory(&desk{}))
	session := connectIO(t, s, principalOf("Admin"), "2026-07-28")
	if list, err := session.ListTools(context.Background(), nil); err != nil ||
		len(list.Tools) != 6 {
		t.Errorf("%v, %v", list, err)
	}
}
