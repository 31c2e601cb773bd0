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
	"strings"
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

// parsed is a source file cut at every name that is written in another way elsewhere. It is only
// read from now on.
type parsed struct {
	declared []string // package-level names, in the file's order
	pieces   []piece
}

// piece is a stretch of source: a token as it is, or a package-level name.
type piece struct {
	token model.Token
	name  string // the package-level name that stands here, or empty
}

func parse(source []byte) (*parsed, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "hash.go", source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("the source of the freshness test: %w", err)
	}
	imports := map[string]string{} // paths, by name
	for _, spec := range file.Imports {
		value, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("the source of the freshness test: %w", err)
		}
		imports[path.Base(value)] = value
	}
	p := &parsed{declared: declared(file)}
	body := offset(files, file.Decls[0].End()) // after the imports
	for _, edit := range edits(file, imports, p.declared) {
		start := offset(files, edit.pos)
		p.pieces = append(p.pieces, piece{token: model.Token{Text: string(source[body:start])}}, edit.piece)
		body = start + edit.length
	}
	p.pieces = append(p.pieces, piece{token: model.Token{Text: string(source[body:])}})
	return p, nil
}

func (p *parsed) rewrite(rename func(name string) string) model.Expr {
	renamed := make(map[string]string, len(p.declared))
	for _, name := range p.declared {
		renamed[name] = rename(name)
	}
	var e model.Expr
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			e = append(e, model.Token{Text: text.String()})
			text.Reset()
		}
	}
	for _, piece := range p.pieces {
		switch {
		case piece.name != "":
			text.WriteString(renamed[piece.name])
		case piece.token.Path != "":
			flush()
			e = append(e, piece.token)
		default:
			text.WriteString(piece.token.Text)
		}
	}
	flush()
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

// edit puts a piece in the place of length bytes at pos.
type edit struct {
	pos    token.Pos
	length int
	piece  piece
}

// edits finds the names to change, in the order of the source: selectors of imported packages,
// package-level names, and the name at the head of a doc comment.
func edits(file *ast.File, imports map[string]string, declared []string) []edit {
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
				found = append(found, edit{n.Pos(), int(n.End() - n.Pos()), piece{
					token: model.Token{Text: n.Sel.Name, Path: imports[x.Name], Package: x.Name},
				}})
			}
		case *ast.Ident:
			if slices.Contains(declared, n.Name) && !selected[n] {
				found = append(found, edit{n.Pos(), len(n.Name), piece{name: n.Name}})
			}
		case *ast.Comment:
			for _, name := range declared {
				if strings.HasPrefix(n.Text, "// "+name+" ") {
					found = append(found, edit{n.Pos() + 3, len(name), piece{name: name}})
				}
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b edit) int { return int(a.pos - b.pos) })
	return found
}

func offset(files *token.FileSet, pos token.Pos) int { return files.Position(pos).Offset }
