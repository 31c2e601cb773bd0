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
	})
}
