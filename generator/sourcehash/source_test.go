package sourcehash

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestSourceRenamesAllThatItDeclares reads the rewritten source as Go. That it compiles and hashes
// as Hash does is shown by package emit, which runs generated tests.
func TestSourceRenamesAllThatItDeclares(t *testing.T) {
	e, err := Source(func(name string) string { return "renamed" + name })
	if err != nil {
		t.Fatal(err)
	}
	text := "package p\n" + e.String()
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Unresolved) == 0 {
		t.Fatal("nothing was resolved")
	}
	for _, name := range declared(file) {
		if !strings.HasPrefix(name, "renamed") {
			t.Errorf("%s keeps its name", name)
		}
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && !strings.HasPrefix(f.Doc.Text(), f.Name.Name+" ") {
			t.Errorf("the comment of %s begins %.30q", f.Name.Name, f.Doc.Text())
		}
	}
	packages := map[string]bool{}
	for _, token := range e {
		packages[token.Path] = true
	}
	for _, path := range []string{"go/ast", "go/doc/comment", "crypto/sha256", "os"} {
		if !packages[path] {
			t.Errorf("%s is not set apart", path)
		}
	}
	for path := range packages {
		if strings.Contains(path, ".") {
			t.Errorf("the generated test would import %s", path)
		}
	}
}

func TestSourceThatIsNoGoIsAnError(t *testing.T) {
	if _, err := parse([]byte("package")); err == nil {
		t.Error("it was accepted")
	}
}
