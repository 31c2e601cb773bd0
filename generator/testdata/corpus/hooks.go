package corpus

import (
	"encoding/json"
	"strings"

	"github.com/invopop/jsonschema"
)

// HookSchema makes its schema itself.
type HookSchema string

// JSONSchema is called by the Reflector.
func (HookSchema) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^hook$"}
}

// HookExtend changes what was made.
type HookExtend struct{ A int }

// JSONSchemaExtend is called by the Reflector.
func (HookExtend) JSONSchemaExtend(s *jsonschema.Schema) { s.Title = "extended" }

// HookAlias stands for another type.
type HookAlias struct{ A int }

// JSONSchemaAlias is called by the Reflector.
func (HookAlias) JSONSchemaAlias() any { return "" }

// HookProperty changes types of fields.
type HookProperty struct{ A int }

// JSONSchemaProperty is called by the Reflector.
func (HookProperty) JSONSchemaProperty(string) any { return true }

// HookNested has one within.
type HookNested struct {
	Deep []map[string]HookSchema `json:"deep"`
}

// HookPointer has its hook on the pointer, where the Reflector does not look.
type HookPointer struct{ A int }

// JSONSchema is never called.
func (*HookPointer) JSONSchema() *jsonschema.Schema { return nil }

// Enumerated is an enum as protobuf generates them.
type Enumerated int32

// EnumDescriptor marks it.
func (Enumerated) EnumDescriptor() ([]byte, []int) { return nil, nil }

// Marshals writes itself.
type Marshals struct{ A int }

// MarshalJSON writes a list.
func (m Marshals) MarshalJSON() ([]byte, error) { return json.Marshal([]int{m.A}) }

// MarshalsText writes itself as text.
type MarshalsText struct{ A, B string }

// MarshalText joins both.
func (m MarshalsText) MarshalText() ([]byte, error) { return []byte(m.A + ":" + m.B), nil }

// UnmarshalText parts them.
func (m *MarshalsText) UnmarshalText(b []byte) error {
	m.A, m.B, _ = strings.Cut(string(b), ":")
	return nil
}

// Unmarshals reads itself.
type Unmarshals struct{ A int }

// UnmarshalJSON takes anything.
func (*Unmarshals) UnmarshalJSON([]byte) error { return nil }
