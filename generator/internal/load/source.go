package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

var _ schema.Source = (*Program)(nil)

// FieldTag is the tag of a struct field whose source was read, or nil.
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

// Enum implements schema.Source. The enum is the largest const block of the type, of two constants
// or more.
func (p *Program) Enum(name *types.TypeName) []*types.Const {
	enum, _ := p.enum(name)
	return enum
}

// Stray returns the constants that the enum of a type lacks: those of other const blocks, one slice
// a block, unless their values are in the enum.
func (p *Program) Stray(name *types.TypeName) [][]*types.Const {
	_, stray := p.enum(name)
	return stray
}

func (p *Program) enum(name *types.TypeName) (enum []*types.Const, stray [][]*types.Const) {
	if name.Pkg() == nil {
		return nil, nil
	}
	pkg := p.sources[name.Pkg().Path()]
	basic, ok := name.Type().Underlying().(*types.Basic)
	if pkg == nil || !pkg.Local || !ok || basic.Info()&(types.IsString|types.IsInteger) == 0 {
		return nil, nil
	}
	var blocks [][]*types.Const
	for _, file := range pkg.Files {
		if file.Constrained {
			continue // see Conditional
		}
		for _, decl := range file.Syntax.Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			constants := pkg.Constants(block, name)
			blocks = append(blocks, constants)
			if len(constants) > max(len(enum), 1) {
				enum = constants
			}
		}
	}
	if enum == nil {
		return nil, nil
	}
	values := map[string]bool{}
	for _, c := range enum {
		values[c.Val().ExactString()] = true
	}
	for _, block := range blocks {
		lacking := slices.DeleteFunc(slices.Clone(block), func(c *types.Const) bool {
			return values[c.Val().ExactString()]
		})
		if len(lacking) > 0 {
			stray = append(stray, lacking)
		}
	}
	return enum, stray
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
