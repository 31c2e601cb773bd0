package load

import (
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/schema"
)

var _ schema.Source = (*Program)(nil)

// PlainText is a doc comment as plain text: directives are removed, every paragraph is one line.
func PlainText(group *ast.CommentGroup) string {
	text := group.Text()
	if text == "" {
		return ""
	}
	var parser comment.Parser
	printer := comment.Printer{TextWidth: -1}
	return strings.TrimSpace(string(printer.Text(parser.Parse(text))))
}

// declaration is one type declaration in source.
type declaration struct {
	spec *ast.TypeSpec
	doc  *ast.CommentGroup
}

// TypeDoc implements schema.Source.
func (p *Program) TypeDoc(name *types.TypeName) string { return PlainText(p.TypeComment(name)) }

// TypeComment is the comment that TypeDoc is made of, or nil.
func (p *Program) TypeComment(name *types.TypeName) *ast.CommentGroup {
	if d := p.declaration(name); d != nil {
		return d.doc
	}
	return nil
}

// FieldDoc implements schema.Source.
func (p *Program) FieldDoc(owner *types.TypeName, path ...string) string {
	return PlainText(p.FieldComment(owner, path...))
}

// FieldComment is the comment that FieldDoc is made of, or nil.
func (p *Program) FieldComment(owner *types.TypeName, path ...string) *ast.CommentGroup {
	d := p.declaration(owner)
	if d == nil || len(path) == 0 {
		return nil
	}
	var field *ast.Field
	expr := d.spec.Type
	for i, name := range path {
		fields := structOf(expr)
		if fields == nil {
			// type B A takes over the fields of A.
			if next := p.declared(owner, expr); i == 0 && next != nil && next != owner {
				return p.FieldComment(next, path...)
			}
			return nil
		}
		i := slices.IndexFunc(fields.Fields.List, func(f *ast.Field) bool { return names(f, name) })
		if i < 0 {
			return nil
		}
		field = fields.Fields.List[i]
		expr = field.Type
	}
	if PlainText(field.Doc) != "" {
		return field.Doc
	}
	return field.Comment
}

// FieldTag is the tag of a struct field whose source is at hand, or nil.
func (p *Program) FieldTag(field types.Object) *ast.BasicLit {
	pkg := p.sources[field.Pkg().Path()]
	if pkg == nil {
		return nil
	}
	file := pkg.FileOf(p.Fset, field.Pos())
	if file == nil {
		return nil
	}
	var tag *ast.BasicLit
	ast.Inspect(file.Syntax, func(n ast.Node) bool {
		if n == nil || field.Pos() < n.Pos() || n.End() <= field.Pos() {
			return false
		}
		if f, ok := n.(*ast.Field); ok {
			tag = f.Tag // that of the innermost field counts
		}
		return true
	})
	return tag
}

// declared is the type name that an expression in the declaration of owner refers to, or nil.
func (p *Program) declared(owner *types.TypeName, expr ast.Expr) *types.TypeName {
	pkg := p.sources[owner.Pkg().Path()]
	switch e := expr.(type) {
	case *ast.Ident:
		name, _ := pkg.Info.Uses[e].(*types.TypeName)
		return name
	case *ast.SelectorExpr:
		return p.declared(owner, e.Sel)
	case *ast.IndexExpr:
		return p.declared(owner, e.X)
	case *ast.IndexListExpr:
		return p.declared(owner, e.X)
	}
	return nil
}

// structOf is the anonymous struct within a field's type: behind pointers, in lists and as the values of maps.
func structOf(expr ast.Expr) *ast.StructType {
	switch e := expr.(type) {
	case *ast.StructType:
		return e
	case *ast.ParenExpr:
		return structOf(e.X)
	case *ast.StarExpr:
		return structOf(e.X)
	case *ast.ArrayType:
		return structOf(e.Elt)
	case *ast.MapType:
		return structOf(e.Value)
	}
	return nil
}

// names reports whether the field declares the name, or embeds a type of that name.
func names(f *ast.Field, name string) bool {
	if len(f.Names) == 0 {
		return baseName(f.Type) == name
	}
	return slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name })
}

func baseName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ParenExpr:
		return baseName(e.X)
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	}
	return ""
}

// Enum implements schema.Source. A type whose constants are spread over several blocks, or
// stand in none, is no enum: which of them are its values would be a guess.
func (p *Program) Enum(name *types.TypeName) []*types.Const {
	if name.Pkg() == nil {
		return nil
	}
	pkg := p.sources[name.Pkg().Path()]
	basic, ok := name.Type().Underlying().(*types.Basic)
	if pkg == nil || !pkg.Local || !ok || basic.Info()&types.IsString == 0 {
		return nil
	}
	var found []*types.Const
	for _, file := range pkg.Files {
		for _, decl := range file.Syntax.Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			constants := pkg.Constants(block, name)
			if len(constants) == 0 {
				continue
			}
			if found != nil {
				return nil
			}
			found = constants
		}
	}
	if len(found) < 2 {
		return nil
	}
	return found
}

// Constants returns the constants of a const declaration that have the named type, blank ones
// left out, in source order.
func (pkg *Package) Constants(block *ast.GenDecl, name *types.TypeName) []*types.Const {
	var list []*types.Const
	for _, spec := range block.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, id := range value.Names {
			c, ok := pkg.Info.Defs[id].(*types.Const)
			if !ok || id.Name == "_" {
				continue
			}
			if named, ok := types.Unalias(c.Type()).(*types.Named); ok && named.Obj() == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// Local implements schema.Source.
func (p *Program) Local(pkg *types.Package) bool {
	if pkg == nil {
		return false
	}
	source := p.sources[pkg.Path()]
	return source != nil && source.Local
}

// declaration finds a package-level type declaration of the main module.
func (p *Program) declaration(name *types.TypeName) *declaration {
	if name == nil || name.Pkg() == nil {
		return nil
	}
	pkg := p.sources[name.Pkg().Path()]
	if pkg == nil || !pkg.Local {
		return nil
	}
	if pkg.decls == nil {
		pkg.decls = map[string]*declaration{}
		for _, file := range pkg.Files {
			for _, decl := range file.Syntax.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					t := spec.(*ast.TypeSpec)
					d := &declaration{spec: t, doc: t.Doc}
					if d.doc == nil && !g.Lparen.IsValid() {
						d.doc = g.Doc
					}
					pkg.decls[t.Name.Name] = d
				}
			}
		}
	}
	return pkg.decls[name.Name()]
}
