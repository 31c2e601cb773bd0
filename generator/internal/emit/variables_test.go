package emit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestGeneratedCodeHasNoVariables parses the golden files. Any code of a package can change its
// variables: a rule of a table in a variable would open a tool while the documents still contain
// the rule that the author wrote.
func TestGeneratedCodeHasNoVariables(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", Code))
	if err != nil || len(files) != len(testCases()) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
				t.Errorf("%s declares a variable", name)
			}
		}
	}
}
