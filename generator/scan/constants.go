package scan

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
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

func byValue(a, b *types.Const) int {
	switch {
	case constant.Compare(a.Val(), token.LSS, b.Val()):
		return -1
	case constant.Compare(a.Val(), token.GTR, b.Val()):
		return 1
	}
	return 0
}
