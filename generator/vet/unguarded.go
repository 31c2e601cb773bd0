package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
)

const (
	sdkPath     = "github.com/modelcontextprotocol/go-sdk/mcp"
	runtimePath = "github.com/mcpgen/mcpgen/runtime"
)

// unguarded reports tools that a package with a guarded server adds to a go-sdk server without the
// guard. A package that calls runtime.Adopt may add tools to the server before: Adopt requires a
// rule for each. Their order is known within one func and for one variable.
func unguarded(prog *load.Program, pkg *load.Package) diag.List {
	var (
		list    diag.List
		added   []*ast.CallExpr
		guarded bool                             // the package makes a server with the guard
		adopted = map[types.Object][]token.Pos{} // servers that are variables
		adopts  bool
		funcs   []*ast.FuncDecl
	)
	for _, f := range pkg.Files {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				funcs = append(funcs, n)
			case *ast.CallExpr:
				switch fn := typeutil.StaticCallee(pkg.Info, n); {
				case fn == nil:
				case is(fn, sdkPath, "AddTool"):
					added = append(added, n)
				case is(fn, runtimePath, "New"):
					guarded = true
				case is(fn, runtimePath, "Adopt") && len(n.Args) > 0:
					guarded, adopts = true, true
					if server := variable(pkg.Info, n.Args[0]); server != nil {
						adopted[server] = append(adopted[server], n.Pos())
					}
				}
			}
			return true
		})
	}
	if !guarded {
		return nil
	}
	for _, call := range added {
		place := prog.Position(call.Fun.Pos(), call.Fun.End())
		switch {
		case !adopts:
			list.Add(diag.Unguarded, place, "write a handler with //mcp:tool, or guard the server "+
				"with runtime.Adopt", "this tool is on a server without the guard, so no rule restricts it")
		case after(funcs, call.Pos(), adopted[variable(pkg.Info, server(call))]):
			list.Add(diag.Unguarded, place, "add the tool before runtime.Adopt, or write a handler "+
				"with //mcp:tool", "this tool is added after runtime.Adopt, which compares tools with rules")
		}
	}
	return list
}

func is(fn *types.Func, path, name string) bool {
	return fn.Name() == name && fn.Pkg() != nil && fn.Pkg().Path() == path
}

// server is the expression of the server that AddTool, a func or a method, adds to.
func server(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 3 {
		return call.Args[0]
	}
	if selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return selector.X
	}
	return nil
}

// variable is the variable that an expression names, or nil.
func variable(info *types.Info, expr ast.Expr) types.Object {
	if id, ok := expr.(*ast.Ident); ok {
		if v, ok := info.Uses[id].(*types.Var); ok {
			return v
		}
	}
	return nil
}

// after reports whether a call comes after another one of the same func.
func after(funcs []*ast.FuncDecl, call token.Pos, others []token.Pos) bool {
	for _, fn := range funcs {
		if call < fn.Pos() || fn.End() <= call {
			continue
		}
		for _, other := range others {
			if fn.Pos() <= other && other < call {
				return true
			}
		}
	}
	return false
}
