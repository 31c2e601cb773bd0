package decode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

var values = []string{
	`{}`, `{ }`, `{"a":1}`, "{ \"a\" : [1, {\"b\":2}] ,\t\"\\u0062\":\"x\\ny\"\r}", `{"":null,"é":{"":""}}`,
	`{"a":"]},{\"","b":[["\\"],true],"c":-1.5e3}`,
	`[]`, `[ ]`, `[1]`, "[ null ,\t\"a,b\" , [2,[]],{\"a\":[]}\n]", `[1e999,"\ud83d\ude42"]`,
	`"x"`, `""`, `"\"\\\/\u00e9\n"`, `7`, `true`, `false`, `null`,
}

func TestValuesAreThoseOfEncodingJSON(t *testing.T) {
	for _, doc := range values {
		value := decode.Value(doc)
		members, items, text := map[string]json.RawMessage{}, []json.RawMessage{}, ""
		switch value.Type() {
		case "object":
			_ = json.Unmarshal([]byte(doc), &members)
		case "array":
			_ = json.Unmarshal([]byte(doc), &items)
		case "string":
			_ = json.Unmarshal([]byte(doc), &text)
		}
		gotMembers, gotItems := map[string]json.RawMessage{}, []json.RawMessage{}
		for name, member := range value.Members() {
			gotMembers[string(name)] = json.RawMessage(member)
			if got := value.Member(string(name)); string(got) != string(member) {
				t.Errorf("%s: member %s is %s, want %s", doc, name, got, member)
			}
		}
		for i, item := range value.Items() {
			if i != len(gotItems) {
				t.Errorf("%s: item %d has the index %d", doc, len(gotItems), i)
			}
			gotItems = append(gotItems, json.RawMessage(item))
		}
		if fmt.Sprintf("%q%q", gotMembers, gotItems) != fmt.Sprintf("%q%q", members, items) {
			t.Errorf("%s\ngot  %q %q\nwant %q %q", doc, gotMembers, gotItems, members, items)
		}
		if string(value.Text()) != text {
			t.Errorf("%s: text %q", doc, value.Text())
		}
		if value.Member("no such") != nil {
			t.Errorf("%s has a member that it has not", doc)
		}
	}
}

func TestTypesOfValuesAreThoseOfJSONSchema(t *testing.T) {
	for want, docs := range map[string]string{
		"object": `{}`, "array": `[]`, "string": `""`, "number": `0 -1 1.5`, "boolean": `true false`, "null": `null`,
	} {
		for doc := range strings.FieldsSeq(docs) {
			if got := decode.Value(doc).Type(); got != want {
				t.Errorf("%s is of type %s, want %s", doc, got, want)
			}
		}
	}
	if got := decode.Value(nil).Type(); got != "" {
		t.Errorf("an empty value is of type %s", got)
	}
}

func TestStepsEndWithTheLoop(t *testing.T) {
	for range decode.Value(`{"a":1,"b":2}`).Members() {
		break
	}
	for range decode.Value(`[1,2]`).Items() {
		break
	}
}

// Nobody should step through text that was not scanned. If it happens, nothing panics.
func FuzzSteppingThroughAnyTextEnds(f *testing.F) {
	for _, doc := range values {
		f.Add([]byte(doc))
		f.Add([]byte(doc[:len(doc)-1]))
	}
	f.Fuzz(func(_ *testing.T, doc []byte) {
		v := decode.Value(doc)
		v.Text()
		for range v.Members() {
		}
		for range v.Items() {
		}
	})
}
