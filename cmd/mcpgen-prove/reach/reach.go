// Package reach finds what the code of handlers can reach: files, network and programs, by the call
// graph of github.com/google/capslock. It is in a module of its own, since only mcpgen-prove needs
// capslock.
//
// A handler reaches what a func has that it calls, however far: capslock names the funcs of the
// standard library with a capability, and package classes adds this module's own. Calls through
// interfaces and func values lead where the analysis sees values flow, and through an interface
// that nothing is seen to flow into, to the author's types that implement it. A value that the
// standard library is handed may have its methods called by it, and a func that is made or named is
// called.
//
// Opening counts, and not the use of open files: a file is reached where it is opened, or where a
// method of *os.File is called by name, and not where something reads from an io.Reader. So a file
// that the server opens as it starts, and a handler uses through an interface of the standard
// library, is not found; and neither is a method that a template or another package finds by
// reflection.
//
// Code that may do anything is unknown: C, assembly, unsafe pointers, system calls, calls by
// reflection outside of the standard library, and calls of funcs and methods that the analysed
// packages neither set nor implement. Unknown fails a declaration, which has to be complete.
package reach

import (
	"fmt"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// Tools analyses the handlers of a service's tools, in their order. It takes seconds. It fails
// where Load has not read the package.
func (p *Program) Tools(s extension.Service) ([]extension.Proven, error) {
	root := p.roots[s.Package]
	if root == nil {
		return nil, fmt.Errorf("package %s has not been read", s.Package)
	}
	g, err := graphOf(root)
	if err != nil {
		return nil, err
	}
	var list []extension.Proven
	for _, tool := range s.Tools {
		list = append(list, g.walked(tool, g.handlers(root.Types, tool.Handler)))
	}
	return list, nil
}

// handlers are the funcs that answer a tool: one, or, for a method of an interface, those of the
// author's types that implement it.
func (g *graph) handlers(pkg *types.Package, h extension.Handler) []*ssa.Function {
	if h.Recv == "" {
		fn, ok := pkg.Scope().Lookup(h.Name).(*types.Func)
		if !ok {
			return nil
		}
		return []*ssa.Function{g.prog.FuncValue(fn)}
	}
	recv := pkg.Scope().Lookup(h.Recv)
	if recv == nil {
		return nil
	}
	if iface, ok := recv.Type().Underlying().(*types.Interface); ok {
		return g.implementers(iface, h.Name)
	}
	if f := g.method(types.NewPointer(recv.Type()), pkg, h.Name); f != nil {
		return []*ssa.Function{f}
	}
	return nil
}
