package schema

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/invopop/jsonschema"
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
			p.problem(HookedType, at, fmt.Sprintf("%s has a method %s, whose schema is known only when the program runs", plainly(t), m.name),
				"say the same with jsonschema tags, or write the schema by hand: //mcp:schema input=FILE or output=FILE")
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

// special makes the schema of types whose JSON form is not that of their kind.
func (p *pass) special(t types.Type, at place) (*jsonschema.Schema, bool) {
	n, isNamed := t.(*types.Named)
	if isNamed {
		if s, ok := p.known(n, at); ok {
			return s, true
		}
	}
	if !p.on.has(protoInteger) && p.has(t, protoEnum, byValue) {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}}, true
	}
	if p.dir == reflecting || types.IsInterface(t) {
		return nil, false
	}
	if m, ok := p.opaque(t); ok {
		p.problem(UnsupportedType, at, fmt.Sprintf("%s has its own %s, so that its JSON form cannot be known", plainly(t), m.name),
			declaring(at))
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

// declaring is the cure for a type with its own JSON methods: a tag where a field has the
// type itself, another type elsewhere.
func declaring(at place) string {
	if _, isField := at.obj.(*types.Var); isField && !strings.HasSuffix(at.path, "]") {
		return `declare the form in the field's tag, as in jsonschema:"type=string", or write the schema by hand: //mcp:schema`
	}
	return "use a type without the method, or write the schema by hand: //mcp:schema"
}

// reachable reports results that encoding/json marshals past their method, because it is
// declared on the pointer and the value cannot be addressed.
func (p *pass) reachable(t types.Type, m method, at place) {
	if p.dir == encoding && !at.addressable && !p.has(t, m, byValue) {
		p.problem(UnsupportedType, at, fmt.Sprintf("%s has %s on its pointer, and encoding/json passes it over for a value", plainly(t), m.name),
			"return a pointer to it, or declare the method on the value")
	}
}
