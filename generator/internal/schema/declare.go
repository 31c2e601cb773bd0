package schema

import (
	"cmp"
	"encoding/json"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// Declare gives a named type the schema of these tags, in each direction in which its own methods
// decide its JSON form. It returns their problems.
func (w *Walker) Declare(name *types.TypeName, tags []Tag) []Problem {
	at := rootPlace(name.Type())
	at.addressable = true
	n, ok := types.Unalias(name.Type()).(*types.Named)
	p := w.pass(decoding)
	switch {
	case !ok || types.IsInterface(n) || n.TypeParams().Len() > 0:
		p.bad(at, "use a type that is neither generic nor an interface",
			"%s has no JSON representation of its own", name.Name())
		return p.problems
	case wellKnown(n):
		p.bad(at, "remove the directive", "the schema of %s is fixed", gotype.Plain(n))
		return p.problems
	}
	if slices.Contains(tags, Tag{Key: "enum"}) {
		p.enumerate(n, tags, at)
		return p.problems
	}
	if p.isEnum(n) {
		w.open[n.Obj()] = true
		if !slices.Equal(tags, []Tag{{Key: "type", Value: "string"}}) {
			p.bad(at, "write schema=string; tags of fields have limits",
				"%s has constants, and schema=string alone keeps it open", gotype.Plain(n))
		}
		return p.problems
	}
	w.declared[fullName(n)] = tags
	used := false
	for _, d := range []direction{encoding, decoding} {
		p.dir = d // the limits of results are checked too, and dropped
		used = p.declared(n, at) != nil || used
	}
	if !used && len(p.problems) == 0 {
		p.bad(at, "remove the directive: the schema is that of its declaration",
			"%s has no JSON or text method of its own", gotype.Plain(n))
	}
	if len(p.problems) > 0 {
		w.declared[fullName(n)] = nil // one finding, not one a use
	}
	return p.problems
}

// isEnum reports a string type without JSON methods whose constants are its only values.
func (p *pass) isEnum(n *types.Named) bool {
	basic, ok := n.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String && !p.ownMethods(n) && p.w.src != nil &&
		p.w.src.Enum(n.Obj()) != nil
}

// ownMethods reports a type whose JSON form a method of its own decides, in any direction.
func (p *pass) ownMethods(n *types.Named) bool {
	own := p.has(n, marshalText, byPointer) || p.has(n, unmarshalText, byPointer)
	for _, d := range []direction{encoding, decoding} {
		p.dir = d
		_, json := p.opaque(n)
		own = own || json
	}
	return own
}

// enumerate makes the constants of an integer type its only values, as those of a string type are
// without a directive. Constants of integers are often sizes or bits, so their author decides.
func (p *pass) enumerate(n *types.Named, tags []Tag, at place) {
	basic, ok := n.Underlying().(*types.Basic)
	var list []*types.Const
	if ok && basic.Info()&types.IsInteger != 0 && p.w.src != nil {
		list = p.w.src.Enum(n.Obj())
	}
	switch {
	case !slices.Equal(tags, []Tag{{Key: "type", Value: "integer"}, {Key: "enum"}}):
		p.bad(at, "write schema=integer,enum, or the values of the enum",
			"enum without values stands beside integer alone")
	case p.ownMethods(n):
		p.bad(at, "write the values, for example enum=1,enum=2",
			"%s has a JSON or text method of its own", gotype.Plain(n))
	case list == nil:
		p.bad(at, "remove the directive, or declare two or more constants of an integer type in one "+
			"const block of the module", "%s has no integer constants", gotype.Plain(n))
	default:
		for _, value := range constants(list) {
			if number := value.(json.Number).String(); !Exact(number) {
				p.bad(at, "use a string type", "the constant %s of %s %s", number, gotype.Plain(n), Inexact)
				return
			}
		}
		p.w.integers[n.Obj()] = true
	}
}

// typeKeys are the keys that the schema of a type may have.
var typeKeys = slices.Concat(limitKeys["string"], numberKeys,
	[]string{"anyof_type", "description", "enum", "example", "nullable", "oneof_type", "title",
		"type"})

// declared is the schema that Declare gives a type, or nil.
func (p *pass) declared(t types.Type, at place) *jsonschema.Schema {
	n, ok := t.(*types.Named)
	if !ok {
		return nil
	}
	tags, ok := p.w.declared[fullName(n)]
	if !ok {
		return nil
	}
	m, own := p.opaque(n)
	if !own {
		m = unmarshalText
		if p.dir == encoding {
			m = marshalText
		}
		if own = p.has(n, m, byPointer); !own && !p.needsDeclaring(n) {
			return nil
		}
	}
	p.w.meet(n)
	p.unread(n, at)
	s := &jsonschema.Schema{}
	if p.readsByNil(n, at, unmarshalJSON, unmarshalText) || tags == nil {
		return s
	}
	if own {
		p.reachable(n, m, at)
	}
	k := keywords{pass: p, parent: &jsonschema.Schema{}, typ: n, at: at}
	tag := fieldTag{given: true}
	var list []element
	for _, t := range tags {
		if !slices.Contains(typeKeys, t.Key) {
			k.bad("write the key in the tag of a field", "the schema of a type has no key %s", t.Key)
			continue
		}
		if t.Key == "nullable" {
			tag.nullable = true
			continue
		}
		shape := slices.Contains(shapeKeys, t.Key) || t.Key == "format"
		if p.limits || shape {
			list = append(list, element{text: t.Key + "=" + t.Value, key: t.Key, value: t.Value})
		}
	}
	tag.add(list, false)
	if !tag.declaredTypes() {
		k.bad("write the JSON type first, for example schema=string", "the schema has no type")
		return s
	}
	k.all(s, tag)
	k.exact(s)
	s.Description = cmp.Or(s.Description, p.typeDoc(n))
	if tag.nullable {
		s = p.orNull(s)
	}
	return s
}

const declareCure = "//mcp:type "

// form is the schema that a type with methods of its own suggests by its methods and its kind. It
// is empty for other structs, which may be objects: only their authors have the properties.
func (p *pass) form(n *types.Named) string {
	_, own := p.opaque(n)
	text := p.has(n, marshalText, byPointer) || p.has(n, unmarshalText, byPointer)
	switch u := n.Underlying().(type) {
	case *types.Struct:
		switch {
		case isTime(n):
			return "string,format=date-time"
		case !text:
			return ""
		}
	case *types.Map:
		return "object"
	case *types.Slice, *types.Array:
		if !own { // a list that writes itself is mostly a text
			return "array"
		}
	case *types.Basic:
		switch info := u.Info(); {
		case text:
		case info&types.IsBoolean != 0:
			return "boolean"
		case info&types.IsInteger != 0:
			// An integer that writes itself is mostly the name of a constant.
			if !p.has(n, marshalJSON, byPointer) {
				return "integer"
			}
		case info&types.IsNumeric != 0:
			return "number"
		}
	}
	return "string"
}

// proposed is the cure for a type of another module with JSON methods of its own. A struct has a
// type of the author or a schema by hand first.
func (p *pass) proposed(n *types.Named) string {
	write := func(form string) string {
		return "write " + declareCure + gotype.Plain(n) + " schema=" + form + " in the package doc"
	}
	if form := p.form(n); form != "" {
		return write(form) + ", with the JSON representation of the type, " + ByHand
	}
	if _, own := p.opaque(n); !own || hasNames(n.Underlying().(*types.Struct)) {
		return foreignCure
	}
	return foreignCure + "; if its JSON is a string, " + write("string")
}

// hasNames reports a struct with a field that is named for JSON.
func hasNames(u *types.Struct) bool {
	for i := range u.NumFields() {
		if _, name, _ := jsonTag(reflect.StructTag(u.Tag(i))); name != "" && name != "-" {
			return true
		}
	}
	return false
}

// isTime reports a type made of time.Time or embedding it.
func isTime(n *types.Named) bool {
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		typ := types.TypeString(f.Type(), nil)
		if f.Embedded() && typ == "time.Time" || typ == "*time.Location" {
			return true // the second is the last field of time.Time
		}
	}
	return false
}

// declaring is the cure for a type with its own JSON methods: a tag where a field has the
// type itself, //mcp:type where that is possible, another type elsewhere.
func (p *pass) declaring(t types.Type, at place) string {
	n, named := t.(*types.Named)
	foreign := named && p.foreign(n.Obj())
	guards := p.w.Guards(t) // only by a schema from its fields
	if foreign && n.TypeArgs().Len() == 0 && !guards {
		return p.proposed(n)
	}
	all := ""
	if named && !guards && n.TypeArgs().Len() == 0 && n.Obj().Pkg() != nil &&
		n.Obj().Parent() == n.Obj().Pkg().Scope() && p.form(n) != "" &&
		(p.dir == encoding || at.path != n.Obj().Name()) { // the arguments of a tool are an object
		all = "write " + declareCure + gotype.Plain(n) + " schema=" + p.form(n) +
			" in the package doc, "
	}
	if _, isField := at.obj.(*types.Var); isField && !guards && !strings.HasSuffix(at.path, "]") {
		return `declare the JSON type in the field's tag, for example jsonschema:"type=string", ` +
			all + ByHand
	}
	if foreign {
		return foreignCure
	}
	return "use a type without the method, " + all + ByHand
}
