package schema

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/invopop/jsonschema"
)

// direction is the direction in which values are converted.
type direction int

const (
	decoding direction = iota // arguments: JSON to Go
	encoding                  // results: Go to JSON
)

// inlineLimit bounds the schemas of one document that has everything acyclic inlined, about 150 KB
// of JSON. A larger one keeps definitions, since inlining is exponential in the worst case.
const inlineLimit = 2000

// guardedLimit bounds the schemas of a type that is inlined within a guarded field.
const guardedLimit = 100

// depthLimit ends a walk through types that never reach a struct, slice or map, as in type P *P.
const depthLimit = 200

// pass is one walk from one root.
type pass struct {
	w        *Walker
	dir      direction
	limits   bool // limits bind the values: arguments, and the types of Declare
	omits    bool // a result without omitted fields: it has no field without a property
	inline   bool // only cycles are references
	defs     map[string]*definition
	size     int             // schemas made so far, apart from those within guarded fields
	depth    int             // nesting of build
	guards   int             // the guarded fields around the place; 1 in a definition within them
	bare     bool            // guarded fields are left out
	small    map[string]bool // by the key of the type; see apart
	problems []Problem
	places   map[*jsonschema.Schema]place // of the properties
	again    map[string]bool              // the keys of the types that were read again; see reread
}

// definition is a named type that references may point to.
type definition struct {
	key     string
	typ     types.Type
	schema  *jsonschema.Schema
	refs    []*jsonschema.Schema // every reference made, to be named at the end
	guarded bool                 // it is within guarded fields; see apart
	// addressable is in which places the definition was read; see reread.
	addressable bool
}

// place is the position of a walk in the types.
type place struct {
	path string       // as in Problem.Path
	obj  types.Object // innermost field or type with a position
	// owner is the innermost named type, as in Problem.Type, and field is true while obj is a field in
	// its declaration.
	owner *types.TypeName
	field bool
	own   types.Object // as in Problem.Own
	// addressable is whether encoding/json finds methods of pointer receivers when it marshals.
	addressable bool
}

func rootPlace(t types.Type) place {
	at := place{path: types.TypeString(t, bare)}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		at.path, at.obj = n.Obj().Name(), n.Obj()
	}
	return at
}

func (w *Walker) pass(d direction) *pass {
	return &pass{
		w: w, dir: d, limits: d == decoding, inline: true,
		defs: map[string]*definition{}, places: map[*jsonschema.Schema]place{},
		again: map[string]bool{}, small: map[string]bool{},
	}
}

// ByHand ends the cure of a type that a schema by hand can describe.
const ByHand = "or write the schema by hand: //mcp:schema"

// foreignCure is the cure for a type of another module, which its users cannot edit.
const foreignCure = "use a type of your own instead, " + ByHand

// problem adds a finding. In a struct of another module, the cure is one that the author of the
// handlers can apply.
func (p *pass) problem(kind ProblemKind, at place, message, cure string) {
	field, ok := at.obj.(*types.Var)
	if ok && p.foreign(field) && !strings.Contains(cure, declareCure) {
		cure = foreignCure
		if _, isField := at.own.(*types.Var); isField {
			cure = `hide the field with json:"-", ` + cure
		}
	}
	p.add(at.found(kind, message, cure))
}

// fatal adds a finding about a type that no decoder can fill, also by a schema by hand.
func (p *pass) fatal(at place, message, cure string) {
	if p.foreign(at.obj) {
		cure = "use a type of your own instead"
	}
	found := at.found(UnsupportedType, message, cure)
	found.Panics = true
	p.add(found)
}

// found is a problem in the place.
func (at place) found(kind ProblemKind, message, cure string) Problem {
	return Problem{
		Kind: kind, Path: at.path, Obj: at.obj, Type: at.owner, Field: at.field, Own: at.own,
		Message: message, Cure: cure,
	}
}

// add adds a finding once: a type on two paths has its problems once a path.
func (p *pass) add(found Problem) {
	for _, q := range p.problems {
		if q.Path == found.Path && q.Message == found.Message {
			return
		}
	}
	p.problems = append(p.problems, found)
}

// local reports whether the author of the handlers can change a declaration, and foreign whether
// not. Without a source both are false.
func (p *pass) local(obj types.Object) bool   { return p.w.src != nil && p.w.src.Local(obj.Pkg()) }
func (p *pass) foreign(obj types.Object) bool { return p.w.src != nil && !p.w.src.Local(obj.Pkg()) }

// key identifies a type among the definitions, and "" is a type without one. Within guarded fields
// a type has another definition.
func (p *pass) key(t types.Type) string {
	n, ok := t.(*types.Named)
	switch {
	case !ok || p.guards == 1 && !p.apart(n):
		return ""
	case p.guards > 0:
		return p.w.seen.key(n) + " guarded"
	}
	return p.w.seen.key(n)
}

// Callers below the rule of a field get the schema of a type without the field. So guarded fields
// decide neither which other types have definitions, nor the names of these: the types within
// guarded fields have definitions of their own, and each type decides for itself.

// apart reports whether a type has a definition within a guarded field: a type that is large or
// refers to itself, apart from its guarded fields. Within two guarded fields each type has one.
func (p *pass) apart(n *types.Named) bool {
	key := p.w.seen.key(n)
	if _, known := p.small[key]; !known {
		q := p.w.pass(p.dir) // its problems are dropped
		q.omits, q.bare = p.omits, true
		q.build(n, rootPlace(n))
		p.small[key] = q.size <= guardedLimit && len(q.defs) == 0
	}
	return !p.small[key]
}

// define opens the definition of a named type; its schema is filled afterwards.
func (p *pass) define(t types.Type, s *jsonschema.Schema, at place) {
	if key := p.key(t); key != "" {
		p.defs[key] = &definition{key: key, typ: t, schema: s, addressable: at.addressable,
			guarded: p.guards > 0}
		p.guards = min(p.guards, 1)
	}
}

// refTo is a new reference to the definition of t, or nil without one.
func (p *pass) refTo(t types.Type) *jsonschema.Schema {
	d := p.defs[p.key(types.Unalias(t))]
	if d == nil {
		return nil
	}
	s := &jsonschema.Schema{Ref: "#/$defs/" + d.key}
	d.refs = append(d.refs, s)
	return s
}

// schema is the schema of a type in its place: a reference if it has a definition.
func (p *pass) schema(t types.Type, at place) *jsonschema.Schema {
	if ref := p.refTo(t); ref != nil {
		p.reread(t, at)
		return ref
	}
	return p.build(t, at)
}

// reread finds the problems of a definition that was read with addressable values, and that is now
// used for values that are not, as the elements of a map.
func (p *pass) reread(t types.Type, at place) {
	d := p.defs[p.key(types.Unalias(t))]
	if p.bare || p.dir != encoding || at.addressable || !d.addressable || p.again[d.key] {
		return
	}
	p.again[d.key] = true
	q := p.w.pass(p.dir)
	q.inline, q.again = p.inline, p.again
	q.build(t, at)
	for _, found := range q.problems {
		p.add(found)
	}
}

// repeats reports whether a type is an element of itself, through any number of types.
func repeats(t types.Type) bool {
	for at, seen := t, map[types.Type]bool{}; !seen[at]; at = types.Unalias(at) {
		seen[at] = true
		of, ok := at.Underlying().(interface{ Elem() types.Type })
		if !ok {
			return false
		}
		if at = of.Elem(); len(seen) > 2*depthLimit {
			return true
		}
	}
	return true
}

// build makes the schema of a type that has no definition yet.
func (p *pass) build(t types.Type, at place) *jsonschema.Schema {
	t = types.Unalias(t)
	if p.guards == 0 {
		p.size++
	}
	if p.size > inlineLimit && p.inline {
		return &jsonschema.Schema{} // attempt walks again, with definitions
	}
	if p.depth >= depthLimit {
		if repeats(t) {
			p.problem(UnsupportedType, at, "the type refers to itself without end",
				"break the cycle with a struct, a slice or a map")
		} else {
			p.problem(UnsupportedType, at, fmt.Sprintf("the type has more than %d levels", depthLimit),
				"use a type with fewer levels, "+ByHand)
		}
		return &jsonschema.Schema{}
	}
	guards := p.guards
	p.depth++
	defer func() { p.depth-- }()

	if elem := p.pointee(t); elem != nil {
		at.addressable = true
		s := p.schema(elem, at)
		if !p.limits {
			s = p.orNull(s)
		}
		return s
	}
	n, isNamed := t.(*types.Named)
	if Optional(t) != nil {
		p.problem(UnsupportedType, at, "toolset.Optional is not a field or parameter here",
			"use a pointer: an element cannot be absent")
		return &jsonschema.Schema{}
	}
	if isNamed {
		p.w.meetText(n)
	}
	at = p.within(t, at)
	if s := p.declared(t, at); s != nil {
		return s
	}
	if p.hooked(t, at) {
		p.unread(t, at)
		return &jsonschema.Schema{}
	}
	s, done := p.special(t, at)
	if !done {
		if isNamed {
			p.w.meet(n)
		}
		s = p.kind(t, at)
		p.guards = guards // define has changed it
	}
	if s.Description == "" && (!done || s.Ref == "") && isNamed && !wellKnown(n) {
		s.Description = p.typeDoc(t)
	}
	return p.close(t, s)
}

// within is the place within the declaration of a named type.
func (p *pass) within(t types.Type, at place) place {
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		if at.obj == nil { // the author can change a field, but not a type of another package
			at.obj = n.Obj()
		}
		at.owner, at.field = n.Obj(), false
		if p.local(n.Obj()) {
			at.own = n.Obj()
		}
	}
	return at
}

// close ends the walk of a type: a definition that nothing refers to is inlined.
func (p *pass) close(t types.Type, s *jsonschema.Schema) *jsonschema.Schema {
	if d := p.defs[p.key(t)]; d != nil && d.schema == s {
		if p.inline && !d.guarded && len(d.refs) == 0 {
			delete(p.defs, d.key)
			return s
		}
	}
	if ref := p.refTo(t); ref != nil {
		return ref
	}
	return s
}

// kind makes the schema by the kind of the type.
func (p *pass) kind(t types.Type, at place) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if _, ok := t.(*types.TypeParam); ok {
		p.unsupported(t, at) // its underlying type is the constraint
		return s
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		p.structure(t, s, at)
	case *types.Slice:
		p.list(t, u.Elem(), -1, s, at)
	case *types.Array:
		p.list(t, u.Elem(), u.Len(), s, at)
	case *types.Map:
		p.mapping(t, u, s, at)
	case *types.Interface:
		p.dynamic(t, u, at)
	case *types.Basic:
		p.basic(t, u, s, at)
	default:
		p.unsupported(t, at)
	}
	return s
}

// pointee is the type that a pointer points to, or nil.
func (p *pass) pointee(t types.Type) types.Type {
	if ptr, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return nil
}

// resolve follows a reference to its definition.
func (p *pass) resolve(s *jsonschema.Schema) *jsonschema.Schema {
	if key, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && p.defs[key] != nil {
		return p.defs[key].schema
	}
	return s
}

func (p *pass) isObject(s *jsonschema.Schema) bool { return p.resolve(s).Type == "object" }

// isAnything reports a schema that accepts every value.
func isAnything(s *jsonschema.Schema) bool {
	return s.Ref == "" && s.Type == "" && len(s.AnyOf)+len(s.OneOf)+len(s.AllOf)+len(s.Enum) == 0
}

// orNull admits null beside the schema's values. Descriptions and defaults move to the outside.
func (p *pass) orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if isAnything(s) || len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		return s
	}
	outer := &jsonschema.Schema{Title: s.Title, Description: s.Description, Default: s.Default}
	s.Title, s.Description, s.Default = "", "", nil
	outer.AnyOf = []*jsonschema.Schema{s, {Type: "null"}}
	return outer
}

// object is an object without properties, closed.
func (p *pass) object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
}
