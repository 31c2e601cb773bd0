package structured

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testschema"
)

func TestSchemasOfEachVersion(t *testing.T) {
	const orNull = `{"anyOf":[{"properties":{"a":{}},"type":"object"},{"type":"null"}]`
	for schema, want := range map[string][2]string{ // of 2026-07-28, and of the versions with sessions
		`{"type":"object","required":[]}`: {`{"type":"object","required":[]}`, `{"type":"object","required":[]}`},
		`{"type":["object"]}`:             {`{"type":"object"}`, `{"type":"object"}`},
		`true`:                            {`{}`, `{"additionalProperties":false,"properties":{"result":{}},"required":["result"],"type":"object"}`},
		`{"type":"string"}`: {`{"type":"string"}`,
			`{"additionalProperties":false,"properties":{"result":{"type":"string"}},"required":["result"],"type":"object"}`},
		`{"type":["null","array"],"items":{"type":"string"}}`: {
			`{"anyOf":[{"type":"null"},{"type":"array"}],"items":{"type":"string"}}`,
			`{"additionalProperties":false,"properties":{"result":{"anyOf":[{"type":"null"},{"type":"array"}],` +
				`"items":{"type":"string"}}},"required":["result"],"type":"object"}`},
		`{"type":["string","null"],"anyOf":[{"minLength":1},{}],"allOf":[{}]}`: {
			`{"allOf":[{},{"anyOf":[{"type":"string"},{"type":"null"}]}],"anyOf":[{"minLength":1},{}]}`,
			`{"additionalProperties":false,"properties":{"result":{"allOf":[{},{"anyOf":[{"type":"string"},{"type":"null"}]}],` +
				`"anyOf":[{"minLength":1},{}]}},"required":["result"],"type":"object"}`},
		orNull + `,"description":"A."}`: {orNull + `,"description":"A."}`,
			`{"description":"A.","properties":{"a":{}},"type":"object"}`},
		`{"type":["null","object"],"properties":{"a":{}}}`: {
			`{"anyOf":[{"type":"null"},{"type":"object"}],"properties":{"a":{}}}`,
			`{"properties":{"a":{}},"type":"object"}`},
		// Members beside alternatives may change their meaning within one of them.
		orNull + `,"additionalProperties":false}`: {orNull + `,"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"result":{"additionalProperties":false,` + orNull[1:] +
				`}},"required":["result"],"type":"object"}`},
		// The target of # is not null in a session.
		`{"type":["object","null"],"properties":{"next":{"$ref":"#"}}}`: {
			`{"anyOf":[{"type":"object"},{"type":"null"}],"properties":{"next":{"$ref":"#"}}}`,
			`{"additionalProperties":false,"properties":{"result":{"anyOf":[{"type":"object"},{"type":"null"}],"properties":{` +
				`"next":{"$ref":"#/properties/result"}}}},"required":["result"],"type":"object"}`},
		`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"items":{"$ref":"#/items"},` +
			`"const":{"$ref":"#"}}},"$schema":"s"}`: {
			`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"items":{"$ref":"#/items"},` +
				`"const":{"$ref":"#"}}},"$schema":"s"}`,
			`{"$defs":{"a":{"const":{"$ref":"#"},"items":{"$ref":"#/properties/result/items"}}},` +
				`"$schema":"s","additionalProperties":false,"properties":{"result":{"items":{"$ref":"#/$defs/a"},"type":"array"}},` +
				`"required":["result"],"type":"object"}`},
		// So is the target of an anchor, and of the root's own URI.
		`{"$anchor":"r","type":["object","null"],"properties":{"next":{"$ref":"#r"}}}`: {
			`{"$anchor":"r","anyOf":[{"type":"object"},{"type":"null"}],"properties":{"next":{"$ref":"#r"}}}`,
			`{"additionalProperties":false,"properties":{"result":{"$anchor":"r","anyOf":[{"type":"object"},{"type":"null"}],` +
				`"properties":{"next":{"$ref":"#r"}}}},"required":["result"],"type":"object"}`},
		`{"$id":"http://x/y","type":["object","null"],"properties":{"next":{"$ref":"y"}}}`: {
			`{"$id":"http://x/y","anyOf":[{"type":"object"},{"type":"null"}],"properties":{"next":{"$ref":"y"}}}`,
			`{"additionalProperties":false,"properties":{"result":{"$id":"http://x/y","anyOf":[{"type":"object"},{"type":"null"}],` +
				`"properties":{"next":{"$ref":"y"}}}},"required":["result"],"type":"object"}`},
		// A reference may be empty or have escapes. One in a schema with an $id is relative to that.
		`{"type":"array","items":{"anyOf":[{"$ref":"#/%24defs/a"},{"$ref":""},{"$id":"n","items":{"$ref":"#/x"}}]},` +
			`"properties":{"p":{"$id":"p","$ref":"#/x"}},"$defs":{"a":{"$id":"a","items":{"$ref":"#"}}}}`: {
			`{"type":"array","items":{"anyOf":[{"$ref":"#/%24defs/a"},{"$ref":""},{"$id":"n","items":{"$ref":"#/x"}}]},` +
				`"properties":{"p":{"$id":"p","$ref":"#/x"}},"$defs":{"a":{"$id":"a","items":{"$ref":"#"}}}}`,
			`{"$defs":{"a":{"$id":"a","items":{"$ref":"#"}}},"additionalProperties":false,"properties":{"result":{"items":` +
				`{"anyOf":[{"$ref":"#/%24defs/a"},{"$ref":"#/properties/result"},{"$id":"n","items":{"$ref":"#/x"}}]},` +
				`"properties":{"p":{"$id":"p","$ref":"#/x"}},"type":"array"}},"required":["result"],"type":"object"}`},
		`{"$id":"x","type":"array","items":{"$ref":"#"},"$defs":{"a":{}}}`: {
			`{"$id":"x","type":"array","items":{"$ref":"#"},"$defs":{"a":{}}}`,
			`{"additionalProperties":false,"properties":{"result":{"$defs":{"a":{}},"$id":"x","items":{"$ref":"#"},"type":"array"}},` +
				`"required":["result"],"type":"object"}`},
	} {
		s := New([]byte(schema))
		if got := [2]string{string(s.Natural), string(s.InSessions)}; got != want {
			t.Errorf("%s\ngot  %s\nand  %s\nwant %s\nand  %s", schema, got[0], got[1], want[0], want[1])
		}
		again := New(s.InSessions)
		if again.Form != AsObject || string(again.InSessions) != string(s.InSessions) {
			t.Errorf("%s: %s is no schema of an object", schema, s.InSessions)
		}
	}
}

// TestAValueFitsTheSchemaOfItsVersion compares the verdicts of random schemas about random values.
func TestAValueFitsTheSchemaOfItsVersion(t *testing.T) {
	of := func(options ...string) *rapid.Generator[string] { return rapid.SampledFrom(options) }
	types := of(`"object"`, `"array"`, `"string"`, `["object","null"]`, `["null","array"]`,
		`["string","integer","null"]`, `["array"]`)
	inner := of(`{}`, `true`, `{"type":"string"}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/d"}`,
		`{"$ref":"#/%24defs/d"}`, `{"$ref":"#/properties/a"}`, `{"$ref":"#r"}`, `{"$ref":"#/$defs/e"}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"type":"null"}`)
	values := of(`null`, `1`, `"x"`, `[]`, `["x"]`, `[null]`, `[[]]`, `[1]`, `{}`, `{"a":null}`,
		`{"a":"x"}`,
		`{"a":{"a":{}}}`, `{"a":[{}]}`, `{"b":1}`, `{"result":1}`)
	rapid.Check(t, func(t *rapid.T) {
		members := []string{`"$anchor":"r"`, `"$defs":{"e":{"$id":"http://e/","type":"array","items":` +
			`{"$ref":"#"}},"d":` + inner.Filter(func(s string) bool {
			return !strings.HasPrefix(s, `{"$ref"`)
		}).Draw(t, "d") + `}`, `"properties":{"a":` + inner.Filter(func(s string) bool {
			return s != `{"$ref":"#/properties/a"}`
		}).Draw(t, "a") + `}`}
		if rapid.Bool().Draw(t, "typed") {
			members = append(members, `"type":`+types.Draw(t, "type"))
		}
		for _, keyword := range []string{"items", "additionalProperties"} {
			if rapid.Bool().Draw(t, keyword) {
				members = append(members, fmt.Sprintf("%q:%s", keyword, inner.Draw(t, "inner")))
			}
		}
		if rapid.Bool().Draw(t, "union") {
			members = append(members, `"anyOf":[`+of(`{"type":"object"}`, `{"type":"array"}`,
				`{"type":"object","properties":{"b":{"type":"string"}}}`).Draw(t, "one")+
				`,{"type":"null"}]`)
		}
		text := "{" + strings.Join(members, ",") + "}"
		s := New([]byte(text))
		compile := func(schema []byte) testschema.Schema {
			compiled, err := testschema.Compile(schema)
			if err != nil {
				t.Fatalf("%s: %v", schema, err)
			}
			return compiled
		}
		before, natural, inSessions := compile([]byte(text)), compile(s.Natural), compile(s.InSessions)
		value := []byte(values.Draw(t, "value"))
		fits := before.Validate(value) == nil
		if got := natural.Validate(value) == nil; got != fits {
			t.Fatalf("%s fits %s: %t, and %s: %t", value, text, fits, s.Natural, got)
		}
		sent, err := s.Form.Apply(value)
		if err != nil {
			if fits && string(value) != "null" {
				t.Fatalf("%s fits %s, and cannot be sent: %v", value, text, err)
			}
			return
		}
		if got := inSessions.Validate(sent) == nil; got != fits {
			t.Fatalf("%s fits %s: %t, and %s fits %s: %t", value, text, fits, sent, s.InSessions, got)
		}
	})
}

func FuzzNew(f *testing.F) {
	for _, seed := range []string{`{"type":["object","null"]}`, `{"anyOf":[{"type":"object"},{}]}`, `null`,
		`[]`, `{"type":7,"$defs":[],"properties":{"$ref":{"$ref":"#"}}}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) {
			return
		}
		s := New(schema)
		var root map[string]any
		if json.Unmarshal(s.InSessions, &root) != nil || root["type"] != "object" {
			t.Errorf("%s becomes %s", schema, s.InSessions)
		}
		root = nil
		_ = json.Unmarshal(s.Natural, &root)
		if list, ok := root["type"].([]any); ok && len(list) > 0 {
			t.Errorf("%s becomes %s", schema, s.Natural)
		}
	})
}
