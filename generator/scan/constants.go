package scan

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
)

// integers returns the constants of a block when all of them, blank ones apart, have one named
// integer type of this package, and that type; nil otherwise.
func (s *scanner) integers(block *ast.GenDecl) ([]*types.Const, *types.TypeName) {
	var (
		list []*types.Const
		typ  *types.TypeName
	)
	for _, spec := range block.Specs {
		for _, id := range spec.(*ast.ValueSpec).Names {
			c, ok := s.pkg.Info.Defs[id].(*types.Const)
			if !ok {
				return nil, nil
			}
			named, ok := types.Unalias(c.Type()).(*types.Named)
			if !ok || named.Obj().Pkg() != s.pkg.Types || c.Val().Kind() != constant.Int ||
				typ != nil && named.Obj() != typ {
				return nil, nil
			}
			typ = named.Obj()
			if id.Name != "_" {
				list = append(list, c)
			}
		}
	}
	return list, typ
}

// strays reports constants that an enum lacks because they stand in another const block, and enums
// that not every build has.
func (s *scanner) strays() {
	var last *types.TypeName
	for _, c := range s.walker.Enums() {
		typ := types.Unalias(c.Type()).(*types.Named).Obj()
		if typ == last {
			continue
		}
		last = typ // the constants are sorted by type, and c is the first one of its block
		file := s.prog.Package(typ.Pkg().Path()).FileOf(s.prog.Fset, c.Pos())
		if file != nil && file.Constrained {
			s.report(diag.BuildConstraint, c.Pos(), token.NoPos,
				"move the constants into a file that every build has",
				"the schema of a tool reads the constants of %s, "+
					"whose file is not part of every build", typ.Name())
		}
		for _, block := range s.prog.Stray(typ) {
			names := make([]string, len(block))
			for i, stray := range block {
				names[i] = stray.Name()
			}
			first := block[0]
			s.report(diag.StrayConstant, first.Pos(), first.Pos()+token.Pos(len(first.Name())),
				"move it into that block, or declare it without the type "+typ.Name()+
					"; if any text is valid, use string instead of "+typ.Name(),
				"the enum %s lacks %s: the enum is the const block at %s",
				typ.Name(), strings.Join(names, ", "), s.short(c.Pos()))
		}
	}
}

func byValue(a, b *types.Const) int {
	switch {
	case constant.Compare(a.Val(), token.LSS, b.Val()):
		return -1
	case constant.Compare(a.Val(), token.GTR, b.Val()):
		return 1
	}
	return 0
}
