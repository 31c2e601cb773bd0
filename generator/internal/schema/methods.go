package schema

import (
	"fmt"
	"go/types"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
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

	// Methods are the names of all methods that change the JSON or the schema of a type.
	Methods = []string{
		"MarshalJSON", "MarshalText", "UnmarshalJSON", "UnmarshalText", "JSONSchema",
		"JSONSchemaExtend", "JSONSchemaAlias", "JSONSchemaProperty", "GetFieldDocString", "IsZero",
	}

	// hooks are the methods that the Reflector calls, on values only.
	hooks = []method{
		{"JSONSchema", nil, []string{schemaType}},
		{"JSONSchemaExtend", []string{schemaType}, nil},
		{"JSONSchemaAlias", nil, []string{"any"}},
	}
	// structHooks are the methods that it calls on structs in addition.
	structHooks = []method{
		{"JSONSchemaProperty", []string{"string"}, []string{"any"}},
		{"GetFieldDocString", []string{"string"}, []string{"string"}},
	}
)

// receiver is the method set to search.
type receiver int

const (
	byValue receiver = iota
	byPointer
)

// has reports whether a type has a method in every build, promoted ones included.
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
	if fn, ok := sel.Obj().(*types.Func); ok && p.w.src != nil && p.w.src.ConditionalMethod(fn) {
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
	_, opaque := w.pass(decoding).opaque(t)
	return opaque
}

// ReadsText reports whether a type is filled by an UnmarshalText of its own.
func (w *Walker) ReadsText(t types.Type) bool {
	return !types.IsInterface(t) && w.pass(decoding).has(t, unmarshalText, byPointer)
}

// special makes the schema of types whose JSON form is not that of their kind.
func (p *pass) special(t types.Type, at place) (*jsonschema.Schema, bool) {
	n, isNamed := t.(*types.Named)
	if isNamed {
		if s, ok := p.known(n, at); ok {
			return s, true
		}
	}
	if types.IsInterface(t) {
		return nil, false
	}
	if p.readsByNil(t, at, unmarshalJSON, unmarshalText) {
		return &jsonschema.Schema{}, true
	}
	if m, ok := p.opaque(t); ok {
		has, cure := "its own "+m.name, p.declaring(t, at)
		if from := p.promoted(t, m); from != nil {
			has = m.name + " from the embedded " + gotype.Plain(from)
			if n, ok := t.(*types.Named); !ok || !p.foreign(n.Obj()) {
				cure = "give the embedded field a name, " + cure
			}
		}
		p.problem(UnsupportedType, at, fmt.Sprintf(
			"%s has %s, so its JSON representation is unknown", gotype.Plain(t), has), cure)
		return &jsonschema.Schema{}, true
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

// promoted is the embedded type that a method is declared on, or nil for a method of the type
// itself.
func (p *pass) promoted(t types.Type, m method) (from types.Type) {
	index := p.w.methods.MethodSet(types.NewPointer(t)).Lookup(nil, m.name).Index()
	for _, i := range index[:len(index)-1] {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return from
		}
		from = s.Field(i).Type()
		if t = from; p.pointee(t) != nil {
			t = p.pointee(t)
		}
	}
	return from
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
	schema jsonschema.Schema
	// method is the one on a pointer receiver that makes the form, when values lack it.
	method method
}

var standards = map[string]standard{
	"time.Time":                {jsonschema.Schema{Type: "string", Format: "date-time"}, method{}},
	"encoding/json.RawMessage": {jsonschema.Schema{}, method{}},
	"encoding/json.Number":     {jsonschema.Schema{Type: "number"}, method{}},
	"math/big.Int":             {jsonschema.Schema{Type: "integer"}, marshalJSON},
	"log/slog.Level":           {jsonschema.Schema{Type: "string"}, method{}},
	"net.IP":                   {jsonschema.Schema{Type: "string"}, method{}},
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

// known makes the schema of a type with a fixed form.
func (p *pass) known(n *types.Named, at place) (*jsonschema.Schema, bool) {
	name := fullName(n)
	if uuids[name] && p.limits {
		return &jsonschema.Schema{Type: "string", Format: "uuid"}, true
	}
	std, ok := standards[name]
	if !ok {
		return nil, false
	}
	if std.method.name != "" {
		p.reachable(n, std.method, at)
	}
	s := std.schema
	return &s, true
}
