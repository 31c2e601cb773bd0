package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/schemafile"
	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/decode/validator"
)

// validSchemas checks every schema constant of the generated code below a directory against the
// meta-schema of draft 2020-12, and returns their number.
func validSchemas(dir string) (count int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".tools") {
			return fs.SkipDir
		}
		if err != nil || entry.Name() != emit.Code {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // a script's own text
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || ast.IsExported(spec.Names[0].Name) ||
				!strings.HasSuffix(spec.Names[0].Name, "Schema") {
				return true
			}
			text := stringConstant(spec.Values[0])
			count++
			if fault := validSchema(text); fault != nil && err == nil {
				err = fmt.Errorf("%s: %s: %w\n%s", path, spec.Names[0].Name, fault, text)
			}
			return false
		})
		return err
	})
	return count, err
}

// stringConstant is the value of string literals that are added up.
func stringConstant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return stringConstant(e.X) + stringConstant(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	}
	return ""
}

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
	if root, _ := doc.(map[string]any); err == nil && (root["type"] != "object" || root["$ref"] != nil) {
		return fmt.Errorf("the root is no object")
	}
	return err
}

// TestEverySchemaOfTheRepositoryPassesTheMetaSchema reads the code of the examples and goldens;
// TestScripts does the same for what each script has generated.
func TestEverySchemaOfTheRepositoryPassesTheMetaSchema(t *testing.T) {
	count, err := validSchemas(testrepo.Root(t))
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
