package schema

import (
	"encoding/json"
	"fmt"
	"go/constant"
	"go/types"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// structure fills the schema of a struct.
func (p *pass) structure(t types.Type, s *jsonschema.Schema, at place) {
	p.define(t, s, at)
	s.Type, s.Properties = "object", jsonschema.NewProperties()
	s.AdditionalProperties = jsonschema.FalseSchema
	s.Description = p.typeDoc(t)
	for _, f := range p.fields(t, at) {
		p.property(s, t, f, at)
	}
}

// list fills the schema of a slice, or of an array of the given length.
func (p *pass) list(t, elem types.Type, length int64, s *jsonschema.Schema, at place) {
	p.define(t, s, at)
	s.Description = p.typeDoc(t)
	if length >= 0 {
		if length > exactly {
			p.problem(UnsupportedType, at, fmt.Sprintf("the length %d %s", length, Inexact),
				"use a slice")
		}
		n := uint64(length)
		s.MinItems, s.MaxItems = &n, &n
	} else {
		at.addressable = true
		if p.isByte(elem) {
			p.noEnum(elem, at, "bytes", "use a larger integer type")
			s.Type, s.ContentEncoding = "string", "base64"
			return
		}
	}
	s.Type = "array"
	at.path += "[]"
	items := p.schema(elem, at)
	if length > 0 && p.pointee(elem) != nil && p.leadsBack([]types.Type{p.pointed(elem)}, t) {
		items = p.orNull(items)
	}
	s.Items = p.open(items)
}

// isByte reports whether a slice of elem is base64 in JSON.
func (p *pass) isByte(elem types.Type) bool {
	elem = types.Unalias(elem)
	basic, ok := elem.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Uint8 &&
		!p.has(elem, marshalJSON, byPointer) && !p.has(elem, marshalText, byPointer) &&
		!p.has(elem, unmarshalJSON, byPointer) && !p.has(elem, unmarshalText, byPointer)
}

// Canonical integers, as encoding/json writes them in keys.
const (
	SignedPattern   = "^(0|-?[1-9][0-9]*)$"
	UnsignedPattern = "^(0|[1-9][0-9]*)$"
	QuotedPattern   = `^"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"$` // a JSON string
	NumberPattern   = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
)

// mapping fills the schema of a map.
func (p *pass) mapping(t types.Type, u *types.Map, s *jsonschema.Schema, at place) {
	p.define(t, s, at)
	s.Type = "object"
	s.Description = p.typeDoc(t)
	at.addressable = false
	key, elem := types.Unalias(u.Key()), u.Elem()
	inside := at
	inside.path += "[…]"

	pattern := p.keyPattern(key, s, at)
	if pattern != "" {
		s.PatternProperties = map[string]*jsonschema.Schema{pattern: p.open(p.schema(elem, inside))}
		s.AdditionalProperties = jsonschema.FalseSchema
		return
	}
	if value := p.schema(elem, inside); !isAnything(value) || value.Description != "" {
		s.AdditionalProperties = value
	}
}

// keyPattern is the pattern that the keys of a map follow, or empty for any string.
func (p *pass) keyPattern(key types.Type, s *jsonschema.Schema, at place) string {
	basic, isBasic := key.Underlying().(*types.Basic)
	if n, ok := key.(*types.Named); ok {
		p.w.meet(n)
		p.w.meetText(n)
	}
	switch {
	case p.textKey(key):
		p.readsByNil(key, at, unmarshalText)
		return ""
	case isBasic && basic.Info()&types.IsString != 0:
		if list := p.w.enum(key); list != nil && p.dir == decoding {
			s.PropertyNames = &jsonschema.Schema{Enum: constants(list)}
		}
		return ""
	case isBasic && basic.Info()&types.IsInteger != 0:
		p.noEnum(key, at, "keys", "use a string type as key")
		if basic.Info()&types.IsUnsigned != 0 {
			return UnsignedPattern
		}
		return SignedPattern
	}
	cure := "use a string, an integer or a type with text methods as key"
	if p.w.Guards(key) {
		cure = "use a string or an integer as key"
	}
	p.problem(UnsupportedType, at, fmt.Sprintf("a map with keys of type %s has no JSON representation",
		gotype.Plain(key)), cure)
	return ""
}

// textKey reports whether encoding/json turns keys into strings by a text method.
func (p *pass) textKey(key types.Type) bool {
	if p.dir == decoding {
		return p.has(key, unmarshalText, byPointer)
	}
	if basic, ok := key.Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 {
		return false // the string itself comes before the method
	}
	return p.has(key, marshalText, byValue)
}

// dynamic leaves the schema of an interface empty: it admits anything.
func (p *pass) dynamic(t types.Type, u *types.Interface, at place) {
	if p.dir == decoding && u.NumMethods() > 0 {
		subject := "an interface with methods"
		if _, isNamed := t.(*types.Named); isNamed {
			subject = gotype.Plain(t) + ", " + subject + ","
		}
		p.problem(UnsupportedType, at, subject+" cannot be filled from JSON",
			"use a concrete type, or any")
	}
}

// basic fills the schema of a bool, number or string.
func (p *pass) basic(t types.Type, u *types.Basic, s *jsonschema.Schema, at place) {
	switch info := u.Info(); {
	case info&types.IsBoolean != 0:
		s.Type = "boolean"
	case info&types.IsInteger != 0 && u.Kind() != types.Uintptr:
		s.Type = "integer"
		if p.limits {
			s.Minimum, s.Maximum = publishedBounds(u.Kind())
		}
		if p.constants(t, s); len(s.Enum) > 0 {
			s.Minimum, s.Maximum = "", ""
		}
	case info&types.IsFloat != 0:
		s.Type = "number"
	case info&types.IsString != 0:
		s.Type = "string"
		p.constants(t, s)
	default:
		p.unsupported(t, at)
	}
}

// unsupported reports a type without a form in JSON.
func (p *pass) unsupported(t types.Type, at place) {
	if _, ok := t.(*types.TypeParam); ok {
		p.problem(UnsupportedType, at, "a type parameter has no schema",
			"name an instance of the generic type")
		return
	}
	if t == types.Typ[types.Invalid] {
		p.problem(UnsupportedType, at, "the type does not compile", "fix it, then run mcpgen again")
		return
	}
	cure := "use another type"
	if _, isField := at.obj.(*types.Var); isField {
		cure += `, or hide the field with json:"-"`
	}
	p.problem(UnsupportedType, at, fmt.Sprintf("%s has no JSON representation", gotype.Plain(t)), cure)
}

// open makes a schema that accepts everything an object instead of the boolean true.
func (p *pass) open(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Extras == nil && isAnything(s) {
		s.Extras = map[string]any{} // not nil: jsonschema writes true for its zero value only
	}
	return s
}

// constants limits arguments to the constants of an enum. In results they are examples.
func (p *pass) constants(t types.Type, s *jsonschema.Schema) {
	if values := constants(p.w.enum(t)); p.dir == decoding {
		s.Enum = values
	} else {
		s.Examples = values
	}
}

// noEnum reports an argument whose form in JSON cannot have the enum of an integer type.
func (p *pass) noEnum(t types.Type, at place, subject, cure string) {
	if t = types.Unalias(t); p.dir == decoding && p.w.enum(t) != nil {
		p.problem(UnsupportedType, at, fmt.Sprintf("%s of type %s cannot be limited to the constants",
			subject, gotype.Plain(t)), cure)
	}
}

// constants lists the values of an enum, each once, without those that only cgo knows.
func constants(list []*types.Const) []any {
	var values []any
	for _, c := range list {
		if c.Val().Kind() == constant.Unknown {
			continue
		}
		var value any = json.Number(c.Val().ExactString())
		if c.Val().Kind() == constant.String {
			value = constant.StringVal(c.Val())
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}
