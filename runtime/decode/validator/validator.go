// Package validator decodes arguments by their JSON Schema. It reports all problems of a document
// that the schema refuses. It decodes other documents into a Go value, with the schema's
// defaults.
//
// Only generated code imports it, and no other package imports the schema validator.
package validator

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Decode reads arguments by schema, a JSON Schema of draft 2020-12. It accepts what the schema
// accepts, with formats asserted. It refuses what decode.Scan refuses, values that T cannot hold,
// leap seconds, and other values than objects. Empty or nil arguments are the empty object; null
// is not.
//
// An absent property gets the default of its schema, at any depth and through references, exactly
// as written. Names match exactly: a name in another case does not fill a field, as it would in
// encoding/json.
//
// For a refused document the error is a *decode.Error with all problems, and the value the zero
// T. Any other error means that the schema cannot be used.
//
// decode's default limits bound time and memory, unless anyOf and oneOf of the schema refer back
// to themselves in more than one branch: such branches multiply with every level.
//
// A schema is compiled once, at the first call. Decode is safe for concurrent use. The value
// shares no memory with arguments.
func Decode[T any](arguments json.RawMessage, schema string) (T, error) {
	var value, zero T
	c, err := contractOf(schema)
	if err != nil {
		return zero, err
	}
	if err := c.decode(arguments, reflect.ValueOf(&value)); err != nil {
		return zero, err
	}
	return value, nil
}

// contracts contains the contract of each schema after its first use, as a func of sync.OnceValues.
// Schemas come from generated code, not from callers.
var contracts sync.Map

func contractOf(schema string) (*contract, error) {
	load, known := contracts.Load(schema)
	if !known {
		load, _ = contracts.LoadOrStore(schema,
			sync.OnceValues(func() (*contract, error) { return compile(schema) }))
	}
	return load.(func() (*contract, error))()
}

// decode fills the target of into. After an error it may be half filled.
func (c *contract) decode(arguments []byte, into reflect.Value) error {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if err := decode.Scan(arguments, decode.Limits{}); err != nil {
		return err
	}
	doc, err := tree(arguments)
	if err != nil {
		return err
	}
	if _, ok := doc.(map[string]any); !ok {
		return decode.NewError([]decode.Problem{
			decode.NewProblem("", literal(doc), describeType(doc, []string{"object"}))})
	}
	if err := c.validate(doc); err != nil {
		return err
	}
	f := fitter{changed: c.fillDefaults(doc)}
	doc = f.fit(into.Type().Elem(), doc)
	if len(f.problems) > 0 {
		return decode.NewError(f.problems)
	}
	if f.changed {
		if arguments, err = text(doc); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(arguments, into.Interface()); err != nil {
		return unmarshalError(into.Type().Elem(), doc)
	}
	return nil
}

// unmarshalError finds the values that a type's own UnmarshalJSON or UnmarshalText refused.
func unmarshalError(t reflect.Type, doc any) error {
	f := fitter{probe: true}
	f.fit(t, doc)
	if len(f.problems) == 0 {
		// Leave out the error's text: it may repeat a secret value.
		f.problems = []decode.Problem{{Message: decode.RefusedMessage}}
	}
	return decode.NewError(f.problems)
}

// tree parses a document into maps, slices, strings and json.Numbers, which keep a number's text.
func tree(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// text encodes a tree without HTML escapes, because a handler sees the text in a json.RawMessage.
func text(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// literal returns the JSON text of a string, number or boolean, and "" for other values, which
// messages do not repeat.
func literal(v any) string {
	switch v.(type) {
	case string, json.Number, bool:
		if b, err := text(v); err == nil {
			return string(b)
		}
	}
	return ""
}
