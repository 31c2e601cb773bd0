package schemafile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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

// A number that no float64 holds is a fault at its own place, whatever has it.
func TestInfiniteNumbersAreReportedAtTheirPlace(t *testing.T) {
	for _, name := range append(slices.Sorted(maps.Keys(keywords)), "const", "x/y") {
		for _, value := range []string{"%s", "[1,%s]", `{"z":%s}`} {
			for _, number := range []string{"1e999", "-1" + strings.Repeat("0", 400), "1e-400",
				"-0.1E-99999999", "0." + strings.Repeat("0", 400) + "1"} {
				doc := `{"properties":{"n":{"` + name + `":` + fmt.Sprintf(value, number) + `}}}`
				_, err := Read([]byte(doc))
				var fault *Error
				if !errors.As(err, &fault) || !fault.Invalid() ||
					fault.Offset != strings.Index(doc, number) || !strings.Contains(fault.Message,
					" at /properties/n/"+strings.ReplaceAll(name, "/", "~1")) {
					t.Errorf("%s: %#v", doc, err)
				}
			}
		}
	}
	_, err := Read([]byte(`{"maxLength":1e2}`))
	if err == nil || !strings.HasSuffix(err.Error(),
		"at /maxLength: want an integer without an exponent") {
		t.Errorf("an exponent in a length: %v", err)
	}
}

func TestByteOrderMarks(t *testing.T) {
	s, err := Read([]byte("\xef\xbb\xbf{\"type\":\"string\"}"))
	if err != nil || s.Text != `{"type":"string"}` {
		t.Errorf("UTF-8: %s, %v", s.Text, err)
	}
	for _, text := range []string{"\xff\xfe{\x00", "\xfe\xff\x00{", "{\x00}\x00", "\x00{\x00}"} {
		if _, err := Read([]byte(text)); err == nil ||
			err.Error() != "the file is not JSON: the text is UTF-16 and not UTF-8" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
