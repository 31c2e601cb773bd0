package wire

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Ids of equal value have equal keys, and a response repeats the text of its request.
func TestIDsAreComparedByValue(t *testing.T) {
	for _, same := range [][]string{
		{`7`, `7.0`, `7e0`, `70e-1`, `0.7E1`}, {`-7`, `-7.0`}, {`0`, `-0`, `0.0`, `-0e5`},
		{`9007199254740991`, `9007199254740991.0`}, {`9223372036854775807`}, {`-9223372036854775808`},
		{`"7"`, `"\u0037"`}, {`"a/"`, `"\u0061\/"`}, {`"<\n"`}, {`""`}, {`"é"`, `"\u00e9"`},
	} {
		first, _ := IDOf(decode.Value(same[0]))
		for _, text := range same {
			id, problem := IDOf(decode.Value(text))
			if problem != "" || id.JSON != text || id.Key != first.Key || id.Key == "" {
				t.Errorf("%s: %+v %s", text, id, problem)
			}
		}
		if other := seenIDs[first.Key]; other != "" {
			t.Errorf("%s is %s", same[0], other)
		}
		seenIDs[first.Key] = same[0]
	}
	for _, text := range []string{`null`, ``} {
		if id, problem := IDOf(decode.Value(text)); id != (ID{}) || problem != "" {
			t.Errorf("%s: %+v %s", text, id, problem)
		}
	}
	for _, text := range []string{`{}`, `[1]`, `true`, `1.5`, `1e-1`, `1e400`, `9223372036854775808`,
		`9223372036854775808.0`, `1e999999999`, `1.` + strings.Repeat("0", 100)} {
		if id, problem := IDOf(decode.Value(text)); id != (ID{}) || problem == "" {
			t.Errorf("%s: %+v", text, id)
		}
	}
}

var seenIDs = map[string]string{}

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
		if got := string(ErrorResponse(ID{JSON: `"a"`}, test.err)); got != want {
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
		if got := ErrorResponse(ID{JSON: `"a"`}, err); encodeErr != nil || string(got) != string(want) {
			t.Errorf("%s, go-sdk %s", got, want)
		}
	}
	e, err := EncodeResult(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<"}}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: e.Append(nil)})
	if got := Response(ID{JSON: `"a"`}, e, nil).JSON; err != nil || string(got) != string(want) {
		t.Errorf("%s, go-sdk %s", got, want)
	}
}

func TestStatusesOfErrors(t *testing.T) {
	for code, want := range map[int64]int{
		-32601: 404, -32602: 400, -32021: 400, -32022: 400, -32600: 200, -32603: 200, -32700: 200, 403: 200, 0: 200,
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
