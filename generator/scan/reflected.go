package scan

import (
	"encoding/json"
	"go/types"
	"slices"

	"github.com/mcpgen/mcpgen/generator/gotype"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/schema"
)

// Reflected is one input or output type of a service, and the walker's copy of the Reflector's schema.
type Reflected struct {
	Type   model.Expr     // as seen from the service's package
	Pos    model.Position // of the type where its source is at hand, else of the handler
	Schema json.RawMessage
	// Apart says why there is nothing to compare, or is empty.
	Apart string

	static types.Type
	in     *types.Package
}

// Reflect walks the type as a Reflector with this CommentMap does. It returns the import paths of the
// packages whose types JSON can see.
func (r *Reflected) Reflect(comments map[string]string) (packages []string) {
	walker := schema.New(r.in, nil)
	s, problems := walker.Reflect(r.static, comments)
	if len(problems) > 0 {
		r.Apart = problems[0].Message
	} else if text, err := json.Marshal(s); err != nil {
		r.Apart = err.Error()
	} else {
		r.Schema = text
	}
	for _, name := range walker.Named() {
		packages = append(packages, name.Pkg().Path())
	}
	return packages
}

// ReflectedTypes returns the types of a service's inputs and outputs, each once, in the order of the tools.
// Types that a schema by hand describes are left out: nothing was read from them.
func ReflectedTypes(prog *load.Program, service model.Service) []Reflected {
	pkg := prog.Package(service.Package)
	if pkg == nil {
		return nil
	}
	var list []Reflected
	seen := map[string]bool{}
	for _, tool := range service.Tools {
		fn := handler(pkg.Types, tool.Handler)
		if fn == nil {
			continue
		}
		for _, t := range contract(fn.Signature(), tool) {
			t = pointee(t)
			expr := gotype.Expr(t, pkg.Types)
			if seen[expr.String()] {
				continue
			}
			seen[expr.String()] = true
			r := Reflected{Type: expr, Pos: tool.Handler.Pos, static: t, in: pkg.Types}
			if n, ok := types.Unalias(t).(*types.Named); ok && prog.Local(n.Obj().Pkg()) {
				r.Pos = prog.Position(n.Obj().Pos(), n.Obj().Pos())
			}
			list = append(list, r)
		}
	}
	return list
}

// handler finds the func, method or interface method of a tool.
func handler(pkg *types.Package, h model.Handler) *types.Func {
	if h.Recv == "" {
		fn, _ := pkg.Scope().Lookup(h.Name).(*types.Func)
		return fn
	}
	recv := pkg.Scope().Lookup(h.Recv)
	if recv == nil {
		return nil
	}
	found, _, _ := types.LookupFieldOrMethod(recv.Type(), true, pkg, h.Name)
	fn, _ := found.(*types.Func)
	return fn
}

// contract is the types that a handler takes and returns, those that the protocol is made of and
// those with a schema by hand left out.
func contract(sig *types.Signature, tool model.Tool) []types.Type {
	var list []types.Type
	if tool.Input.File == "" {
		for v := range sig.Params().Variables() {
			list = append(list, v.Type())
		}
	}
	if tool.Output.File == "" && tool.Output.Kind.Structured() {
		for v := range sig.Results().Variables() {
			list = append(list, v.Type())
		}
	}
	return slices.DeleteFunc(list, func(t types.Type) bool {
		return isContext(t) || isError(t) || isRequest(t) || isResult(t)
	})
}
