package load

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcpgen/mcpgen/generator/schema"
)

var _ schema.Source = (*Program)(nil)

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
