package reach

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A hub is a node of values that reflection handles.
type hub struct {
	seen  map[types.Type]bool // types that it has taken apart
	calls bool                // whether it may call funcs
}

// hub is the node of the values that reflection in a package handles.
func (x *flow) hub(pkg string) int {
	n, ok := x.nodes["hub "+pkg]
	if !ok {
		n = x.make("hub "+pkg, types.NewInterfaceType(nil, nil))
		x.hubs[n] = &hub{seen: map[types.Type]bool{}}
	}
	return n
}

// reflects follows what code outside of the standard library does with reflection: values that it
// takes apart or makes flow into a node, and from there to all that they are made of.
func (x *flow) reflects(f *ssa.Function, site ssa.CallInstruction, callee *ssa.Function) bool {
	if packagePath(callee) != "reflect" || !x.foreign(f) {
		return false
	}
	hub := x.hub(packagePath(f))
	switch name := callee.Name(); {
	case name == "ValueOf" || name == "TypeOf":
		x.edge(x.node(site.Common().Args[0]), hub)
	case len(callee.TypeArgs()) > 0: // TypeFor, TypeAssert
		for _, t := range callee.TypeArgs() {
			x.take(hub, t)
			if v := site.Value(); v != nil && name == "TypeAssert" {
				x.edge(hub, x.part(v, 0, t))
			}
		}
	case (name == "Call" || name == "CallSlice") && !x.hubs[hub].calls:
		x.hubs[hub].calls = true
		for _, atom := range x.held[hub].AppendTo(nil) {
			x.reflected(hub, x.atoms[atom])
		}
	case callee.String() == "(reflect.Value).Interface":
		if v := site.Value(); v != nil {
			x.edge(hub, x.node(v))
		}
		return true
	}
	return false
}

// shares joins the hubs of two packages that pass each other values of package reflect.
func (x *flow) shares(f *ssa.Function, t types.Type, with string) {
	if from := packagePath(f); from != with && mentions(t) && x.foreign(f) {
		x.both(x.hub(from), x.hub(with))
	}
}

// mentions reports whether a type is a reflect.Value or reflect.Type, or made of some.
func mentions(t types.Type) bool {
	for {
		switch u := types.Unalias(t).(type) {
		case *types.Named:
			p := u.Obj().Pkg()
			return p != nil && p.Path() == "reflect"
		case interface{ Elem() types.Type }:
			t = u.Elem()
		case *types.Signature:
			return slices.ContainsFunc([]*types.Tuple{u.Params(), u.Results()}, mentionedIn)
		default:
			return false
		}
	}
}

func mentionedIn(t *types.Tuple) bool {
	for v := range t.Variables() {
		if mentions(v.Type()) {
			return true
		}
	}
	return false
}

// reflected follows an atom that reflection handles. It may call a func. The methods of a type are
// not followed: a call of them that a handler leads to is unknown.
func (x *flow) reflected(hub int, atom any) {
	if t, ok := atom.(types.Type); ok {
		x.take(hub, t)
		return
	}
	f, ok := atom.(*ssa.Function)
	if !ok || !x.hubs[hub].calls {
		return
	}
	x.reach(f)
	for _, p := range f.Params {
		x.edge(hub, x.node(p))
	}
	results := f.Signature.Results()
	for i := range results.Len() {
		x.edge(x.part(f, i, results.At(i).Type()), hub)
	}
}

// take makes a type and all that reflection can reach in it flow to and from a hub.
func (x *flow) take(hub int, t types.Type) {
	x.parts(t, x.hubs[hub].seen, (*types.Var).Exported, func(n int) { x.both(n, hub) },
		func(t types.Type) bool {
			for _, t := range []types.Type{t, types.NewPointer(t)} {
				if !types.IsInterface(t) && x.prog.MethodSets.MethodSet(t).Len() > 0 {
					x.put(hub, x.atom(t))
				}
			}
			return true
		})
}

// parts visits the nodes of the memory that values of a type are made of: the types that enter
// accepts, and their fields that through accepts.
func (x *flow) parts(t types.Type, seen map[types.Type]bool,
	through func(*types.Var) bool, node func(int), enter func(types.Type) bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if !enter(t) {
		return
	}
	inside := func(kind int, t types.Type) {
		if n := x.in(kind, t); n != 0 {
			node(n)
		}
		x.parts(t, seen, through, node, enter)
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		inside(targetOf, u.Elem())
	case *types.Slice:
		inside(elementOf, u.Elem())
	case *types.Array:
		inside(elementOf, u.Elem())
	case *types.Chan:
		inside(sentOn, u.Elem())
	case *types.Map:
		inside(keyOf, u.Key())
		inside(valueOf, u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if !through(u.Field(i)) {
				continue
			}
			if n := x.field(u, i); n != 0 {
				node(n)
			}
			x.parts(u.Field(i).Type(), seen, through, node, enter)
		}
	}
}
