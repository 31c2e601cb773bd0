package schemafile

import (
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
