package validator

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// refusals decodes into any, so that what is tested is the schema alone.
func refusals(t *testing.T, schema, doc string) string {
	t.Helper()
	got, err := decoderOf[any](schema)(json.RawMessage(doc))
	if err == nil {
		return ""
	}
	if got != nil {
		t.Errorf("%s: a refused document left %v", doc, got)
	}
	var e *decode.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v, want a *decode.Error", doc, err)
	}
	return e.Error()
}

// withProperty is a schema of an object with one property.
func withProperty(name, schema string) string {
	return `{"type":"object","properties":{"` + name + `":` + schema + `}}`
}

func TestEveryKeywordRefusesInOurWords(t *testing.T) {
	for _, c := range []struct{ name, schema, doc, want string }{
		{"type string", withProperty("a", `{"type":"string"}`), `{"a":5}`, `/a: 5 is a number, expected a string`},
		{"type integer", withProperty("a", `{"type":"integer"}`), `{"a":1.5}`, `/a: 1.5 is not an integer`},
		{"type number", withProperty("a", `{"type":"number"}`), `{"a":true}`, `/a: true is a boolean, expected a number`},
		{"type boolean", withProperty("a", `{"type":"boolean"}`), `{"a":"yes"}`, `/a: "yes" is a string, expected a boolean`},
		{"type array", withProperty("a", `{"type":"array"}`), `{"a":{}}`, `/a: is an object, expected an array`},
		{"type object", withProperty("a", `{"type":"object"}`), `{"a":[]}`, `/a: is an array, expected an object`},
		{"type null", withProperty("a", `{"type":"null"}`), `{"a":0}`, `/a: 0 is a number, expected null`},
		{"types", withProperty("a", `{"type":["integer","null"]}`), `{"a":"x"}`, `/a: "x" is a string, expected null or an integer`},
		{"null is not absent", withProperty("a", `{"type":"string"}`), `{"a":null}`,
			`/a: is null, expected a string: omit it instead`},
		{"null of a required one", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":null}`, `/a: is null, expected a string`},
		{"null by reference",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"b":{"type":"string"},"c":{"type":"string"}},"required":["b"]}}}`,
			`{"a":{"b":null,"c":null}}`,
			`/a/b: is null, expected a string; /a/c: is null, expected a string: omit it instead`},
		{"null within a nullable", withProperty("a", `{"anyOf":[{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]},{"type":"null"}]}`), `{"a":{"b":null}}`, `/a/b: is null, expected a string`},
		{"null in a list", withProperty("a", `{"type":"array","items":{"type":"string"}}`), `{"a":[null]}`, `/a/0: is null, expected a string`},
		{"null in a map", withProperty("a", `{"type":"object","additionalProperties":{"type":"string"}}`), `{"a":{"b":null}}`, `/a/b: is null, expected a string`},
		{"null below a pattern",
			`{"type":"object","patternProperties":{"^a":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
			`{"a1":{"b":null},"a2":null}`,
			`/a1/b: is null, expected a string: omit it instead; /a2: is null, expected an object`},
		{"null of two types", withProperty("a", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`),
			`{"a":null}`, `/a: is null, expected a string or an integer: omit it instead`},
		{"null that another part requires", `{"allOf":[{"required":["a"]}],"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":null}`, `/a: is null, expected a string`},
		{"required", `{"type":"object","required":["a","b"]}`, `{"b":1}`, `/a: is required`},
		{"enum", withProperty("a", `{"enum":["red","green",3,null]}`), `{"a":"blue"}`, `/a: "blue" is not one of "red", "green", 3, null`},
		{"enum of one", withProperty("a", `{"enum":["red"]}`), `{"a":"blue"}`, `/a: "blue" is not "red"`},
		{"const", withProperty("a", `{"const":{"b":[1]}}`), `{"a":2}`, `/a: 2 is not {"b":[1]}`},
		{"minimum", withProperty("a", `{"minimum":1}`), `{"a":0.5}`, `/a: 0.5 is less than the minimum 1`},
		{"maximum", `{"properties":{"vlan":{"properties":{"id":{"maximum":4094}}}}}`, `{"vlan":{"id":5000}}`, `/vlan/id: 5000 is more than the maximum 4094`},
		{"maximum is exact", withProperty("a", `{"maximum":9223372036854775807}`), `{"a":9223372036854775808}`, `/a: 9223372036854775808 is more than the maximum 9223372036854775807`},
		{"exclusiveMinimum", withProperty("a", `{"exclusiveMinimum":0.25}`), `{"a":0.25}`, `/a: 0.25 is not more than 0.25`},
		{"exclusiveMaximum", withProperty("a", `{"exclusiveMaximum":10}`), `{"a":10.0}`, `/a: 10.0 is not less than 10`},
		{"multipleOf", withProperty("a", `{"multipleOf":0.1}`), `{"a":0.35}`, `/a: 0.35 is not a multiple of 0.1`},
		{"minLength", withProperty("a", `{"minLength":3}`), `{"a":"éé"}`, `/a: "éé" has 2 characters, fewer than the minimum 3`},
		{"maxLength", withProperty("a", `{"maxLength":0}`), `{"a":"é"}`, `/a: "é" has 1 character, more than the maximum 0`},
		{"pattern", withProperty("a", `{"pattern":"^[a-z]+$"}`), `{"a":"X"}`, `/a: "X" does not match the pattern ^[a-z]+$`},
		{"format", withProperty("a", `{"format":"email"}`), `{"a":"nobody"}`,
			`/a: "nobody" is not a valid email, for example name@example.com`},
		{"format without example", withProperty("a", `{"format":"uri-reference"}`), `{"a":"a\\\\b"}`, `/a: "a\\\\b" is not a valid uri-reference`},
		{"format regex", withProperty("a", `{"format":"regex"}`), `{"a":"("}`, `/a: "(" is not a valid regular expression (RE2 syntax, at most 4096 bytes)`},
		{"minItems", withProperty("a", `{"minItems":1}`), `{"a":[]}`, `/a: has 0 items, fewer than the minimum 1`},
		{"maxItems", withProperty("a", `{"maxItems":1}`), `{"a":[1,2]}`, `/a: has 2 items, more than the maximum 1`},
		{"uniqueItems", withProperty("a", `{"uniqueItems":true}`), `{"a":[1,"x",1.0]}`, `/a: has equal items at 0 and 2, which must differ`},
		{"items", withProperty("a", `{"items":{"type":"string"}}`), `{"a":["x",1]}`, `/a/1: 1 is a number, expected a string`},
		{"prefixItems", withProperty("a", `{"prefixItems":[{"type":"string"}],"items":false}`), `{"a":["x",1]}`, `/a/1: 1 is not allowed here`},
		{"contains", withProperty("a", `{"contains":{"const":1}}`), `{"a":[2]}`,
			`/a: has no item that matches contains`},
		{"minContains", withProperty("a", `{"contains":{"const":1},"minContains":2}`), `{"a":[1]}`,
			`/a: has 1 item that match contains, fewer than the minimum 2`},
		{"maxContains", withProperty("a", `{"contains":{"const":1},"maxContains":1}`), `{"a":[1,1]}`,
			`/a: has 2 items that match contains, more than the maximum 1`},
		{"minProperties", `{"minProperties":1}`, `{}`, `(root): has 0 properties, fewer than the minimum 1`},
		{"maxProperties", `{"maxProperties":1}`, `{"a":1,"b":2}`, `(root): has 2 properties, more than the maximum 1`},
		{"additionalProperties", `{"properties":{"name":{}},"additionalProperties":false}`, `{"other":1}`, `/other: unknown property`},
		{"additionalProperties, nearly", `{"properties":{"name":{},"namf":{},"size":{}},"additionalProperties":false}`, `{"Nane":1}`, `/Nane: unknown property, did you mean "name"?`},
		{"additionalProperties, not nearly", `{"properties":{"name":{}},"additionalProperties":false}`, `{"nothing":1}`, `/nothing: unknown property`},
		{"additionalProperties, two as near", `{"properties":{"cats":{},"bats":{}},"additionalProperties":false}`, `{"rats":1}`, `/rats: unknown property, did you mean "bats"?`},
		{"additionalProperties with a schema", `{"additionalProperties":{"type":"string"}}`, `{"a":1}`, `/a: 1 is a number, expected a string`},
		{"patternProperties", `{"patternProperties":{"^x":{"type":"string"}}}`, `{"x1":1}`, `/x1: 1 is a number, expected a string`},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `/b: unknown property`},
		{"properties: false", withProperty("a", `false`), `{"a":1}`, `/a: 1 is not allowed here`},
		{"propertyNames", `{"propertyNames":{"maxLength":2,"pattern":"^a"}}`, `{"a":1,"bbb":1}`,
			`/bbb: is not a valid name: it does not match the pattern ^a; /bbb: is not a valid name: ` +
				`it has 3 characters, more than the maximum 2`},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: is required with "a"`},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, `/b: is required`},
		{"not", withProperty("a", `{"not":{"type":"string"}}`), `{"a":"x"}`,
			`/a: "x" matches a schema that is not allowed`},
		{"allOf", withProperty("a", `{"allOf":[{"minimum":3},{"multipleOf":2}]}`), `{"a":1}`, `/a: 1 is less than the minimum 3; /a: 1 is not a multiple of 2`},
		{"if then", withProperty("a", `{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`), `{"a":1}`, `/a: 1 is less than the minimum 2`},
		{"anyOf of types", withProperty("a", `{"anyOf":[{"type":"string"},{"type":"array"}]}`), `{"a":1}`, `/a: 1 is a number, expected a string or an array`},
		{"anyOf, one meant", withProperty("a", `{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`), `{"a":"x"}`, `/a: "x" has 1 character, fewer than the minimum 2`},
		{"anyOf, unclear", withProperty("a", `{"anyOf":[{"minLength":2},{"pattern":"y"}]}`), `{"a":"x"}`,
			`/a: "x" matches none of the schemas that are allowed`},
		{"oneOf, told apart by a constant", withProperty("a", `{"oneOf":[{"properties":{"kind":{"const":"x"},"n":{"minimum":1}}},{"properties":{"kind":{"const":"y"},"n":{"minimum":5}}}]}`), `{"a":{"kind":"y","n":2}}`, `/a/n: 2 is less than the minimum 5`},
		{"oneOf, told apart by an enum of one", withProperty("a", `{"oneOf":[{"properties":{"kind":{"enum":["x"]},"n":{"minimum":1}}},{"properties":{"kind":{"enum":["y"]},"n":{"minimum":5}}}]}`), `{"a":{"kind":"x","n":0}}`, `/a/n: 0 is less than the minimum 1`},
		{"oneOf, a false form", withProperty("a", `{"oneOf":[false,{"minimum":5}]}`), `{"a":1}`, `/a: 1 is less than the minimum 5`},
		{"anyOf of an enum and a type", withProperty("a", `{"anyOf":[{"enum":["x"]},{"type":"integer","minimum":5}]}`), `{"a":1}`, `/a: 1 is less than the minimum 5`},
		{"anyOf, unclear, of objects",
			withProperty("a", `{"anyOf":[{"required":["x"]},{"required":["y"]}]}`), `{"a":{}}`,
			`/a: matches none of the schemas that are allowed`},
		{"oneOf, two fit", withProperty("a", `{"oneOf":[{"minimum":1},{"maximum":5}]}`), `{"a":3}`,
			`/a: 3 matches more than one schema, but must match exactly one`},
		{"$ref", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, `{"a":1}`, `/a: 1 is a number, expected a string`},
		{"$ref to a cycle", `{"properties":{"a":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"a":{"a":{"n":"x"}}}`, `/a/a/n: "x" is a string, expected an integer`},
		{"$ref to itself", `{"$ref":"#"}`, `{}`, `(root): does not match the schema`},
		{"enum of many", withProperty("a", `{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]}`), `{"a":0}`, `/a: 0 is not one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and 2 more`},
		{"propertyNames is about objects", withProperty("a", `{"propertyNames":{"maxLength":1},"type":"string","maxLength":1}`), `{"a":"xy"}`, `/a: "xy" has 2 characters, more than the maximum 1`},
		{"propertyNames within a list",
			withProperty("a",
				`{"items":{"propertyNames":{"maxLength":1},"properties":{"x":{"type":"string"}}}}`),
			`{"a":[{"bb":1},{"x":1},{}]}`, `/a/0/bb: is not a valid name: it has 2 characters, more than ` +
				`the maximum 1; /a/1/x: 1 is a number, expected a string`},
		{"a secret", withProperty("api_key", `{"type":"string","pattern":"^sk-"}`), `{"api_key":"hunter2"}`, `/api_key: does not match the pattern ^sk-`},
		{"within a secret", withProperty("credentials", `{"items":{"type":"integer"}}`), `{"credentials":["hunter2"]}`, `/credentials/0: is a string, expected an integer`},
		{"a secret with an unknown form", `{"properties":{"x":{}},"additionalProperties":false}`, `{"y":"hunter2"}`, `/y: unknown property`},
		{"a long value", withProperty("a", `{"maxLength":5}`), `{"a":"` + strings.Repeat("x", 1000) + `"}`, `/a: "` + strings.Repeat("x", 63) + `…" (1002 bytes) has 1000 characters, more than the maximum 5`},
		{"a long name", `{"additionalProperties":false}`, `{"` + strings.Repeat("x", 1000) + `":1}`, `/` + strings.Repeat("x", 64) + `…: unknown property`},
		{"escaped names", withProperty("a/b~", `{"type":"string"}`), `{"a/b~":1}`, `/a~1b~0: 1 is a number, expected a string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := refusals(t, c.schema, c.doc); got != c.want {
				t.Errorf("%s against %s\n got %s\nwant %s", c.doc, c.schema, got, c.want)
			}
		})
	}
}

func TestEveryProblemIsReportedInOrder(t *testing.T) {
	schema := `{"type":"object","required":["name","size"],"additionalProperties":false,"properties":{
		"name":{"type":"string"},"size":{"type":"integer","minimum":1},"list":{"items":{"type":"integer"}}}}`
	doc := `{"size":0,"list":["b",1,2,3,4,5,6,7,8,9,"k"],"extra":1,"another":2}`
	want := `/another: unknown property; /extra: unknown property; /list/0: "b" is a string, expected an integer; ` +
		`/list/10: "k" is a string, expected an integer; /name: is required; /size: 0 is less than the minimum 1`
	for range 20 {
		if got := refusals(t, schema, doc); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	}
}

func TestNoArgumentsAreTheEmptyObjectAndNullIsNot(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	decoder := decoderOf[in](withProperty("n", `{"type":"integer","default":7}`))
	for _, doc := range []json.RawMessage{nil, {}, json.RawMessage("{}")} {
		if got, err := decoder(doc); err != nil || got.N != 7 {
			t.Errorf("%q: got %v, %v", doc, got, err)
		}
	}
	for doc, want := range map[string]string{
		"null": "(root): is null, expected an object",
		"[]":   "(root): is an array, expected an object",
		`"x"`:  `(root): "x" is a string, expected an object`,
		"":     "",
		" ":    "(root): is not JSON: the text ends where a value is expected",
	} {
		if got := refusals(t, `true`, doc); got != want {
			t.Errorf("%s: got %s, want %s", doc, got, want)
		}
	}
}

func TestASchemaThatCannotBeUsedIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"not JSON":            {`{`, "not JSON"},
		"not a schema":        {`{"type":"text"}`, "cannot be used"},
		"pattern":             {`{"pattern":"(?=a)"}`, "cannot be used"},
		"reference to a file": {`{"$ref":"file:///etc/passwd"}`, "refer to other documents"},
		"reference to a host": {`{"$ref":"https://example.com/schema"}`, "refer to other documents"},
		"another draft":       {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, "not of draft 2020-12"},
		"broken default":      {withProperty("n", `{"type":"integer","default":"x"}`), "the default at #/properties/n does not match its schema"},
	} {
		decoder := decoderOf[any](c.schema)
		for range 2 {
			_, err := decoder(json.RawMessage(`{}`))
			var e *decode.Error
			if err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		}
	}
}

func TestAnAcceptedDocumentFillsTheValue(t *testing.T) {
	type item struct {
		Name string   `json:"name"`
		Tags []string `json:"tags,omitempty"`
	}
	type in struct {
		ID    int             `json:"id"`
		Ratio float64         `json:"ratio"`
		Items []item          `json:"items"`
		Raw   json.RawMessage `json:"raw"`
		Any   any             `json:"any"`
	}
	doc := `{"id":3,"ratio":0.5,"items":[{"name":"<a>","tags":["x"]}],"raw":{"b": 1},"any":[1,null]}`
	got, err := decoderOf[in](`{"type":"object"}`)(json.RawMessage(doc))
	want := in{3, 0.5, []item{{"<a>", []string{"x"}}}, json.RawMessage(`{"b": 1}`), []any{1.0, nil}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// decoderOf returns Decode with a schema.
func decoderOf[T any](schema string) func(json.RawMessage) (T, error) {
	return func(arguments json.RawMessage) (T, error) { return Decode[T](arguments, schema) }
}
