package toolclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolclient"
)

// session returns one result and keeps what was sent.
type session struct {
	result *mcp.CallToolResult
	err    error
	sent   []string
}

func (s *session) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	arguments, err := json.Marshal(p.Arguments)
	s.sent = append(s.sent, fmt.Sprintf("%s %s", p.Name, arguments))
	return s.result, errors.Join(s.err, err)
}

var errRefused = errors.New("refused")

// client refuses calls of the tool "refused".
func client(s *session) toolclient.Client {
	return toolclient.New(s, func(tool string, _ []byte) error {
		if tool == "refused" {
			return errRefused
		}
		return nil
	})
}

type point struct {
	X int `json:"x"`
}

func texts(all ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	for _, text := range all {
		r.Content = append(r.Content, &mcp.TextContent{Text: text})
	}
	return r
}

func contents(all ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: all}
}

func structured(v any) *mcp.CallToolResult { return &mcp.CallToolResult{StructuredContent: v} }

// natural returns structured content as 2026-07-28 has it. go-sdk drops a null.
func natural(text string) *mcp.CallToolResult {
	r := texts(text)
	r.Meta = mcp.Meta{mcp.MetaKeyServerInfo: map[string]any{"name": "s"}}
	if err := json.Unmarshal([]byte(text), &r.StructuredContent); err != nil {
		panic(err)
	}
	return r
}

// exact returns structured content beside a text.
func exact(text string, x float64) *mcp.CallToolResult {
	r := texts(text)
	r.StructuredContent = map[string]any{"x": x}
	return r
}

// call has each func of the package under its name.
func call(name string, c toolclient.Client, tool string, in any) (any, error) {
	ctx := context.Background()
	switch name {
	case "Object":
		return toolclient.Object[point](ctx, c, tool, in)
	case "Pointer":
		return toolclient.Object[*point](ctx, c, tool, in)
	case "Value":
		return toolclient.Value[[]point](ctx, c, tool, in)
	case "JSON":
		return toolclient.JSON[[]int](ctx, c, tool, in)
	case "Text":
		return toolclient.Text(ctx, c, tool, in)
	case "Bytes":
		return toolclient.Bytes(ctx, c, tool, in)
	case "Contents":
		return toolclient.Contents(ctx, c, tool, in)
	case "Nothing":
		return nil, toolclient.Nothing(ctx, c, tool, in)
	}
	return toolclient.Result(ctx, c, tool, in)
}

var forms = []string{"Object", "Pointer", "Value", "JSON", "Text", "Bytes", "Contents", "Nothing",
	"Result"}

func TestResultsAreRead(t *testing.T) {
	image := &mcp.ImageContent{Data: []byte("i"), MIMEType: "image/png"}
	for _, test := range []struct {
		form   string
		result *mcp.CallToolResult
		want   any // nil for a ResultError
	}{
		{"Object", structured(map[string]any{"x": 1}), point{1}},
		{"Object", exact(`{"x":9007199254740993}`, 9007199254740992), point{9007199254740993}},
		{"Object", exact(`{"x":1}`, 2), point{2}},
		{"Object", exact(`for people`, 2), point{2}},
		{"Object", texts(`{"x":1}`), nil},
		{"Object", structured(map[string]any{"x": "1"}), nil},
		{"Value", structured(map[string]any{"result": []any{map[string]any{"x": 2}}}), []point{{2}}},
		{"Value", structured([]any{}), nil},
		{"Value", structured(map[string]any{"result": nil}), []point(nil)},
		{"Value", structured(map[string]any{}), nil},
		{"Value", natural(`[{"x":9007199254740993}]`), []point{{9007199254740993}}},
		{"Value", natural(`null`), []point(nil)},
		{"Value", natural(`{"result":[{"x":2}]}`), nil},
		{"Pointer", structured(map[string]any{"x": 1}), &point{1}},
		{"Pointer", natural(`{"x":1}`), &point{1}},
		{"Pointer", natural(`null`), (*point)(nil)},
		{"JSON", texts(`[1,2]`), []int{1, 2}},
		{"JSON", texts(`[1`), nil},
		{"JSON", texts(), nil},
		{"Text", texts("a\nb"), "a\nb"},
		{"Text", texts("a", "b"), nil},
		{"Bytes", contents(image), []byte("i")},
		{"Bytes", contents(&mcp.AudioContent{Data: []byte("a")}), []byte("a")},
		{"Bytes", contents(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			Blob: []byte("b")}}), []byte("b")},
		{"Bytes", contents(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			Text: "t"}}), []byte("t")},
		{"Bytes", contents(&mcp.EmbeddedResource{}), nil},
		{"Contents", contents(image), []mcp.Content{image}},
		{"Result", contents(image), contents(image)},
	} {
		s := &session{result: test.result}
		got, err := call(test.form, client(s), "t", point{3})
		var wrong *toolclient.ResultError
		switch {
		case test.want == nil && (!errors.As(err, &wrong) || wrong.Tool != "t" ||
			wrong.Result != test.result || wrong.Error() == "" || errors.Unwrap(err) == nil):
			t.Errorf("%s of %v: %v, %v", test.form, test.result, got, err)
		case test.want != nil && (err != nil || !reflect.DeepEqual(got, test.want)):
			t.Errorf("%s: %v, %v; want %v", test.form, got, err, test.want)
		}
		if !reflect.DeepEqual(s.sent, []string{`t {"x":3}`}) {
			t.Errorf("%s sent %q", test.form, s.sent)
		}
	}
	s := &session{result: texts()}
	if _, err := call("Nothing", client(s), "t", nil); err != nil || s.sent[0] != "t {}" {
		t.Errorf("%q, %v", s.sent, err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	failed := texts("no", "more")
	failed.IsError = true
	lost := errors.New("lost")
	for _, form := range forms {
		var arguments *toolclient.ArgumentsError
		s := &session{result: texts()}
		_, err := call(form, client(s), "refused", nil)
		if !errors.As(err, &arguments) || !errors.Is(err, errRefused) || len(s.sent) > 0 ||
			err.Error() != "arguments of tool refused: refused" {
			t.Errorf("%s: %v after %q", form, err, s.sent)
		}
		if _, err = call(form, client(s), "t", make(chan int)); !errors.As(err, &arguments) ||
			len(s.sent) > 0 {
			t.Errorf("%s of a channel: %v after %q", form, err, s.sent)
		}
		var tool *toolclient.ToolError
		_, err = call(form, client(&session{result: failed}), "t", nil)
		if !errors.As(err, &tool) || tool.Result != failed ||
			err.Error() != "tool t failed: no\nmore" {
			t.Errorf("%s: %v", form, err)
		}
		_, err = call(form, client(&session{err: lost}), "t", nil)
		if !errors.Is(err, lost) || errors.As(err, &tool) {
			t.Errorf("%s: %v", form, err)
		}
	}
}
