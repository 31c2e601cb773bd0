package decode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

func TestNullsAreNormalizedBySchema(t *testing.T) {
	const list = `{"type":"array","items":{"type":"string"}}`
	for _, test := range []struct{ name, schema, doc, want string }{
		{"an array", list, `null`, `[]`},
		{"an object", `{"type":"object"}`, `null`, `{}`},
		{"an object with optional properties", `{"type":"object","properties":{"a":{"type":"string"}}}`, `null`, `{}`},
		{"an object that cannot be made up", `{"type":"object","required":["a"]}`, `null`, `null`},
		{"a string", `{"type":"string"}`, `null`, `null`},
		{"anything", `{}`, `null`, `null`},
		{"true", `true`, `null`, `null`},
		{"false", `false`, `[null]`, `[null]`},
		{"an array that may be null", `{"type":["array","null"]}`, `null`, `null`},
		{"null by enum", `{"type":"array","enum":[null,[]]}`, `null`, `null`},
		{"null by const", `{"const":null}`, `null`, `null`},
		{"an array or an object", `{"type":["array","object"]}`, `null`, `null`},
		{"an array by anyOf", `{"anyOf":[{"type":"array"},{"type":"null"}]}`, `null`, `null`},
		{"the one alternative", `{"oneOf":[{"type":"object","properties":{"a":` + list + `}},{"type":"null"}]}`, `{"a":null}`, `{"a":[]}`},
		{"one of several alternatives", `{"anyOf":[{"type":"object","properties":{"a":` + list + `}},{"type":"string"}]}`, `{"a":null}`, `{"a":null}`},
		{"allOf", `{"allOf":[{"type":"object"},{"properties":{"a":` + list + `}}]}`, `{"a":null}`, `{"a":[]}`},
		{"a property", `{"properties":{"a":` + list + `},"required":["a"]}`, `{"a":null,"b":null}`, `{"a":[],"b":null}`},
		{"a property that may be left out", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":null,"b":"x"}`, `{"b":"x"}`},
		{"the last property left out", `{"properties":{"b":{"type":"object","required":["x"]}}}`, `{"a":1,"b":null}`, `{"a":1}`},
		{"all properties left out", `{"properties":{"a":{"type":"integer"},"b":{"type":"number"}}}`, `{"a":null,"b":null}`, `{}`},
		{"required bytes", `{"properties":{"a":{"type":"string","contentEncoding":"base64"}},"required":["a"]}`, `{"a":null}`, `{"a":""}`},
		{"bytes in a list", `{"items":{"type":"string","contentEncoding":"base64"}}`, `[null,"YQ=="]`, `["","YQ=="]`},
		{"bytes that may be null", `{"anyOf":[{"type":"string","contentEncoding":"base64"},{"type":"null"}]}`, `null`, `null`},
		{"a required string", `{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":null}`, `{"a":null}`},
		{"a property of any type", `{"properties":{"a":{}}}`, `{"a":null}`, `{"a":null}`},
		{"a nullable property", `{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, `{"a":null}`},
		{"further properties", `{"type":"object","additionalProperties":` + list + `}`, `{"a":null,"b":["x"]}`, `{"a":[],"b":["x"]}`},
		{"items", `{"items":` + list + `}`, `[null,["a"],null]`, `[[],["a"],[]]`},
		{"prefix items", `{"prefixItems":[` + list + `,{"type":"string"}],"items":{"type":"object"}}`, `[null,null,null]`, `[[],null,{}]`},
		{"a name with an escape", `{"properties":{"a\"b":` + list + `}}`, `{"a\"b":null,"\u0061\"b":null}`, `{"a\"b":[],"\u0061\"b":[]}`},
		{"null in a string", list, `["null","a null \" b","\\"]`, `["null","a null \" b","\\"]`},
		{"a reference", `{"$ref":"#/$defs/l","$defs":{"l":` + list + `}}`, `null`, `[]`},
		{"a reference beside a description", `{"$ref":"#/$defs/l","description":"x","$defs":{"l":` + list + `}}`, `null`, `[]`},
		{"a reference beside more", `{"$ref":"#/$defs/o","properties":{"b":` + list + `},"$defs":{"o":{"type":"object","properties":{"a":` + list + `}}}}`, `{"a":null,"b":null}`, `{"a":[],"b":[]}`},
		{"an escaped reference", `{"$ref":"#/$defs/a~1b~0c","$defs":{"a/b~c":` + list + `}}`, `null`, `[]`},
		{"a recursive type", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["kids"]}}}`,
			`{"kids":[{"kids":null},{"kids":[{"kids":null}]}]}`, `{"kids":[{"kids":[]},{"kids":[{"kids":[]}]}]}`},
		{"a recursive root", `{"type":"object","properties":{"next":{"$ref":"#"},"tags":` + list + `}}`, `{"next":{"next":null,"tags":null},"tags":null}`, `{"next":{"next":{},"tags":[]},"tags":[]}`},
		{"white space", `{"properties":{"a":` + list + `}}`,
			"{ \"a\" : null ,\n \"b\" : [ 1 , null ] }", `{"a":[],"b":[1,null]}`},
		{"items beside alternatives",
			`{"oneOf":[{"type":"array"},{"type":"null"}],"items":{"properties":{"l":` + list + `},"required":["l"]}}`,
			`[{"l":null}]`, `[{"l":[]}]`},
		{"a property of a reference", `{"properties":{"x":{"$ref":"#/$defs/o","properties":{"b":` +
			list + `}},"y":{"$ref":"#/$defs/o"}},` +
			`"$defs":{"o":{"type":"object","properties":{"a":` + list + `}}}}`,
			`{"x":{"a":null,"b":null},"y":{"a":null,"b":null}}`,
			`{"x":{"a":[],"b":[]},"y":{"a":[],"b":null}}`},
		{"numbers and literals", `{"items":{"type":"array"}}`, `[1.5e3,true,false,null]`, `[1.5e3,true,false,[]]`},
		{"no null", list, `["a"]`, `["a"]`},
	} {
		shape, err := decode.ParseShape(test.schema)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		doc := []byte(test.doc)
		if got := string(shape.NormalizeNulls(doc)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if string(doc) != test.doc {
			t.Errorf("%s: the document was changed: %s", test.name, doc)
		}
	}
}

// A result must not contain what its closed schema does not have, in any place.
func TestOnlyKeepsThePropertiesOfClosedObjects(t *testing.T) {
	const closed = `"additionalProperties":false`
	const a = `{"type":"object","properties":{"a":{"type":"integer"}},` + closed + `}`
	for _, test := range []struct{ name, schema, doc, want string }{
		{"an object", a, `{"x":[{"a":1}],"a":1,"y":"x"}`, `{"a":1}`},
		{"nothing else", a, `{"x":1}`, `{}`},
		{"an open object", `{"type":"object","properties":{"a":` + a + `}}`, `{"x":1,"a":{"x":1}}`,
			`{"x":1,"a":{}}`},
		{"null and an object", `{"anyOf":[` + a + `,{"type":"null"}]}`, `{"a":1,"x":2}`, `{"a":1}`},
		{"null", `{"anyOf":[` + a + `,{"type":"null"}]}`, `null`, `null`},
		{"a list", `{"type":"array","items":` + a + `}`, `[{"x":1},{"a":1,"x":1}]`, `[{},{"a":1}]`},
		{"a map", `{"type":"object","additionalProperties":` + a + `}`, `{"x":{"x":1}}`, `{"x":{}}`},
		{"a map of integers", `{"type":"object","patternProperties":{"^[0-9]+$":` + a + `},` +
			closed + `}`,
			`{"1":{"x":1,"a":1}}`, `{"1":{"a":1}}`},
		{"a name with an escape", a, `{"\u0061":1,"\u0078":2}`, `{"\u0061":1}`},
		{"a list that is nil", `{"type":"object","properties":{"a":{"type":"array"}},` + closed +
			`,"required":["a"]}`,
			`{"x":null,"a":null}`, `{"a":[]}`},
		{"a recursive type", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{` +
			`"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},` +
			closed + `}}}`,
			`{"x":1,"next":{"x":1,"next":{"x":1,"next":null},"kids":[{"x":1}]}}`,
			`{"next":{"next":{"next":null},"kids":[{}]}}`},
		{"items beside alternatives", `{"oneOf":[{"type":"array"},{"type":"null"}],"items":` + a + `}`,
			`[{"x":1,"a":1}]`, `[{"a":1}]`},
		{"prefix items beside alternatives",
			`{"anyOf":[{"type":"array"},{"type":"null"}],"prefixItems":[` + a + `]}`,
			`[{"x":1},{"x":1}]`, `[{},{"x":1}]`},
		{"a map beside alternatives",
			`{"oneOf":[{"type":"object"},{"type":"null"}],"additionalProperties":` + a + `}`,
			`{"x":{"x":1}}`, `{"x":{}}`},
		{"a map of integers beside alternatives", `{"oneOf":[{"type":"object"},{"type":"null"}],` +
			`"patternProperties":{"^[0-9]+$":` + a + `},` + closed + `}`, `{"1":{"x":1}}`, `{"1":{}}`},
		{"no properties beside alternatives",
			`{"oneOf":[{"type":"object"},{"type":"null"}],"properties":{},` + closed + `}`,
			`{"x":1}`, `{}`},
		{"a reference beside alternatives",
			`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{` +
				`"next":{"$ref":"#/$defs/n","oneOf":[{"type":"object"},{"type":"null"}]}},` + closed + `}}}`,
			`{"next":{"x":1,"next":{"x":1,"next":null}}}`, `{"next":{"next":{"next":null}}}`},
		{"groups of required properties", `{"type":"object","properties":{"a":` + a + `,"b":` + a +
			`},` + closed +
			`,"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"x":1,"a":{"x":1}}`, `{"a":{}}`},
		{"parts of allOf", `{"allOf":[{"properties":{"a":{}}},{"properties":{"a":` + a + `}}]}`,
			`{"a":{"x":1}}`, `{"a":{}}`},
		{"parts of allOf, one a map", `{"allOf":[{"properties":{"a":{}}},{"additionalProperties":` +
			a + `}]}`,
			`{"a":{"x":1}}`, `{"a":{}}`},
		{"parts of allOf, one with a pattern",
			`{"allOf":[{"properties":{"a":{}}},{"patternProperties":{"^a$":` + a + `}}]}`,
			`{"a":{"x":1}}`, `{"a":{}}`},
		{"parts of allOf, one closed", `{"allOf":[{"properties":{"x":{}}},` + a + `]}`,
			`{"x":1,"a":1}`, `{"a":1}`},
		{"several alternatives of scalars", `{"anyOf":[` + a + `,{"type":"string"}]}`, `"x"`, `"x"`},
	} {
		shape, err := decode.ParseShape(test.schema)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := shape.Only([]byte(test.doc)); !ok || string(got) != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if got, ok := shape.Only([]byte(test.doc + "}")); ok {
			t.Errorf("%s: no JSON became %s", test.name, got)
		}
	}
}

// A place whose properties are unknown must not have an object or array.
func TestOnlyRefusesValuesThatTheSchemaDoesNotDescribe(t *testing.T) {
	const a = `{"type":"object","properties":{"a":{}},"additionalProperties":false}`
	for _, test := range []struct{ schema, doc string }{
		{`{"anyOf":[` + a + `,{"type":"object"}]}`, `{"x":1}`},
		{`{"anyOf":[` + a + `,{"type":"string"},{"type":"null"}]}`, `{"x":1}`},
		{`{"anyOf":[{"type":"object"},{"type":"array"}],"items":` + a + `}`, `[{"x":1}]`},
		{`{"oneOf":[{"properties":{"a":` + a + `}},{"required":["b"]}]}`, `{"a":{"x":1}}`},
		{`{"oneOf":[{"anyOf":[` + a + `,` + a + `]},{"type":"null"}]}`, `{"x":1}`},
		{`{"properties":{"b":{"anyOf":[{"$ref":"#/$defs/a"},{"items":{}}]}},"$defs":{"a":` + a +
			`}}`, `{"b":{"x":1}}`},
		{`{"patternProperties":{"^a":` + a + `,"^b":{}},"additionalProperties":false}`, `{"a":{"x":1}}`},
		{`{"type":"string"}`, `{"x":1}`},
		{`{"items":` + a + `,"type":"object"}`, `[{"x":1}]`},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `[{"x":1}]`},
	} {
		shape, err := decode.ParseShape(test.schema)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := shape.Only([]byte(test.doc)); ok {
			t.Errorf("%s: %s became %s", test.schema, test.doc, got)
		}
	}
}

// TestOnlyLeavesNoOtherProperty compares Only with a reading of the schema at each place of the
// document, in schemas with the unions and references that tags of fields make.
func TestOnlyLeavesNoOtherProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defs := map[string]any{}
		for _, name := range []string{"0", "1", "2"} {
			properties := map[string]any{}
			for _, name := range []string{"a", "b", "é"} {
				if rapid.Bool().Draw(t, "has") {
					properties[name] = drawSchema(t, 2)
				}
			}
			defs[name] = map[string]any{"type": "object", "properties": properties,
				"additionalProperties": rapid.IntRange(0, 3).Draw(t, "open") == 0}
		}
		schema := map[string]any{"$ref": "#/$defs/0", "$defs": defs}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		shape, err := decode.ParseShape(string(text))
		if err != nil {
			t.Fatal(err)
		}
		doc := withoutNull(fitting(t, defs, schema, 6))
		in, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		described := true
		want, err := json.Marshal(only(defs, []any{schema}, doc, &described))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := shape.Only(in)
		var v any
		if ok && json.Unmarshal(got, &v) != nil {
			t.Fatalf("%s became %s", in, got)
		}
		again, _ := json.Marshal(v)
		if ok != described || ok && string(again) != string(want) {
			t.Fatalf("%s: %s became %s, %t; want %s, %t", text, in, got, ok, want, described)
		}
	})
}

// drawSchema draws the schema of a field.
func drawSchema(t *rapid.T, depth int) map[string]any {
	types := func(names ...string) (list []any) {
		for _, name := range names {
			list = append(list, map[string]any{"type": name})
		}
		return list
	}
	ref := func() map[string]any {
		return map[string]any{"$ref": "#/$defs/" + rapid.SampledFrom([]string{"0", "1",
			"2"}).Draw(t, "ref")}
	}
	s := map[string]any{}
	switch kind := rapid.IntRange(0, 9).Draw(t, "schema"); {
	case kind == 0:
		s["anyOf"] = []any{ref(), ref()}
	case kind == 1:
		s["type"] = []any{"array", "object", "string"}
	case kind <= 3 || depth == 0:
		s = ref()
	case kind == 4:
		s["anyOf"] = append(types("null"), ref())
		return s
	case kind <= 7:
		s["items"] = drawSchema(t, depth-1)
		s["type"] = "array"
	default:
		s["additionalProperties"] = drawSchema(t, depth-1)
		s["type"] = "object"
	}
	union := rapid.SampledFrom([]string{"oneOf", "anyOf", ""}).Draw(t, "union")
	if name, ok := s["type"].(string); ok && union != "" {
		delete(s, "type")
		s[union] = types(name, "null")
	} else if s["$ref"] != nil && union != "" {
		s[union] = types("object", "null")
	}
	return s
}

// fitting draws a document for a schema of drawSchema, with properties that the schema lacks.
func fitting(t *rapid.T, defs map[string]any, schema any, depth int) any {
	n, _ := schema.(map[string]any)
	if ref, ok := n["$ref"].(string); ok {
		return fitting(t, defs, defs[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	properties, isObject := n["properties"].(map[string]any)
	members, isMap := n["additionalProperties"].(map[string]any)
	size := rapid.IntRange(1, 3).Draw(t, "size")
	switch {
	case depth == 0:
		return value(t, 0)
	case n["items"] != nil:
		list := []any{}
		for range size {
			list = append(list, fitting(t, defs, n["items"], depth-1))
		}
		return list
	case isMap || isObject:
		object := map[string]any{}
		for range size {
			name := rapid.SampledFrom([]string{"a", "b", "é", "x"}).Draw(t, "name")
			sub := properties[name]
			if isMap {
				sub = members
			}
			object[name] = fitting(t, defs, sub, depth-1)
		}
		return object
	}
	if union, ok := n["anyOf"].([]any); ok {
		return fitting(t, defs, union[len(union)-1], depth)
	}
	return value(t, min(depth, 2))
}

// only reads the schemas of a place anew for each value.
func only(defs map[string]any, schemas []any, v any, described *bool) any {
	var nodes []map[string]any
	types := map[any]bool{}
	for len(schemas) > 0 {
		n, isObject := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if !isObject {
			continue
		}
		nodes = append(nodes, n)
		if ref, ok := n["$ref"].(string); ok {
			schemas = append(schemas, defs[strings.TrimPrefix(ref, "#/$defs/")])
		}
		list, isList := n["type"].([]any)
		if !isList && n["type"] != nil {
			list = []any{n["type"]}
		}
		for _, name := range list {
			types[name] = true
		}
		var others []any
		for _, key := range []string{"anyOf", "oneOf"} {
			union, _ := n[key].([]any)
			for _, sub := range union {
				if sub.(map[string]any)["type"] != "null" {
					others = append(others, sub)
				}
			}
		}
		if len(others) == 1 {
			schemas = append(schemas, others[0])
		} else if len(others) > 1 {
			types["unknown"] = true
		}
	}
	describes := func(name string) {
		*described = *described && !types["unknown"] && (len(types) == 0 || types[name])
	}
	switch v := v.(type) {
	case []any:
		describes("array")
		var items []any
		for _, n := range nodes {
			items = append(items, n["items"])
		}
		out := []any{}
		for _, item := range v {
			out = append(out, only(defs, items, item, described))
		}
		return out
	case map[string]any:
		describes("object")
		out := map[string]any{}
		for name, member := range v {
			keep := true
			var subs []any
			for _, n := range nodes {
				properties, _ := n["properties"].(map[string]any)
				sub, has := properties[name]
				if !has {
					sub = n["additionalProperties"]
				}
				keep = keep && sub != false
				subs = append(subs, sub)
			}
			if keep {
				out[name] = only(defs, subs, member, described)
			}
		}
		return out
	}
	return v
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withoutNull(v[name])
		}
	}
	return v
}

func TestSchemasThatHaveNoShapeAreErrors(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                                     "output schema",
		`7`:                                     "output schema",
		`{"properties":7}`:                      "output schema",
		`{"$ref":"#/$defs/x"}`:                  "has no target",
		`{"$ref":"other.json"}`:                 "refers to another document",
		`{"type":"object","$ref":"#/x/y"}`:      "has no target",
		`{"properties":{"a":{"$ref":"#/x"}}}`:   "has no target",
		`{"additionalProperties":{"$ref":"x"}}`: "refers to another document",
		`{"items":{"$ref":"x"}}`:                "refers to another document",
		`{"prefixItems":[{"$ref":"x"}]}`:        "refers to another document",
		`{"anyOf":[{"$ref":"x"}]}`:              "refers to another document",
		`{"allOf":[{"$ref":"x"}]}`:              "refers to another document",
	} {
		if _, err := decode.ParseShape(schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestTextThatIsNotJSONIsUnchanged(t *testing.T) {
	shape, err := decode.ParseShape(`{"type":"object","properties":{"a":{"type":"array"}},"additionalProperties":{"type":"array"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"null,", `{"a":null`, `{"a"null}`, `{a:null}`, `[null`, `{"a":[null}`, `{"a":null,}`, `{"null`, `{"a":,"b":null}`, "null x", `{"a":"null\`} {
		if got := string(shape.NormalizeNulls([]byte(doc))); got != doc {
			t.Errorf("%s became %s", doc, got)
		}
	}
}

// value draws any JSON value.
func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
	case 2:
		return rapid.String().Draw(t, "string")
	case 3:
		return rapid.Bool().Draw(t, "bool")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, value(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		object[rapid.SampledFrom([]string{"a", "b", "é", `"`, "null"}).Draw(t, "name")] = value(t, depth-1)
	}
	return object
}

func TestNormalizeNullsChangesNullsOnly(t *testing.T) {
	anything, err := decode.ParseShape(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := decode.ParseShape(`{"$ref":"#/$defs/x","$defs":{"x":{"type":["array","string","boolean","number"],"properties":{"a":{"$ref":"#/$defs/x"}},"additionalProperties":{"$ref":"#/$defs/x"},"items":{"$ref":"#/$defs/x"},"required":["a"]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(value(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		if got := anything.NormalizeNulls(doc); string(got) != string(doc) {
			t.Fatalf("%s became %s", doc, got)
		}
		got := arrays.NormalizeNulls(doc)
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatalf("%s became %s: %v", doc, got, err)
		}
		if string(arrays.NormalizeNulls(got)) != string(got) {
			t.Fatalf("%s: the second run changes the result: %s", doc, arrays.NormalizeNulls(got))
		}
		if hasNull(v) {
			t.Fatalf("%s became %s", doc, got)
		}
	})
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		for _, item := range v {
			if hasNull(item) {
				return true
			}
		}
	case map[string]any:
		for _, member := range v {
			if hasNull(member) {
				return true
			}
		}
	}
	return false
}
