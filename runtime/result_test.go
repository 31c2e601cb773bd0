package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
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
