// Package testschema checks JSON Schemas and documents in tests of the root module.
//
// It uses a validator that go-sdk needs anyway: go mod tidy of a user's module loads the imports of
// these tests. Package systemtest checks the same schemas against the meta-schema.
package testschema

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled schema.
type Schema struct{ resolved *jsonschema.Resolved }

// Compile compiles a schema. Defaults must fit it.
func Compile(text []byte) (Schema, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return Schema{}, err
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	return Schema{resolved}, err
}

// Validate checks a JSON document.
func (s Schema) Validate(document []byte) error {
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		return err
	}
	return s.resolved.Validate(v)
}

// Input compiles the schema of an input or output: its root is an object.
func Input(text string) error {
	_, err := Compile([]byte(text))
	var root map[string]any
	if err == nil {
		err = json.Unmarshal([]byte(text), &root)
	}
	if err == nil && (root["type"] != "object" || root["$ref"] != nil) {
		err = fmt.Errorf("the root is no object")
	}
	return err
}

// Generated calls check for every schema constant of the generated code, in the files of a name
// below a directory, and returns their number.
func Generated(dir, name string, check func(text string) error) (count int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || entry.Name() != name {
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
			if fault := check(text); fault != nil && err == nil {
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

// Differ returns the first difference of a schema of mcpgen's and one of jsonschema.Reflector's, or
// "". mcpgen's may have bounds of its own, and no properties.
func Differ(at string, ours, theirs any) string {
	if theirs == true {
		theirs = map[string]any{}
	}
	a, isObject := ours.(map[string]any)
	b, both := theirs.(map[string]any)
	if !isObject || !both {
		if reflect.DeepEqual(ours, theirs) {
			return ""
		}
		return fmt.Sprintf("%s: %v, and the Reflector has %v", at, ours, theirs)
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		_, theirOwn := b[key]
		if key == "$schema" || !theirOwn && (key == "minimum" || key == "maximum" ||
			key == "properties" && len(a[key].(map[string]any)) == 0) {
			continue
		}
		if d := Differ(at+"/"+key, a[key], b[key]); d != "" {
			return d
		}
	}
	return ""
}
