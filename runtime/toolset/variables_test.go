package toolset

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoExportedVariables checks the packages that generated code and its decisions depend on. Any
// code of a program could assign to an exported variable.
func TestNoExportedVariables(t *testing.T) {
	for _, dir := range []string{
		".", "../access", "../decode", "../decode/validator", "../isolate", "../../sourcehash",
	} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatal(dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
					for _, spec := range decl.Specs {
						for _, name := range spec.(*ast.ValueSpec).Names {
							if name.IsExported() {
								t.Errorf("%s: variable %s is exported", path, name.Name)
							}
						}
					}
				}
			}
		}
	}
}
