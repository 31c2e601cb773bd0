package toollist

import (
	"encoding/json"
	"strings"
	"testing"
)

const orderSchema = `{"type":"object","properties":{
	"text":{"type":"string"},
	"count":{"type":"integer"},
	"price":{"type":"number"},
	"urgent":{"type":"boolean"},
	"maybe":{"type":["null","integer"]},
	"either":{"anyOf":[{"type":"boolean"},{"type":"null"}]},
	"words":{"type":"array","items":{"type":"string"}},
	"counts":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/Count"}},{"type":"null"}]},
	"anything":{},
	"place":{"$ref":"#/$defs/Place"},
	"loop":{"$ref":"#/$defs/Loop"}},
	"$defs":{"Count":{"type":"integer"},"Place":{"type":"object"},"Loop":{"$ref":"#/$defs/Loop"}}}`

func TestArgumentsHaveTheTypesOfTheSchema(t *testing.T) {
	for _, test := range []struct{ words, want, err string }{
		{"text=12", `{"text":"12"}`, ""},
		{"text=", `{"text":""}`, ""},
		{"text=a=b", `{"text":"a=b"}`, ""},
		{"text:=12", `{"text":12}`, ""},
		{"count=9007199254740993", `{"count":9007199254740993}`, ""},
		{"count=1.5", "", `argument count: "1.5" is not of type integer`},
		{"count=1 count=2", "", "argument count: it is written twice"},
		{"count:=1 count=2", "", "argument count: it is written twice"},
		{"price=1 urgent=true", `{"price":1,"urgent":true}`, ""},
		{"price=true", "", `argument price: "true" is not of type number`},
		{"urgent=yes", "", `argument urgent: "yes" is not of type boolean`},
		{"maybe=null either=null", `{"either":null,"maybe":null}`, ""},
		{"maybe=x", "", `argument maybe: "x" is not of type integer or null`},
		{"words=1 words=b", `{"words":["1","b"]}`, ""},
		{"words:=[]", `{"words":[]}`, ""},
		{"counts=1 counts=2", `{"counts":[1,2]}`, ""},
		{"counts=x", "", `argument counts: "x" is not of type integer`},
		{"counts:=null counts=1", "", "argument counts: it is written twice"},
		{"anything=1 loop=1", `{"anything":"1","loop":"1"}`, ""},
		{`place={"row":1}`, `{"place":{"row":1}}`, ""},
		{`place={"row"`, "", `argument place: "{\"row\"" is not of type object`},
		{"other:=[1]", `{"other":[1]}`, ""},
		{"other:=[1", "", `argument other: "[1" is not JSON`},
		{"other=1", "", `the schema has no argument "other": write one of anything, count, `},
		{"text", "", `"text" is neither key=value nor key:=JSON`},
		{"=x", "", `"=x" is neither key=value nor key:=JSON`},
	} {
		arguments, err := Arguments(json.RawMessage(orderSchema), strings.Fields(test.words))
		if test.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", test.words, err, test.err)
			}
			continue
		}
		got, encodeErr := json.Marshal(arguments)
		if err != nil || encodeErr != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, %v, want %s", test.words, got, err, encodeErr, test.want)
		}
	}
	if _, err := Arguments(nil, []string{"a=1"}); err == nil ||
		!strings.Contains(err.Error(), "write one of none, or a:=JSON") {
		t.Errorf("without a schema: %v", err)
	}
	hostile := json.RawMessage(`{"properties":{"a":{"type":"\u001b]0;x\u0007"}}}`)
	if _, err := Arguments(hostile, []string{"a=1"}); err == nil ||
		strings.ContainsAny(err.Error(), "\x1b\x07") {
		t.Errorf("a terminal would interpret %q", err)
	}
}

func TestUsageNamesEachArgument(t *testing.T) {
	got := Tool{InputSchema: json.RawMessage(orderSchema)}.Usage()
	const want = "anything=any count=integer counts=array|null either=boolean|null loop=any " +
		"maybe=integer|null place=object price=number text=string urgent=boolean words=array"
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestPrintableEscapesWhatATerminalInterprets(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc": "a\tb\nc", `C:\x "ü" 🙂`: `C:\x "ü" 🙂`, "\x1b[2J\r": `\u001b[2J\u000d`,
		"\u202e\u009b": `\u202e\u009b`, "\U000e0041": `\udb40\udc41`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
