// Package grantuse finds out whether a handler takes the file of an argument from package grant.
//
// It reads syntax: bodies are not type-checked, so that a run takes no longer. It finds methods by
// their names alone, which may find one too many. A call in code that never runs counts, and a name
// in a variable does not. It finds forgotten calls, and does not stop deliberate evasion.
package grantuse

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"strconv"

	"github.com/mcpgen/mcpgen/generator/internal/load"
)

const grantPath = "github.com/mcpgen/mcpgen/runtime/grant"

// taking are the funcs of package grant that hand over the file of an argument.
var taking = map[string]bool{"File": true, "Dir": true, "TruePath": true}

// Funcs are the funcs of a package by name, methods by a dot and their name.
type Funcs struct {
	scope  *types.Scope
	byName map[string][]body
}

// body is a func of the package with its file.
type body struct {
	*ast.FuncDecl
	file *load.File
}

// Read lists the funcs of a package.
func Read(pkg *load.Package) *Funcs {
	f := &Funcs{scope: pkg.Types.Scope(), byName: map[string][]body{}}
	for _, file := range pkg.Files {
		for _, d := range file.Syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = "." + name
			}
			f.byName[name] = append(f.byName[name], body{fn, file})
		}
	}
	return f
}

// Take reports whether the func or method of that name in the source takes the file of an argument:
// whether its body calls grant.File, grant.Dir or grant.TruePath with the argument's name as a
// literal or a constant of the package, or passes its context, or a context made of it, to a func
// or method of the package whose body does.
func (f *Funcs) Take(handler *ast.Ident, argument string) bool {
	v := visitor{Funcs: f, argument: argument, seen: map[*ast.FuncDecl]bool{}}
	for _, name := range []string{handler.Name, "." + handler.Name} {
		for _, b := range f.byName[name] {
			if b.Name == handler {
				return v.within(b)
			}
		}
	}
	return false
}

// visitor follows a context through the funcs of a package.
type visitor struct {
	*Funcs
	argument string
	seen     map[*ast.FuncDecl]bool
}

// within reports whether a body, or one that it hands a context to, takes the file.
func (v *visitor) within(b body) bool {
	if v.seen[b.FuncDecl] {
		return false
	}
	v.seen[b.FuncDecl] = true
	imports := importsOf(b.file.Syntax)
	contexts := map[string]bool{}
	for _, field := range b.Type.Params.List {
		if isSelector(field.Type, imports, "context", "Context") {
			for _, name := range field.Names {
				contexts[name.Name] = true
			}
		}
	}
	hands := func(call *ast.CallExpr) bool {
		for _, arg := range call.Args {
			if id, ok := arg.(*ast.Ident); ok && contexts[id.Name] {
				return true
			}
		}
		return false
	}
	found := false
	ast.Inspect(b.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && hands(call) {
				if id, ok := n.Lhs[0].(*ast.Ident); ok {
					contexts[id.Name] = true
				}
			}
		case *ast.CallExpr:
			found = found || v.takesBy(n, imports) || hands(n) && v.called(n, imports)
		}
		return !found
	})
	return found
}

// takesBy reports whether a call is the one that takes the file.
func (v *visitor) takesBy(call *ast.CallExpr, imports map[string]string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !taking[sel.Sel.Name] || len(call.Args) != 2 {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || imports[id.Name] != grantPath {
		return false
	}
	switch name := ast.Unparen(call.Args[1]).(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(name.Value)
		return err == nil && name.Kind == token.STRING && text == v.argument
	case *ast.Ident:
		c, ok := v.scope.Lookup(name.Name).(*types.Const)
		return ok && c.Val().Kind() == constant.String && constant.StringVal(c.Val()) == v.argument
	}
	return false
}

// called reports whether what a call of this package runs takes the file.
func (v *visitor) called(call *ast.CallExpr, imports map[string]string) bool {
	name := ""
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok && imports[id.Name] != "" {
			return false
		}
		name = "." + fun.Sel.Name
	}
	for _, b := range v.byName[name] {
		if v.within(b) {
			return true
		}
	}
	return false
}

// importsOf are the paths that a file imports, by the names that it calls them.
func importsOf(file *ast.File) map[string]string {
	list := map[string]string{}
	for _, spec := range file.Imports {
		of, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(of)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		list[name] = of
	}
	return list
}

func isSelector(e ast.Expr, imports map[string]string, of, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && imports[id.Name] == of
}
