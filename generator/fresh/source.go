// Package fresh says whether generated code is still that of its source, in what the compiler
// cannot see: directives, comments, parameter names, added constants, new handlers.
//
// One implementation serves the generator and the generated test: hash.go needs the standard
// library alone, and is written into the test with its names changed.
package fresh

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpgen/mcpgen/generator/model"
)

//go:embed hash.go
var hashSource []byte

// Source returns the declarations of hash.go, with each of its package-level names as rename gives
// it and the packages it imports apart, so that it fits into any package. It fails only where
// hash.go is no Go.
func Source(rename func(name string) string) (model.Expr, error) {
	p, err := hashParsed()
	if err != nil {
		return nil, err
	}
	return p.rewrite(rename), nil
}

// hashParsed parses hash.go once for all packages of a run. It is safe for concurrent use.
var hashParsed = sync.OnceValues(func() (*parsed, error) { return parse(hashSource) })

// parsed is a source file that is only read from now on.
type parsed struct {
	source  []byte
	files   *token.FileSet
	file    *ast.File
	imports map[string]string // paths, by name
}

func parse(source []byte) (*parsed, error) {
	p := &parsed{source: source, files: token.NewFileSet(), imports: map[string]string{}}
	var err error
	if p.file, err = parser.ParseFile(p.files, "hash.go", source, parser.ParseComments); err != nil {
		return nil, fmt.Errorf("the source of the freshness test: %w", err)
	}
	for _, spec := range p.file.Imports {
		value, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("the source of the freshness test: %w", err)
		}
		p.imports[path.Base(value)] = value
	}
	return p, nil
}

func (p *parsed) rewrite(rename func(name string) string) model.Expr {
	source, files, file, imports := p.source, p.files, p.file, p.imports
	renamed := map[string]string{}
	for _, name := range declared(file) {
		renamed[name] = rename(name)
	}
	body := offset(files, file.Decls[0].End()) // after the imports
	var e model.Expr
	put := func(t model.Token) {
		if n := len(e); t.Path == "" && n > 0 && e[n-1].Path == "" {
			e[n-1].Text += t.Text
		} else if t.Text != "" {
			e = append(e, t)
		}
	}
	for _, edit := range edits(file, imports, renamed) {
		start := offset(files, edit.pos)
		put(model.Token{Text: string(source[body:start])})
		put(edit.token)
		body = start + edit.length
	}
	put(model.Token{Text: string(source[body:])})
	return e
}

// declared are the package-level names of a file, in its order.
func declared(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, typ.Name.Name)
				}
			}
		}
	}
	return names
}

// edit replaces length bytes at pos.
type edit struct {
	pos    token.Pos
	length int
	token  model.Token
}

// edits finds the names to change, in the order of the source: selectors of imported packages,
// package-level names, and the name at the head of a doc comment.
func edits(file *ast.File, imports, renamed map[string]string) []edit {
	var found []edit
	selected := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			selected[n.Name] = n.Recv != nil // methods keep their names
		case *ast.SelectorExpr:
			selected[n.Sel] = true
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				selected[x] = true
				found = append(found, edit{n.Pos(), int(n.End() - n.Pos()), model.Token{Text: n.Sel.Name, Path: imports[x.Name], Package: x.Name}})
			}
		case *ast.Ident:
			if to, ok := renamed[n.Name]; ok && !selected[n] {
				found = append(found, edit{n.Pos(), len(n.Name), model.Token{Text: to}})
			}
		case *ast.Comment:
			for name, to := range renamed {
				if head := "// " + name + " "; len(n.Text) > len(head) && n.Text[:len(head)] == head {
					found = append(found, edit{n.Pos() + 3, len(name), model.Token{Text: to}})
				}
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b edit) int { return int(a.pos - b.pos) })
	return found
}

func offset(files *token.FileSet, pos token.Pos) int { return files.Position(pos).Offset }
