package runtime_test

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// scenarioToolsets are the toolsets of scenarios, by name.
var scenarioToolsets = map[string]func(*scenarioWorld) toolset.Toolset{
	"reading": func(*scenarioWorld) toolset.Toolset { return permitting(reading, readAll) },
	"reading-task": func(*scenarioWorld) toolset.Toolset {
		return askingReader(toolset.Tool{Task: toolset.TaskOptional}, func() {})
	},
	"reading-again": func(w *scenarioWorld) toolset.Toolset { // each run has another grant
		return askingReader(toolset.Tool{SDK: true}, func() { w.grant("mel", "file.read docs/**") })
	},
	"running":        func(*scenarioWorld) toolset.Toolset { return running() },
	"added":          func(*scenarioWorld) toolset.Toolset { return oneTool("added", nothing) },
	"cuts":           func(*scenarioWorld) toolset.Toolset { return cuts() },
	"boards":         func(*scenarioWorld) toolset.Toolset { return boards() },
	"boards-without": func(*scenarioWorld) toolset.Toolset { return boards().Without("edit") },
	"boards-none":    func(*scenarioWorld) toolset.Toolset { return boards().Only() },
	"boards-reading": func(*scenarioWorld) toolset.Toolset { return boards().ReadOnly() },
	"boards-values": func(*scenarioWorld) toolset.Toolset { // all values need a higher role
		g := boards().Generated()
		for i := range g.Tools {
			g.Tools[i].Input = `{"type":"object","properties":{"v":{"type":"string","enum":["a"]}},` +
				`"required":["v"]}`
			g.Table.Values = append(g.Table.Values, access.Rule{Tool: g.Tools[i].Name, Argument: "v",
				Value: "a", MinRole: []string{"Admin"}})
		}
		return toolset.NewToolset(g)
	},
	"crew":      func(*scenarioWorld) toolset.Toolset { return crew() },
	"depot":     func(*scenarioWorld) toolset.Toolset { return depot() },
	"described": func(*scenarioWorld) toolset.Toolset { return described() },
	"directory": func(*scenarioWorld) toolset.Toolset { return directory(&desk{}) },
	"drop-of-host": func(*scenarioWorld) toolset.Toolset {
		return toolsetOf([]toolset.Tool{{Name: "drop", SDK: true, Input: `{"type":"object"}`,
			Call: asking(new(atomic.Int32))}},
			access.Rule{Tool: "drop", Permission: permission("dcim.drop_device")})
	},
	"drop": func(*scenarioWorld) toolset.Toolset { return asker(new(atomic.Int32)) },
	"host-tasks": func(w *scenarioWorld) toolset.Toolset {
		g := toolset.NewToolset(scripted(w)).Only("task", "open").Generated()
		g.Tools[1].Name = "view"
		g.Table.Rules = []access.Rule{{Tool: "open", Public: true},
			{Tool: "view", Permission: permission("dcim.view_device")}}
		g.Prompts, g.Resources, g.Table.Prompts, g.Table.Resources = nil, nil, nil, nil
		return toolset.NewToolset(g)
	},
	"kits-of-code": func(*scenarioWorld) toolset.Toolset { return declaring() },
	"library":      func(*scenarioWorld) toolset.Toolset { return library() },
	"moved":        func(*scenarioWorld) toolset.Toolset { return moved() },
	"payroll-lists": func(w *scenarioWorld) toolset.Toolset {
		return payroll(w).Only("get", "hire",
			"json", "list")
	},
	"payroll":     payroll,
	"paid-openly": paidOpenly,
	"order":       func(*scenarioWorld) toolset.Toolset { return ordering() },
	"pair":        func(*scenarioWorld) toolset.Toolset { return pairing() },
	"remove":      func(*scenarioWorld) toolset.Toolset { return removing() },
	"renamed":     func(*scenarioWorld) toolset.Toolset { return renamed() },
	"routes":      func(*scenarioWorld) toolset.Toolset { return headerTool() },
	"scale":       func(*scenarioWorld) toolset.Toolset { return wanting(new(atomic.Int32)) },
	"scoped":      func(*scenarioWorld) toolset.Toolset { return scoped() },
	"secret":      func(*scenarioWorld) toolset.Toolset { return oneHiddenScope() },
	"script":      func(w *scenarioWorld) toolset.Toolset { return toolset.NewToolset(scripted(w)) },
	"script-refusing": func(w *scenarioWorld) toolset.Toolset {
		g, own := scripted(w), apart(toolset.Tool{Name: "apart", Timeout: 10 * time.Second}).Generated()
		g.Tools = append(g.Tools, own.Tools[0], good("scoped"), good("told"))
		g.Table.Rules = append(g.Table.Rules, own.Table.Rules[0],
			access.Rule{Tool: "scoped", Scopes: []string{"w"}, Denial: access.Challenge},
			access.Rule{Tool: "told", MinRole: []string{"Admin"}, Denial: access.Forbid})
		return toolset.NewToolset(g)
	},
	"script-sdk": func(w *scenarioWorld) toolset.Toolset {
		g := scripted(w)
		g.Tools[len(g.Tools)-1].SDK = true
		return toolset.NewToolset(g)
	},
	"script-nonblocking": func(w *scenarioWorld) toolset.Toolset {
		g := toolset.NewToolset(scripted(w)).Only("do").Generated()
		g.Tools[0].Elicits = false
		return nonBlocking(toolset.NewToolset(g))
	},
	"stock": func(*scenarioWorld) toolset.Toolset { return stock() },
	"stock-updates": func(*scenarioWorld) toolset.Toolset {
		g := stockGenerated()
		for i := range g.Resources {
			g.Resources[i].Subscribe = true
		}
		return toolset.NewToolset(g)
	},
	"updating-of-host": func(*scenarioWorld) toolset.Toolset {
		g := updating().Generated()
		for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
			for i, r := range g.Table.Of(k).Rules {
				if !r.Public {
					g.Table.Of(k).Rules[i].Permission = permission("lib.view_book")
				}
			}
		}
		return toolset.NewToolset(g)
	},
	"travel":    func(*scenarioWorld) toolset.Toolset { return travel() },
	"two-steps": func(w *scenarioWorld) toolset.Toolset { return twoSteps(w.proceed) },
	"updating":  func(*scenarioWorld) toolset.Toolset { return updating() },
	"vault":     func(*scenarioWorld) toolset.Toolset { return vault(true) },
	"visits":    func(*scenarioWorld) toolset.Toolset { return visits(visit) },
	"visits-unsolicited": func(*scenarioWorld) toolset.Toolset {
		g := visits(visit).Generated()
		g.Tools[0].SDK = true
		return toolset.NewToolset(g)
	},
	"visits-of-host": func(*scenarioWorld) toolset.Toolset { return visitsOfHost() },
	"asks-form": func(*scenarioWorld) toolset.Toolset {
		return visits(func(ctx context.Context) (string, error) {
			_, err := runtime.Elicit[order](ctx, "a", "?")
			return "", err
		})
	},
	"asks-message": func(*scenarioWorld) toolset.Toolset {
		return visits(func(ctx context.Context) (string, error) {
			_, err := runtime.Sample(ctx, "a", &mcp.CreateMessageParams{})
			return "", err
		})
	},
	"asks-roots": func(*scenarioWorld) toolset.Toolset {
		return visits(func(ctx context.Context) (string, error) {
			_, err := runtime.Roots(ctx)
			return "", err
		})
	},
}

// scenarioServers are the go-sdk servers that scenarios adopt, by name.
var scenarioServers = map[string]func(w *scenarioWorld, tools []string) *mcp.Server{
	"answering":   func(*scenarioWorld, []string) *mcp.Server { return answering() },
	"asking":      func(*scenarioWorld, []string) *mcp.Server { return askingThrice() },
	"existing":    withCustomMethod,
	"files":       filing,
	"hinted":      func(*scenarioWorld, []string) *mcp.Server { return hinted() },
	"old":         func(*scenarioWorld, []string) *mcp.Server { return withOldUpdate() },
	"scripted":    scriptedServer,
	"muted":       mutedServer,
	"listing":     listing,
	"copying":     copying,
	"paying":      paying,
	"subscribing": subscribingByHandlers,
	"picky":       func(*scenarioWorld, []string) *mcp.Server { return picky() },
}

// withCustomMethod is an existing server with a method that the protocol does not have.
func withCustomMethod(_ *scenarioWorld, tools []string) *mcp.Server {
	type params struct{ mcp.ParamsBase }
	type result struct {
		mcp.ResultBase
		Secret string `json:"secret"`
	}
	server := existing(tools...)
	if err := mcp.AddReceivingCustomMethod(server, "acme/search",
		func(context.Context, *mcp.ServerSession, *params) (*result, error) {
			return &result{Secret: "secret search"}, nil
		}); err != nil {
		panic(err)
	}
	return server
}

// subscribingByHandlers is an existing server that counts its subscriptions, and refuses one.
func subscribingByHandlers(w *scenarioWorld, _ []string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "0.9"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if w.handled.Add(1); r.Params.URI == "file:///b" {
				return errors.New("not this one")
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error {
			w.handled.Add(-1)
			return nil
		}})
	for _, uri := range []string{"file:///a", "file:///b", "file:///c"} {
		addResource(server, uri)
	}
	return server
}

// visitsOfHost is visits for those to whom the host gives a permission. Its handler asks once.
func visitsOfHost() toolset.Toolset {
	g := visits(func(ctx context.Context) (string, error) {
		_, err := runtime.Elicit[order](ctx, "a", "?")
		return "secret", err
	}).Generated()
	of := permission("dcim.drop_device")
	for _, rules := range [][]access.Rule{g.Table.Rules, g.Table.Prompts, g.Table.Resources} {
		for i := range rules {
			rules[i].MinRole, rules[i].Permission = nil, of
		}
	}
	return toolset.NewToolset(g)
}

// ordering has a tool with an alias, which asks.
func ordering() toolset.Toolset {
	return toolsetOf([]toolset.Tool{{Name: "order", Input: anyInput, Elicits: true,
		Aliases: []string{"buy"},
		Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			_, err := runtime.Elicit[order](ctx, "order", "How many?")
			return toolset.Done(err)
		}}})
}

// removing has a tool that asks for a name, and only then for a confirmation. It keeps no state.
func removing() toolset.Toolset {
	return oneSDKTool("remove", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		answers := toolset.Request[mcp.CallToolRequest](call).Params.InputResponses
		ask := func(key string) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
				key: &mcp.ElicitParams{Message: key}}}, nil, nil)
		}
		switch {
		case answers["sure"] != nil:
			return toolset.Native(&mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: "removed it"}}}, nil, nil)
		case answers["name"] != nil:
			return ask("sure")
		}
		return ask("name")
	})
}

// pairing has a tool that asks two questions at once. Its state has the answers so far.
func pairing() toolset.Toolset {
	return oneSDKTool("pair", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		params := toolset.Request[mcp.CallToolRequest](call).Params
		actions, missing := map[string]string{}, mcp.InputRequestMap{}
		if params.RequestState != "" {
			if err := json.Unmarshal([]byte(params.RequestState), &actions); err != nil {
				return toolset.Result{}, err
			}
		}
		for key, answer := range params.InputResponses {
			actions[key] = answer.(*mcp.ElicitResult).Action
		}
		for _, key := range []string{"a", "b"} {
			if actions[key] == "" {
				missing[key] = &mcp.ElicitParams{Message: key}
			}
		}
		state, err := json.Marshal(actions)
		if len(missing) > 0 || err != nil {
			return toolset.Native(&mcp.CallToolResult{InputRequests: missing,
				RequestState: string(state)}, nil, err)
		}
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: "a " + actions["a"] + ", b " + actions["b"]}}}, nil, nil)
	})
}

// moved has what an existing server has as well: a tool, a prompt and a resource.
func moved() toolset.Toolset {
	g := directory(&desk{}).Generated()
	g.Prompts = []toolset.Prompt{{Name: "p",
		Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("new prompt", nil)
		}}}
	g.Resources = []toolset.Resource{{URI: "file:///r", Name: "r",
		Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("new resource", nil)
		}}}
	g.Table.Prompts = []access.Rule{{Prompt: "p", Authenticated: true}}
	g.Table.Resources = []access.Rule{{Resource: "file:///r", Authenticated: true}}
	return toolset.NewToolset(g)
}

// withOldUpdate is an existing server with a tool "update" that has a bound header.
func withOldUpdate() *mcp.Server {
	server := existing("old")
	server.AddTool(&mcp.Tool{Name: "update", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"id":{"type":"string","x-mcp-header":"Id"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("the old tool ran")
		})
	return server
}

// listing is a server whose tools do not change, and whose lists fail as the test has it.
func listing(w *scenarioWorld, tools []string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{},
			Prompts:      &mcp.PromptCapabilities{ListChanged: true},
			Extensions:   map[string]any{"com.example/own": map[string]any{}},
			Experimental: map[string]any{"z": map[string]any{"on": true}}}})
	for _, name := range tools {
		addTool(server, name, "")
	}
	addPrompt(server, "p")
	addResource(server, "file:///r")
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			how, _ := w.listFails.Load().(string)
			switch {
			case how == "" || !strings.HasSuffix(method, "/list"):
				return next(ctx, method, req)
			case how == "another":
				return &mcp.CompleteResult{}, nil
			case how == "refusal":
				return nil, &jsonrpc.Error{Code: -32001, Message: "not you"}
			}
			return unruly[how]()
		}
	})
	return server
}

// copying is an existing server whose middleware lists copies of tools: of all, or of some.
func copying(_ *scenarioWorld, tools []string) *mcp.Server {
	server := existing(tools[1:]...)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				for i, tool := range list.Tools {
					if tools[0] == "all" || tool.Name != "open" {
						list.Tools[i] = new(*tool)
					}
				}
			}
			return res, err
		}
	})
	return server
}

const boardURI = "ui://parts/board"

// boards is a toolset with two tools for members that share an MCP App, as mcpgen writes it.
func boards() toolset.Toolset {
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`, UI: boardURI,
			Meta: `{"ui":{"resourceUri":"` + boardURI + `"}}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}
	}
	view := func(uri string) toolset.Resource {
		return toolset.Resource{URI: uri, Name: uri, MIMEType: "text/html;profile=mcp-app",
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("<p>a board</p>", nil)
			}}
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/boards", Server: toolset.ServerInfo{Name: "boards", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "edit", MinRole: []string{"Member"}}, {Tool: "show",
				MinRole: []string{"Member"}}},
			Resources: []access.Rule{{Resource: boardURI, MinRole: []string{"Member"}},
				{Resource: "ui://parts/other", Authenticated: true}}},
		Tools:     []toolset.Tool{tool("edit"), tool("show")},
		Resources: []toolset.Resource{view(boardURI), view("ui://parts/other")},
	})
}

// filing is an existing server with two templates that overlap.
func filing(_ *scenarioWorld, tools []string) *mcp.Server {
	server := existing(tools...)
	for uri, text := range map[string]string{"file:///{dir}/{name}": "a file",
		"file:///{name}": "anything"} {
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: text, URITemplate: uri},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: text}}}, nil
			})
	}
	return server
}

// answering is an existing server. Its tools return the argument "content" as structured content.
// The tool "slice" has the schema that go-sdk makes of its type.
func answering() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	for name, output := range map[string]any{"none": nil, "any": json.RawMessage(`{}`),
		"list":    json.RawMessage(`{"type":["array","null"]}`),
		"object":  json.RawMessage(`{"type":"object"}`),
		"pointer": json.RawMessage(`{"type":["object","null"]}`)} {
		s.AddTool(&mcp.Tool{Name: name, OutputSchema: output,
			InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in struct{ Content json.RawMessage }
				err := json.Unmarshal(req.Params.Arguments, &in)
				return &mcp.CallToolResult{StructuredContent: in.Content,
					Content: []mcp.Content{&mcp.TextContent{Text: "own"}}}, err
			})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "slice"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, []int, error) {
			return nil, []int{1}, nil
		})
	return s
}

// scenarioInterceptors are the interceptors of scenarios, by name.
var scenarioInterceptors = map[string]func(*scenarioWorld) intercept.Middleware{
	// The argument "replaced" of a call is the structured content of its result.
	"replacing": func(*scenarioWorld) intercept.Middleware {
		return intercepting(func(_ context.Context, m intercept.Message, res mcp.Result) mcp.Result {
			params, _ := m.Params.(*mcp.CallToolParamsRaw)
			var in struct{ Replaced json.RawMessage }
			if params != nil && json.Unmarshal(params.Arguments, &in) == nil && in.Replaced != nil {
				res.(*mcp.CallToolResult).StructuredContent = in.Replaced
			}
			return res
		})
	},
	"changing": func(w *scenarioWorld) intercept.Middleware {
		return intercepting(func(_ context.Context, m intercept.Message, res mcp.Result) mcp.Result {
			w.note("note: the interceptor gets " + m.Method)
			if r, ok := res.(*mcp.CallToolResult); ok && r != nil {
				r.Content = []mcp.Content{&mcp.TextContent{Text: "changed"}}
			}
			return res
		})
	},
	"keeping":   keepsResults,
	"labelling": labelling,
	"renaming":  renaming,
	"unencodable": func(*scenarioWorld) intercept.Middleware {
		return intercepting(func(_ context.Context, _ intercept.Message, res mcp.Result) mcp.Result {
			if r, ok := res.(*mcp.CallToolResult); ok {
				r.StructuredContent = math.NaN()
			}
			return res
		})
	},
}

// answers answers calls and lists in place of the handler.
func answers(do func() (mcp.Result, error)) intercept.Middleware {
	return func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method == "tools/call" || m.Method == "tools/list" {
				return do()
			}
			return next(ctx, m)
		}
	}
}

// intercepting changes results.
func intercepting(change func(context.Context, intercept.Message,
	mcp.Result) mcp.Result) intercept.Middleware {
	return func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			res, err := next(ctx, m)
			return change(ctx, m, res), err
		}
	}
}

// askingThrice is an existing server whose handlers ask three times.
func askingThrice() *mcp.Server {
	question := func(state string) (mcp.InputRequestMap, string) {
		if len(state) == 1 {
			return mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, state + "x"
		}
		return mcp.InputRequestMap{"form": &mcp.ElicitParams{Message: "?"}}, state + "x"
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "meet", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "three"}}}
			if len(req.Params.RequestState) < 3 {
				res = &mcp.CallToolResult{}
				res.InputRequests, res.RequestState = question(req.Params.RequestState)
			}
			return res, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "meet"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
				Content: &mcp.TextContent{Text: "three"}}}}
			if len(req.Params.RequestState) < 3 {
				res = &mcp.GetPromptResult{}
				res.InputRequests, res.RequestState = question(req.Params.RequestState)
			}
			return res, nil
		})
	s.AddResource(&mcp.Resource{Name: "meet", URI: "meet://home"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			res := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "three",
				URI: "meet://home"}}}
			if len(req.Params.RequestState) < 3 {
				// go-sdk refuses nil contents in versions with sessions
				res = &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}
				res.InputRequests, res.RequestState = question(req.Params.RequestState)
			}
			return res, nil
		})
	return s
}

// described has a tool with all that a list tells of a tool.
func described() toolset.Toolset {
	return toolsetOf([]toolset.Tool{{
		Name: "shout", Title: "Shout", Description: "shout shouts.",
		Input:  `{"type":"object","properties":{"a":{"type":"string","default":"<&>"}}}`,
		Output: `{"type":"object"}`, Call: nothing,
		Annotations: toolset.Annotations{ReadOnlyHint: true, DestructiveHint: new(false)},
	}})
}

// travel has a prompt and a resource whose completions return the other arguments that are known.
func travel() toolset.Toolset {
	known := func(ctx context.Context, _ string) (values []string, err error) {
		for name, value := range runtime.CompletionArguments(ctx) {
			values = append(values, name+"="+value)
		}
		return values, nil
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/trips", Server: toolset.ServerInfo{Name: "trips", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Prompts:   []access.Rule{{Prompt: "trip", MinRole: []string{"Viewer"}}},
			Resources: []access.Rule{{Resource: "trip:{from}/{to}", MinRole: []string{"Viewer"}}}},
		Prompts: []toolset.Prompt{{Name: "trip", Arguments: []toolset.Argument{
			{Name: "from", Complete: known}, {Name: "to", Complete: known}},
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("go", nil)
			}}},
		Resources: []toolset.Resource{{URI: "trip:{from}/{to}", Name: "trip",
			Variables: []toolset.Variable{{Name: "from"}, {Name: "to", Complete: known}},
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("go", nil)
			}}},
	})
}

// shelf is a source of catalogs, which the test fills. Those with an owner are that subject's
// alone.
type shelf struct {
	mu       sync.Mutex
	catalogs map[string]shelved // by id
	off      []string
	fail     func(context.Context) error
	channels []chan catalog.Change
}

type shelved struct {
	name, owner string
	tools       []string
	note        string
}

// put puts a catalog there, or takes it away where it has no name.
func (s *shelf) put(id string, c shelved) {
	s.mu.Lock()
	if s.catalogs == nil {
		s.catalogs = map[string]shelved{}
	}
	s.catalogs[id] = c
	if c.name == "" {
		delete(s.catalogs, id)
	}
	s.mu.Unlock()
	s.send(catalog.Change{Catalogs: true})
}

// turnOff says all that is off.
func (s *shelf) turnOff(tools ...string) {
	s.mu.Lock()
	s.off = tools
	s.mu.Unlock()
	s.send(catalog.Change{Tools: true})
}

func (s *shelf) failing(fail func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *shelf) send(c catalog.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range s.channels {
		channel <- c
	}
}

func (s *shelf) failed(ctx context.Context) error {
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx)
}

func (s *shelf) Catalog(ctx context.Context, caller access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	if err := s.failed(ctx); err != nil {
		return catalog.Found{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.catalogs {
		if (ref.ID == id || ref.ID == "" && ref.Name == c.name) &&
			(c.owner == "" || c.owner == caller.Subject) {
			return catalog.Found{ID: id, Name: c.name, Global: c.owner == "", Tools: c.tools,
				Note: c.note}, nil
		}
	}
	return catalog.Found{}, catalog.ErrUnknown
}

func (s *shelf) ToolsOff(ctx context.Context) ([]string, error) {
	if err := s.failed(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.off), nil
}

func (s *shelf) Changes(ctx context.Context) <-chan catalog.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := make(chan catalog.Change, 1000)
	channel <- catalog.Change{Tools: true, Catalogs: true}
	s.channels = append(s.channels, channel)
	return channel
}

// vault is a toolset with one of everything that everybody may use. With hidden, it has the same
// once more for managers, with "h" in front of each name.
func vault(hidden bool) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/vault",
		Server: toolset.ServerInfo{Name: "vault", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}}
	both := []string{""}
	if hidden {
		both = []string{"", "h"}
	}
	complete := func(ctx context.Context, begun string) ([]string, error) {
		return []string{begun + runtime.CompletionArguments(ctx)["to"]}, nil
	}
	for _, h := range both {
		rule := access.Rule{Public: true}
		if h != "" {
			rule = access.Rule{MinRole: []string{"Manager"}, Scopes: []string{"vault:open"}}
		}
		app := "ui://vault/" + h + "app"
		tools := []toolset.Tool{
			{Name: h + "look", Task: toolset.TaskOptional, Elicits: true, UI: app,
				Meta:  `{"ui":{"resourceUri":"` + app + `"}}`,
				Input: `{"type":"object","properties":{"at":{"type":"string","x-mcp-header":"At"}}}`},
			{Name: h + "only", Task: toolset.TaskRequired, Elicits: true, Input: anyInput},
		}
		for _, tool := range tools {
			tool.Returns = toolset.Text
			tool.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := visit(ctx)
				return toolset.Result{Out: text, HasOut: true}, err
			}
			rule := rule
			rule.Tool = tool.Name
			g.Tools, g.Table.Rules = append(g.Tools, tool), append(g.Table.Rules, rule)
		}
		prompt := rule
		prompt.Prompt = h + "meet"
		g.Table.Prompts = append(g.Table.Prompts, prompt)
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: h + "meet", Elicits: true,
			Arguments: []toolset.Argument{{Name: "from", Complete: complete}, {Name: "to"}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(visit(ctx))
			}})
		for _, uri := range []string{app, h + "meet://{from}/{to}"} {
			resource, r := rule, toolset.Resource{URI: uri, Name: uri,
				Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText("a view", nil)
				}}
			if uri != app {
				r.Variables = []toolset.Variable{{Name: "from", Complete: complete}, {Name: "to"}}
				r.Subscribe, r.Elicits = true, true
				r.Read = func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText(visit(ctx))
				}
			}
			resource.Resource = uri
			g.Table.Resources = append(g.Table.Resources, resource)
			g.Resources = append(g.Resources, r)
		}
	}
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int {
		return strings.Compare(a.Resource, b.Resource)
	})
	slices.SortFunc(g.Resources, func(a, b toolset.Resource) int {
		return strings.Compare(a.URI, b.URI)
	})
	return toolset.NewToolset(g)
}

type cut struct {
	Size int      `json:"size"`
	Tags []string `json:"tags"`
	Deep bool     `json:"deep"`
}

func readCut(r *decode.Reader, v *cut) {
	v.Size = 3
	for o := r.Object(1, "tags", "size", "deep"); o.Next(); {
		switch o.Property {
		case 0:
			decode.Slice(r, &v.Tags, func(r *decode.Reader, v *string) { decode.String(r, v) })
		case 1:
			decode.Int(r, &v.Size, 0, 9)
		case 2:
			decode.Bool(r, &v.Deep)
		}
	}
}

// cuts has the tools lenient and strict, which say so, and plain and called, which do not.
func cuts() toolset.Toolset {
	g := toolset.Generated{Package: "example.com/cuts",
		Server: toolset.ServerInfo{Name: "cuts", Version: "1"}}
	g.Table.Roles = access.DefaultRoles()
	for _, name := range []string{"called", "lenient", "plain", "strict"} {
		t := toolset.Tool{Name: name, Lenient: name == "lenient", Strict: name == "strict",
			Input: `{"type":"object","additionalProperties":false,"required":["tags"],` +
				`"properties":{"tags":{"type":"array","items":{"type":"string"}},` +
				`"size":{"type":"integer","minimum":0,"maximum":9,"default":3},` +
				`"deep":{"type":"boolean"}}}`}
		t.Handle = func(_ context.Context, r *decode.Reader) (any, error) {
			var in cut
			readCut(r, &in)
			if err := r.Finish(); err != nil {
				return nil, err
			}
			return in, nil
		}
		if name == "called" {
			t.Handle, t.Call = nil, func(_ context.Context, c toolset.Call) (
				toolset.Result, error) {
				in, err := decode.Arguments(c.Arguments, readCut)
				if err != nil {
					return toolset.Result{}, err
				}
				return toolset.Structured(in, nil)
			}
		}
		g.Tools = append(g.Tools, t)
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: name, Public: true})
	}
	return toolset.NewToolset(g)
}

// ruled is a tool of the crew, whose enum has rules by value. may says by hand who may send each
// value, in the columns of callers.
type ruled struct {
	name, argument string
	values         []string
	may            map[string]string
	standard       string // the default of the argument; empty if it is required
	form           int    // of its handler: 0 has Handle, 1 has Call, 2 has go-sdk's shape
}

var crewTools = []ruled{
	{"manage", "action", []string{"list", "add", "delete"},
		map[string]string{"list": "nnyyyy", "add": "nnnyyy", "delete": "nnnnny"}, "", 0},
	{"survey", "mode", []string{"deep", "fast"},
		map[string]string{"fast": "yyyyyy", "deep": "nnyyyy"}, "fast", 2},
	{"tidy", "mode", []string{"deep", "fast"},
		map[string]string{"fast": "nnyyyy", "deep": "nnnnyy"}, "deep", 1},
	{"wipe", "what", []string{"one", "all"},
		map[string]string{"one": "nnnnyy", "all": "nnnnny"}, "one", 0},
}

// schema is the input schema as mcpgen generates it for an enum of some values.
func (r ruled) schema(values []string) string {
	quoted, _ := json.Marshal(values)
	standard, required := "", `["note"]`
	if slices.Contains(values, r.standard) {
		standard = fmt.Sprintf(`,"default":%q`, r.standard)
	} else {
		required = fmt.Sprintf(`["note",%q]`, r.argument)
	}
	return fmt.Sprintf(`{"properties":{"note":{"type":"string","maxLength":3},%q:{"type":"string",`+
		`"enum":%s,"description":"What to do."%s}},"additionalProperties":false,"type":"object",`+
		`"required":%s}`, r.argument, quoted, standard, required)
}

type crewInput struct{ value, note string }

func (r ruled) read(reader *decode.Reader, in *crewInput) {
	in.value = r.standard
	required := 2
	if r.standard != "" {
		required = 1
	}
	o := reader.Object(required, "note", r.argument)
	for o.Next() {
		switch o.Property {
		case 0:
			decode.String(reader, &in.note).MaxLength(3)
		case 1:
			decode.String(reader, &in.value).OneOf(r.values...)
		}
	}
}

// tool is the tool as mcpgen generates it.
func (r ruled) tool() toolset.Tool {
	t := toolset.Tool{Name: r.name, Input: r.schema(r.values), Catalogs: []string{"crew"}}
	handle := func(in crewInput) (any, error) { return map[string]string{"did": in.value}, nil }
	switch r.form {
	case 0:
		t.Handle = func(_ context.Context, reader *decode.Reader) (any, error) {
			var in crewInput
			r.read(reader, &in)
			if err := reader.Finish(); err != nil {
				return nil, err
			}
			return handle(in)
		}
		return t
	}
	t.SDK = r.form == 2
	t.Call = func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		in, err := decode.ArgumentsOf(call.Arguments, call.Choices(), r.read)
		if err != nil {
			return toolset.Result{}, err
		}
		out, err := handle(in)
		if r.form == 2 {
			return toolset.Native((*mcp.CallToolResult)(nil), out, err)
		}
		return toolset.Structured(out, err)
	}
	return t
}

// crew is the toolset of the tools. Its rules are what mcpgen generates for
//
//	manage: minrole=Viewer, add: minrole=Member, delete: minrole=Admin
//	survey: public, deep: minrole=Viewer
//	tidy:   minrole=Viewer, deep: minrole=Manager
//	wipe:   minrole=Viewer, one: minrole=Manager, all: minrole=Admin
func crew() toolset.Toolset {
	g := toolset.Generated{Package: "example.com/crew",
		Server: toolset.ServerInfo{Name: "crew", Version: "1"}}
	g.Table.Roles = access.DefaultRoles()
	for _, r := range crewTools {
		g.Tools = append(g.Tools, r.tool())
		rule := access.Rule{Tool: r.name, MinRole: []string{"Viewer"}}
		if r.name == "survey" {
			rule = access.Rule{Tool: r.name, Public: true}
		}
		g.Table.Rules = append(g.Table.Rules, rule)
		for _, value := range r.values {
			rule := access.Rule{Tool: r.name, Argument: r.argument, Value: value}
			if from := strings.Index(r.may[value], "y"); from == 0 {
				rule.Public = true
			} else if from > 1 {
				rule.MinRole = g.Table.Roles[0][from-2 : from-1]
			}
			g.Table.Values = append(g.Table.Values, rule)
		}
	}
	return toolset.NewToolset(g)
}

// fences is a source of boundaries that change. It can fail, and does not only read memory.
type fences struct {
	mu      sync.Mutex
	source  boundary.Source
	failure string
	follow  []chan boundary.Party
}

// change replaces the boundaries, and reports those of the earlier and of the new ones.
func (f *fences) change(source boundary.Source) {
	earlier := f.All()
	f.mu.Lock()
	f.source = source
	follow := slices.Clone(f.follow)
	f.mu.Unlock()
	for _, all := range []iter.Seq2[boundary.Party, boundary.Boundary]{earlier, f.All()} {
		for party := range all {
			for _, channel := range follow {
				channel <- party
			}
		}
	}
}

func (f *fences) Changes(ctx context.Context) <-chan boundary.Party {
	channel := make(chan boundary.Party, 100)
	channel <- boundary.Party{}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow = append(f.follow, channel)
	return channel
}

func (f *fences) fails(failure string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = failure
}

func (f *fences) Boundary(ctx context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	f.mu.Lock()
	failure, source := f.failure, f.source
	f.mu.Unlock()
	switch failure {
	case "":
		return source.Boundary(ctx, p)
	case "panic":
		panic("no fence")
	case "hang":
		<-ctx.Done()
	}
	return boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"}}, true,
		errors.New(failure)
}

func (f *fences) All() iter.Seq2[boundary.Party, boundary.Boundary] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.source.(interface {
		All() iter.Seq2[boundary.Party, boundary.Boundary]
	}).All()
}
