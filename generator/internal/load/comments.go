package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// TypeDoc implements schema.Source.
func (p *Program) TypeDoc(name *types.TypeName) string { return text(p.Comment(name)) }

// FieldDoc implements schema.Source.
func (p *Program) FieldDoc(field *types.Var) string { return text(p.Comment(field)) }

func text(group *ast.CommentGroup) string { return strings.TrimSpace(group.Text()) }

// Comment is the comment that describes a type or a struct field, or nil. Export data has neither
// comments nor columns: Comment parses the file of the object, and finds the object there by line
// and name. A file is parsed once.
func (p *Program) Comment(of types.Object) *ast.CommentGroup { return p.remarks(of).text }

// FieldSource is the doc comment of a struct field with its directives, or nil, and the
// package-level type that the field is written in, or "".
func (p *Program) FieldSource(field *types.Var) (doc *ast.CommentGroup, within string) {
	r := p.remarks(field)
	return r.doc, r.within
}

// remarks are the comments of a type or a struct field, and the package-level type around it.
type remarks struct {
	text   *ast.CommentGroup // that describes it
	doc    *ast.CommentGroup // before a field
	within string
}

func (p *Program) remarks(of types.Object) remarks {
	if of == nil || of.Pkg() == nil || !of.Pos().IsValid() {
		return remarks{}
	}
	at := p.Fset.PositionFor(of.Pos(), false)
	file := sourceFile{of.Pkg().Path(), at.Filename}
	index, known := p.comments[file]
	if !known {
		index = p.index(file)
		if p.comments == nil {
			p.comments = map[sourceFile]map[site]remarks{}
		}
		p.comments[file] = index
	}
	_, isField := of.(*types.Var)
	return index[site{at.Line, of.Name(), isField}]
}

// sourceFile is a file as a position names it. With -trimpath the name has no directory of this
// machine.
type sourceFile struct{ pkg, name string }

// site is where a file declares a type or a field.
type site struct {
	line  int
	name  string
	field bool
}

// GoFiles returns the files that this build compiles of a package, without those that mcpgen
// writes.
func (p *Program) GoFiles(path string) []string {
	if pkg := p.sources[path]; pkg != nil {
		var files []string
		for _, f := range pkg.Files {
			files = append(files, f.Path)
		}
		return files
	}
	if p.dependencies == nil {
		p.dependencies = map[string]*packages.Package{}
		var roots []*packages.Package
		for _, pkg := range p.sources {
			roots = append(roots, pkg.meta)
		}
		packages.Visit(roots, nil, func(meta *packages.Package) {
			p.dependencies[meta.PkgPath] = meta
		})
	}
	if meta := p.dependencies[path]; meta != nil {
		return meta.GoFiles
	}
	return nil
}

// syntax returns a file with its comments, or nil.
func (p *Program) syntax(file sourceFile) *ast.File {
	same := func(path string) bool { return filepath.Base(path) == filepath.Base(file.name) }
	if pkg := p.sources[file.pkg]; pkg != nil && pkg.Local {
		if i := slices.IndexFunc(pkg.Files, func(f *File) bool { return same(f.Path) }); i >= 0 {
			return pkg.Files[i].Syntax
		}
		return nil
	}
	paths := p.GoFiles(file.pkg)
	i := slices.IndexFunc(paths, same)
	if i < 0 {
		return nil
	}
	syntax, _ := parser.ParseFile(p.Fset, paths[i], nil,
		parser.ParseComments|parser.SkipObjectResolution)
	return syntax // nil if the file is gone
}

// index finds the comments of a file's types and fields.
func (p *Program) index(file sourceFile) map[site]remarks {
	index := map[site]remarks{}
	within := ""
	syntax := p.syntax(file)
	if syntax == nil {
		return index
	}
	line := func(pos token.Pos) int { return p.Fset.PositionFor(pos, false).Line }
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					doc := t.Doc
					if doc == nil && !n.Lparen.IsValid() {
						doc = n.Doc
					}
					index[site{line(t.Name.Pos()), t.Name.Name, false}] = remarks{text: doc}
				}
			}
		case *ast.FuncDecl, *ast.ValueSpec:
			within = ""
		case *ast.TypeSpec:
			within = n.Name.Name
		case *ast.StructType:
			for _, f := range n.Fields.List {
				comment := f.Doc
				if schema.Description(comment.Text()) == "" ||
					f.Comment != nil && schema.SwaggerOnly(comment.Text()) {
					comment = f.Comment
				}
				names := f.Names
				if len(names) == 0 {
					names = []*ast.Ident{embedded(f.Type)}
				}
				for _, id := range names {
					at := site{line(id.Pos()), id.Name, true}
					if index[at].doc == nil { // a struct in this line may have a field of the name
						index[at] = remarks{comment, f.Doc, within}
					}
				}
			}
		}
		return true
	})
	return index
}

// embedded is the name of an embedded field.
func embedded(expr ast.Expr) *ast.Ident {
	switch e := expr.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.ParenExpr:
		return embedded(e.X)
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.IndexExpr:
		return embedded(e.X)
	case *ast.IndexListExpr:
		return embedded(e.X)
	}
	return &ast.Ident{}
}
