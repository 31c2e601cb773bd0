package validator

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// parcel has one field of every kind that the contract parcelSchema can describe.
type parcel struct {
	ID       int               `json:"id"`
	Weight   *float64          `json:"weight,omitempty"`
	Small    int8              `json:"small,omitempty"`
	Count    uint64            `json:"count,omitempty"`
	Status   string            `json:"status,omitempty"`
	Code     string            `json:"code,omitempty"`
	At       *time.Time        `json:"at,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	Contents []parcel          `json:"contents,omitempty"`
	Maybe    *parcel           `json:"maybe,omitempty"`
	Fragile  bool              `json:"fragile,omitempty"`
	Extra    any               `json:"extra,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
}

const parcelSchema = `{"type":"object","required":["id"],"additionalProperties":false,"properties":{
	"id":{"type":"integer"},
	"weight":{"type":"number","exclusiveMinimum":-2,"multipleOf":0.5},
	"small":{"type":"integer","minimum":-128,"maximum":127},
	"count":{"type":"integer","minimum":0},
	"status":{"type":"string","enum":["new","sent",""]},
	"code":{"type":"string","pattern":"^[a-z]*$","maxLength":4},
	"at":{"type":"string","format":"date-time"},
	"labels":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":2},
	"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":3},
	"contents":{"type":"array","items":{"$ref":"#"}},
	"maybe":{"oneOf":[{"$ref":"#"},{"type":"null"}]},
	"fragile":{"type":"boolean"},
	"extra":true,
	"raw":true}}`

var (
	anyNumber = rapid.SampledFrom([]string{
		"0", "-0", "1", "-1", "1.0", "1e2", "0.5", "-1.5", "127", "128", "-129", "1.5e1",
		"9223372036854775807", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "1e20", "1e400", "-1e-400", "0.1", "100e-2",
		"1e401",
	})
	anyString = rapid.SampledFrom([]string{
		`""`, `"new"`, `"sent"`, `"abc"`, `"abcde"`, `"ABC"`, `"é"`, `"\u0061"`, `"\ud83d\ude00"`,
		`"\ud800"`, `"<&>"`, `"1"`,
		`"2026-01-31T15:04:05Z"`, `"2026-01-31t15:04:05.5z"`, `"2026-13-31T15:04:05Z"`,
		`"2016-12-31T23:59:60Z"`,
	})
	anyName = rapid.SampledFrom([]string{`"id"`, `"ID"`, `"tags"`, `"Extra"`, `"a"`, `"\u0061"`,
		`"b"`, `"weight"`})
)

// anyValue is JSON text of any kind, and now and then none.
func anyValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 5
		if depth > 0 {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
		case 1, 2:
			return anyNumber.Draw(t, "number")
		case 3, 4:
			return anyString.Draw(t, "string")
		case 5:
			return rapid.SampledFrom([]string{"[]", "{}", "[1,1.0]", "nul", "[1,]", ""}).Draw(
				t, "odd")
		case 6:
			return "[" + strings.Join(rapid.SliceOfN(anyValue(depth-1), 0, 3).Draw(t, "items"),
				",") + "]"
		case 7:
			var members []string
			for range rapid.IntRange(0, 3).Draw(t, "size") {
				members = append(members, anyName.Draw(t, "name")+":"+
					anyValue(depth-1).Draw(t, "value"))
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		return anyParcel(depth-1).Draw(t, "parcel")
	})
}

// anyParcel is mostly what the schema wants, so that many documents are accepted.
func anyParcel(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		type member struct {
			name  string
			value *rapid.Generator[string]
		}
		likely := []member{
			{"weight", rapid.SampledFrom([]string{"0", "0.5", "-1.5", "1e2", "12.50"})},
			{"small", rapid.SampledFrom([]string{"1", "-128", "127.0", "1e1"})},
			{"count", rapid.SampledFrom([]string{
				"1", "18446744073709551615", "18446744073709551616", "2.0", "-0"})},
			{"status", rapid.SampledFrom([]string{`"new"`, `"s\u0065nt"`})},
			{"code", rapid.SampledFrom([]string{`"a"`, `"abcd"`})},
			{"at", rapid.SampledFrom([]string{
				`"2026-01-31T15:04:05Z"`, `"2026-01-31t15:04:05.5+01:00"`})},
			{"labels", rapid.SampledFrom([]string{`{"a":"x"}`, `{"id":"x","ID":"y"}`})},
			{"tags", rapid.SampledFrom([]string{`["a","b"]`, `["<"]`})},
			{"fragile", rapid.Just("true")},
			{"extra", rapid.SampledFrom([]string{
				`[1e2,{"A":null,"a":1.5}]`, `"<&>"`, `{"id":[]}`})},
			{"raw", rapid.SampledFrom([]string{`[1.0, {"b":null}]`, `"<&>"`, `1e400`})},
		}
		if depth > 0 {
			likely = append(likely,
				member{"contents", rapid.Map(
					anyParcel(depth-1), func(p string) string { return "[" + p + "]" })},
				member{"maybe", anyParcel(depth - 1)})
		}
		members := []string{`"id":` + rapid.SampledFrom([]string{
			"1", "2.0", "-3e1", "0", "9223372036854775807", "-9223372036854775809"}).Draw(t, "id")}
		for _, m := range likely {
			// The middle of the range, because rapid prefers its ends.
			switch n := rapid.IntRange(0, 99).Draw(t, m.name); {
			case n == 40:
				members = append(members, `"`+m.name+`":`+anyValue(depth).Draw(t, "odd"))
			case n > 40 && n < 60:
				members = append(members, `"`+m.name+`":`+m.value.Draw(t, "value"))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

// TestWhatIsAcceptedSurvives holds three laws: the schema accepts what the decoder accepts; the
// decoded value encodes to an equal document; and what the decoder refuses, the schema, Scan or a
// documented exception refuses as well.
func TestWhatIsAcceptedSurvives(t *testing.T) {
	decoder := decoderOf[parcel](parcelSchema)
	schema := plainSchema(t, parcelSchema)
	check := func(t *rapid.T, doc []byte) {
		value, err := decoder(doc)
		if err != nil {
			var e *decode.Error
			if !errors.As(err, &e) || len(e.Problems) == 0 {
				t.Fatalf("%s: %v", doc, err)
			}
			if decode.Scan(doc, decode.Limits{}) != nil || len(doc) == 0 {
				return
			}
			v, _ := tree(doc)
			if schema.Validate(v) == nil && !beyondGo(doc, e) {
				t.Fatalf("the schema accepts %s, the decoder does not: %v", doc, err)
			}
			return
		}
		v, err := tree(doc)
		if err != nil || schema.Validate(v) != nil {
			t.Fatalf("the decoder accepts %s, the schema does not", doc)
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tree(again)
		if err != nil || !equal(v, w) {
			t.Fatalf("%s became %s", doc, again)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for doc, accepted := range map[string]bool{`{"id":2.0,"tags":["<"]}`: true,
			`{"id":0.5}`: false} {
			check(t, []byte(doc))
			if _, err := decoder([]byte(doc)); (err == nil) != accepted {
				t.Fatalf("%s: %v", doc, err)
			}
		}
		for range 20 {
			check(t, []byte(rapid.OneOf(anyParcel(3), anyValue(3)).Draw(t, "doc")))
		}
	})
}

// beyondGo finds the documented exceptions: numbers that the Go type cannot hold and leap seconds.
func beyondGo(doc []byte, err *decode.Error) bool {
	others := slices.ContainsFunc(err.Problems, func(p decode.Problem) bool {
		return !strings.Contains(p.Message, "is beyond the range ")
	})
	return !others || strings.Contains(string(doc), "1e400") ||
		strings.Contains(string(doc), "23:59:60Z")
}

// plainSchema is the schema as its validator reads it, without anything of ours.
func plainSchema(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("test:///schema", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("test:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// equal compares documents by value: numbers as numbers, times as instants, and what omitempty
// leaves out as absent.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name := range a {
			if _, ok := b[name]; !ok && !zero(a[name]) {
				return false
			}
		}
		for name := range b {
			v, ok := a[name]
			if !ok || !equal(v, b[name]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	case string:
		b, ok := b.(string)
		return ok && (a == b || strings.EqualFold(a, b) && strings.HasPrefix(a, "2026-01-31t"))
	}
	return a == b
}

// zero is what omitempty leaves out at any kind of field.
func zero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return sameNumber(v, "0")
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// sameNumber compares exactly, or as float64 where the decoded value was one.
func sameNumber(a, b json.Number) bool {
	x, _ := new(big.Rat).SetString(a.String())
	y, _ := new(big.Rat).SetString(b.String())
	if x.Cmp(y) == 0 {
		return true
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	return f == g
}

// FuzzDecoderAnswersEveryDocument holds that no document makes a decoder panic, hang, answer with
// another error than *decode.Error or leave a half-filled value.
func FuzzDecoderAnswersEveryDocument(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"id":1}`, `{"id":1e400}`, `{"id":1e999999999}`, `{"id":1,"id":2}`,
		`{"id":"x","ID":1}`,
		`{"id":1.0,"contents":[{"id":2,"maybe":{"id":3,"at":"2026-01-31t15:04:05z"}}],"extra":[1e308,{"a":null}]}`,
		`{"id":1,"labels":{"a":"b"},"tags":["a","a"],"weight":0.25,"count":-0,"small":1e2}`,
		"{\"id\":1,\"code\":\"\xff\"}", `{"id":1,"code":"\ud800"}`, `[[[[[[`, `{"id":1,"raw":` +
			strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}`,
	} {
		f.Add([]byte(seed))
	}
	decoder := decoderOf[parcel](parcelSchema)
	f.Fuzz(func(t *testing.T, doc []byte) {
		value, err := decoder(doc)
		if err == nil {
			if _, err := json.Marshal(value); err != nil {
				t.Fatalf("%q: the value cannot be encoded: %v", doc, err)
			}
			return
		}
		var e *decode.Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: %v", doc, err)
		}
		if len(err.Error()) > decode.MaxProblems*8192 ||
			strings.ContainsAny(err.Error(), "\n\r\x1b") ||
			strings.Contains(err.Error(), location) {
			t.Fatalf("%q: an unfit message: %q", doc, err)
		}
		if b, _ := json.Marshal(value); string(b) != `{"id":0}` {
			t.Fatalf("%q: half filled: %s", doc, b)
		}
	})
}
