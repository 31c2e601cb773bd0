package wire

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

func TestIDsAreCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`7`: `7`, `-7`: `-7`, `-0`: `0`, `9007199254740991`: `9007199254740991`,
		`"7"`: `"7"`, `"\u0061\/"`: `"a/"`, `"<\n"`: `"<\n"`, `""`: `""`, `"é"`: `"é"`, `"\u00e9"`: `"é"`,
		`null`: ``, ``: ``, `{}`: ``, `[1]`: ``, `true`: ``,
	} {
		if got, ok := ID(decode.Value(in)); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %t, want %s", in, got, ok, want)
		}
		if id, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","method":"m","id":` + in + `}`)); want != "" {
			text, _ := Marshal(id.(*jsonrpc.Request).ID.Raw())
			if err != nil || string(text) != want {
				t.Errorf("go-sdk writes %s as %s, %v", in, text, err)
			}
		}
	}
	if _, ok := ID(decode.Value(`1e999`)); ok {
		t.Error("a number that is no integer")
	}
}

func TestErrorResponses(t *testing.T) {
	rpc := &jsonrpc.Error{Code: -32602, Message: "a<b", Data: []byte(`{"u":1}`)}
	for _, test := range []struct {
		err  error
		want string
	}{
		{rpc, `{"code":-32602,"message":"a<b","data":{"u":1}}`},
		{fmt.Errorf("x: %w", rpc), `{"code":-32602,"message":"x: ` + rpc.Error() + `"}`},
		{errors.New("x\n"), `{"code":0,"message":"x\n"}`},
		{&jsonrpc.Error{Code: 7, Data: []byte(`{`)}, `{"code":-32603,"message":"internal error"}`},
		{DuplicateID(`7`), `{"code":-32600,"message":"duplicate in-flight request ID 7"}`},
		{DuplicateID(`"a"`), `{"code":-32600,"message":"duplicate in-flight request ID a"}`},
	} {
		want := `{"jsonrpc":"2.0","id":"a","error":` + test.want + `}`
		if got := string(ErrorResponse(`"a"`, test.err)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Results and errors are written as go-sdk writes them.
func TestResponsesAreThoseOfGoSDK(t *testing.T) {
	id, err := jsonrpc.MakeID("a")
	if err != nil {
		t.Fatal(err)
	}
	rpc := &jsonrpc.Error{Code: -32602, Message: "a", Data: []byte(`{"u":1}`)}
	for _, err := range []error{rpc, fmt.Errorf("x: %w", rpc), errors.New("x")} {
		want, encodeErr := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: err})
		if got := ErrorResponse(`"a"`, err); encodeErr != nil || string(got) != string(want) {
			t.Errorf("%s, go-sdk %s", got, want)
		}
	}
	e, err := EncodeResult(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<"}}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: e.Append(nil)})
	if got := ResultResponse(`"a"`, e); err != nil || string(got) != string(want) || cap(got) > len(got)+64 {
		t.Errorf("%s, go-sdk %s", got, want)
	}
}

func TestStatusesOfErrors(t *testing.T) {
	for code, want := range map[int64]int{
		-32601: 404, -32602: 400, -32021: 400, -32022: 400, -32600: 200, -32603: 200, -32700: 200, -32043: 200, 0: 200,
	} {
		for _, err := range []error{&jsonrpc.Error{Code: code}, fmt.Errorf("x: %w", &jsonrpc.Error{Code: code})} {
			if got := ErrorStatus(err, "2026-07-28"); got != want {
				t.Errorf("%d: %d, want %d", code, got, want)
			}
			for _, version := range []string{"", "2025-11-25"} {
				if got := ErrorStatus(err, version); got != 200 {
					t.Errorf("%d in %q: %d", code, version, got)
				}
			}
		}
	}
	if ErrorStatus(nil, "2026-07-28") != 200 || ErrorStatus(errors.New("x"), "2026-07-28") != 200 {
		t.Error("another status without a code")
	}
}

func TestNotifications(t *testing.T) {
	got, err := Notification("m", map[string]string{"a": "<"})
	if want := `{"jsonrpc":"2.0","method":"m","params":{"a":"<"}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Notification("m", math.NaN()); err == nil {
		t.Error("NaN")
	}
}
