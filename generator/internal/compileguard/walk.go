package compileguard

import (
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// walker finds the types to guard: the given ones, each instance of a generic one, and the
// aliases in the types of handlers and fields.
type walker struct {
	given map[string]bool // by path and name: one type may come from two loads as two objects
	seen  map[string]bool // named types and aliases: every cycle goes through one
	same  typeutil.Map    // named types: aliases in their arguments may be written in many ways
	found []types.Type
	// embedded are the types that a found struct embeds and JSON does not see, such as those with
	// the tag json:"-". Go promotes their methods all the same.
	embedded []*types.Named
}

// declared is how given knows a type.
func declared(obj *types.TypeName) string {
	if obj.Pkg() == nil {
		return obj.Name()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// first reports whether a named type or alias has not been seen before.
func (w *walker) first(t types.Type) bool {
	key := types.TypeString(t, nil)
	if w.seen[key] {
		return false
	}
	w.seen[key] = true
	return true
}

func (w *walker) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if w.first(t) {
			w.alias(t)
		}
	case *types.Named:
		if w.same.Set(t, true) == nil && w.first(t) {
			w.named(t)
		}
	case *types.Pointer:
		w.visit(t.Elem())
	case *types.Slice:
		w.visit(t.Elem())
	case *types.Array:
		w.visit(t.Elem())
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			w.visit(f.Type())
			if f.Embedded() {
				w.embed(f.Type())
			}
		}
	case *types.Signature:
		w.tuple(t.Params())
		w.tuple(t.Results())
	}
}

func (w *walker) tuple(t *types.Tuple) {
	for v := range t.Variables() {
		w.visit(v.Type())
	}
}

func (w *walker) alias(t *types.Alias) {
	if pkg := t.Obj().Pkg(); pkg != nil && t.TypeParams().Len() == t.TypeArgs().Len() {
		w.found = append(w.found, t)
	}
	w.visit(t.Rhs())
}

// named goes into the given types only: what JSON cannot see needs no guard. A generic type
// is guarded by its instances.
func (w *walker) named(t *types.Named) {
	for arg := range t.TypeArgs().Types() {
		w.visit(arg)
	}
	if !w.given[declared(t.Origin().Obj())] {
		return
	}
	if t.TypeParams().Len() == t.TypeArgs().Len() {
		w.found = append(w.found, t)
		w.visit(t.Underlying())
	}
}

// embed notes an embedded type that is not given, and the types that it embeds.
func (w *walker) embed(t types.Type) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	if !ok || w.given[declared(n.Origin().Obj())] {
		return
	}
	key := "embedded " + types.TypeString(n, nil)
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	w.embedded = append(w.embedded, n)
	if s, ok := n.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Embedded() {
				w.embed(f.Type())
			}
		}
	}
}

// objectOf is the name that a found type is declared by.
func objectOf(t types.Type) *types.TypeName { return t.(interface{ Obj() *types.TypeName }).Obj() }
