package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/constant"
	"go/types"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/gotype"
)

// method is a method that changes a type's JSON or its schema, by name and signature.
type method struct {
	name            string
	params, results []string // Go type texts with import paths
}

const schemaType = "*github.com/invopop/jsonschema.Schema"

var (
	marshalJSON   = method{"MarshalJSON", nil, []string{"[]byte", "error"}}
	marshalText   = method{"MarshalText", nil, []string{"[]byte", "error"}}
	unmarshalJSON = method{"UnmarshalJSON", []string{"[]byte"}, []string{"error"}}
	unmarshalText = method{"UnmarshalText", []string{"[]byte"}, []string{"error"}}
	protoEnum     = method{"EnumDescriptor", nil, []string{"[]byte", "[]int"}}

	// hooks are what the Reflector calls, on values only.
	hooks = []method{
		{"JSONSchema", nil, []string{schemaType}},
		{"JSONSchemaExtend", []string{schemaType}, nil},
		{"JSONSchemaAlias", nil, []string{"any"}},
	}
	// structHooks are what it calls on structs in addition.
	structHooks = []method{
		{"JSONSchemaProperty", []string{"string"}, []string{"any"}},
		{"GetFieldDocString", []string{"string"}, []string{"string"}},
	}
)

// receiver says which method set is asked.
type receiver int

const (
	byValue receiver = iota
	byPointer
)

// has reports whether a type has a method, promoted ones included.
func (p *pass) has(t types.Type, m method, r receiver) bool {
	switch t.(type) {
	case *types.Named, *types.Struct, *types.Interface:
	default:
		return false
	}
	if r == byPointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	sel := p.w.methods.MethodSet(t).Lookup(nil, m.name)
	if sel == nil {
		return false
	}
	sig, ok := sel.Type().(*types.Signature)
	return ok && !sig.Variadic() &&
		sameTypes(sig.Params(), m.params) && sameTypes(sig.Results(), m.results)
}

func sameTypes(have *types.Tuple, want []string) bool {
	if have.Len() != len(want) {
		return false
	}
	for i, name := range want {
		t := types.Unalias(have.At(i).Type())
		if name == "any" {
			if u, ok := t.(*types.Interface); !ok || !u.Empty() {
				return false
			}
			continue
		}
		typeText := types.TypeString(t, nil)
		if typeText == "[]uint8" {
			typeText = "[]byte"
		}
		if typeText != name {
			return false
		}
	}
	return true
}

// hooked reports types whose schema is made by a method of their own when the program runs.
func (p *pass) hooked(t types.Type, at place) bool {
	list := hooks
	if _, ok := t.Underlying().(*types.Struct); ok {
		list = append(append([]method(nil), hooks...), structHooks...)
	}
	for _, m := range list {
		if p.has(t, m, byValue) {
			cure := "use jsonschema tags instead, " + ByHand + " input=FILE or output=FILE"
			if n, ok := t.(*types.Named); ok && p.foreign(n.Obj()) {
				cure = p.declaring(t, at)
			}
			p.problem(HookedType, at,
				fmt.Sprintf("%s has a method %s, which makes the schema at run time",
					gotype.Plain(t), m.name), cure)
			return true
		}
	}
	return false
}

// opaque reports a type whose JSON form is decided by a method that cannot be read.
func (p *pass) opaque(t types.Type) (method, bool) {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok && wellKnown(n) {
		return method{}, false
	}
	switch {
	case p.dir == decoding && !types.IsInterface(t) && p.has(t, unmarshalJSON, byPointer):
		return unmarshalJSON, true
	case p.dir == encoding && !types.IsInterface(t) && p.has(t, marshalJSON, byPointer):
		return marshalJSON, true
	}
	return method{}, false
}

// ReadsJSON reports whether a type is filled by an UnmarshalJSON of its own.
func (w *Walker) ReadsJSON(t types.Type) bool {
	_, opaque := w.pass(inputRules, decoding).opaque(t)
	return opaque
}

// ReadsText reports whether a type is filled by an UnmarshalText of its own.
func (w *Walker) ReadsText(t types.Type) bool {
	return !types.IsInterface(t) && w.pass(inputRules, decoding).has(t, unmarshalText, byPointer)
}

// special makes the schema of types whose JSON form is not that of their kind.
func (p *pass) special(t types.Type, at place) (*jsonschema.Schema, bool) {
	n, isNamed := t.(*types.Named)
	if isNamed {
		if s, ok := p.known(n, at); ok {
			return s, true
		}
	}
	if !p.on.has(protoInteger) && p.has(t, protoEnum, byValue) {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}},
			true
	}
	if p.dir == reflecting || types.IsInterface(t) {
		return nil, false
	}
	if p.readsByNil(t, at, unmarshalJSON, unmarshalText) {
		return &jsonschema.Schema{}, true
	}
	if m, ok := p.opaque(t); ok {
		p.problem(UnsupportedType, at,
			fmt.Sprintf("%s has its own %s, so its JSON representation is unknown", gotype.Plain(t),
				m.name),
			p.declaring(t, at))
		return &jsonschema.Schema{}, true
	}
	if !p.on.has(textMarshaler) {
		return nil, false
	}
	m := unmarshalText
	if p.dir == encoding {
		m = marshalText
	}
	if !p.has(t, m, byPointer) {
		return nil, false
	}
	if isNamed {
		p.w.meet(n)
	}
	p.reachable(t, m, at)
	return &jsonschema.Schema{Type: "string"}, true
}

// readsByNil reports an argument that the first of the methods reads which it has, if the method is
// promoted from an embedded pointer or interface. That is nil in the value that encoding/json
// makes, and the call panics.
func (p *pass) readsByNil(t types.Type, at place, methods ...method) bool {
	if p.dir != decoding || types.IsInterface(t) {
		return false
	}
	for _, m := range methods {
		if !p.has(t, m, byPointer) {
			continue
		}
		embedded := p.viaNil(t, m)
		if embedded == nil {
			return false
		}
		found := p.within(t, at).found(UnsupportedType,
			fmt.Sprintf("%s has %s from the embedded %s, which is nil during decoding",
				gotype.Plain(t), m.name, gotype.Plain(embedded)),
			"embed a struct by value, declare "+m.name+" on the type itself, or use another type")
		found.Panics = true
		p.add(found)
		return true
	}
	return false
}

// viaNil is the first embedded pointer or interface on the way to a promoted method, or nil.
func (p *pass) viaNil(t types.Type, m method) types.Type {
	index := p.w.methods.MethodSet(types.NewPointer(t)).Lookup(nil, m.name).Index()
	for _, i := range index[:len(index)-1] {
		t = t.Underlying().(*types.Struct).Field(i).Type()
		if p.pointee(t) != nil || types.IsInterface(t) {
			return t
		}
	}
	return nil
}

// Declare gives a named type the schema of these tags, in each direction in which its own methods
// decide its JSON form. It returns what is wrong with them.
func (w *Walker) Declare(name *types.TypeName, tags []Tag) []Problem {
	at := rootPlace(name.Type())
	at.addressable = true
	n, ok := types.Unalias(name.Type()).(*types.Named)
	p := w.pass(inputRules, decoding)
	switch {
	case !ok || types.IsInterface(n) || n.TypeParams().Len() > 0:
		p.bad(at, "use a type that is neither generic nor an interface",
			"%s has no JSON representation of its own", name.Name())
		return p.problems
	case wellKnown(n):
		p.bad(at, "remove the directive", "the schema of %s is fixed", gotype.Plain(n))
		return p.problems
	}
	w.declared[fullName(n)] = tags
	used := false
	for _, d := range []direction{encoding, decoding} {
		p.dir, p.on = d, inputRules // also for results, whose limits are checked and dropped
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

// typeKeys are the keys that the schema of a type may have.
var typeKeys = slices.Concat(slices.Sorted(maps.Keys(textKeys)),
	slices.Sorted(maps.Keys(numberKeys)),
	[]string{"anyof_type", "description", "enum", "example", "nullable", "oneof_type", "title",
		"type"})

// declared is the schema that Declare gives a type, or nil.
func (p *pass) declared(t types.Type, at place) *jsonschema.Schema {
	n, ok := t.(*types.Named)
	if !ok || p.dir == reflecting {
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
		if p.dir == decoding || !p.on.has(shapeOnly) || shape {
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

const declareCure = "write //mcp:type "

// proposed is the cure for a type of another module with JSON methods of its own: the directive
// with the schema that the type's name and methods suggest.
func (p *pass) proposed(n *types.Named) string {
	form := "string"
	name := n.Obj().Name()
	_, own := p.opaque(n)
	basic, _ := n.Underlying().(*types.Basic)
	switch {
	case strings.EqualFold(name, "date"):
		form = "string,format=date"
	case strings.EqualFold(name, "uuid"):
		form = "string,format=uuid"
	case isTime(n):
		form = "string,format=date-time"
	case p.has(n, marshalText, byPointer), p.has(n, unmarshalText, byPointer):
	case basic == nil:
		switch u := n.Underlying().(type) {
		case *types.Struct:
			if !own || hasNames(u) {
				form = "object"
			}
		case *types.Map:
			form = "object"
		case *types.Slice, *types.Array:
			if !own { // a list that writes itself is mostly a text
				form = "array"
			}
		}
	case basic.Info()&types.IsBoolean != 0:
		form = "boolean"
	case basic.Info()&types.IsInteger != 0:
		form = "integer"
	case basic.Info()&types.IsNumeric != 0:
		form = "number"
	}
	return declareCure + gotype.Plain(n) + " schema=" + form +
		" in the package doc, with the JSON representation of the type, " + ByHand
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
// type itself, another type elsewhere.
func (p *pass) declaring(t types.Type, at place) string {
	if n, ok := t.(*types.Named); ok && p.foreign(n.Obj()) && n.TypeArgs().Len() == 0 {
		return p.proposed(n)
	}
	if _, isField := at.obj.(*types.Var); isField && !strings.HasSuffix(at.path, "]") {
		return `declare the JSON type in the field's tag, for example jsonschema:"type=string", ` + ByHand
	}
	if n, ok := t.(*types.Named); ok && p.foreign(n.Obj()) {
		return foreignCure
	}
	return "use a type without the method, " + ByHand
}

// reachable reports results that encoding/json marshals past their method, because it is
// declared on the pointer and the value cannot be addressed.
func (p *pass) reachable(t types.Type, m method, at place) {
	if p.dir == encoding && !at.addressable && !p.has(t, m, byValue) {
		cure := fmt.Sprintf("use *%s instead", gotype.Plain(t))
		if n, ok := t.(*types.Named); !ok || !p.foreign(n.Obj()) {
			cure += ", or declare the method on the value"
		}
		p.problem(UnsupportedType, at,
			fmt.Sprintf("%s has %s on its pointer, and encoding/json does not call it for a value",
				gotype.Plain(t), m.name), cure)
	}
}

// standard is a type of the standard library, or as widely known, whose JSON form is fixed.
type standard struct {
	rule   rule // under which clients get schema; ruleCount for types that the Reflector has right
	schema jsonschema.Schema
	// method is the one on a pointer receiver that makes the form, when values lack it.
	method method
}

var standards = map[string]standard{
	"time.Time": {ruleCount, jsonschema.Schema{Type: "string", Format: "date-time"},
		method{}},
	"encoding/json.RawMessage": {ruleCount, jsonschema.Schema{}, method{}},
	"encoding/json.Number":     {numberType, jsonschema.Schema{Type: "number"}, method{}},
	"math/big.Int":             {bigInteger, jsonschema.Schema{Type: "integer"}, marshalJSON},
	"log/slog.Level":           {textMarshaler, jsonschema.Schema{Type: "string"}, method{}},
	"net.IP":                   {ipText, jsonschema.Schema{Type: "string"}, method{}},
}

// uuids are types that write themselves as a UUID by a text method.
var uuids = map[string]bool{
	"github.com/google/uuid.UUID":   true,
	"github.com/gofrs/uuid.UUID":    true,
	"github.com/gofrs/uuid/v5.UUID": true,
}

func fullName(n *types.Named) string {
	if n.Obj().Pkg() == nil {
		return n.Obj().Name()
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// wellKnown reports types whose JSON form does not depend on their declaration.
func wellKnown(n *types.Named) bool {
	_, ok := standards[fullName(n)]
	return ok
}

// Standard reports whether a type is one of the standard library whose JSON form is fixed, and so a
// single value whatever its fields are, as time.Time.
func Standard(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && wellKnown(n)
}

// known makes the schema of a type with a fixed form. With rules off it knows the types that
// the Reflector knows.
func (p *pass) known(n *types.Named, at place) (*jsonschema.Schema, bool) {
	name := fullName(n)
	switch {
	case name == "net.IP" && !p.on.has(ipText):
		return &jsonschema.Schema{Type: "string", Format: "ipv4"}, true
	case name == "net/url.URL" && !p.on.has(urlObject):
		return &jsonschema.Schema{Type: "string", Format: "uri"}, true
	case uuids[name] && p.on.has(uuidFormat):
		return &jsonschema.Schema{Type: "string", Format: "uuid"}, true
	}
	std, ok := standards[name]
	if !ok || std.rule != ruleCount && !p.on.has(std.rule) {
		return nil, false
	}
	if std.method.name != "" {
		p.reachable(n, std.method, at)
	}
	s := std.schema
	return &s, true
}

// exactly is the largest integer up to which a float64 holds every integer. Clients in JavaScript
// round a number beyond it, and some model providers then refuse the whole list of tools.
const exactly = 1<<53 - 1

// Inexact is the end of a message about a number for which Exact is false.
const Inexact = "is beyond ±9007199254740991; some clients round such numbers"

// Exact reports whether a JSON number is within ±(2^53-1), so that every client keeps it. It is
// false for a text that is no number.
func Exact(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && math.Abs(f) <= exactly
}

// publishedBounds are the bounds of an integer kind without those that no client can keep. The
// decoder has them all.
func publishedBounds(k types.BasicKind) (least, most json.Number) {
	least, most = IntegerBounds(k)
	if !Exact(least.String()) {
		least = ""
	}
	if !Exact(most.String()) {
		most = ""
	}
	return least, most
}

// IntegerBounds is the range of an integer kind, as JSON numbers. int and uint count as 64
// bits: on a 32-bit machine the decoder refuses what does not fit.
func IntegerBounds(k types.BasicKind) (least, most json.Number) {
	switch k {
	case types.Int8:
		return "-128", "127"
	case types.Int16:
		return "-32768", "32767"
	case types.Int32:
		return "-2147483648", "2147483647"
	case types.Uint8:
		return "0", "255"
	case types.Uint16:
		return "0", "65535"
	case types.Uint32:
		return "0", "4294967295"
	case types.Uint, types.Uint64:
		return "0", "18446744073709551615"
	}
	return "-9223372036854775808", "9223372036854775807"
}

func constantString(c *types.Const) string { return constant.StringVal(c.Val()) }
