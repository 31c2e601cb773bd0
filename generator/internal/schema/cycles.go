package schema

import (
	"go/types"
	"slices"

	"github.com/invopop/jsonschema"
)

// A type can require a value of itself: type Node struct { Next *Node }. Its documents would be
// infinite. encoding/json writes null for the nil pointer at the end, and reads it. So does the
// schema: a pointer takes null if its target requires the pointer's holder again, over required
// properties and items. This holds in every place of the holder: a type has one schema.

// leadsBack reports whether one of the types requires a value of holder.
func (p *pass) leadsBack(to []types.Type, holder types.Type) bool {
	if p.dir != decoding {
		return false
	}
	holder = p.pointed(holder)
	seen := map[string]bool{}
	for len(to) > 0 {
		t := to[len(to)-1]
		to = to[:len(to)-1]
		if types.Identical(t, holder) {
			return true
		}
		if key := p.w.seen.key(t); !seen[key] {
			seen[key] = true
			to = append(to, p.w.holds(t)...)
		}
	}
	return false
}

// pointed is a type without its pointers.
func (p *pass) pointed(t types.Type) types.Type {
	for range depthLimit {
		elem := p.pointee(t)
		if elem == nil {
			break
		}
		t = elem
	}
	return types.Unalias(t)
}

// holds lists the types of which every value of t holds one.
func (w *Walker) holds(t types.Type) []types.Type {
	key := w.seen.key(t)
	if list, known := w.held[key]; known {
		return list
	}
	p := w.pass(decoding) // its problems are dropped
	var list []types.Type
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if p.ownForm(t) {
			break
		}
		for _, f := range p.fields(t, place{}) {
			if tag := p.readTag(f.tag); !f.hidden && !tag.nullable && p.mustBe(f, tag) {
				list = append(list, p.needs(f, tag)...)
			}
		}
	case *types.Array:
		if u.Len() > 0 && !p.ownForm(t) {
			list = append(list, p.pointed(u.Elem()))
		}
	}
	w.held[key] = list
	return list
}

// needs lists the types of which every value of a field holds one.
func (p *pass) needs(f field, tag fieldTag) []types.Type {
	replaced := func(e element) bool { return e.key == "oneof_ref" || e.key == "anyof_ref" }
	if slices.ContainsFunc(tag.elements, replaced) {
		return nil
	}
	t := p.pointed(f.typ)
	list, ok := t.Underlying().(*types.Slice)
	if !ok {
		return []types.Type{t}
	}
	limited := func(e element) bool { return e.key == "minItems" && e.value != "0" }
	if p.ownForm(t) || !slices.ContainsFunc(tag.elements, limited) {
		return nil
	}
	return []types.Type{p.pointed(list.Elem())}
}

// mustBe is required before the field has a schema.
func (p *pass) mustBe(f field, tag fieldTag) bool {
	var s jsonschema.Schema
	if slices.ContainsFunc(tag.elements, func(e element) bool { return e.key == "default" }) {
		s.Default = true
	}
	return p.required(f, tag, &s)
}

// ownForm reports a type whose JSON is not that of its fields or items.
func (p *pass) ownForm(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && (wellKnown(n) || uuids[fullName(n)]) || p.w.ReadsJSON(t) || p.w.ReadsText(t)
}

// ends reports a problem if no finite document fits the schema of a root.
func (p *pass) ends(root *jsonschema.Schema) {
	if p.dir != decoding || len(p.defs) == 0 {
		return // only a definition can lead to itself
	}
	finite := map[*jsonschema.Schema]bool{}
	for more := true; more; {
		more = false
		for _, d := range p.defs {
			for _, s := range []*jsonschema.Schema{d.schema, d.schema.Items} {
				if s != nil && !finite[s] && p.finite(s, finite) {
					finite[s], more = true, true
				}
			}
		}
	}
	if p.finite(root, finite) {
		return
	}
	at, name, items := p.cycle(root, finite)
	if items {
		message := "no finite document fits: each item must contain " + name + " again"
		cure := `remove minItems, or make the field optional, for example json:",omitempty"`
		p.problem(UnsupportedType, at, message, cure)
		return
	}
	message := "no finite document fits: " + name + " must contain itself"
	cure := "make the field optional, or add nullable to its jsonschema tag"
	p.problem(UnsupportedType, at, message, cure)
}

// finite reports whether a finite value fits a schema. known are the definitions, and the items of
// definitions, that have one.
func (p *pass) finite(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) bool {
	if s.Ref == "" {
		return p.endless(s, known) == nil
	}
	of := p.resolve(s)
	return known[of] && (of.Items == nil || !hasItem(s) || known[of.Items])
}

// hasItem reports a list that must have an item.
func hasItem(s *jsonschema.Schema) bool { return s.MinItems != nil && *s.MinItems > 0 }

// endless is a required part of a schema that no finite value fits, or nil. It is a property, the
// items of a list, or the first of the alternatives.
func (p *pass) endless(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) *jsonschema.Schema {
	s, limits := p.resolve(s), s
	lacking := func(names []string) *jsonschema.Schema {
		for _, name := range names {
			if s.Properties == nil {
				break
			}
			if of, ok := s.Properties.Get(name); ok && !p.finite(of, known) {
				return of
			}
		}
		return nil
	}
	if of := lacking(s.Required); of != nil {
		return of
	}
	for _, choice := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var bad []*jsonschema.Schema
		for _, one := range choice {
			if of := lacking(one.Required); of != nil {
				bad = append(bad, of)
			} else if !p.finite(one, known) {
				bad = append(bad, one)
			}
		}
		if len(bad) > 0 && len(bad) == len(choice) {
			return bad[0]
		}
	}
	if (hasItem(s) || hasItem(limits)) && s.Items != nil && !p.finite(s.Items, known) {
		return s.Items
	}
	return nil
}

// cycle follows the parts that have no end until one comes again. It returns the place and the name
// of a list within the cycle, or of a field if no list is there.
func (p *pass) cycle(
	s *jsonschema.Schema, known map[*jsonschema.Schema]bool,
) (at place, name string, items bool) {
	next := func(s *jsonschema.Schema) *jsonschema.Schema { return p.endless(s, known) }
	seen := map[*jsonschema.Schema]bool{}
	for ; s != nil && !seen[s]; s = next(s) {
		seen[s] = true
	}
	for ; s != nil && seen[s] && !items; s = next(s) {
		seen[s] = false
		if found, ok := p.places[s]; ok {
			at, items = found, p.resolve(s).Type == "array"
			name = at.obj.Name()
		}
	}
	return at, name, items
}
