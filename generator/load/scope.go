package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/model"
)

// Declared returns the package-level names that the author's own files declare, and where.
// Files that this build leaves out and test files within the package count: a generated name
// must collide with none of them, on any system.
func (p *Program) Declared(pkg *Package) map[string]model.Position {
	found := map[string]model.Position{}
	add := func(id *ast.Ident) {
		if id.Name == "_" || id.Name == "init" {
			return
		}
		place := p.Position(id.Pos(), id.End())
		if old, ok := found[id.Name]; !ok || place.File < old.File {
			found[id.Name] = place
		}
	}
	for _, f := range pkg.Files {
		declared(f.Syntax, add)
	}
	for _, f := range pkg.Ignored {
		if f.Syntax.Name.Name == pkg.Name {
			declared(f.Syntax, add)
		}
	}
	// A directory that cannot be read stops the commit, not the look for names.
	entries, _ := os.ReadDir(pkg.Dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") || e.Name() == TestFile {
			continue
		}
		// A test file that does not parse is the author's affair.
		f, _ := parser.ParseFile(p.Fset, filepath.Join(pkg.Dir, e.Name()), nil, parser.SkipObjectResolution)
		if f != nil && f.Name != nil && f.Name.Name == pkg.Name {
			declared(f, add)
		}
	}
	return found
}

func declared(file *ast.File, add func(*ast.Ident)) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id)
					}
				}
			}
		}
	}
}

// Short is a place as one message names another: file name and line.
func Short(p model.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}
