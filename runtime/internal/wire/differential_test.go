package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// FuzzCheckMessageAgreesWithGoSDK compares CheckMessage with go-sdk's jsonrpc.DecodeMessage. What
// CheckMessage accepts, go-sdk accepts with the same method, id and params. What go-sdk refuses,
// CheckMessage refuses, except a message without method and id, which both doors refuse later.
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
		_, err := jsonrpc.DecodeMessage(body)
		if refused != nil {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(checked.Body, &members); err != nil {
			t.Fatalf("%q is accepted as %q: %v", body, checked.Body, err)
		}
		rawID, params := members["id"], members["params"]
		if id := checked.ID; id != "" && compact(t, json.RawMessage(id)) != compact(t, rawID) {
			t.Errorf("%q has id %s, read as %s", body, rawID, id)
		}
		if hasID := len(rawID) > 0 && string(rawID) != "null"; err != nil && (hasID || len(members["method"]) > 0) {
			t.Fatalf("%q is accepted, but go-sdk refuses it: %v", body, err)
		} else if err != nil {
			return
		}
		m, err := jsonrpc.DecodeMessage(checked.Body)
		if err != nil {
			t.Fatalf("%q is accepted as %q, which go-sdk refuses: %v", body, checked.Body, err)
		}
		var id jsonrpc.ID
		switch m := m.(type) {
		case *jsonrpc.Request:
			if id = m.ID; m.Method != checked.Method {
				t.Errorf("%q has method %q, and %q for go-sdk", body, checked.Method, m.Method)
			}
			if got, want := compact(t, params), compact(t, m.Params); got != want {
				t.Errorf("%q has params %s, and %s for go-sdk", body, got, want)
			}
		case *jsonrpc.Response:
			if id = m.ID; checked.Method != "" {
				t.Errorf("%q has method %q, and is a response for go-sdk", body, checked.Method)
			}
		}
		if got, want := compact(t, rawID), encodeID(t, id); got != want {
			t.Errorf("%q has id %s, and %s for go-sdk", body, got, want)
		}
	})
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

func encodeID(t *testing.T, id jsonrpc.ID) string {
	t.Helper()
	return encodeAny(t, id.Raw())
}

func encodeAny(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
