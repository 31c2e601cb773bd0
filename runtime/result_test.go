package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestResultsAreMarshalledOnceAndMendedBySchema(t *testing.T) {
	t.Parallel()
	const list = `{"type":"array","items":{"type":"string"}}`
	var noStrings []string
	mine := map[string][]string{"tags": nil}
	for _, test := range []struct {
		name, output string
		result       func() (toolset.Result, error)
		structured   string
		text         string // of the first content, where it is not the structured content
	}{
		{"an object", personOutput, func() (toolset.Result, error) {
			return toolset.Structured(person{ID: "a", Tags: []string{"x"}}, nil)
		}, `{"id":"a","tags":["x"]}`, ""},
		{"a nil slice", personOutput, func() (toolset.Result, error) {
			return toolset.Structured(&person{ID: "a"}, nil)
		}, `{"id":"a","tags":[]}`, ""},
		{"a value of the handler's own", personOutput, func() (toolset.Result, error) {
			return toolset.Structured(mine, nil)
		}, `{"tags":[]}`, ""},
		{"a nil map", `{"type":"object","additionalProperties":{"type":"string"}}`,
			func() (toolset.Result, error) {
				return toolset.Structured(map[string]string(nil), nil)
			}, `{}`, ""},
		{"a list", list, func() (toolset.Result, error) {
			return toolset.Structured([]string{"a"}, nil)
		}, `["a"]`, ""},
		{"a nil list", list, func() (toolset.Result, error) {
			return toolset.Structured(noStrings, nil)
		}, `[]`, ""},
		{"a number", ``, func() (toolset.Result, error) {
			return toolset.Structured(7, nil)
		}, `7`, ""},
		{"text that HTML would escape", ``, func() (toolset.Result, error) {
			return toolset.Structured("<&>", nil)
		}, `"<&>"`, ""},
		{"nothing", ``, func() (toolset.Result, error) { return toolset.Done(nil) }, ``, ""},
		{"a native list", list, func() (toolset.Result, error) {
			return toolset.Native(nil, noStrings, nil)
		}, `[]`, ""},
		{"a native object", personOutput, func() (toolset.Result, error) {
			return toolset.Native(nil, person{ID: "a"}, nil)
		}, `{"id":"a","tags":[]}`, ""},
		{"a native object with content", personOutput, func() (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "said"}}}, person{ID: "a"}, nil)
		}, `{"id":"a","tags":[]}`, "said"},
		{"a native list with content", list, func() (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "said"}}}, []string{"a"}, nil)
		}, `["a"]`, "said"},
		{"native content without a schema", ``, func() (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{StructuredContent: []int{1},
				Content: []mcp.Content{&mcp.TextContent{Text: "said"}}}, nil, nil)
		}, `[1]`, "said"},
	} {
		s := newServer(t, runtime.Options{},
			toolsetOf([]toolset.Tool{{Name: "get", Input: `{"type":"object"}`, Output: test.output,
				Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					return test.result()
				}}}))
		url := serve(t, s)
		for _, era := range eras {
			res, err := connectHTTP(t, url, tokens["Admin"], era).CallTool(context.Background(),
				&mcp.CallToolParams{Name: "get"})
			if err != nil || res.IsError {
				t.Errorf("%s, %s: %v %q", test.name, era, err, text(res))
				continue
			}
			structured := ""
			if res.StructuredContent != nil {
				structured = marshalled(t, res.StructuredContent)
			}
			content := test.structured
			if content != "" && content[0] != '{' {
				content = contentIn(era, content)
			}
			want := cmp.Or(test.text, content)
			if structured != marshalledText(t, content) || text(res) != want {
				t.Errorf("%s, %s: structured %s, text %q", test.name, era, structured, text(res))
			}
		}
	}
	if mine["tags"] != nil {
		t.Error("the handler's value was touched")
	}
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func marshalledText(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return marshalled(t, v)
}

func TestMissingArgumentsAreTheEmptyObject(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	s := newServer(t, runtime.Options{},
		oneTool("look", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			got <- string(call.Arguments)
			return toolset.Done(nil)
		}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	for sent, want := range map[string]string{``: `{}`, `,"arguments":{}`: `{}`,
		`,"arguments":{"a": 1}`: `{"a": 1}`} {
		c.call(t, "look", sent, nil)
		if arguments := <-got; arguments != want {
			t.Errorf("%q: the handler got %s", sent, arguments)
		}
	}
}

func TestNativeHandlersErrorFlagIsKept(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{},
		oneTool("fail", func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{IsError: true,
				Content: []mcp.Content{&mcp.TextContent{Text: "it failed"}}}, nil, nil)
		}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
	if got := c.call(t, "fail", "", nil); !strings.Contains(got.body, `"isError":true`) ||
		!strings.Contains(got.body, "it failed") {
		t.Errorf("%s", got)
	}
}

// Clients with sessions accept structured content that is an object alone, in failed calls too.
func TestStructuredContentIsAnObjectInSessionsOfEachMaker(t *testing.T) {
	t.Parallel()
	contents := map[string]struct {
		value   any
		isError bool
		session string // empty for none
	}{
		"list":          {[]int{1}, false, `{"result":[1]}`},
		"failed_list":   {[]int{1}, true, `{"result":[1]}`},
		"failed_object": {map[string]int{"a": 1}, true, `{"a":1}`},
		"failed_null":   {(*person)(nil), true, ""},
	}
	result := func(name string) *mcp.CallToolResult {
		made := contents[name]
		return &mcp.CallToolResult{IsError: made.isError, StructuredContent: made.value,
			Content: []mcp.Content{&mcp.TextContent{Text: "said"}}}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	rules := map[string]access.Rule{}
	var tools, empty []toolset.Tool
	for name := range contents {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return result(name), nil
			})
		rules[name] = access.Rule{Authenticated: true}
		tools = append(tools, toolset.Tool{Name: name, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Native(result(name), nil, nil)
			}})
		empty = append(empty, toolset.Tool{Name: name, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}})
	}
	replaced := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if call, ok := m.Params.(*mcp.CallToolParamsRaw); ok {
				return result(call.Name), nil
			}
			return next(ctx, m)
		}
	}
	for maker, s := range map[string]*runtime.Server{
		"a handler":         newServer(t, runtime.Options{}, toolsetOf(tools)),
		"an adopted server": adopt(t, server, runtime.Options{}, rules),
		"an interceptor": newServer(t, runtime.Options{
			Interceptors: []intercept.Middleware{replaced}}, toolsetOf(empty)),
	} {
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Admin"], era)
			for name, made := range contents {
				want := made.session
				if era == "2026-07-28" {
					want = marshalled(t, made.value)
				}
				var got struct {
					Result struct {
						StructuredContent json.RawMessage
						IsError           bool
					}
				}
				body := c.call(t, name, "", nil).body
				err := json.Unmarshal([]byte(body), &got)
				if err != nil || got.Result.IsError != made.isError ||
					string(got.Result.StructuredContent) != want {
					t.Errorf("%s, %s, %s: %s, want %s", maker, era, name, body, want)
				}
			}
		}
	}
}

// Some clients refuse the whole list of tools for a list of types at the root of an output schema.
func TestOutputSchemaOfAnAdoptedToolHasOneType(t *testing.T) {
	t.Parallel()
	for _, schema := range []any{json.RawMessage(`{"type":["object"]}`),
		&jsonschema.Schema{Types: []string{"object"}}, map[string]any{"type": []string{"object"}}} {
		server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]int{}}, nil
		})
		s := adopt(t, server, runtime.Options{}, map[string]access.Rule{"get": {Authenticated: true}})
		for _, era := range eras {
			body := newRaw(t, serve(t, s), tokens["Admin"], era).ask(t, "tools/list", "", nil).body
			if !strings.Contains(body, `"outputSchema":{"type":"object"}`) {
				t.Errorf("%s, %v: %s", era, schema, body)
			}
		}
	}
}
