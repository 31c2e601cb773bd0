package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
		{`has the role "Boss"`, existing("a"), access.Rule{MinRole: []string{"Boss"}}, nil, nil},
		{"Options.Lists.PageSize", existing("a"), alone, func(o *opts) { o.Lists.PageSize = -1 }, nil},
		{"Options.Access.AdminRole", existing("a"), access.Rule{Public: true},
			func(o *opts) { o.Access.AdminRole = "Root" }, nil},
		{"cannot list what the adopted server serves", refusing, alone, nil, nil},
		{`tool "update" of a toolset is also a tool of the adopted server`, existing("a", "update"),
			access.Rule{Public: true}, nil, []toolset.Toolset{directory(&desk{})}},
		{`contains the tool "bare_tool"`, existing("a", "bare_tool"), access.Rule{Public: true},
			func(o *opts) { o.Texts.Instructions = "Call bare_tool." }, nil},
		// a name or alias of a tool that the server lists to some clients, or that ReadOnly removes
		{`"ask"`, picky(), access.Rule{MinRole: []string{"Member"}}, conditional,
			[]toolset.Toolset{toolsetOf(
				[]toolset.Tool{{Name: "zap", Aliases: []string{"ask"}, Input: anyInput, Call: nothing}})}},
		{`"ask"`, picky(), access.Rule{MinRole: []string{"Member"}}, conditional,
			[]toolset.Toolset{toolsetOf([]toolset.Tool{good("ask")})}},
		{`"ask"`, picky(), access.Rule{MinRole: []string{"Member"}},
			func(o *opts) { conditional(o); o.ReadOnly = true },
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

// picky is an existing server that lists the tool "ask" to clients that support elicitation.
func picky() *mcp.Server {
	server := existing("ask", "fetch", "zip")
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListToolsResult)
			session, inSession := req.GetSession().(*mcp.ServerSession)
			if !ok || !inSession {
				return res, err
			}
			client := session.InitializeParams()
			if client == nil || client.Capabilities == nil ||
				client.Capabilities.Elicitation == nil {
				list.Tools = slices.DeleteFunc(slices.Clone(list.Tools),
					func(t *mcp.Tool) bool { return t.Name == "ask" })
			}
			return res, err
		}
	})
	return server
}

// hinted is an existing server with annotations: "get" has readOnlyHint, "put" denies it, and
// "bare" has none.
func hinted() *mcp.Server {
	server := existing("bare")
	for name, hints := range map[string]*mcp.ToolAnnotations{"get": {ReadOnlyHint: true},
		"put": {IdempotentHint: true}} {
		server.AddTool(&mcp.Tool{Name: name, Annotations: hints,
			InputSchema: &jsonschema.Schema{Type: "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
			})
	}
	return server
}

func TestRulesFollowHints(t *testing.T) {
	reads := access.Rule{Authenticated: true, Scopes: []string{"r"}}
	writes := access.Rule{MinRole: []string{"Admin"}}
	rules, err := runtime.RulesByHint(hinted(), reads, writes)
	want := map[string]access.Rule{"get": reads, "put": writes, "bare": writes}
	if err != nil || fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", rules, err)
	}
	rules["get"].Scopes[0] = "changed"
	if reads.Scopes[0] != "r" {
		t.Error("the rules share their scopes")
	}
	rules, err = runtime.RulesByHint(hinted(), reads, access.Rule{Denial: access.Forbid})
	if err != nil || len(rules) != 1 {
		t.Errorf("tools have a rule that requires nothing: %+v, %v", rules, err)
	}
	for name, test := range map[string]struct {
		server        *mcp.Server
		reads, writes access.Rule
		want          string
	}{
		"no server": {nil, reads, writes, "RulesByHint has no server"},
		"public reads": {hinted(), access.Rule{Public: true}, writes,
			"the rule readOnly is public"},
		"public others":  {hinted(), reads, access.Rule{Public: true}, "the rule others is public"},
		"a tool's name":  {hinted(), access.Rule{Tool: "a"}, writes, `has the tool "a"`},
		"a prompt's one": {hinted(), reads, access.Rule{Prompt: "p"}, `has the prompt "p"`},
	} {
		rules, err := runtime.RulesByHint(test.server, test.reads, test.writes)
		if err == nil || rules != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v", name, rules, err)
		}
	}
}

func addPrompt(server *mcp.Server, name string) {
	server.AddPrompt(&mcp.Prompt{Name: name},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
}

func addResource(server *mcp.Server, uri string) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI}}}, nil
	}
	if strings.Contains(uri, "{") {
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "n", URITemplate: uri}, read)
	} else {
		server.AddResource(&mcp.Resource{Name: "n", URI: uri}, read)
	}
}

// In 2026-07-28, answers that come with the first call of an adopted handler count if they fit what
// the handler then asks, and if it gives no state that the client has to send back.
func TestUnsolicitedAnswersOfAdoptedHandlers(t *testing.T) {
	var runs atomic.Int32
	var own atomic.Value
	var lose atomic.Pointer[func()]
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	ask := func(answers mcp.InputResponseMap) (mcp.InputRequestMap, string, string) {
		runs.Add(1)
		if answer, ok := answers["who"].(*mcp.ElicitResult); ok {
			if len(answers) > 1 {
				return nil, "", "more than was asked"
			}
			return nil, "", "Hello " + answer.Content["name"].(string)
		}
		if revoke := lose.Load(); revoke != nil {
			(*revoke)()
		}
		state, _ := own.Load().(string)
		return mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "Who are you?",
			RequestedSchema: map[string]any{"type": "object", "required": []string{"name"},
				"properties": map[string]any{"name": map[string]any{"type": "string"}}}}}, state, ""
	}
	server.AddTool(&mcp.Tool{Name: "meet", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			requests, state, text := ask(req.Params.InputResponses)
			if requests != nil {
				return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	server.AddPrompt(&mcp.Prompt{Name: "meet"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			requests, state, text := ask(req.Params.InputResponses)
			return &mcp.GetPromptResult{Description: text, InputRequests: requests,
				RequestState: state}, nil
		})
	server.AddResource(&mcp.Resource{Name: "meet", URI: "meet://home"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			requests, state, text := ask(req.Params.InputResponses)
			res := &mcp.ReadResourceResult{InputRequests: requests, RequestState: state}
			if requests == nil {
				res.Contents = []*mcp.ResourceContents{{URI: "meet://home", Text: text}}
			}
			return res, nil
		})
	h := newHost(nil)
	h.set("ada", "dcim.drop_device")
	rule := access.Rule{Permission: permission("dcim.drop_device")}
	prompt, resource := rule, rule
	prompt.Prompt, resource.Resource = "meet", "meet://home"
	s, err := runtime.Adopt(server, runtime.Options{Logger: quiet(), Identity: hosted(),
		Host: runtime.HostOptions{Source: h}},
		map[string]access.Rule{"meet": rule, "p": prompt, "r": resource})
	if err != nil {
		t.Fatal(err)
	}
	c := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28")
	calls := map[string]func(string) string{
		"tools/call": func(rest string) string { return c.call(t, "meet", rest, nil).body },
		"prompts/get": func(rest string) string {
			return c.ask(t, "prompts/get", `"name":"meet"`+rest, map[string]string{"Mcp-Name": "meet"}).body
		},
		"resources/read": func(rest string) string {
			return c.ask(t, "resources/read", `"uri":"meet://home"`+rest,
				map[string]string{"Mcp-Name": "meet://home"}).body
		},
	}
	const fits = `,"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`
	for method, call := range calls {
		for rest, taken := range map[string]bool{
			fits: true,
			strings.TrimSuffix(fits, "}") + `,"other":{"action":"accept"}}`:      true,
			`,"inputResponses":{"who":{"action":"accept","content":{"name":1}}}`: false,
			`,"inputResponses":{"who":{"roots":[]}}`:                             false,
			`,"inputResponses":{"other":{"action":"accept"}}`:                    false,
		} {
			want := "Who are you?"
			if taken {
				want = "Hello Ada"
			}
			if got := call(rest); !strings.Contains(got, want) {
				t.Errorf("%s%s: %s", method, rest, got)
			}
		}
		if got := call(fits + `,"requestState":"made up"`); !strings.Contains(got, "-32602") {
			t.Errorf("%s: a state that was made up: %s", method, got)
		}
		own.Store("mine")
		if got := call(fits); !strings.Contains(got, "Who are you?") {
			t.Errorf("%s: the handler's own state is not sent: %s", method, got)
		}
		own.Store("")
		revoke := func() {
			h.set("ada")
			s.InvalidateCapabilities(nil)
		}
		lose.Store(&revoke)
		runs.Store(0)
		if got := call(fits); runs.Load() != 1 || strings.Contains(got, "Hello") {
			t.Errorf("%s: a lost permission: %d runs, %s", method, runs.Load(), got)
		}
		lose.Store(nil)
		h.set("ada", "dcim.drop_device")
		s.InvalidateCapabilities(nil)
	}
}
