// Package sourcehash computes a hash of the source that generated code depends on and the compiler
// does not check: directives, comments, parameter names, added constants, new handlers.
//
// The generator and the generated test share one implementation: hash.go imports the standard
// library only, and the generator writes it into the test with other names. Generated files import
// nothing of the generator.
package sourcehash

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

// Source returns the declarations of hash.go for another package: package-level names are those
// that rename returns, and names of imported packages are separate tokens. It fails only if hash.go
// is not valid Go.
func Source(rename func(name string) string) (model.Expr, error) {
	p, err := hashParsed()
	if err != nil {
		return nil, err
	}
	return p.rewrite(rename), nil
}

// hashParsed parses hash.go once for all packages of a run. It is safe for concurrent use.
var hashParsed = sync.OnceValues(func() (*parsed, error) { return parse(hashSource) })

// parsed is a source file, cut at every name that differs in another package. It does not change.
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
		return nil, fmt.Errorf("the source of the source hash test: %w", err)
	}
	imports := map[string]string{} // paths, by name
	for _, spec := range file.Imports {
		value, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("the source of the source hash test: %w", err)
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
