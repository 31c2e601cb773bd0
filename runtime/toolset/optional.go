package toolset

import (
	"encoding/json"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Optional is a field of a handler's input, or a plain parameter, that distinguishes an absent
// argument, null and a value. A pointer is nil both for an absent argument and for null.
//
// The zero value is absent. With encoding/json, an absent field is left out by omitzero, and is
// null without it.
type Optional[T any] struct {
	Value   T    // the zero value if absent or null
	Present bool // the argument is null or a value
	Null    bool // the argument is null
}

// Get returns the value. ok is false if the argument is absent or null.
func (o Optional[T]) Get() (value T, ok bool) { return o.Value, o.Present && !o.Null }

// IsZero reports whether the argument is absent, for the omitzero option of encoding/json.
func (o Optional[T]) IsZero() bool { return !o.Present }

// MarshalJSON writes null unless there is a value.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if value, ok := o.Get(); ok {
		return json.Marshal(value)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads null or a value.
func (o *Optional[T]) UnmarshalJSON(doc []byte) error {
	*o = Optional[T]{Present: true, Null: string(doc) == "null"}
	if o.Null {
		return nil
	}
	return json.Unmarshal(doc, &o.Value)
}

// ReadOptional reads null, or a value with read. Generated decoders call it.
func ReadOptional[T any](r *decode.Reader, o *Optional[T], read func(*decode.Reader, *T)) {
	*o = Optional[T]{Present: true}
	if o.Null = r.Null(); !o.Null {
		read(r, &o.Value)
	}
}
