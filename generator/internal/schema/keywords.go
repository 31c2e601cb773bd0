package schema

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// keywords applies the tags of one field to its schema.
type keywords struct {
	*pass
	parent *jsonschema.Schema // of the struct, for oneof_required and anyof_required
	field  field
	typ    types.Type
	at     place
}

// shapeKeys are the keys that describe a value rather than limit it.
var shapeKeys = []string{"title", "description", "type", "oneof_type", "anyof_type", "oneof_ref",
	"anyof_ref", "example", "readOnly", "writeOnly"}

// apply applies the tags. A result takes on its shape only; the rest is read to find mistakes of
// this run's module. No client receives the limits that another module's tags have.
func (k keywords) apply(s *jsonschema.Schema, tag fieldTag) {
	if !k.limits {
		if k.field.v == nil || !k.foreign(k.field.v) {
			k.probe(*s, tag)
		}
		tag.elements = slices.DeleteFunc(slices.Clone(tag.elements), func(e element) bool {
			return !slices.Contains(shapeKeys, e.key)
		})
	}
	k.all(s, tag)
	if tag.given {
		k.exact(s)
	}
}

// probe applies all keys to a copy, to find mistakes.
func (k keywords) probe(s jsonschema.Schema, tag fieldTag) {
	if s.Items != nil {
		items := *s.Items
		s.Items = &items
	}
	k.parent = &jsonschema.Schema{}
	k.all(&s, tag)
}

func (k keywords) all(s *jsonschema.Schema, tag fieldTag) {
	k.once(tag.elements)
	rest := k.general(s, tag.elements)
	k.stringOption(s)
	k.typed(s, rest)
	k.extra(s, tag.extras)
	if tag.given || k.field.quoted {
		k.check(s)
	}
}

// severalTimes are the keys of which a tag may have more than one.
var severalTimes = []string{
	"enum", "example", "default", "oneof_required", "anyof_required", "oneof_type", "anyof_type",
	"oneof_ref", "anyof_ref",
}

// once reports a repeated key: only the last limit would hold.
func (k keywords) once(list []element) {
	var seen []string
	for _, e := range list {
		if e.flag || !knownKey(e.key) || slices.Contains(severalTimes, e.key) {
			continue
		}
		if slices.Contains(seen, e.key) {
			k.bad("write one", "the tag has %s twice, and only the last applies", e.key)
		}
		seen = append(seen, e.key)
	}
}

// bad reports one element of the tag.
func (k keywords) bad(cure, format string, args ...any) {
	k.pass.bad(k.at, cure, format, args...)
}

// holder is the part that the author would change: a field of a struct, a plain parameter, or the
// schema of a type.
func (k keywords) holder() string {
	switch {
	case k.field.v != nil:
		return "field"
	case k.field.name == "":
		return "schema" // of //mcp:type
	}
	return "parameter"
}

// general applies the keys that every type has and returns the others.
func (k keywords) general(s *jsonschema.Schema, list []element) []element {
	return slices.DeleteFunc(slices.Clone(list), func(e element) bool {
		return !e.flag && k.shape(s, e.key, e.value)
	})
}

// shape applies a key that every type has. It is false for other keys.
func (k keywords) shape(s *jsonschema.Schema, key, value string) bool {
	switch key {
	case "title":
		s.Title = value
	case "description":
		s.Description = value
	case "type":
		k.declare(s, value)
	case "anchor": // of no use to a client
	case "oneof_required":
		k.group(&k.parent.OneOf, value)
	case "anyof_required":
		k.group(&k.parent.AnyOf, value)
	case "oneof_type":
		s = k.untyped(s)
		s.OneOf = append(s.OneOf, k.typesOf(value)...)
	case "anyof_type":
		s = k.untyped(s)
		s.AnyOf = append(s.AnyOf, k.typesOf(value)...)
	case "oneof_ref":
		s = k.referring(s)
		s.OneOf = append(s.OneOf, k.references(value)...)
	case "anyof_ref":
		s = k.referring(s)
		s.AnyOf = append(s.AnyOf, k.references(value)...)
	default:
		return false
	}
	return true
}

// group adds the property to the alternative of a title.
func (k keywords) group(alternatives *[]*jsonschema.Schema, title string) {
	for _, s := range *alternatives {
		if s.Title == title {
			if slices.Contains(s.Required, k.field.name) {
				k.bad("remove one of the two", "the field is in the group %s twice", title)
				return
			}
			s.Required = append(s.Required, k.field.name)
			return
		}
	}
	*alternatives = append(*alternatives, &jsonschema.Schema{Title: title,
		Required: []string{k.field.name}})
}

var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// declare sets the type that the tag names, which must be one that the Go type can be.
func (k keywords) declare(s *jsonschema.Schema, name string) {
	switch has := k.resolve(s).Type; {
	case !slices.Contains(jsonTypes, name):
		k.bad("use one of "+strings.Join(jsonTypes, ", "), "type=%s is not a JSON type", name)
	case has != "" && has != name && !(has == "number" && name == "integer"):
		k.bad("drop type="+name, "type=%s contradicts the Go type %s, which is %s in JSON",
			name, gotype.Plain(k.typ), Describe(k.resolve(s)))
	default:
		s.Type = name
	}
}

// typesOf makes one schema for each name of a list.
func (k keywords) typesOf(list string) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for name := range strings.SplitSeq(list, ";") {
		if !slices.Contains(jsonTypes, name) {
			k.bad("use one of "+strings.Join(jsonTypes, ", "), "%s is not a JSON type", name)
			continue
		}
		all = append(all, &jsonschema.Schema{Type: name})
	}
	return all
}

// untyped is the schema that takes a list of types, without its own type: that of the elements for
// a list of any.
func (k keywords) untyped(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Items != nil && types.IsInterface(element0(k.typ)) {
		s = s.Items
	}
	s.Type = ""
	return s
}

// referring is the schema that contains references: that of the items for a list. Alternatives
// replace its Go type.
func (k keywords) referring(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil {
		s = s.Items
	}
	if s.Type == "object" {
		*s = jsonschema.Schema{Title: s.Title, Description: s.Description, OneOf: s.OneOf,
			AnyOf: s.AnyOf}
	}
	s.Ref = ""
	return s
}

// references makes a schema for each reference of a list. "#/$defs/Name" is a type of the package
// that declares the field, or a type of an earlier schema.
func (k keywords) references(list string) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for ref := range strings.SplitSeq(list, ";") {
		name, local := strings.CutPrefix(ref, "#/$defs/")
		t := k.lookup(name)
		if !local || t == nil {
			k.bad("write #/$defs/ and the name of a type in this package", "%s does not refer to a type",
				ref)
			continue
		}
		if k.limits && k.w.Guards(t) {
			k.add(k.at.found(GuardedField, "the tag of an argument refers to "+name+", which has fields "+
				"with rules, and the value is decoded as another type", "use "+name+" as the type"))
		}
		all = append(all, k.schema(t, place{path: k.at.path, obj: k.at.obj}))
	}
	return all
}

// lookup finds a type by the name of its definition.
func (k keywords) lookup(name string) types.Type {
	if k.field.v != nil {
		if obj, ok := k.field.v.Pkg().Scope().Lookup(name).(*types.TypeName); ok {
			return obj.Type()
		}
	}
	for _, obj := range k.w.Named() {
		if obj.Name() == name {
			return obj.Type()
		}
	}
	return nil
}

// stringOption applies the string option of the json tag as encoding/json does. It puts numbers and
// booleans into strings. A type with methods for JSON or text is written by them as without the
// option, and reads the JSON within a string.
func (k keywords) stringOption(s *jsonschema.Schema) {
	if !k.field.quoted || isAnything(s) {
		return
	}
	t, own := types.Unalias(k.typ), !k.foreign(k.field.v)
	methods := []method{unmarshalJSON, unmarshalText}
	if k.dir == encoding {
		methods = []method{marshalJSON, marshalText}
	}
	i := slices.IndexFunc(methods, func(m method) bool { return k.has(t, m, byPointer) })
	if i >= 0 && own {
		k.bad("remove the string option", "the string option of the json tag is for numbers and "+
			"booleans, and %s has %s", gotype.Plain(t), methods[i].name)
	}
	if i >= 0 && (own || k.dir == encoding) {
		return
	}
	was := s.Type
	switch was {
	case "string":
		if own {
			k.bad("remove the string option",
				"the string option of the json tag quotes a string twice")
			return
		}
		// A string with a JSON string in it.
		s.Format, s.Enum, s.Examples = "", nil, nil
		if k.limits {
			s.Pattern = QuotedPattern
		}
		return
	case "integer", "number", "boolean":
	default:
		k.bad("remove the string option", "the string option of the json tag is for numbers and "+
			"booleans, and not for %s", Describe(s))
		return
	}
	k.noEnum(element0(k.typ), k.at, "a string", "remove the string option")
	s.Type, s.Minimum, s.Maximum, s.Enum, s.Examples = "string", "", "", nil, nil
	if !k.limits {
		return
	}
	switch basic, _ := k.typ.Underlying().(*types.Basic); {
	case was == "boolean":
		s.Enum = []any{"true", "false"}
	case was == "number":
		s.Pattern = NumberPattern
	case basic != nil && basic.Info()&types.IsUnsigned != 0:
		s.Pattern = UnsignedPattern
	default:
		s.Pattern = SignedPattern
	}
}

// typed applies the keys that belong to a type.
func (k keywords) typed(s *jsonschema.Schema, list []element) {
	kind := s.Type
	if kind == "" && s.Ref != "" {
		kind = k.resolve(s).Type
	}
	v := values{keywords: k, named: s.Enum}
	for i := 0; i < len(list); i++ {
		e := list[i]
		if !e.flag {
			v.set(s, kind, e)
			continue
		}
		for k.prose(e) && i+1 < len(list) && list[i+1].after == e.after && k.prose(list[i+1]) {
			i++
			e.key += "," + list[i].key
		}
		k.unknown(e)
	}
}

// prose reports whether an element is the text of a description behind one of its commas, and
// resembles no key. All such elements of a description have one finding.
func (k keywords) prose(e element) bool {
	return e.flag && e.text != "" && strings.HasPrefix(e.after, "description=") &&
		!knownKey(e.key) && k.near(e) == ""
}

// near returns the key that an element without a key may mean, or "".
func (k keywords) near(e element) string {
	key := strings.TrimSpace(e.key)
	if near := k.abbreviated(key); near != "" {
		return near
	}
	return nearest(key)
}

// unknown reports an element that is no key of the grammar.
func (k keywords) unknown(e element) {
	switch {
	case e.text == "":
		k.bad(`remove the comma, or write \\, for a comma within a value`,
			"the jsonschema tag has an empty element")
	case slices.Contains(flags, e.key):
		k.bad("write "+e.key+" alone", "%s does not take a value", e.key)
	case e.flag && knownKey(e.key):
		k.bad("write "+e.key+"=…", "%s has no value", e.key)
	case e.flag && (strings.HasPrefix(e.after, "enum=") ||
		strings.HasPrefix(e.after, "example=")) && resembled(strings.TrimSpace(e.key)) == "":
		key, _, _ := strings.Cut(e.after, "=")
		k.bad(fmt.Sprintf("write it once for each value: %s,%s=%s", e.after, key,
			strings.TrimSpace(e.text)), "the jsonschema tag has no key %q", e.key)
	default:
		cure := `write \\, for a comma within a value`
		if near := k.near(e); near != "" {
			cure = fmt.Sprintf("did you mean %s? A comma within a value is written %s", near, `\\,`)
		}
		k.bad(cure, "the jsonschema tag has no key %q", e.key)
	}
}

// abbreviated returns the key that min or max means for this type. It returns "" for other keys.
func (k keywords) abbreviated(key string) string {
	if key != "min" && key != "max" {
		return ""
	}
	typ := k.typ.Underlying()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem().Underlying()
	}
	switch t := typ.(type) {
	case *types.Slice, *types.Array:
		return key + "Items"
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
			return key + "Length"
		}
		if t.Info()&types.IsNumeric != 0 {
			return key + "imum"
		}
	}
	return ""
}

// noteExtras are the keywords of JSON Schema that jsonschema_extras may set: annotations, which
// limit nothing.
var noteExtras = map[string]bool{"deprecated": true, "readOnly": true, "writeOnly": true}

// vocabulary is every other keyword of 2020-12. An extra of such a name would be in the document
// twice or escape the checks.
var vocabulary = []string{
	"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema",
	"$vocabulary",
	"additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
	"contentMediaType", "contentSchema",
	"default", "dependentRequired", "dependentSchemas", "description", "else", "enum", "examples",
	"exclusiveMaximum",
	"exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
	"maxProperties", "maximum",
	"minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not",
	"oneOf", "pattern",
	"patternProperties", "prefixItems", "properties", "propertyNames", "required", "then", "title",
	"type",
	"unevaluatedItems", "unevaluatedProperties", "uniqueItems",
}

// extra adds the keys of jsonschema_extras. A repeated key makes a list.
func (k keywords) extra(s *jsonschema.Schema, list []element) {
	for _, e := range list {
		switch {
		case e.flag:
			k.bad("write key=value", "the jsonschema_extras tag has no value for %q", e.text)
		case slices.Contains(vocabulary, e.key):
			k.bad("use the jsonschema tag", "jsonschema_extras sets %s, a keyword of JSON Schema",
				e.key)
		case noteExtras[e.key] && e.value != "true" && e.value != "false":
			k.bad("write true or false", "%s=%s is not true or false", e.key, e.value)
		default:
			if s.Extras == nil {
				s.Extras = map[string]any{}
			}
			s.Extras[e.key] = again(s.Extras[e.key], e)
		}
	}
}

// again is the value of an extra after one more element of its key.
func again(before any, e element) any {
	switch before := before.(type) {
	case string:
		return []string{before, e.value}
	case []string:
		return append(before, e.value)
	case bool:
		return e.value == "true" || e.value == "t"
	}
	if e.value == "true" || e.value == "false" {
		return e.value == "true"
	}
	return e.value
}
