package schema

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// property adds a field to the schema of its struct.
func (p *pass) property(parent *jsonschema.Schema, holder types.Type, f field, at place) {
	at = place{
		path: at.path + "." + f.path, obj: f.v, owner: f.declarer(at.owner), field: true,
		own: at.own, addressable: at.addressable,
	}
	if p.local(f.v) {
		at.own = f.v
	}
	if f.hidden {
		if !p.limits && !p.omits {
			parent.AdditionalProperties = nil
		}
		return
	}
	name := p.w.guard(f.v, f.decl)
	if name != "" && p.bare {
		return
	}
	tag := p.readTag(f.tag)
	if tag.mistaken != "" && (p.limits || !p.foreign(f.v)) {
		p.bad(at, "write "+tag.mistaken+"; write a description in the field's comment, or after "+
			"description=",
			"the jsonschema tag %q has no key, so it is the description", tag.text)
	}
	for _, key := range [...]string{"jsonschema", "jsonschema_description", "jsonschema_extras"} {
		if i, name := model.Hidden(f.tag.Get(key)); i >= 0 {
			p.problem(HiddenText, at, "the "+key+" tag has "+name, model.HiddenCure)
		}
	}
	if p.limits {
		tag.bind(f.edit.Header)
	}
	given := f.typ
	p.optional(&f, &tag, at)
	if name != "" {
		p.guards++
	}
	s := p.describe(parent, f, tag, p.fieldDoc(f, at.owner), at)
	if name != "" {
		p.guards--
	}
	nilable := p.pointee(f.typ) != nil || types.IsInterface(f.typ) // its zero value
	null := tag.nullable || f.present && !p.limits && nilable
	required := p.required(f, tag, s)
	if required && p.pointee(f.typ) != nil {
		null = null || p.leadsBack(p.needs(f, tag), holder)
	}
	if null || p.nullOptional(f, s, required) {
		s = p.orNull(s)
	}
	parent.Properties.Set(f.name, p.open(s))
	if name != "" {
		if s.Extras == nil {
			s.Extras = map[string]any{}
		}
		s.Extras[model.GuardKey] = name
		p.unchanged(f, given, tag, s, required, at)
	}
	p.places[s] = at
	if required && !slices.Contains(parent.Required, f.name) {
		parent.Required = append(parent.Required, f.name)
	}
}

// unchanged reports a guarded argument that cannot be absent: for a caller who does not see the
// field, absent means unchanged.
func (p *pass) unchanged(
	f field, given types.Type, tag fieldTag, s *jsonschema.Schema, required bool, at place,
) {
	_, _, options := jsonTag(f.tag)
	omit, omits := "omitempty", !always(options)
	if Optional(given) != nil { // a struct, which omitempty never omits
		omit, omits = "omitzero", slices.Contains(options, "omitzero")
	}
	absent := omit == "omitzero" || p.pointee(given) != nil
	has := func(keys ...string) bool {
		return slices.ContainsFunc(tag.elements, func(e element) bool {
			return slices.Contains(keys, e.key)
		})
	}
	for _, fault := range []struct {
		is            bool
		message, cure string
	}{
		{!absent, "an argument with a rule of its own has a type that is never absent",
			"use a pointer with omitempty, or a toolset.Optional with omitzero, and keep the old value " +
				"if it is absent"},
		{absent && required, "an argument with a rule of its own is required",
			"write " + omit + " in its json tag, and remove required from its jsonschema tag"},
		{absent && !required && !omits, "an argument with a rule of its own is null in JSON if it is " +
			"absent in Go", "write " + omit + " in its json tag"},
		{has("default"), "an argument with a rule of its own has a default, which would " +
			"replace a value " +
			"that the caller does not see", "remove the default"},
		{has("oneof_required", "anyof_required"), "an argument with a rule of its own is in a group",
			"remove it from the group, and check the arguments in the handler"},
		{s.Extras[HeaderKey] != nil, "an argument with a rule of its own is in an HTTP header",
			"remove the header"},
	} {
		if !fault.is || !p.limits {
			continue
		}
		found := at.found(GuardedField, fault.message, fault.cure)
		if p.foreign(f.v) {
			found.Obj, found.Type, found.Cure = nil, nil, "use a type of your own"
		}
		p.add(found)
	}
}

// parameter adds a plain parameter to the object of a handler's arguments.
func (p *pass) parameter(parent *jsonschema.Schema, prop Property, at place) {
	f := field{name: prop.Name, typ: prop.Type, path: prop.Name, present: prop.Required}
	tag := fieldTag{given: len(prop.Tags) > 0}
	var list []element
	for _, t := range prop.Tags {
		if t.Key == HeaderKey {
			tag.bind(t.Value)
			continue
		}
		e := element{text: t.Key + "=" + t.Value, key: t.Key, value: t.Value}
		if t.Value == "" && slices.Contains(flags, t.Key) {
			e = element{text: t.Key, key: t.Key, flag: true}
		}
		list = append(list, e)
	}
	tag.add(list, true)
	p.optional(&f, &tag, at)
	s := p.describe(parent, f, tag, prop.Doc, at)
	required := p.required(f, tag, s)
	if tag.nullable || p.nullOptional(f, s, required) {
		s = p.orNull(s)
	}
	parent.Properties.Set(f.name, p.open(s))
	p.places[s] = at
	if required {
		parent.Required = append(parent.Required, f.name)
	}
}

// nullOptional reports an argument that may be null because it is optional. With an HTTP header it
// may not: the schema of such an argument has one type.
func (p *pass) nullOptional(f field, s *jsonschema.Schema, required bool) bool {
	return p.w.NullOptional && p.dir == decoding && !required && !p.w.NotNull[f.name] &&
		s.Extras[HeaderKey] == nil
}

// Optional is the type argument of a toolset.Optional, or nil for another type.
func Optional(t types.Type) types.Type {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() != 1 ||
		fullName(n) != "github.com/mcpgen/mcpgen/runtime/toolset.Optional" {
		return nil
	}
	return n.TypeArgs().At(0)
}

// optional makes a field of type toolset.Optional one of its value's type that may be null. It may
// be absent too, as every argument that may be null.
func (p *pass) optional(f *field, tag *fieldTag, at place) {
	elem := Optional(f.typ)
	if elem == nil {
		return
	}
	f.typ, tag.nullable = elem, true
	if slices.ContainsFunc(tag.elements, func(e element) bool { return e.key == "default" }) {
		p.bad(at, "remove the default, or use the type of the value",
			"toolset.Optional has no effect on an argument with a default")
	}
}

// describe makes the schema of a field's type and applies its tags. The description is that of a
// tag, else the field's own comment, else that of its type.
func (p *pass) describe(
	parent *jsonschema.Schema, f field, tag fieldTag, doc string, at place,
) *jsonschema.Schema {
	t := f.typ
	for range depthLimit {
		elem := p.pointee(t)
		if elem == nil {
			break
		}
		t, at.addressable = elem, true
	}
	var s *jsonschema.Schema
	if tag.declaredTypes() && p.needsDeclaring(t) {
		s = &jsonschema.Schema{}
		p.readsByNil(t, at, unmarshalJSON)
	} else {
		s = p.schema(t, at)
	}
	typeDoc := s.Description
	s.Description = tag.description
	k := keywords{pass: p, parent: parent, field: f, typ: t, at: at}
	k.apply(s, tag)
	s.Description = cmp.Or(s.Description, doc, typeDoc)
	return s
}

// needsDeclaring reports a type whose JSON form only a tag can declare.
func (p *pass) needsDeclaring(t types.Type) bool {
	if _, ok := p.opaque(t); ok {
		return true
	}
	return p.w.pass(p.dir).hooked(types.Unalias(t), place{})
}

// required reports whether a property is required.
func (p *pass) required(f field, tag fieldTag, s *jsonschema.Schema) bool {
	if !p.limits {
		return f.present && !f.maybe && !f.edit.Optional
	}
	switch {
	case f.edit.Optional:
		return false
	case tag.required:
		return true
	case p.w.RequiredByTags && f.v != nil: // parameters have no tag
		return false
	case f.maybe, s.Default != nil, tag.nullable:
		return false
	}
	return f.present
}

// typeDoc is the description that a named type has from its comment.
func (p *pass) typeDoc(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil || p.w.src == nil {
		return ""
	}
	text := Description(p.w.src.TypeDoc(n.Obj()))
	return WithoutName(p.brief(n.Obj(), text), n.Obj().Name())
}

// fieldDoc is the description that a field has from its comment.
func (p *pass) fieldDoc(f field, owner *types.TypeName) string {
	if p.w.src == nil {
		return ""
	}
	text := p.w.src.FieldDoc(f.v)
	hasSwagger := swagger.MatchString(text) ||
		owner != nil && swagger.MatchString(p.w.src.TypeDoc(owner))
	return p.brief(f.v, description(text, hasSwagger))
}

// brief is a description, or the beginning of one if it is from another module.
func (p *pass) brief(of types.Object, text string) string {
	if text != "" && !p.w.src.Local(of.Pkg()) {
		if at, _ := model.Hidden(text); at >= 0 {
			return ""
		}
		text, _, _ = strings.Cut(text, "\n\n")
		text = shortened(text)
	}
	return text
}

// maxForeignDoc is the longest description of another module's type or field, in bytes.
const maxForeignDoc = 600

// shortened cuts a text that is longer than maxForeignDoc after a word.
func shortened(text string) string {
	if len(text) <= maxForeignDoc {
		return text
	}
	end := strings.LastIndexAny(text[:maxForeignDoc], " \n")
	if end < 0 {
		return ""
	}
	return strings.TrimRight(text[:end], " \n") + " …"
}

// bad reports a tag that is a mistake.
func (p *pass) bad(at place, cure, format string, args ...any) {
	p.problem(BadTag, at, fmt.Sprintf(format, args...), cure)
}
