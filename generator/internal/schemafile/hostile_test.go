package schemafile

import (
	"fmt"
	"strings"
	"testing"
)

// A schema that applies itself to the same value would never end. Recursion into a part is fine.
func TestSchemasThatApplyThemselvesAreRefused(t *testing.T) {
	for text, circular := range map[string]bool{
		`{"type":"object","properties":{"a":{"$ref":"#/properties/a","default":1}}}`: true,
		`{"$ref":"#","default":{}}`: true,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`:          true,
		`{"$ref":"#x","$defs":{"b":{"$anchor":"x","not":{"$ref":"#x"}}}}`:                  true,
		`{"dependentSchemas":{"p":{"$ref":"#"}},"default":{"p":1}}`:                        true,
		`{"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"if":{"$ref":"#/$defs/a~1b%25"}}}}`:    true,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                false,
		`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"},"default":[[]]}}}`: false,
		`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{}}}`:           false,
	} {
		_, err := Read([]byte(text))
		if found := err != nil && strings.Contains(err.Error(), "applies itself"); found != circular {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDeepSchemasAreRefused(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n))
	}
	if _, err := Read(deep(maxDepth - 1)); err != nil {
		t.Error(err)
	}
	if _, err := Read(deep(100_000)); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Error(err)
	}
	if Deep([]byte(`{"a":"` + strings.Repeat(`[\"{`, 1000) + `"}`)) {
		t.Error("brackets of a string count")
	}
}

// Schemas that are applied twice at each of many levels would be applied exponentially often.
func TestSchemasThatMultiplyAreRefused(t *testing.T) {
	levels := func(n int, level, last, rest string) string {
		defs := ""
		for i := range n {
			next := fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)
			defs += fmt.Sprintf(`"l%d":%s,`, i, strings.ReplaceAll(level, "NEXT", next))
		}
		return fmt.Sprintf(`{"$defs":{%s"l%d":%s},"$ref":"#/$defs/l0"%s}`, defs, n, last, rest)
	}
	nested := func(n int) string {
		return `,"default":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	}
	const same = `{"allOf":[NEXT,NEXT]}`
	const part = `{"properties":{"a":NEXT},"additionalProperties":true,"allOf":[{"properties":` +
		`{"a":NEXT}}]}`
	const item = `{"items":NEXT,"contains":NEXT}`
	for name, test := range map[string]struct {
		text, want string
	}{
		"25 levels":         {levels(25, same, "{}", ""), "to one value"},
		"25 with a default": {levels(25, same, `{}`, `,"default":{}`), "to one value"},
		"180 levels":        {levels(180, same, `{}`, `,"default":{}`), "to one value"},
		"8 levels":          {levels(8, same, `{}`, `,"default":{}`), ""},
		"parts":             {levels(40, part, `{}`, nested(40)), "the default at"},
		"parts of no value": {levels(40, part, `{}`, ""), ""},
		"parts of few":      {levels(8, part, `{}`, nested(8)), ""},
		"items": {levels(40, item, `{}`, `,"default":`+
			strings.Repeat("[", 40)+"1"+strings.Repeat("]", 40)), "the default at"},
		"one after another": {levels(150, `{"allOf":[NEXT]}`, `{}`, `,"default":{}`), ""},
		"a list of defaults": {`{"items":{"type":"integer"},"default":[` +
			strings.Repeat("1,", 999) + `1]}`, ""},
	} {
		var err error
		allocations := testing.AllocsPerRun(1, func() { _, err = Read([]byte(test.text)) })
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if allocations > 400_000 {
			t.Errorf("%s: %.0f allocations", name, allocations)
		}
	}
}
