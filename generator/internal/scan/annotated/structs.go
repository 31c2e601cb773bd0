package annotated

import (
	"go/ast"
	"go/types"

	"github.com/mcpgen/mcpgen/generator/internal/load"
)

// Struct is a struct type that a package declares.
type Struct struct {
	Name string // without the package; "" for a struct type without a name
	Type types.Type
}

// Structs returns the struct types of a package, in the order of the source: those that are defined
// by another struct, those of func bodies that a type of a package defines, and each field of those
// without a name that declarations write.
func Structs(prog *load.Program, pkg *load.Package) (list []Struct) {
	for _, file := range pkg.Files {
		if file.TypedClient() {
			continue // the file may not exist yet, and has no directive
		}
		named := map[ast.Expr]bool{}      // structs that are written behind a name
		locals := map[string]types.Type{} // of the func
		add := func(name string, t types.Type) {
			if _, ok := t.Underlying().(*types.Struct); ok {
				list = append(list, Struct{name, t})
			}
		}
		ast.Inspect(file.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				clear(locals)
			case *ast.TypeSpec:
				if n.Assign.IsValid() {
					break // an alias
				}
				named[ast.Unparen(n.Type)] = true
				if object := pkg.Info.Defs[n.Name]; object != nil {
					add(n.Name.Name, object.Type())
				} else if t := local(prog, pkg, n.Type, locals); t != nil {
					locals[n.Name.Name] = t
					add(n.Name.Name, t)
				}
			case *ast.StructType:
				if named[n] {
					break
				}
				for _, f := range n.Fields.List {
					for _, name := range f.Names {
						if v, ok := pkg.Info.Defs[name].(*types.Var); ok {
							add("", types.NewStruct([]*types.Var{v}, nil))
						}
					}
				}
			}
			return true
		})
	}
	return list
}

// local is the type of an expression in the body of a func, which is not checked, or nil.
func local(prog *load.Program, pkg *load.Package, expr ast.Expr,
	locals map[string]types.Type) types.Type {
	if id, ok := ast.Unparen(expr).(*ast.Ident); ok && locals[id.Name] != nil {
		return locals[id.Name]
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if types.CheckExpr(prog.Fset, pkg.Types, expr.Pos(), expr, info) != nil {
		return nil
	}
	return info.TypeOf(expr)
}
