package schemafile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestForeignSchemasHaveNoNullAndCommonPatterns(t *testing.T) {
	for doc, want := range map[string]string{
		``: `{}`, `null`: `{}`, ` null `: `{}`,
		`{"type":"object","properties":null,"required":null}`: `{"type":"object"}`,
		`{"properties":{"a":{"enum":null,"items":null,"type":"string"},"b":null}}`: `{"properties":` +
			`{"a":{"type":"string"},"b":{}}}`,
		`{"anyOf":[null,{"properties":null}],"oneOf":[null],"allOf":null}`: `{"anyOf":[{}]}`,
		`{"$defs":{"x":{"required":null}},"items":{"not":{"enum":null}}}`: `{"$defs":{"x":{}},` +
			`"items":{"not":{}}}`,
		`{"dependentRequired":{"a":null,"b":["c"]},"dependencies":{"a":{"enum":null}}}`: `{"dependent` +
			`Required":{"b":["c"]},"dependencies":{"a":{}}}`,
		// A value is null, and no keyword.
		`{"const":null,"enum":[null],"examples":[null],"x-y":null}`: `{"const":null,"enum":[null],` +
			`"examples":[null],"x-y":null}`,
		`{"default":null}`:                          `{"default":null}`,
		`{"type":["null","string"],"default":null}`: `{"type":["null","string"],"default":null}`,
		`{"type":"string","default":null}`:          `{"type":"string"}`,
		`{"default":{"properties":null}}`:           `{"default":{"properties":null}}`,
		`{"properties":7,"anyOf":"x","pattern":7}`:  `{"properties":7,"anyOf":"x","pattern":7}`,
		`{"pattern":"^a\\-b$","patternProperties":{"[[:digit:]]":null}}`: `{"pattern":"^a-b$",` +
			`"patternProperties":{"[0-9]":{}}}`,
		`{"pattern":"(?=a)"}`: `{"pattern":"(?=a)"}`,
		`{"maxLength":1e2,"items":{"minItems":2.0},"maximum":1e2}`: `{"maxLength":100,"items":` +
			`{"minItems":2},"maximum":1e2}`,
		`{"maxLength":2.5,"minLength":1e999}`: `{"maxLength":2.5,"minLength":1e999}`,
		`{"maxItems":9007199254740993}`:       `{"maxItems":9007199254740993}`,
	} {
		got, _, err := Foreign([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", doc, got, err, want)
		}
	}
	for _, doc := range []string{`[]`, `"x"`, `7`, `true`} {
		if got, _, err := Foreign([]byte(doc)); err == nil {
			t.Errorf("%s: %s", doc, got)
		}
	}
	_, notes, _ := Foreign([]byte(`{"pattern":"\\x{e9}"}`))
	if want := `wrote the pattern "\\x{e9}" as "\u00e9"`; len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %s", notes, want)
	}
}

// A keyword with null changes nothing, wherever it stands.
func TestForeignSchemasIgnoreNull(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	known := slices.Sorted(maps.Keys(keywords))
	for range 2000 {
		var add func(depth int) (plain, with map[string]any)
		add = func(depth int) (plain, with map[string]any) {
			plain, with = map[string]any{}, map[string]any{}
			for range random.IntN(4) {
				name := known[random.IntN(len(known))]
				if depth == 0 || random.IntN(2) == 0 {
					if plain[name] == nil {
						with[name] = nil
					}
					continue
				}
				p, w := add(depth - 1)
				switch keywords[name] {
				case schemaForm:
					plain[name], with[name] = p, w
				case schemas:
					plain[name], with[name] = []any{p}, []any{nil, w}
				case named, pattern:
					plain[name], with[name] = map[string]any{"a": p}, map[string]any{"a": w}
				}
			}
			return plain, with
		}
		plain, with := add(4)
		read := func(schema map[string]any) string {
			doc, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := Foreign(doc)
			if err != nil {
				t.Fatal(err)
			}
			return string(got)
		}
		if p, w := read(plain), read(with); p != w || strings.Contains(w, "null") {
			t.Fatalf("%v reads as %s, and with null as %s", fmt.Sprint(plain), p, w)
		}
	}
}

func FuzzForeign(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":null},"anyOf":[null],"pattern":"\\-","default":null}`))
	f.Add([]byte(`{"dependencies":{"a":["b"]},"type":"string","patternProperties":{"a{":{}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if Deep(doc) {
			return
		}
		got, _, err := Foreign(doc)
		if err != nil {
			return
		}
		again, notes, err := Foreign(got)
		if err != nil || string(again) != string(got) || len(notes) > 0 {
			t.Fatalf("%q reads as %q, and that as %q, %q, %v", doc, got, again, notes, err)
		}
	})
}
