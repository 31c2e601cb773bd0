package bridge

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// encoded is the content that a call makes of a value.
func encoded(t rapid.TB, out any) *wire.Content {
	t.Helper()
	content, err := wire.EncodeContent(out, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// body is the body that b makes of a result whose handler has made content; nil if it makes none.
func body(b *Bridge, res mcp.Result, content *wire.Content) []byte {
	e := b.preencoded(&carrier{report: &invoke.Report{Content: content}}, res)
	if e == nil {
		return nil
	}
	return e.Body
}

func TestPreencodedResultIsTheEncodedResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := encoded(t, rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			rapid.Just[any](json.RawMessage("{\"a\\u0000\\u2028<>&\" : \"\u2028\x7f\\\"\\\\\"}")),
		).Draw(t, "out"))
		res := content.Result(rapid.Bool().Draw(t, "unread"))
		// go-sdk sets the type under protocol 2026-07-28.
		if rapid.Bool().Draw(t, "stateless") {
			var typed mcp.CallToolResult
			if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &typed); err != nil {
				t.Fatal(err)
			}
			typed.Content, typed.StructuredContent = res.Content, res.StructuredContent
			res = &typed
		}
		slow, err := wire.EncodeResult(wire.Shown(res))
		if err != nil {
			t.Fatal(err)
		}
		b := &Bridge{Config: Config{Adopted: rapid.Bool().Draw(t, "adopted")}}
		var got, want any
		if err := json.Unmarshal(body(b, res, content), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(slow.Body, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestChangedResultsAreNotPreencoded(t *testing.T) {
	for name, change := range map[string]func(*mcp.CallToolResult, *wire.Content){
		"meta":           func(r *mcp.CallToolResult, _ *wire.Content) { r.Meta = mcp.Meta{"a": 1} },
		"an error":       func(r *mcp.CallToolResult, _ *wire.Content) { r.IsError = true },
		"input requests": func(r *mcp.CallToolResult, _ *wire.Content) { r.InputRequests = mcp.InputRequestMap{} },
		"state":          func(r *mcp.CallToolResult, _ *wire.Content) { r.RequestState = "s" },
		"more content": func(r *mcp.CallToolResult, _ *wire.Content) {
			r.Content = append(r.Content, &mcp.TextContent{Text: "x"})
		},
		"another value": func(r *mcp.CallToolResult, _ *wire.Content) {
			r.StructuredContent = map[string]any{"result": "a"}
		},
		"another's": func(r *mcp.CallToolResult, c *wire.Content) {
			r.StructuredContent = wire.NewContent(c.JSON)
		},
		"equal bytes": func(r *mcp.CallToolResult, c *wire.Content) {
			r.StructuredContent = json.RawMessage(slices.Clone(c.JSON))
		},
		"no bytes": func(_ *mcp.CallToolResult, c *wire.Content) { *c = wire.Content{} },
	} {
		for _, unread := range []bool{false, true} {
			content := encoded(t, "abc")
			res := content.Result(unread)
			if body(&Bridge{}, res, content) == nil {
				t.Fatal("an unchanged result is not preencoded")
			}
			change(res, content)
			if got := body(&Bridge{}, res, content); got != nil {
				t.Errorf("%s: the changed result is %s", name, got)
			}
		}
	}
	for name, change := range map[string]func(*mcp.TextContent){
		"other text":      func(c *mcp.TextContent) { c.Text = "x" },
		"annotations":     func(c *mcp.TextContent) { c.Annotations = &mcp.Annotations{} },
		"meta of content": func(c *mcp.TextContent) { c.Meta = mcp.Meta{} },
	} {
		content := encoded(t, "abc")
		res := content.Result(false)
		change(res.Content[0].(*mcp.TextContent))
		if got := body(&Bridge{}, res, content); got != nil {
			t.Errorf("%s: the changed result is %s", name, got)
		}
	}
	content := encoded(t, "abc")
	res := content.Result(false)
	res.Content[0] = (*mcp.TextContent)(nil)
	invalid := wire.NewContent([]byte("{\"a\":\"\xff\"}"))
	middleware := &Bridge{Config: Config{Middleware: []mcp.Middleware{nil}}}
	for name, got := range map[string][]byte{
		"a nil content":  body(&Bridge{}, res, content),
		"invalid UTF-8":  body(&Bridge{}, invalid.Result(true), invalid),
		"a nil result":   body(&Bridge{}, (*mcp.CallToolResult)(nil), content),
		"another result": body(&Bridge{}, &mcp.GetPromptResult{}, content),
		"no content":     body(&Bridge{}, content.Result(false), nil),
		"middleware":     body(middleware, content.Result(false), content),
	} {
		if got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAdoptedServersContentIsCopied(t *testing.T) {
	adopted := &Bridge{Config: Config{Adopted: true}}
	for what, change := range map[string]func([]byte){
		"no JSON any more":  func(content []byte) { content[0] = 'x' },
		"no UTF-8 any more": func(content []byte) { content[len(content)-3] = 0xff },
	} {
		content := encoded(t, "abc")
		res := content.Result(true)
		change(content.JSON)
		if got := body(adopted, res, content); got != nil {
			t.Errorf("what is %s becomes %s", what, got)
		}
	}
	content := encoded(t, "abc")
	copy(content.JSON[len(content.JSON)-5:], "x")
	got := string(body(adopted, content.Result(true), content))
	if strings.Count(got, "xbc") != 2 {
		t.Errorf("text and content differ: %s", got)
	}
}
