// Package guard turns facts that generated code relies on into compile-time guards.
package guard

import (
	"go/types"

	"github.com/mcpgen/mcpgen/generator/model"
)

// Facts are what the generated code of one package was made from.
type Facts struct {
	Package  *types.Package
	Handlers []*types.Func     // served funcs, methods and interface methods
	Types    []*types.TypeName // every named type that JSON can see in inputs and outputs
	Consts   []*types.Const    // enum constants and integer role constants
	// Local reports whether a package belongs to the module of this run.
	Local func(*types.Package) bool
}

// For returns the guards of one package.
func For(f Facts) []model.Guard { return nil }
