package systemtest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/schemafile"
	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/internal/testschema"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/decode/validator"
)

// validSchema checks a schema against the meta-schema of draft 2020-12.
func validSchema(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("mcpgen:///schema", doc); err != nil {
		return err
	}
	_, err = compiler.Compile("mcpgen:///schema")
	if err == nil {
		err = testschema.Input(string(structured.New([]byte(text)).InSessions))
	}
	return err
}

// TestEverySchemaOfTheRepositoryPassesTheMetaSchema reads the code of the examples and goldens.
func TestEverySchemaOfTheRepositoryPassesTheMetaSchema(t *testing.T) {
	count, err := testschema.Generated(testrepo.Root(t), emit.Code, validSchema)
	if err != nil {
		t.Fatal(err)
	}
	if count < 20 {
		t.Errorf("%d schemas found, want those of the examples and goldens", count)
	}
	t.Logf("%d schemas", count)
}

// TestSchemasByHandAreAcceptedAsTheValidatorAcceptsThem gives each keyword each kind of value, at
// the root and below, and compares generation with the validator that decodes at run time: what
// generation accepts, the validator accepts.
func TestSchemasByHandAreAcceptedAsTheValidatorAcceptsThem(t *testing.T) {
	keywords := []string{"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$ref",
		"additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
		"contentMediaType", "contentSchema", "default", "dependentRequired", "dependentSchemas",
		"deprecated", "description", "else", "enum", "examples", "exclusiveMaximum",
		"exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
		"maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties",
		"minimum", "multipleOf", "not", "oneOf", "pattern", "patternProperties", "prefixItems",
		"properties", "propertyNames", "readOnly", "required", "then", "title", "type",
		"unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly", "unknown",
		"$schema", "$id", "$recursiveRef", "$recursiveAnchor", "definitions", "dependencies"}
	values := []string{`null`, `true`, `false`, `0`, `1`, `-1`, `1.0`, `1.5`, `""`, `"a"`, `"("`,
		`"1"`, `"#"`, `"#/$defs/a"`, `"#/no"`, `"#/$defs/%61"`,
		`"http://json-schema.org/draft-07/schema#"`, `"https://example.com/a"`, `"%zz"`, `"object"`,
		`[]`, `[1]`, `["a"]`, `["a","a"]`, `["object"]`, `["string","null"]`, `["null","null"]`,
		`[true]`, `[{}]`, `[{"type":1}]`, `{}`, `{"a":true}`, `{"a":{}}`, `{"a":1}`, `{"a":[]}`,
		`{"a":["b"]}`, `{"(":true}`, `{"a":{"minLength":-1}}`, `{"minLength":-1}`}
	compared := 0
	for _, keyword := range keywords {
		for _, value := range values {
			one := `"` + keyword + `":` + value
			for _, text := range []string{
				`{"type":"object","$defs":{"a":{"type":"string"}},` + one + `}`,
				`{"type":"object","properties":{"a~/b":{"type":"string",` + one + `}},
					"$defs":{"a":{}}}`,
				`{"allOf":[{` + one + `}],"$defs":{"a":{}}}`,
			} {
				if strings.Count(text, `"`+keyword+`"`) > 1 {
					continue // a duplicate key
				}
				_, err := schemafile.Read([]byte(text))
				wrong := acceptedAtRunTime(text)
				// Generation accepts no schema of several documents, and none that applies itself.
				stricter := (strings.HasPrefix(keyword, "$") || keyword == "definitions") && wrong == nil
				if (err == nil) != (wrong == nil) && !stricter {
					t.Errorf("%s\ngeneration: %v\nrun time: %v", text, err, wrong)
				}
				compared++
			}
		}
	}
	t.Logf("%d schemas", compared)
}

// acceptedAtRunTime is nil if a schema compiles, and each default in it fits.
func acceptedAtRunTime(text string) error {
	_, err := validator.Decode[any](json.RawMessage(`{}`), text)
	if refused := (*decode.Error)(nil); errors.As(err, &refused) {
		return nil // of the arguments
	}
	return err
}
