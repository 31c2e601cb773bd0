// Package reach finds what the code of handlers can reach: files, network and programs. It is in a
// module of its own, since only mcpgen-prove needs its libraries.
//
// flow finds the funcs and types that each value may hold, from the initialization of all packages
// and the funcs of the author's. walk follows the calls of one handler along these values. It stops
// at funcs with a known capability: capslock names those of the standard library, and package
// classes adds others.
//
// The standard library may call the methods of a value that it receives, and of the values in it. A
// func that is made or named counts as called. Importers of the author's packages are not analysed.
// A value that only importers can set is unknown. A value that the analysed packages set too is the
// one that they set.
//
// Opening counts, and not the use of open files: a file is reached where it is opened, or where a
// method of *os.File is called by name, and not where something reads from an io.Reader.
//
// Code that may do anything is unknown: C, assembly, system calls, calls by reflection, templates,
// an unsafe.Pointer to memory with pointers, and calls of values that the analysed packages do not
// set. Unknown fails a declaration, which has to be complete.
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
	g := graphOf(root)
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
