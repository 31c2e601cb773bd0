package main

import (
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
	"github.com/mcpgen/mcpgen/internal/testrepo"
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
