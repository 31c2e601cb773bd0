package wire

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// manyMembers are the members of an object with 257, none of them a response to an input request.
var manyMembers = func() (members string) {
	for n := range 257 {
		members = fmt.Sprintf(`%s"%d":0,`, members, n)
	}
	return strings.TrimSuffix(members, ",")
}()

func TestMessagesThatTwoReadersCouldUnderstandDifferentlyAreRefused(t *testing.T) {
	const parse, request, params = -32700, -32600, -32602
	for _, test := range []struct {
		body    string
		code    int64
		message string
		id      string
	}{
		{``, parse, `parse error: (root): is not JSON: the text ends where a value is expected`, ``},
		{`[{"a":1}`, parse, `parse error: /1: is not JSON: the text ends where ',' or ']' is expected`, ``},
		{`[]`, request, `invalid request: batches are not accepted: send each message by itself`, ``},
		{`7`, request, `invalid request: not an object`, ``},
		{`{"jsonrpc":"2.0","jsonrpc":"2"}`, parse, `parse error: /jsonrpc: is twice in its object`, ``},
		{`{"` + ghp + `":1,"` + ghp + `":2}`, parse, `parse error: /` + redact.Mask + `: is twice in its object`, ``},
		{`{}`, request, `invalid request: not a JSON-RPC 2.0 message: "jsonrpc" must be "2.0"`, ``},
		{`{"jsonrpc":["2.0"]}`, request, `invalid request: not a JSON-RPC 2.0 message: "jsonrpc" must be "2.0"`, ``},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, request, `invalid request: ` + wrongID, ``},
		{`{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}`, request, `invalid request: ` + wrongID, ``},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, request, `invalid request: an id that is neither a string nor an integer`, ``},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, request, `invalid request: the id of a request is null: send a string or a number`, ``},
		{`{"jsonrpc":"2.0","id":1}`, request, `invalid request: neither "method", "result" nor "error"`, `1`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, request, `invalid request: an error that is not a JSON-RPC 2.0 error`, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":["x"]}`, request, `invalid request: a method that is not a string`, `1`},
		{`{"jsonrpc":"2.0","id":1e0,"method":"ping","params":[7]}`, params, `invalid params: (root): is an array, expected an object`, `1e0`},
		{`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"catalog":7}}`, params, `invalid params: /catalog: is a number, expected a string`, `"a"`},
		{`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"a":"` + strings.Repeat("x", maxMeta) + `"}}}`, request, `invalid request: params._meta is larger than 65536 bytes`, `2`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientInfo + `":{"name":7}}}}`, params, `invalid params: /_meta/io.modelcontextprotocol~1clientInfo/name: is a number, expected a string`, `2`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","inputResponses":["a"]}}`, params, `invalid params: /inputResponses: is not an object of responses to input requests`, `2`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","inputResponses":{` + manyMembers + `}}}`, params, `invalid params: /inputResponses: has more than 256 responses`, `2`},
		{`{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{"taskId":"x","inputResponses":{` + manyMembers + `}}}`, params, `invalid params: /inputResponses: has more than 256 responses`, `2`},
	} {
		_, refused := CheckMessage([]byte(test.body), redact.Masker{})
		if refused == nil {
			t.Errorf("%.200s is accepted", test.body)
			continue
		}
		id := cmp.Or(test.id, "null")
		want := string(ErrorResponse(ID{JSON: id}, &jsonrpc.Error{Code: test.code, Message: test.message}))
		if got := string(refused.Response(redact.Masker{})); got != want || refused.Mute {
			t.Errorf("%.200s\ngot  %s, %v\nwant %s", test.body, got, refused.Mute, want)
		}
		before := 400
		if test.code == params {
			before = 200
		}
		if refused.Status("2026-07-28") != 400 || refused.Status("2025-11-25") != before {
			t.Errorf("%.200s: status %d, in sessions %d", test.body, refused.Status("2026-07-28"),
				refused.Status("2025-11-25"))
		}
	}
}

const wrongID = "an id that is not an integer of 64 bits: send a string, or a smaller number"

func TestNotificationsHaveNoErrors(t *testing.T) {
	_, refused := CheckMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"x"}}`), redact.Masker{})
	if refused == nil || !refused.Mute {
		t.Errorf("%+v", refused)
	}
}

// A message of an unknown method keeps nothing but its id and its _meta. Its method has no secret.
func TestMessagesOfUnknownMethodsAreBare(t *testing.T) {
	for body, want := range map[string]Checked{
		`{"jsonrpc":"2.0","id":1,"method":"x\/y"}`: {Method: "x/y"},
		`{"jsonrpc":"2.0","id":1,"method":"x\/y","params":{"_meta": {"a":1}, "pin":2}}`: {Method: "x/y",
			Meta: map[string]any{"a": 1.0}},
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"a":1e309},"pin":2}}`: {Method: "x"},
		`{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}`:                           {Method: "x"},
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":[1]}}`:                 {Method: "x"},
		`{"jsonrpc":"2.0","id":1,"method":"` + ghp + `"}`:                              {Method: redact.Mask},
	} {
		want.ID, _ = IDOf(decode.Value(`1`))
		got, refused := CheckMessage([]byte(body), redact.Masker{})
		if refused != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %+v, want %+v", body, got, refused, want)
		}
	}
}

// A byte order mark is no part of a message.
func TestByteOrderMarkIsLeftOut(t *testing.T) {
	got, refused := CheckMessage([]byte("\xef\xbb\xbf"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
		redact.Masker{})
	if refused != nil || got.Method != "ping" {
		t.Errorf("%+v %+v", got, refused)
	}
}

func TestResponses(t *testing.T) {
	got, refused := CheckMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`), redact.Masker{})
	if refused != nil || got.Method != "" || string(got.Result) != `{"a":1}` || got.Err != nil {
		t.Errorf("%+v %+v", got, refused)
	}
	got, refused = CheckMessage([]byte(
		`{"jsonrpc":"2.0","id":1,"method":null,"error":{"code":1,"message":"x"}}`), redact.Masker{})
	if refused != nil || got.Method != "" || got.Err == nil || got.Err.Message != "x" {
		t.Errorf("%+v %+v", got, refused)
	}
}

func TestAMalformedCancellationCancelsNothing(t *testing.T) {
	for params, want := range map[string]string{
		`{"requestId":7}`:  "7",
		`{"requestId":[]}`: "",
		`7`:                "",
		`{"requestId":7,"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` +
			mcp.MetaKeyClientInfo + `":7}}`: "",
	} {
		c, refused := CheckMessage([]byte(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+`}`), redact.Masker{})
		if refused != nil || c.Cancels.Key != want {
			t.Errorf("%s: cancels %q, refused: %v", params, c.Cancels.Key, refused)
		}
	}
}
