package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

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

// laterRules are rules of an [existing] server with the tools open, other and ruled, and of what it
// adds later.
func laterRules() (rules map[string]access.Rule, conditional []string) {
	rules = map[string]access.Rule{
		"open": {Authenticated: true}, "other": {Authenticated: true}, "ruled": {MinRole: manager},
		"late": {MinRole: manager}, "hidden prompt": {Prompt: "hidden", MinRole: manager},
		"fence": {Prompt: "fence", Authenticated: true},
		"exact": {Resource: "file:///late", MinRole: manager},
		"many":  {Resource: "late://{id}", MinRole: manager},
	}
	return rules, []string{"late", "hidden prompt", "fence", "exact", "many"}
}

// Middleware of the adopted server may list copies: some of them always, or new ones of all after
// each change. No caller learns by them that something hidden has changed.
func TestCopiesOfListedToolsAreNoChange(t *testing.T) {
	for _, always := range []bool{false, true} {
		server := existing("open", "other", "ruled")
		var mu sync.Mutex
		copies := map[*mcp.Tool]*mcp.Tool{}
		forget := func() {
			mu.Lock()
			defer mu.Unlock()
			clear(copies)
		}
		lists := make(chan struct{}, 1000)
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if list, ok := res.(*mcp.ListToolsResult); ok {
					lists <- struct{}{}
					mu.Lock()
					defer mu.Unlock()
					for i, tool := range list.Tools {
						if always && tool.Name == "open" {
							continue
						}
						if copies[tool] == nil || always {
							copies[tool] = new(*tool)
						}
						list.Tools[i] = copies[tool]
					}
				}
				return res, err
			}
		})
		rules, conditional := laterRules()
		s := adopt(t, server, runtime.Options{
			Adopt: runtime.AdoptOptions{Conditional: conditional}}, rules)
		viewer := listening(t, s, "", "vera_Viewer", "2026-07-28")
		for len(lists) > 0 {
			<-lists
		}
		forget()
		addTool(server, "ruled", "")
		<-lists // until the change was looked at
		<-lists
		addPrompt(server, "fence")
		if got := viewer.next(t); got != "prompts" {
			t.Errorf("always %t: a viewer is notified of %s", always, got)
		}
		server.RemoveTools("other")
		if got := viewer.next(t); got != "tools" {
			t.Errorf("always %t: a viewer is notified of %s", always, got)
		}
	}
}

// An adopted server that does not list to a client lists nothing, also not what it listed when it
// was adopted: its middleware may refuse the client.
func TestListThatAnAdoptedServerDoesNotReturnIsAnError(t *testing.T) {
	for _, era := range eras {
		var fail atomic.Value
		fail.Store("")
		server := existing("open")
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if !strings.HasSuffix(method, "/list") {
					return next(ctx, method, req)
				}
				switch fail.Load() {
				case "":
					return next(ctx, method, req)
				case "panic":
					panic("hunter2")
				case "error":
					return nil, errors.New("hunter2")
				case "nothing":
					return nil, nil
				case "refusal":
					return nil, &jsonrpc.Error{Code: -32001, Message: "not you"}
				}
				return &mcp.CompleteResult{}, nil
			}
		})
		var sink keeper
		s := adopt(t, server, runtime.Options{
			Audit: runtime.AuditOptions{Sink: &sink}}, map[string]access.Rule{
			"open": {Authenticated: true}, "p": {Prompt: "p", Authenticated: true},
			"r": {Resource: "file:///r", Authenticated: true}})
		c := newRaw(t, serve(t, s), tokens["Viewer"], era)
		for kind, want := range map[string]string{"panic": "internal error",
			"error": "internal error", "nothing": "internal error", "refusal": "not you",
			"another result": "internal error"} {
			for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
				fail.Store(kind)
				got := c.ask(t, method, "", nil).body
				fail.Store("")
				if e := sink.taken(); len(e) != 1 || e[0].Failure != audit.Errored {
					t.Errorf("%s, %s, %s: %+v", era, method, kind, e)
				}
				if !strings.Contains(got, want) || strings.Contains(got, "hunter2") ||
					strings.Contains(got, "open") || strings.Contains(got, "file:") {
					t.Errorf("%s, %s, %s: %s", era, method, kind, got)
				}
				if got := c.ask(t, method, "", nil).body; !strings.Contains(got, `"name"`) {
					t.Errorf("%s, %s, after %s: %s", era, method, kind, got)
				}
				sink.taken()
			}
		}
	}
}

// A server that declares no changes reports none, and a list of an adopted server that fails or
// panics for a notification is no change.
func TestAdoptedServersWithoutChangesReportNone(t *testing.T) {
	for _, failing := range []bool{false, true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{},
				Prompts: &mcp.PromptCapabilities{ListChanged: true}}})
		addTool(server, "open", "")
		addPrompt(server, "p")
		var fails atomic.Int32
		failed := make(chan struct{}, 1)
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "prompts/list" && fails.Add(-1) >= 0 {
					defer func() { failed <- struct{}{} }()
					panic("not now")
				}
				return next(ctx, method, req)
			}
		})
		s := adopt(t, server, runtime.Options{}, map[string]access.Rule{
			"open": {Authenticated: true}, "p": {Prompt: "p", Authenticated: true}})
		client := listening(t, s, "", "vera_Viewer", "2025-11-25")
		has := client.InitializeResult().Capabilities
		if has.Tools.ListChanged || !has.Prompts.ListChanged {
			t.Errorf("%+v %+v", has.Tools, has.Prompts)
		}
		if failing {
			fails.Store(1)
			addPrompt(server, "p")
			<-failed
		}
		server.RemoveTools("open")
		server.RemovePrompts("p")
		if got := client.next(t); got != "prompts" {
			t.Errorf("a client is notified of %s", got)
		}
		if len(client.kinds) > 0 {
			t.Errorf("a client is notified of %s, too", <-client.kinds)
		}
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
