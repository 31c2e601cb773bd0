package schema

import (
	"cmp"
	"fmt"
	"go/types"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// field is a property of an object and the struct field it comes from.
type field struct {
	name    string // property name
	typ     types.Type
	tag     reflect.StructTag
	v       *types.Var
	path    string // Go names from the struct inwards: "Base.ID"
	depth   []int  // index sequence, as encoding/json orders fields
	named   bool   // the name is a tag's
	present bool   // always written: neither omitempty nor omitzero
	quoted  bool   // the string option applies
	hidden  bool   // tagged jsonschema:"-", itself or what it is embedded by; or omitted
	edit    Edit
	maybe   bool       // promoted through an embedded pointer
	decl    types.Type // the struct that declares it
	unset   *field     // itself or its holder: an embedded pointer to an unexported struct
}

// fields lists the properties of a struct in order.
func (p *pass) fields(t types.Type, at place) []field {
	list := p.dominant(p.candidates(field{typ: t}, at), at)
	p.fillable(list, at)
	return list
}

// fillable reports embedded fields of unexported types for which encoding/json fails or panics.
// reflect neither sets such a pointer nor calls the methods of such a property.
func (p *pass) fillable(list []field, at place) {
	report := func(f field, message, cure string) {
		at := at
		at.path, at.obj = at.path+"."+f.path, f.v
		at.owner, at.field = f.declarer(at.owner), true
		p.fatal(at, message, cure)
	}
	methods := map[direction][]method{
		decoding: {unmarshalJSON, unmarshalText}, encoding: {marshalJSON, marshalText},
	}[p.dir]
	for _, f := range list {
		if f.hidden {
			continue
		}
		if f.unset != nil && p.dir == decoding {
			report(*f.unset, "encoding/json cannot fill an embedded pointer to an unexported struct",
				"embed the struct itself")
			continue
		}
		if !f.v.Embedded() || f.v.Exported() {
			continue
		}
		for _, m := range methods {
			if p.has(p.pointed(f.typ), m, byPointer) {
				report(f, "encoding/json cannot call "+m.name+" of an embedded unexported type",
					"give the field an exported name")
				break
			}
		}
	}
}

// unread reports what no decoder can fill of a type whose schema is not made from its fields.
func (p *pass) unread(t types.Type, at place) {
	if _, ok := t.Underlying().(*types.Struct); !ok || p.ownForm(t) {
		return
	}
	q := p.w.pass(p.dir)
	q.fields(t, at)
	for _, found := range q.problems {
		if found.Panics {
			p.add(found)
		}
	}
}

// Field is a property of a struct as a decoder fills it.
type Field struct {
	Name   string // as in JSON
	Type   types.Type
	Path   string // Go names from the struct inwards: "Base.ID"
	Index  []int  // the same by number, through the structs that are embedded
	Quoted bool   // the string option applies
}

// Fields lists the properties that Input gives a struct, in their order.
func (w *Walker) Fields(t types.Type) []Field {
	var list []Field
	for _, f := range w.pass(decoding).fields(t, place{}) {
		if !f.hidden {
			list = append(list, Field{f.name, f.typ, f.path, f.depth, f.quoted})
		}
	}
	return list
}

// within makes the field i of a struct that was reached as outer.
func (outer field) within(u *types.Struct, i int) field {
	v := u.Field(i)
	f := field{
		typ: v.Type(), tag: reflect.StructTag(u.Tag(i)), v: v, decl: outer.typ,
		path:  join(outer.path, v.Name()),
		depth: append(slices.Clone(outer.depth), i), hidden: outer.hidden, maybe: outer.maybe,
		unset: outer.unset,
	}
	f.hidden = f.hidden || elements(f.tag.Get("jsonschema"))[0].text == "-"
	return f
}

// embed turns a field into the way to the fields of the struct it embeds.
func (p *pass) embed(f field, elem types.Type) field {
	f.typ = types.Unalias(elem)
	if n, ok := f.typ.(*types.Named); ok {
		p.w.meet(n)
	}
	return f
}

// declarer is the named type that declares the field; outer if the struct has no name.
func (f field) declarer(outer *types.TypeName) *types.TypeName {
	if n, ok := types.Unalias(f.decl).(*types.Named); ok {
		return n.Obj()
	}
	return outer
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// jsonTag splits the json tag of a field into name and options.
func jsonTag(tag reflect.StructTag) (whole, name string, options []string) {
	whole = tag.Get("json")
	parts := strings.Split(whole, ",")
	return whole, parts[0], parts[1:]
}

func always(options []string) bool {
	return !slices.Contains(options, "omitempty") && !slices.Contains(options, "omitzero")
}

// candidates lists the fields that encoding/json considers, level by level of embedding. A
// struct embedded twice on one level contributes twice, so that its fields annul each other.
func (p *pass) candidates(root field, at place) []field {
	var list []field
	level := []field{root}
	visited := map[string]bool{}
	for len(level) > 0 {
		times := map[string]int{}
		for _, outer := range level {
			times[p.w.seen.key(outer.typ)]++
		}
		var next []field
		for _, outer := range level {
			key := p.w.seen.key(outer.typ)
			if visited[key] {
				continue
			}
			visited[key] = true
			u := outer.typ.Underlying().(*types.Struct)
			for i := range u.NumFields() {
				f, inner := p.candidate(outer, u, i, at)
				if inner != nil {
					next = append(next, *inner)
				}
				if f == nil {
					continue
				}
				list = append(list, *f)
				if times[key] > 1 {
					list = append(list, *f)
				}
			}
		}
		level = next
	}
	return list
}

// candidate reads one field: a property, an embedded struct to search, or nothing.
func (p *pass) candidate(
	outer field, u *types.Struct, i int, at place,
) (property, embedded *field) {
	f := outer.within(u, i)
	f.edit = p.w.edits[f.v.Origin()]
	f.hidden = f.hidden || f.edit.Omit
	elem := f.typ
	ptr, isPointer := types.Unalias(f.typ).(*types.Pointer)
	if isPointer {
		elem = ptr.Elem()
	}
	_, isStruct := elem.Underlying().(*types.Struct)
	if !f.v.Exported() && !(f.v.Embedded() && isStruct) {
		return nil, nil
	}
	whole, name, options := jsonTag(f.tag)
	if whole == "-" {
		return nil, nil
	}
	if isPointer && !f.v.Exported() && f.unset == nil {
		f.unset = &f
	}
	p.wellFormed(f, place{path: at.path + "." + f.path, obj: f.v})
	if !validName(name) {
		name = ""
	}
	if name == "" && f.v.Embedded() && isStruct {
		if isPointer {
			f.maybe = true
		}
		f = p.embed(f, elem)
		return nil, &f
	}
	f.name, f.named = f.v.Name(), name != ""
	if f.named {
		f.name = name
	}
	f.present = always(options)
	if basic, ok := elem.Underlying().(*types.Basic); ok && slices.Contains(options, "string") {
		f.quoted = basic.Info()&(types.IsBoolean|types.IsInteger|types.IsFloat|types.IsString) != 0
	}
	return &f, nil
}

// dominant keeps the field that encoding/json keeps of each name: the one embedded least deeply,
// among those the one with a tag, and none if more than one is left. Two of one struct are reported
// as a mistake.
func (p *pass) dominant(list []field, at place) []field {
	byName := map[string][]field{}
	for _, f := range list {
		byName[f.name] = append(byName[f.name], f)
	}
	var kept []field
	for _, same := range byName {
		slices.SortStableFunc(same, func(a, b field) int {
			if d := len(a.depth) - len(b.depth); d != 0 || a.named == b.named {
				return d
			}
			if a.named {
				return -1
			}
			return 1
		})
		if len(same) == 1 || len(same[0].depth) != len(same[1].depth) || same[0].named != same[1].named {
			kept = append(kept, same[0])
		} else if parent := len(same[0].depth) - 1; same[0].v != same[1].v &&
			slices.Equal(same[0].depth[:parent], same[1].depth[:parent]) {
			at := place{
				path: at.path + "." + same[1].path, obj: same[1].v,
				owner: same[1].declarer(at.owner), field: true, own: at.own,
			}
			p.bad(at, "give one of them another name",
				"%s is also the name of %s, and encoding/json omits both", same[1].name, same[0].v.Name())
		}
	}
	slices.SortFunc(kept, func(a, b field) int { return slices.Compare(a.depth, b.depth) })
	return kept
}

// validName reports whether encoding/json takes a tag's name; otherwise the field's own counts.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) &&
			!unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// Edit changes the property of a field, for types whose source the author of a tool cannot edit.
type Edit struct {
	Optional bool   // not required
	Omit     bool   // no property, in arguments and in results
	Header   string // the HTTP header of the argument, without Mcp-Param-
}

// Edit sets the edits of the walks that follow, by field. A field has its edit in each place.
func (w *Walker) Edit(edits map[*types.Var]Edit) {
	w.held = map[string][]types.Type{} // depends on required fields
	w.edits, w.variant = edits, ""
	if len(edits) == 0 {
		return
	}
	i := slices.IndexFunc(w.variants, func(other map[*types.Var]Edit) bool {
		return maps.Equal(other, edits)
	})
	if i < 0 {
		i, w.variants = len(w.variants), append(w.variants, edits)
	}
	w.variant = fmt.Sprintf("#%d", i)
}

// Omits reports whether values of a type may have a field that an edit omits, also within fields
// that JSON does not have.
func (w *Walker) Omits(t types.Type) bool {
	seen := map[string]bool{}
	var has func(t types.Type, depth int) bool
	has = func(t types.Type, depth int) bool {
		key := w.seen.key(types.Unalias(t))
		if seen[key] || depth > depthLimit {
			return depth > depthLimit
		}
		seen[key] = true
		switch u := t.Underlying().(type) {
		case *types.Map:
			return has(u.Key(), depth+1) || has(u.Elem(), depth+1)
		case interface{ Elem() types.Type }:
			return has(u.Elem(), depth+1)
		case *types.Struct:
			for v := range u.Fields() {
				if w.edits[v.Origin()].Omit || has(v.Type(), depth+1) {
					return true
				}
			}
		}
		return false
	}
	omit := func(e Edit) bool { return e.Omit }
	return slices.ContainsFunc(slices.Collect(maps.Values(w.edits)), omit) && has(t, 0)
}

// Kept describes a part of a result that the server cannot leave omitted fields out of, because its
// schema is not made from its fields. It is empty without such a part.
func (w *Walker) Kept(t types.Type) string {
	return w.pass(encoding).beyond(t, w.Omits, true)
}

// beyond describes a part of a type whose schema is not made from its fields, and that holds a
// field of some kind. It is empty without such a part. For omitted fields, each tag with
// alternatives is such a part. For guarded fields, a field is one too that the schema alone lacks.
func (p *pass) beyond(t types.Type, holds func(types.Type) bool, omitted bool) string {
	w, text := p.w, unmarshalText
	if p.dir == encoding {
		text = marshalText
	}
	seen := map[string]bool{}
	var find func(t types.Type, depth int) string
	find = func(t types.Type, depth int) string {
		if elem := Optional(t); elem != nil {
			t = elem
		}
		t = p.pointed(t)
		key := w.seen.key(t)
		if seen[key] || depth > depthLimit {
			return ""
		}
		seen[key] = true
		if p.needsDeclaring(t) || p.has(t, text, byPointer) {
			if holds(t) {
				return gotype.Plain(t) + " has a JSON form of its own"
			}
			return ""
		}
		switch u := t.Underlying().(type) {
		case *types.Map:
			return cmp.Or(find(u.Key(), depth+1), find(u.Elem(), depth+1))
		case interface{ Elem() types.Type }:
			return find(u.Elem(), depth+1)
		case *types.Struct:
			for _, f := range p.fields(t, place{}) {
				if f.hidden {
					if !omitted && !p.limits && !p.omits && !f.edit.Omit &&
						(w.guard(f.v, f.decl) != "" || holds(f.typ)) {
						return "the jsonschema tag of " + f.path + " in " + gotype.Plain(t) +
							" hides it from the schema only"
					}
					continue
				}
				if p.chooses(f) && (omitted || holds(f.typ)) {
					return "the tag of " + f.path + " in " + gotype.Plain(t) + " has alternatives"
				}
				if found := find(f.typ, depth+1); found != "" {
					return found
				}
			}
		}
		return ""
	}
	return find(t, 0)
}

func (w *Walker) guard(field *types.Var, in types.Type) string {
	if w.Guard == nil {
		return ""
	}
	return w.Guard(field, in)
}

// Guards reports whether values of a type may have a field with a rule of its own, also within
// fields that JSON does not have.
func (w *Walker) Guards(t types.Type) bool {
	if w.Guard == nil {
		return false
	}
	root := w.seen.key(types.Unalias(t))
	guards, known := w.guarding[root]
	if !known {
		w.reached(t, func(t types.Type) {
			if u, ok := t.Underlying().(*types.Struct); ok {
				for v := range w.inside(u) {
					guards = w.guard(v, t) != "" || guards
				}
			}
		})
		w.guarding[root] = guards
	}
	return guards
}

// Opens reports whether values of a type may have an interface, below which any type may be.
func (w *Walker) Opens(t types.Type) (opens bool) {
	w.reached(t, func(t types.Type) { opens = types.IsInterface(t) || opens })
	return opens
}

// inside are the fields of a struct without the details of another module.
func (w *Walker) inside(u *types.Struct) iter.Seq[*types.Var] {
	return func(yield func(*types.Var) bool) {
		for v := range u.Fields() {
			if (v.Exported() || w.src.Local(v.Pkg())) && !yield(v) {
				return
			}
		}
	}
}

// reached calls visit with each type that values of a type may have, also within fields that JSON
// does not have.
func (w *Walker) reached(t types.Type, visit func(types.Type)) {
	seen := map[string]bool{}
	var reach func(t types.Type, depth int)
	reach = func(t types.Type, depth int) {
		t = types.Unalias(t)
		key := w.seen.key(t)
		if seen[key] || depth > depthLimit {
			return
		}
		seen[key] = true
		visit(t)
		if n, ok := t.(*types.Named); ok { // also for fields of another module's type
			for arg := range n.TypeArgs().Types() {
				reach(arg, depth+1)
			}
		}
		switch u := t.Underlying().(type) {
		case *types.Map:
			reach(u.Key(), depth+1)
			reach(u.Elem(), depth+1)
		case interface{ Elem() types.Type }:
			reach(u.Elem(), depth+1)
		case *types.Struct:
			for v := range w.inside(u) {
				reach(v.Type(), depth+1)
			}
		}
	}
	reach(t, 0)
}

// parts lists the schemas within a schema, apart from definitions.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(slices.Collect(maps.Values(s.PatternProperties)), s.PrefixItems, s.AnyOf,
		s.OneOf, s.AllOf, []*jsonschema.Schema{s.Items, s.AdditionalProperties})
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		list = append(list, pair.Value)
	}
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}

// Fields lists the names of the rules of the properties in a schema, sorted.
func Fields(s *jsonschema.Schema) []string {
	names := map[string]bool{}
	var read func(list ...*jsonschema.Schema)
	read = func(list ...*jsonschema.Schema) {
		for _, s := range list {
			if name, ok := s.Extras[model.GuardKey].(string); ok {
				names[name] = true
			}
			read(slices.Collect(maps.Values(s.Definitions))...)
			read(parts(s)...)
		}
	}
	if s != nil {
		read(s)
	}
	return slices.Sorted(maps.Keys(names))
}

// InItems lists the names of the rules of the properties within items of lists and values of maps,
// in any order.
func InItems(s *jsonschema.Schema) (names []string) {
	if s == nil {
		return nil
	}
	type place struct {
		s     *jsonschema.Schema
		items bool
	}
	seen := map[place]bool{}
	var read func(items bool, list ...*jsonschema.Schema)
	read = func(items bool, list ...*jsonschema.Schema) {
		for _, at := range list {
			if at == nil || seen[place{at, items}] {
				continue
			}
			seen[place{at, items}] = true
			if name, ok := at.Extras[model.GuardKey].(string); ok && items {
				names = append(names, name)
			}
			for pair := at.Properties.Oldest(); pair != nil; pair = pair.Next() {
				read(items, pair.Value)
			}
			read(items, s.Definitions[strings.TrimPrefix(at.Ref, "#/$defs/")])
			read(items, slices.Concat(at.AnyOf, at.OneOf, at.AllOf)...)
			read(true, slices.Collect(maps.Values(at.PatternProperties))...)
			read(true, append(at.PrefixItems, at.Items, at.AdditionalProperties)...)
		}
	}
	read(false, s)
	return names
}

// Unguarded describes a part of a type that has a field with a rule of its own, and whose schema
// is not made from its fields. It is empty without such a part.
func (w *Walker) Unguarded(t types.Type, result bool) string {
	p := w.pass(decoding)
	if result {
		p = w.pass(encoding)
		p.omits = w.Omits(t)
	}
	return p.beyond(t, w.Guards, false)
}

// chooses reports a field whose tag gives an object or array another type, or one of several.
func (p *pass) chooses(f field) bool {
	alternatives := 0
	for _, e := range p.readTag(f.tag).elements {
		switch e.key {
		case "oneof_ref", "anyof_ref":
			alternatives += 2 // the type of the field is another one
		case "oneof_type", "anyof_type":
			for name := range strings.SplitSeq(e.value, ";") {
				if name != "null" {
					alternatives++
				}
			}
		}
	}
	_, isBasic := element0(p.pointed(f.typ)).Underlying().(*types.Basic)
	return !isBasic && alternatives > 1
}

// Variant is empty without edits. Walks with equal edits have equal variants.
func (w *Walker) Variant() string { return w.variant }

// Lookup returns the field of a property, at a path of names from a type inwards, through pointers,
// lists and maps. It is nil without such a property. near are the names in its place.
func (w *Walker) Lookup(t types.Type, path []string) (found *types.Var, near []string) {
	p := w.pass(encoding)
	for range depthLimit {
		if elem := Optional(t); elem != nil {
			t = elem
		}
		switch u := t.Underlying().(type) {
		case interface{ Elem() types.Type }:
			t = u.Elem()
		case *types.Struct:
			if found, near = nil, nil; p.ownForm(t) || p.has(t, marshalJSON, byPointer) ||
				p.has(t, marshalText, byPointer) {
				return nil, nil
			}
			for _, f := range p.fields(t, place{}) {
				if near = append(near, f.name); f.name == path[0] {
					found, t = f.v.Origin(), f.typ
				}
			}
			if found == nil || len(path) == 1 {
				return found, near
			}
			path = path[1:]
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// Unrequired lists the fields of a struct whose tags do not make them required.
func (w *Walker) Unrequired(t types.Type) (fields []*types.Var) {
	p := w.pass(decoding)
	for _, f := range p.fields(t, place{}) {
		if !p.readTag(f.tag).required {
			fields = append(fields, f.v.Origin())
		}
	}
	return fields
}
