// Package schemafile reads a JSON Schema that an author wrote by hand, the file of //mcp:schema.
// It accepts a schema of draft 2020-12 that refers to nothing outside itself.
package schemafile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	validator "github.com/google/jsonschema-go/jsonschema"
	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/ordered"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Schema is a schema by hand, as //mcp:schema names one for a type that cannot be read statically.
type Schema struct {
	// Text is the schema as compact JSON, in the author's order.
	Text string
	// Object is whether the root's type is object and nothing else.
	Object bool
	// Properties are the names of the root's properties, sorted.
	Properties []string
	// Known is the schema as far as jsonschema.Schema can hold it, for documentation, or nil.
	Known *jsonschema.Schema
}

// Error is a fault of a schema by hand. Offset is the byte of the fault.
type Error struct {
	Offset  int
	Message string // one line, no full stop
	Cure    string // one line
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

const invalid = "the schema is not valid under JSON Schema 2020-12: "

// Invalid reports a schema that no program could use. Other errors are limits of mcpgen.
func (e *Error) Invalid() bool { return strings.HasPrefix(e.Message, invalid) }

// PatternError is a regular expression that Go or JavaScript refuses, or that JavaScript reads
// differently.
type PatternError struct{ Fault Error }

// Error is the message.
func (e *PatternError) Error() string { return e.Fault.Message }

// Unwrap returns the fault as a *Error.
func (e *PatternError) Unwrap() error { return &e.Fault }

// Read reads a schema by hand: a JSON object, valid under the meta-schema of draft 2020-12, that
// refers to nothing outside itself and whose defaults fit it. An error is a *Error, or wraps one.
func Read(doc []byte) (Schema, error) {
	if Deep(doc) {
		return Schema{}, &Error{0, fmt.Sprintf("the schema has more than %d levels", maxDepth),
			"move parts to $defs, and refer to them"}
	}
	doc, err := UTF8(doc)
	if err != nil {
		return Schema{}, &Error{0, "the file is not JSON: " + err.Error(), "save it in UTF-8"}
	}
	tree, err := oneDocument(doc)
	if err != nil {
		return Schema{}, err
	}
	read, err := ordered.Read(doc)
	if err != nil {
		return Schema{}, &Error{0, "the schema is not a JSON object",
			"write an object, for example {\"type\": \"object\", …}"}
	}
	dialect := ""
	var members ordered.Object
	for _, m := range read {
		// Of a repeated name the last counts, as for encoding/json.
		members = slices.DeleteFunc(members, func(o ordered.Member) bool { return o.Key == m.Key })
		members = append(members, m)
	}
	for _, m := range members {
		switch m.Key {
		case "$schema":
			if json.Unmarshal(m.Value, &dialect) != nil ||
				strings.TrimSuffix(dialect, "#") != jsonschema.Version {
				return Schema{}, &Error{m.At, "the schema is not of draft 2020-12", "write " +
					jsonschema.Version + ", or remove $schema"}
			}
		case "$id":
			return Schema{}, &Error{m.At, "$id has no effect for clients",
				"remove it; write references that begin with #"}
		}
	}
	if err := usable(doc, tree); err != nil {
		return Schema{}, err
	}
	if at, n := numberWithout(schema.Exact, tree, nil); n != "" {
		return Schema{}, &Error{offsetOf(doc, at), fmt.Sprintf("the number %s %s", n, schema.Inexact),
			"write a number in the range, or describe the value as a string"}
	}
	w := Schema{Text: string(members.Text())}
	var root struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(doc, &root); err != nil {
		return Schema{}, &Error{0, err.Error(), "fix the schema"} // usable has seen to it
	}
	w.Object = string(root.Type) == `"object"`
	for name := range root.Properties {
		w.Properties = append(w.Properties, name)
	}
	slices.Sort(w.Properties)
	known := &jsonschema.Schema{}
	if json.Unmarshal([]byte(w.Text), known) == nil {
		w.Known = known
	}
	return w, nil
}

// location is the address of a schema by hand within the validator. Nothing is loaded from it.
const location = "mcpgen:///schema"

// usable reports a keyword with a wrong value, and references and defaults that do not fit.
func usable(doc []byte, tree any) error {
	if at, n := numberWithout(finite, tree, nil); n != "" {
		return &Error{offsetOf(doc, at),
			invalid + "the number at " + pointerTo(at) + " is beyond the range of a float64",
			"write a number in the range"}
	}
	c := &checker{applied: map[string][]string{}, paths: map[string][]string{},
		objects: map[string]map[string]any{}}
	c.schema(tree, nil)
	if at, found := c.circular(); found && c.fault == "" {
		return &Error{offsetOf(doc, at), fmt.Sprintf(
			"the schema at %s applies itself to the same value again", pointerTo(at)),
			"remove the reference, or describe a part of the value by it"}
	}
	if c.fault != "" {
		return &Error{offsetOf(doc, c.at), invalid + c.fault, "fix the schema"}
	}
	if c.pattern != nil {
		c.pattern.Fault.Offset = offsetOf(doc, c.patternAt)
		return c.pattern
	}
	if err := c.bounded(doc, tree); err != nil {
		return err
	}
	root := &validator.Schema{}
	if err := json.Unmarshal(doc, root); err != nil {
		return &Error{0, invalid + err.Error(), "fix the schema"}
	}
	root.Schema, root.ID = "", location
	if err := resolve(root, false); err != nil {
		return &Error{0, invalid + strings.ReplaceAll(err.Error(), location, ""), "fix the schema"}
	}
	if c.dynamic || resolve(root, true) == nil {
		return nil // the validator checks no defaults beside a $dynamicRef
	}
	for _, path := range c.defaults {
		// A schema that consists of a reference to the one with the default, which it repeats.
		one := &validator.Schema{
			Ref:  location + "#" + pointerTo(path),
			Defs: map[string]*validator.Schema{"schema": root},
		}
		if err := fits(one, valueAt(tree, append(path, "default"))); err != nil {
			return &Error{offsetOf(doc, append(path, "default")),
				fmt.Sprintf("the default at %s does not match its schema", pointerTo(path)),
				"change the default or the schema"}
		}
	}
	return nil
}

func resolve(s *validator.Schema, defaults bool) error {
	_, err := s.Resolve(&validator.ResolveOptions{
		ValidateDefaults: defaults,
		Loader: func(*url.URL) (*validator.Schema, error) {
			return nil, errors.New("a schema must not refer to other documents")
		},
	})
	return err
}

func fits(s *validator.Schema, value any) error {
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain any // with numbers as the validator takes them
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	return resolved.Validate(plain)
}

// valueAt is the part of a decoded document at a path that it has.
func valueAt(v any, path []string) any {
	for _, step := range path {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		}
	}
	return v
}

// finite reports whether a float64 holds a number. One that rounds to 0 is not held.
func finite(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	digits, _, _ := strings.Cut(strings.ToLower(number), "e")
	return err == nil && (f != 0 || !strings.ContainsAny(digits, "123456789"))
}

// numberWithout finds a number without a property, in any place of a decoded document. It returns
// no number if all have the property.
func numberWithout(
	property func(number string) bool, v any, path []string,
) (at []string, number json.Number) {
	below := func(step string, v any) bool {
		at, number = numberWithout(property, v, append(slices.Clip(path), step))
		return number != ""
	}
	switch v := v.(type) {
	case json.Number:
		if !property(v.String()) {
			return path, v
		}
	case []any:
		for i, item := range v {
			if below(strconv.Itoa(i), item) {
				break
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if below(key, v[key]) {
				break
			}
		}
	}
	return at, number
}
