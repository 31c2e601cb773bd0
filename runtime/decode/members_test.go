package decode_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

func TestMembersAreThoseOfEncodingJSON(t *testing.T) {
	for _, doc := range []string{
		`{}`, ` { } `, `{"a":1}`, "\n{ \"a\" : [1, {\"b\":2}] ,\t\"\\u0062\":\"x\\ny\"\r}", `{"":null,"é":{"":""}}`,
	} {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(doc), &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		if err := decode.Members([]byte(doc), decode.Limits{}, func(name, value []byte) { got[string(name)] = value }); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s\ngot  %q\nwant %q", doc, got, want)
		}
	}
}

func TestMembersRefusesWhatIsNoObject(t *testing.T) {
	for _, doc := range []string{``, `null`, `[]`, `"x"`, `{`, `{"a"}`, `{"a":}`, `{"a":1,"a":2}`, `{"a":1}x`, `{"a":1,}`, "{\"a\":\"\xff\"}"} {
		err := decode.Members([]byte(doc), decode.Limits{}, func(_, _ []byte) {})
		if err == nil {
			t.Errorf("%s is taken for an object", doc)
		} else if broken := decode.Scan([]byte(doc), decode.Limits{}); broken != nil &&
			broken.Error() != err.Error() {
			t.Errorf("%s: %v, want %v", doc, err, broken)
		}
	}
}
