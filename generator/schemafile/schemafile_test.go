package schemafile

import (
	"strings"
	"testing"
)

func TestSchemasByHandKeepTheAuthorsOrderAndTheDialect(t *testing.T) {
	w, err := Read([]byte("{\n \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n \"type\": \"object\",\n \"required\": [ \"b\" ],\n \"properties\": {\"b\": {\"type\": [\"string\", \"null\"]}, \"a\": true}\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["b"],"properties":{"b":{"type":["string","null"]},"a":true}}`; w.Text != want {
		t.Errorf("got %s, want %s", w.Text, want)
	}
	if !w.Object || strings.Join(w.Properties, " ") != "a b" || w.Known != nil {
		t.Errorf("got %+v", w)
	}
}

func TestAResultThatIsNoObjectIsWrappedWithItsDefinitions(t *testing.T) {
	tests := map[string]string{ // a schema, and it wrapped or what is wrong
		`{"type":"object"}`: `{"type":"object"}`,
		`{"type":"string"}`: `{"type":"object","properties":{"result":{"type":"string"}},"required":["result"],"additionalProperties":false}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`:                       `{"type":"object","properties":{"result":{"$ref":"#/$defs/a"}},"required":["result"],"additionalProperties":false,"$defs":{"a":{"type":"object"}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"string"}`: `{"type":"object","properties":{"result":{"type":"string"}},"required":["result"],"additionalProperties":false,"$schema":"https://json-schema.org/draft/2020-12/schema"}`,
		`{"type":["object","null"],"properties":{"$ref":{"type":"string"}}}`:         `{"type":"object","properties":{"result":{"type":["object","null"],"properties":{"$ref":{"type":"string"}}}},"required":["result"],"additionalProperties":false}`,
		`{"type":"array","items":{"$ref":"#"}}`:                                      "the reference # changes its target",
	}
	for text, want := range tests {
		w, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := w.Wrapped()
		got := wrapped.Text
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"default":1}}}`,
		`{"type":"array","items":{"$ref":"#"},"a":1,"a":2}`, `[]`, `{"$schema":7}`,
		`{"properties":{"a/b~ %":{"default":{}}}}`,
		"{\"pattern\":\"(\"}", `{"$dynamicRef":"#x"}`, "\xff", `{"type":"object"} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		w, err := Read(doc)
		if err != nil {
			return
		}
		again, err := Read([]byte(w.Text))
		if err != nil || again.Text != w.Text {
			t.Fatalf("%s reads as %s, and that as %s, %v", doc, w.Text, again.Text, err)
		}
		if wrapped, err := w.Wrapped(); err == nil && !wrapped.Object {
			t.Fatalf("%s is no object when wrapped: %s", doc, wrapped.Text)
		}
	})
}
