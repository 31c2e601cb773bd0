package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
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
