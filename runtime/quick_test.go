package runtime

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// answered is what dispatch makes of a value, and the record beside it.
func answered(t rapid.TB, out any, unread bool) (*mcp.CallToolResult, *record) {
	t.Helper()
	res, body, err := (&tool{}).result(toolset.Result{Out: out, HasOut: true, Wrapped: true}, unread)
	if err != nil {
		t.Fatal(err)
	}
	return res, &record{body: body}
}

func sameJSON(t rapid.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

func TestQuickResultsAreThoseOfFinish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res, rec := answered(t, rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			rapid.Just[any](json.RawMessage("{\"a\\u0000\\u2028<>&\" : \"\u2028\x7f\\\"\\\\\"}")),
		).Draw(t, "out"), rapid.Bool().Draw(t, "unread"))
		// What dispatch of go-sdk sets under protocol 2026-07-28 comes in by its own door.
		if rapid.Bool().Draw(t, "stateless") {
			var typed mcp.CallToolResult
			if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &typed); err != nil {
				t.Fatal(err)
			}
			typed.Content, typed.StructuredContent = res.Content, res.StructuredContent
			res = &typed
		}
		slow, err := finish(shown(res))
		if err != nil {
			t.Fatal(err)
		}
		quick := (&Server{adopted: rapid.Bool().Draw(t, "adopted")}).quick(rec, res)
		if quick == nil {
			t.Fatal("not finished quickly")
		}
		if got, want := quick.(*finished).body, slow.(*finished).body; !sameJSON(t, got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestWhatSomebodyChangedIsNotFinishedQuickly(t *testing.T) {
	guarded := &Server{}
	for name, change := range map[string]func(*mcp.CallToolResult, *record){
		"meta":           func(r *mcp.CallToolResult, _ *record) { r.Meta = mcp.Meta{"a": 1} },
		"an error":       func(r *mcp.CallToolResult, _ *record) { r.IsError = true },
		"input requests": func(r *mcp.CallToolResult, _ *record) { r.InputRequests = mcp.InputRequestMap{} },
		"state":          func(r *mcp.CallToolResult, _ *record) { r.RequestState = "s" },
		"more content":   func(r *mcp.CallToolResult, _ *record) { r.Content = append(r.Content, r.Content[0]) },
		"other text":     func(r *mcp.CallToolResult, _ *record) { r.Content[0].(*mcp.TextContent).Text = "x" },
		"annotations": func(r *mcp.CallToolResult, _ *record) {
			r.Content[0].(*mcp.TextContent).Annotations = &mcp.Annotations{}
		},
		"meta of content": func(r *mcp.CallToolResult, _ *record) { r.Content[0].(*mcp.TextContent).Meta = mcp.Meta{} },
		"nil content":     func(r *mcp.CallToolResult, _ *record) { r.Content[0] = (*mcp.TextContent)(nil) },
		"another value":   func(r *mcp.CallToolResult, _ *record) { r.StructuredContent = map[string]any{"result": "a"} },
		"equal bytes": func(r *mcp.CallToolResult, rec *record) {
			r.StructuredContent = json.RawMessage(slices.Clone(rec.body.content))
		},
		"no record of bytes": func(_ *mcp.CallToolResult, rec *record) { rec.body = &body{} },
		"invalid UTF-8": func(r *mcp.CallToolResult, rec *record) {
			rec.body.content[len(rec.body.content)-3] = 0xff
			*rec.body = newBody(rec.body.content)
			r.StructuredContent = json.RawMessage(rec.body.content)
			r.Content[0].(*mcp.TextContent).Text = string(rec.body.content)
		},
	} {
		res, rec := answered(t, "abc", false)
		if guarded.quick(rec, res) == nil {
			t.Fatal("not finished quickly when nothing was changed")
		}
		change(res, rec)
		if quick := guarded.quick(rec, res); quick != nil {
			t.Errorf("%s: %s", name, quick.(*finished).body)
		}
	}
	for what, change := range map[string]func([]byte){
		"no JSON any more":  func(content []byte) { content[0] = 'x' },
		"no UTF-8 any more": func(content []byte) { content[len(content)-3] = 0xff },
	} {
		res, rec := answered(t, "abc", false)
		change(rec.body.content)
		res.Content[0].(*mcp.TextContent).Text = string(rec.body.content)
		if (&Server{adopted: true}).quick(rec, res) != nil {
			t.Errorf("what is %s leaves an adopted server", what)
		}
	}
	res, rec := answered(t, "abc", false)
	copy(rec.body.content[len(rec.body.content)-5:], "x")
	res.Content[0].(*mcp.TextContent).Text = string(rec.body.content)
	changed := (&Server{adopted: true}).quick(rec, res)
	if changed == nil || strings.Count(string(changed.(*finished).body), "xbc") != 2 {
		t.Errorf("text and content differ: %+v", changed)
	}
	res, rec = answered(t, "abc", false)
	if (&Server{opts: Options{Middleware: []mcp.Middleware{nil}}}).quick(rec, res) != nil {
		t.Error("middleware's results are not marshalled under recover")
	}
}

// What is not finished quickly must have its content all the same, whoever copied and changed the result.
func TestWhatNobodyWasToReadIsShownWhereItIsChanged(t *testing.T) {
	for name, change := range map[string]func(*mcp.CallToolResult, *record){
		"meta":     func(r *mcp.CallToolResult, _ *record) { r.Meta = mcp.Meta{"a": 1} },
		"an error": func(r *mcp.CallToolResult, _ *record) { r.IsError = true },
		"state":    func(r *mcp.CallToolResult, _ *record) { r.RequestState = "s" },
		"content":  func(r *mcp.CallToolResult, _ *record) { r.Content = []mcp.Content{&mcp.TextContent{}} },
		"another's": func(r *mcp.CallToolResult, _ *record) {
			r.StructuredContent = &body{content: []byte(`{"result":"abc"}`)}
		},
		"no record of bytes": func(_ *mcp.CallToolResult, rec *record) { rec.body = nil },
	} {
		first, rec := answered(t, "abc", true)
		if len(first.Content) > 0 {
			t.Fatal("the content is there already")
		}
		res := *first
		change(&res, rec)
		if quick := (&Server{}).quick(rec, &res); quick != nil {
			t.Errorf("%s: %s", name, quick.(*finished).body)
		}
		done, err := finish(shown(&res))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(done.(*finished).body); !strings.Contains(got, `"content":[{"type":"text","text":"{\"result\":\"abc\"}"}],"structuredContent":{"result":"abc"}`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if raw, err := marshal(&body{content: []byte(`{"a":1}`)}); err != nil || string(raw) != `{"a":1}` {
		t.Errorf("a body is marshalled as %s: %v", raw, err)
	}
	for _, res := range []mcp.Result{nil, (*mcp.CallToolResult)(nil), &mcp.CallToolResult{StructuredContent: 1}, &mcp.GetPromptResult{}} {
		if shown(res) != res {
			t.Errorf("%T is another", res)
		}
	}
}

// FuzzQuickResultsAreThoseOfFinish holds the bytes that are put together here against those that
// encoding/json makes, for any text that is valid UTF-8; what is not goes the other way.
func FuzzQuickResultsAreThoseOfFinish(f *testing.F) {
	for _, seed := range []string{"", "abc", `"\`, "\x00\x1f\x7f", "<>&\u2028\u2029", "é世🙂", "\u202e\ufeff", "\xff", "\xed\xa0\x80", "a\nb\tc\r\b\f"} {
		f.Add([]byte(seed), seed)
	}
	f.Fuzz(func(t *testing.T, body []byte, s string) {
		if utf8.Valid(body) {
			var back string
			if err := json.Unmarshal(appendText(nil, body), &back); err != nil || back != string(body) {
				t.Fatalf("%q is written as %s: %v", body, appendText(nil, body), err)
			}
		}
		for _, out := range []any{s, map[string]string{s: s}, []string{s, s}} {
			for _, unread := range []bool{false, true} {
				res, rec := answered(t, out, unread)
				slow, err := finish(shown(res))
				if err != nil {
					t.Fatal(err)
				}
				quick := (&Server{}).quick(rec, res)
				if quick == nil {
					t.Fatalf("%q is not finished quickly", s)
				}
				if got, want := quick.(*finished).body, slow.(*finished).body; !sameJSON(t, got, want) {
					t.Fatalf("got  %s\nwant %s", got, want)
				}
			}
		}
	})
}
