package decode_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// looseSchema has every type, nested and by reference. path stays strict.
const looseSchema = `{"type":"object","additionalProperties":false,"required":["n"],"properties":{
	"n":{"type":"integer"},"f":{"type":["number","null"]},
	"b":{"type":"boolean"},"s":{"type":"string"},
	"ids":{"type":"array","items":{"type":"integer"}},"grid":{"type":"array","items":{"type":"array",
	"items":{"type":"integer"}}},"maybe":{"anyOf":[{"type":"boolean"},{"type":"null"}]},
	"either":{"anyOf":[{"type":"integer"},{"type":"array"}]},
	"odd":{"anyOf":[{"type":["integer","null"]},{"type":"array"}]},
	"two":{"type":["boolean","integer"]},"any":{},"tree":{"$ref":"#/$defs/t"},
	"by_id":{"type":"object","additionalProperties":false,
	"patternProperties":{"^[0-9]+$":{"type":"boolean"}}},
	"by_name":{"type":"object","additionalProperties":{"type":"integer"}},
	"open":{"type":"object","properties":{"n":{"type":"integer"}}},
	"region":{"type":"integer","x-mcp-header":"Region"},
	"path":{"type":"array","items":{"type":"integer"}}},
	"$defs":{"t":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"},
	"next":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}}}}}`

func loose(t testing.TB) *decode.Lenient {
	t.Helper()
	l, err := decode.ParseLenient(looseSchema, "path")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLenientCoercions(t *testing.T) {
	l := loose(t)
	for _, test := range []struct{ doc, want, done string }{
		{`{"n":"5","f":"1.5","b":"true"}`, `{"n":5,"f":1.5,"b":true}`, "2 1 0 0 0"},
		{`{"b":"false","n":"\u0035"}`, `{"b":false,"n":5}`, "1 1 0 0 0"},
		{`{"n":1,"ids":"7"}`, `{"n":1,"ids":[7]}`, "1 0 1 0 0"},
		{`{"n":1,"ids":["7",8]}`, `{"n":1,"ids":[7,8]}`, "1 0 0 0 0"},
		{`{"n":1,"ids":null,"s":null,"b":null}`, `{"n":1}`, "0 0 0 3 0"},
		{`{"s":null,"x":1,"n":1,"y":2}`, `{"n":1}`, "0 0 0 1 2"},
		{`{ "x" : {"x":[]} , "n" : 1 }`, `{ "n" : 1 }`, "0 0 0 0 1"},
		{`{"n":1,"maybe":"true","two":"5"}`, `{"n":1,"maybe":true,"two":"5"}`, "0 1 0 0 0"},
		{`{"n":1,"tree":{"x":1,"next":{"n":"2","next":{"x":1,"n":"3","next":null}}}}`,
			`{"n":1,"tree":{"next":{"n":2,"next":{"n":3,"next":null}}}}`, "2 0 0 0 2"},
		{`{"n":1,"by_id":{"1":"true","x":"true"},"by_name":{"x":"1","y":null}}`,
			`{"n":1,"by_id":{"1":true,"x":true},"by_name":{"x":1,"y":null}}`, "1 2 0 0 0"},
		{`{"n":1,"open":{"n":"1","x":"1"}}`, `{"n":1,"open":{"n":1,"x":"1"}}`, "1 0 0 0 0"},
		// No coercion: the schema accepts the value, or refuses it still.
		{`{"n":null,"f":null,"maybe":null,"any":null}`, "", ""},
		{`{"n":1,"s":5,"any":"5","either":"5","odd":5}`, "", ""},
		{`{"n":1,"grid":1}`, "", ""},
		{`{"n":1,"grid":[1,"2"]}`, "", ""},
		{`{"n":true,"b":1,"tree":"{}"}`, "", ""},
		// What a decision depends on, and what no reader may take.
		{`{"n":1,"path":"1"}`, "", ""},
		{`{"n":1,"path":null,"region":null}`, "", ""},
		{`{"n":1,"path":["1"],"region":"1"}`, "", ""},
		{`{"n":"1","x":1,"x":2}`, "", ""},
		{`{"n":"1","s":null,"s":null}`, "", ""},
		{`{"n":"1","x":{"a":1,"a":1}}`, "", ""},
		{`{"n":"1"} 1`, "", ""},
		{`{"n":"1"`, "", ""},
		{`{"n" "1"}`, "", ""},
		{`["n"]`, "", ""},
	} {
		before := strings.Clone(test.doc)
		got, done := l.Coerce([]byte(test.doc), nil)
		if test.want == "" {
			test.want, test.done = test.doc, "0 0 0 0 0"
		}
		if string(got) != test.want || counts(done) != test.done || before != test.doc {
			t.Errorf("%s\n got %s, %s\nwant %s, %s", test.doc, got, counts(done), test.want,
				test.done)
		}
	}
}

func counts(c decode.Coercions) string {
	text, _ := json.Marshal([]int{c.Numbers, c.Booleans, c.Lists, c.Nulls, c.Unknown})
	return strings.ReplaceAll(strings.Trim(string(text), "[]"), ",", " ")
}

// The table of the documentation: which contents of a string become an integer or a number.
func TestLenientNumbersAreJSONNumbers(t *testing.T) {
	l := loose(t)
	read := func(r *decode.Reader, v *struct {
		n int64
		f float64
	}) {
		for o := r.Object(0, "n", "f"); o.Next(); {
			if o.Property == 0 {
				decode.Int(r, &v.n, -1<<63, 1<<63-1)
			} else {
				decode.Float(r, &v.f)
			}
		}
	}
	for _, test := range []struct {
		text            string
		integer, number bool
	}{
		{"5", true, true}, {"-5", true, true}, {"0", true, true}, {"-0", true, true},
		{"5.0", true, true}, {"1e3", true, true}, {"1E+3", true, true}, {"1.5e1", true, true},
		{"1.5", false, true}, {"1e-3", false, true},
		{"9223372036854775807", true, true}, {"9223372036854775808", false, true},
		{"1e308", false, true}, {"1e309", false, false}, {"1e400", false, false},
		{"1e401", false, false}, {"1e999999999", false, false}, {"1e-400", false, true},
		{strings.Repeat("1", 801), false, false},
		{"", false, false}, {" 5", false, false}, {"5 ", false, false}, {"5\n", false, false},
		{"+5", false, false}, {"05", false, false}, {"-05", false, false}, {"00", false, false},
		{"0x10", false, false}, {"0b1", false, false}, {"1_000", false, false},
		{"1,000", false, false}, {".5", false, false}, {"5.", false, false}, {"5e", false, false},
		{"-", false, false}, {"NaN", false, false}, {"Infinity", false, false},
		{"-Infinity", false, false}, {"5 6", false, false}, {"5\x00", false, false},
		{"٥", false, false}, {"null", false, false}, {"true", false, false}, {"[5]", false, false},
	} {
		for name, want := range map[string]bool{"n": test.integer, "f": test.number} {
			quoted, _ := json.Marshal(map[string]string{name: test.text})
			text, _ := l.Coerce(quoted, nil)
			got, err := decode.Arguments(text, read)
			if (err == nil) != want {
				t.Errorf("%s: accepted %v, want %v: %v", quoted, err == nil, want, err)
				continue
			}
			if !want {
				continue
			}
			strict, err := decode.Arguments([]byte(`{"`+name+`":`+test.text+`}`), read)
			if err != nil || got != strict {
				t.Errorf("%s is %+v, and the number is %+v, %v", quoted, got, strict, err)
			}
		}
	}
	for _, text := range []string{"", "TRUE", "True", "true ", "1", "yes", "on", "null"} {
		quoted, _ := json.Marshal(map[string]any{"n": 1, "b": text})
		if got, done := l.Coerce(quoted, nil); string(got) != string(quoted) {
			t.Errorf("%q became a boolean: %s, %+v", text, got, done)
		}
	}
}

// FuzzLenient checks what has to hold for every text: a text that Scan refuses stays as it is, a
// second run changes nothing, strict arguments are not touched, and the result is JSON.
func FuzzLenient(f *testing.F) {
	for _, doc := range []string{
		`{"n":"5","ids":"7","s":null,"x":1,"path":"1"}`, `{"x":1,"y":2}`, `{"n":1,"n":"1"}`,
		`{"tree":{"next":{"next":null,"n":"1"}}}`, `{"ids":{"a":["b"]}}`, `{"f":"1e9"}`, `[`, ``,
	} {
		f.Add([]byte(doc))
	}
	l := loose(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := string(doc)
		got, done := l.Coerce(doc, nil)
		if string(doc) != before {
			t.Fatalf("%q became %q in its place", before, doc)
		}
		if decode.Scan(doc, decode.Limits{}) != nil || done == (decode.Coercions{}) {
			if string(got) != before || done != (decode.Coercions{}) {
				t.Fatalf("%q became %q, %+v", doc, got, done)
			}
			return
		}
		if err := decode.Scan(got, decode.Limits{Bytes: 2 * decode.DefaultBytes}); err != nil &&
			!strings.Contains(err.Error(), "maximum") {
			t.Fatalf("%q became %q: %v", doc, got, err)
		}
		if again, more := l.Coerce(got, nil); string(again) != string(got) {
			t.Fatalf("%q became %q, then %q, %+v", doc, got, again, more)
		}
		for _, name := range []string{"path", "region", "any", "either", "s"} {
			was := decode.Value(strings.TrimSpace(before)).Member(name)
			is, dropped := decode.Value(got).Member(name), name == "s" && was.Type() == "null"
			if !dropped && !reflect.DeepEqual(was, is) {
				t.Fatalf("%s of %q became %q", name, was, is)
			}
		}
	})
}
