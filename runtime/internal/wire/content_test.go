package wire

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

func encoded(t rapid.TB, out any) *Content {
	t.Helper()
	content, err := (&Output{Form: structured.InResult}).Encode(out)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestOutputsAreEncodedOnce(t *testing.T) {
	schema, err := decode.ParseShape(`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}`)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := decode.ParseShape(`{"type":"object","additionalProperties":false}`)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{"a": nil}
	guarded,
		err := decode.ParseShape(`{"type":"object","properties":{"a":{"x-mcpgen-field":"p.T.A"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{"p.T.A"}
	for _, test := range []struct {
		output     Output
		want, text string
	}{
		{Output{Form: structured.AsObject}, `{"a":null}`, `{"a":null}`},
		{Output{Form: structured.InResult}, `{"result":{"a":null}}`, `{"a":null}`},
		{Output{Form: structured.AsIs, Schema: schema}, `{"a":[]}`, `{"a":null}`},
		{Output{Form: structured.AsIs, Schema: closed}, `{"a":null}`, `{"a":null}`},
		{Output{Form: structured.AsIs, Schema: closed, Only: true}, `{}`, `{"a":null}`},
		{Output{Form: structured.InResult, Schema: closed, Only: true}, `{"result":{}}`, `{"a":null}`},
		{Output{Form: structured.InResult, Guarded: guarded, Without: hidden}, `{"result":{}}`, `{}`},
		{Output{Form: structured.AsIs, Schema: guarded, Guarded: guarded}, `{"a":null}`, `{"a":null}`},
	} {
		if c, err := test.output.Encode(out); err != nil || string(c.JSON) != test.want {
			t.Errorf("%s %v, want %s", c.JSON, err, test.want)
		}
		if c, err := test.output.EncodeText(out); err != nil || string(c.JSON) != test.text {
			t.Errorf("%s %v, want %s", c.JSON, err, test.text)
		}
	}
	for _, encode := range []func(any) (*Content, error){(&Output{}).Encode, (&Output{}).EncodeText} {
		if _, err := encode(func() {}); err == nil {
			t.Error("a func is encoded")
		}
	}
}

// A changed result must have its content, also if a copy was changed.
func TestChangedResultsAreShown(t *testing.T) {
	for name, change := range map[string]func(*mcp.CallToolResult){
		"meta":     func(r *mcp.CallToolResult) { r.Meta = mcp.Meta{"a": 1} },
		"an error": func(r *mcp.CallToolResult) { r.IsError = true },
		"state":    func(r *mcp.CallToolResult) { r.RequestState = "s" },
		"content":  func(r *mcp.CallToolResult) { r.Content = []mcp.Content{&mcp.TextContent{}} },
		"another's": func(r *mcp.CallToolResult) {
			r.StructuredContent = &Content{JSON: []byte(`{"result":"abc"}`)}
		},
	} {
		first := encoded(t, "abc").Result(true)
		if len(first.Content) > 0 {
			t.Fatal("the content already exists")
		}
		res := *first
		change(&res)
		e, err := EncodeResult(Shown(&res))
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"content":[{"type":"text","text":"{\"result\":\"abc\"}"}],"structuredContent":{"result":"abc"}`
		if got := string(e.Body); got[:len(want)] != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	content := NewContent([]byte(`{"a":1}`))
	if raw, err := Marshal(content); err != nil || string(raw) != `{"a":1}` {
		t.Errorf("a content is marshalled as %s: %v", raw, err)
	}
	if res := NewContent([]byte("\xff")).Result(true); len(res.Content) != 1 {
		t.Error("a content without UTF-8 is not shown")
	}
	for _, res := range []mcp.Result{nil, (*mcp.CallToolResult)(nil), &mcp.CallToolResult{StructuredContent: 1}, &mcp.GetPromptResult{}} {
		if Shown(res) != res {
			t.Errorf("%T is another", res)
		}
	}
}

// FuzzContentIsTheEncodedResult compares the bytes that NewContent makes with those of
// encoding/json, for any text that is valid UTF-8.
func FuzzContentIsTheEncodedResult(f *testing.F) {
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
			content := encoded(t, out)
			slow, err := EncodeResult(content.Result(false))
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(content.Encoded.Body, &got); err != nil {
				t.Fatalf("%s: %v", content.Encoded.Body, err)
			}
			if err := json.Unmarshal(slow.Body, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	})
}

// Clients of versions with sessions refuse a whole response whose structured content is no object.
func TestStructuredContentInASessionIsAnObject(t *testing.T) {
	for _, form := range []structured.Form{structured.ByValue, structured.AsObject,
		structured.NotNull, structured.InResult} {
		for _, isError := range []bool{false, true} {
			for _, value := range []any{map[string]int{"a": 1}, []int{1}, "x", 7, true, (*int)(nil),
				json.RawMessage(` [1]`), json.RawMessage(nil), json.RawMessage("null"),
				json.RawMessage{}, json.RawMessage(`{"a":`), func() {}} {
				res, err := InSession(
					&mcp.CallToolResult{StructuredContent: value, IsError: isError}, form)
				if err != nil {
					continue
				}
				encoded, err := EncodeResult(res)
				if err != nil {
					continue
				}
				got := decode.Value(encoded.Append(nil)).Member("structuredContent")
				if is := got.Type(); is != "object" && !(is == "" && isError) {
					t.Errorf("form %d, isError %t: %#v is sent as %s", form, isError, value, got)
				}
			}
		}
	}
}

// An error has its text, whatever is beside it.
func TestAnErrorInASessionIsSentWithoutANull(t *testing.T) {
	for _, null := range []any{(*int)(nil), json.RawMessage(nil), json.RawMessage(" null ")} {
		res, err := InSession(&mcp.CallToolResult{StructuredContent: null, IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "it failed"}}}, structured.ByValue)
		if err != nil {
			t.Errorf("%#v: %v", null, err)
			continue
		}
		if r := res.(*mcp.CallToolResult); r.StructuredContent != nil || len(r.Content) != 1 {
			t.Errorf("%#v: %+v", null, r)
		}
	}
}
