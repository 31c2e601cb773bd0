package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// FuzzCheckMessageAgreesWithGoSDK compares CheckMessage with go-sdk's jsonrpc.DecodeMessage. What
// both accept has the same method, id and params.
func FuzzCheckMessageAgreesWithGoSDK(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1e3,"é"]}}}`,
		`{"jsonrpc":"2.0","id":"\u0061\"","method":"ping","params":{"_meta":{"progressToken":1}}}`,
		` {"method":"tools\/list","jsonrpc":"\u0032.0","id":-0,"params": {"cursor": "x"}} `,
		`{"jsonrpc":"2.0","id":9007199254740991,"method":"x","params":{"_meta":{"a":1},"b":2}}`,
		`{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled","params":{"requestId":1.5}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":null}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"method":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"ID":2,"Method":"x","method":"initialize","params":{"protocolVersion":"x"}}`,
		`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, `{"jsonrpc":"2.0"}`, `[]`, `7`, ``, `{"jsonrpc":"2.0","id":1,"id":2}`,
		`{"jsonrpc":"2.0","id":1,"method":"ghp_16C7e42F292c6912E7710c838347Ae178B4a","params":{}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		checked, refused := CheckMessage(bytes.Clone(body), redact.Masker{})
		message, err := jsonrpc.DecodeMessage(body)
		if refused != nil || err != nil {
			return
		}
		switch m := message.(type) {
		case *jsonrpc.Request:
			if m.Method != checked.Method && ParamsTypes()[m.Method] != nil {
				t.Errorf("%q has method %q, and %q for go-sdk", body, checked.Method, m.Method)
			}
			if got := encodeAny(t, m.ID.Raw()); checked.ID.Key != "" && checked.ID.Key != keyOf(t, got) {
				t.Errorf("%q has id %s, and %s for go-sdk", body, checked.ID.Key, got)
			}
			compareParams(t, m, checked.Params)
		case *jsonrpc.Response:
			if checked.Method != "" {
				t.Errorf("%q has method %q, and is a response for go-sdk", body, checked.Method)
			}
			if m.Error == nil && compact(t, m.Result) != compact(t, checked.Result) {
				t.Errorf("%q has the result %s, and %s for go-sdk", body, checked.Result, m.Result)
			}
		}
	})
}

func keyOf(t *testing.T, text string) string {
	t.Helper()
	id, problem := IDOf(decode.Value(text))
	if problem != "" {
		t.Fatal(text, problem)
	}
	return id.Key
}

// compareParams compares params with those that reflection decodes. It leaves params aside that
// have a name in other letters, which encoding/json takes for the same name.
func compareParams(t *testing.T, m *jsonrpc.Request, got mcp.Params) {
	t.Helper()
	of := ParamsTypes()[m.Method]
	if of == nil || decode.Value(bytes.TrimSpace(m.Params)).Type() != "object" ||
		bytes.ContainsFunc(m.Params, unicode.IsUpper) || bytes.ContainsAny(m.Params, "\u017f\u212a\\") {
		return
	}
	want := reflect.New(of).Interface()
	if err := json.Unmarshal(m.Params, want); err != nil {
		t.Fatalf("%s: %v", m.Params, err)
	}
	if got, want := encodeAny(t, got), encodeAny(t, want); compact(t, []byte(got)) !=
		compact(t, []byte(want)) {
		t.Errorf("%s is read as %s, and by reflection as %s", m.Params, got, want)
	}
}

// compact returns JSON as encoding/json writes it. Missing JSON is null.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	if len(text) == 0 {
		return "null"
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if n, ok := v.(json.Number); ok && n == "-0" {
		v = 0 // an integer for go-sdk
	}
	return encodeAny(t, v)
}

func encodeAny(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
