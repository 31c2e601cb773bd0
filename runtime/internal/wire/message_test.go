package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

const ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func TestMessagesThatTwoReadersCouldUnderstandDifferentlyAreRefused(t *testing.T) {
	const (
		idWords     = `"id":null,"jsonrpc":"2.0"}`
		parseWords  = `{"error":{"code":-32700,"message":"parse error: `
		refuseWords = `{"error":{"code":-32600,"message":"invalid request: `
	)
	for body, want := range map[string]string{
		"\xef\xbb\xbf" + `{"jsonrpc":"2.0"}`: parseWords + `a byte order mark"},` + idWords,
		``:                                   parseWords + `(root): is not JSON: the text ends where a value is expected"},` + idWords,
		`[{"a":1}`:                           parseWords + `/1: is not JSON: the text ends where ',' or ']' is expected"},` + idWords,
		`[]`:                                 refuseWords + `batches are not accepted"},` + idWords,
		`7`:                                  refuseWords + `not an object"},` + idWords,
		`{"jsonrpc":"2.0","jsonrpc":"2"}`:    parseWords + `/jsonrpc: is twice in its object"},` + idWords,
		`{"` + ghp + `":1,"` + ghp + `":2}`:  parseWords + `/` + redact.Mask + `: is twice in its object"},` + idWords,
		`{}`:                                 refuseWords + `not a JSON-RPC 2.0 message"},` + idWords,
		`{"jsonrpc":["2.0"]}`:                refuseWords + `not a JSON-RPC 2.0 message"},` + idWords,
		`{"jsonrpc":"2.0","id":1.5}`:         refuseWords + `an id that is neither a string nor an integer of at most 53 bits"},` + idWords,
		`{"jsonrpc":"2.0","id":9007199254740992}`:                                 refuseWords + `an id that is neither a string nor an integer of at most 53 bits"},` + idWords,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`:                           refuseWords + `an error that is not a JSON-RPC 2.0 error"},` + idWords,
		`{"jsonrpc":"2.0","id":1,"method":["x"]}`:                                 refuseWords + `a method that is not a string"},` + idWords,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[7]}`:                   `{"error":{"code":-32602,"message":"invalid params: (root): is an array, expected an object"},"id":1,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"catalog":7}}`: `{"error":{"code":-32602,"message":"invalid params: /catalog: is a number, expected a string"},"id":"a","jsonrpc":"2.0"}`,
	} {
		_, refused := CheckMessage([]byte(body), redact.Masker{})
		if refused == nil {
			t.Errorf("%s is accepted", body)
			continue
		}
		if got := string(refused.Response(redact.Masker{})); got != want || refused.Mute {
			t.Errorf("%s\ngot  %s, %v\nwant %s", body, got, refused.Mute, want)
		}
		status, before := refused.Status("2026-07-28"), refused.Status("2025-11-25")
		if known := !strings.Contains(want, `"id":null`); status != 400 || (before == 200) != known || !known && before != 400 {
			t.Errorf("%s: status %d, in sessions %d", body, status, before)
		}
	}
}

func TestNotificationsHaveNoErrors(t *testing.T) {
	for _, id := range []string{``, `"id":null,`} {
		_, refused := CheckMessage([]byte(`{"jsonrpc":"2.0",`+id+`"method":"notifications/progress","params":{"progress":"x"}}`), redact.Masker{})
		if refused == nil || !refused.Mute {
			t.Errorf("%s: %+v", id, refused)
		}
	}
}

func TestMessagesOfUnknownMethodsArePassedOnBare(t *testing.T) {
	for body, want := range map[string]string{
		// as it is
		`{"jsonrpc":"2.0","id":1,"method":"x\/y"}`:                                         ``,
		`{"jsonrpc":"2.0","id":1,"method":"x\/y","params":{"_meta": {"a":1}, "pin":2}}`:    `{"id":1,"jsonrpc":"2.0","method":"x/y","params":{"_meta":{"a":1}}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"a":1e309},"pin":2}}`:            `{"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}`:                             `{"id":"a","jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":"a","method":"x","params":{"_meta":[1]}}`:                   `{"id":"a","jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + ghp + `"}`:                                  `{"id":1,"jsonrpc":"2.0","method":"` + redact.Mask + `"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`:                                        ``,
		`{"jsonrpc":"2.0","id":1,"method":null,"error":{"code":1,"message":"x"}}`:          ``,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                                   ``,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","extra":[1]}}`: ``,
	} {
		if want == "" {
			want = body
		}
		got, refused := CheckMessage([]byte(body), redact.Masker{})
		if refused != nil || string(got.Body) != want {
			t.Errorf("%s: %s %+v, want %s", body, got.Body, refused, want)
		}
		var m struct{ Method string }
		if err := json.Unmarshal(got.Body, &m); err != nil || m.Method != got.Method {
			t.Errorf("%s: %q and %q: %v", body, m.Method, got.Method, err)
		}
	}
}
