// Package loguse finds out whether the handlers of a package can log to clients. It reads syntax:
// bodies are not type-checked. A logger that another package hands over is not found.
package loguse

import (
	"go/ast"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

const runtimePath = "github.com/mcpgen/mcpgen/runtime"

// Quiet reports whether none of a package's handlers can log to clients: none has go-sdk's shape,
// whose session logs, and neither the package nor one that it imports refers to runtime.Logger. A
// package of another module that imports the runtime may refer to it.
func Quiet(program *load.Program, pkg *load.Package, handlers []model.Handler) bool {
	users, others := program.Users(pkg, runtimePath)
	return !others && !slices.ContainsFunc(users, refersToLogger) &&
		!slices.ContainsFunc(handlers, func(h model.Handler) bool { return h.SDK })
}

func refersToLogger(pkg *load.Package) bool {
	return slices.ContainsFunc(pkg.Files, func(file *load.File) (found bool) {
		name := ""
		for _, spec := range file.Syntax.Imports {
			if of, _ := strconv.Unquote(spec.Path.Value); of == runtimePath {
				if name = "runtime"; spec.Name != nil {
					name = spec.Name.Name
				}
			}
		}
		ast.Inspect(file.Syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Logger" {
				id, ok := sel.X.(*ast.Ident)
				found = found || ok && id.Name == name
			}
			return !found
		})
		return found || name == "."
	})
}
