package schema

import (
	"encoding/json"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/internal/editdistance"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// set writes a keyword of limitKeys or noteKeys into a schema, and reports whether its value could be
// read.
func set(s *jsonschema.Schema, key, value string) (ok bool) {
	counts := map[string]**uint64{"minLength": &s.MinLength, "maxLength": &s.MaxLength,
		"minItems": &s.MinItems, "maxItems": &s.MaxItems}
	numbers := map[string]*json.Number{"multipleOf": &s.MultipleOf, "minimum": &s.Minimum,
		"maximum": &s.Maximum, "exclusiveMinimum": &s.ExclusiveMinimum,
		"exclusiveMaximum": &s.ExclusiveMaximum}
	truths := map[string]*bool{"readOnly": &s.ReadOnly, "writeOnly": &s.WriteOnly,
		"uniqueItems": &s.UniqueItems}
	texts := map[string]*string{"pattern": &s.Pattern, "format": &s.Format}
	switch {
	case counts[key] != nil:
		n, err := strconv.ParseUint(value, 10, 64)
		if *counts[key] = nil; err == nil {
			*counts[key] = &n
		}
		return err == nil
	case numbers[key] != nil:
		*numbers[key], ok = jsonNumber(value)
	case truths[key] != nil:
		b, err := strconv.ParseBool(value)
		*truths[key], ok = b, err == nil
	default:
		*texts[key], ok = value, true
	}
	return ok
}

// jsonNumber reads a number as the Reflector does.
func jsonNumber(value string) (json.Number, bool) {
	n := json.Number(value)
	if _, err := n.Int64(); err == nil {
		return n, true
	}
	if _, err := n.Float64(); err == nil {
		return n, true
	}
	return "", false
}

// The keys that limit values, by JSON type. default, example and enum are not among them, since
// their values have the type of the property.
var (
	numberKeys = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	noteKeys   = []string{"readOnly", "writeOnly"}
	limitKeys  = map[string][]string{
		"string": append([]string{"minLength", "maxLength", "pattern", "format"}, noteKeys...),
		"number": numberKeys, "integer": numberKeys,
		"array": {"minItems", "maxItems", "uniqueItems"},
	}
	valueKeys = []string{"default", "example", "enum"}
)

// allKeys is every key of the grammar, sorted.
var allKeys = func() []string {
	keys := append([]string{"title", "description", "type", "anchor", "oneof_required",
		"anyof_required", "oneof_ref", "oneof_type", "anyof_ref", "anyof_type"}, valueKeys...)
	for _, list := range limitKeys {
		keys = append(keys, list...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}()

func knownKey(key string) bool {
	_, found := slices.BinarySearch(allKeys, key)
	return found
}

// nearest is the known key or flag that an unknown one resembles, or empty.
func nearest(key string) string {
	best, distance := "", 3
	for _, known := range append(slices.Clone(allKeys), "required", "nullable") {
		if d := editdistance.Between(strings.ToLower(key), strings.ToLower(known)); d < distance {
			best, distance = known, d
		}
	}
	return best
}

// values applies the typed keys of one tag in turn.
type values struct {
	keywords
	named []any // the constants of the field's type, which a tag may narrow
}

// set applies one element to a schema of the given JSON type.
func (v *values) set(s *jsonschema.Schema, kind string, e element) {
	if kind == "array" {
		v.list(s, e)
		return
	}
	switch {
	case slices.Contains(limitKeys[kind], e.key), slices.Contains(noteKeys, e.key):
		if !set(s, e.key, e.value) {
			v.unreadable(e, kind)
		}
	case slices.Contains(valueKeys, e.key) &&
		slices.Contains([]string{"string", "number", "integer", "boolean"}, kind):
		v.value(s, kind, e)
	case knownKey(e.key):
		v.bad("remove it, or give the "+v.holder()+" a type that supports it", "%s does not apply to %s",
			e.key, applied(kind))
	default:
		v.unknown(e)
	}
}

// list applies one element to an array, or to its items.
func (v *values) list(s *jsonschema.Schema, e element) {
	view := s.Items
	if view == nil {
		view = v.resolve(s).Items
	}
	if view == nil {
		v.bad("give the "+v.holder()+" a slice type", "%s needs items of a known type", e.key)
		return
	}
	kind := v.resolve(view).Type
	switch {
	case slices.Contains(limitKeys["array"], e.key), slices.Contains(noteKeys, e.key):
		if !set(s, e.key, e.value) {
			v.unreadable(e, "array")
		}
	case e.key == "default":
		if value, ok := v.parse(kind, e); ok {
			list, _ := s.Default.([]any)
			s.Default = append(list, value)
		}
	case kind != "array":
		if s.Items == nil {
			s.Items = &jsonschema.Schema{} // beside a reference: both bind the items
		}
		v.set(s.Items, kind, e)
	default:
		v.bad("declare a named type for the inner list", "%s does not apply to a list of lists", e.key)
	}
}

// value applies default, example or enum to a schema of the given type.
func (v *values) value(s *jsonschema.Schema, kind string, e element) {
	value, ok := v.parse(kind, e)
	if !ok {
		return
	}
	switch e.key {
	case "default":
		s.Default = value
	case "example":
		s.Examples = append(s.Examples, value)
	case "enum":
		if len(v.named) > 0 && !slices.Contains(v.named, value) {
			v.bad("use the values of its constants", "enum=%s is not a constant of %s", e.value,
				gotype.Plain(v.typ))
			return
		}
		if len(v.named) > 0 && len(s.Enum) == len(v.named) && slices.Equal(s.Enum, v.named) {
			s.Enum = nil // the tag narrows the constants
		}
		s.Enum = append(s.Enum, value)
	}
}

// parse reads a value of the given type.
func (v *values) parse(kind string, e element) (any, bool) {
	switch kind {
	case "string":
		return e.value, true
	case "number", "integer":
		n, _ := jsonNumber(e.value)
		if r := Rational(e.value); r != nil && (kind == "number" || r.IsInt()) {
			return n, true
		}
	case "boolean":
		if e.value == "true" || e.value == "false" {
			return e.value == "true", true
		}
	default:
		v.bad("remove it, or give the "+v.holder()+" a type that supports it",
			"%s does not apply to %s", e.key, applied(kind))
		return nil, false
	}
	v.unreadable(e, kind)
	return nil, false
}

// unreadable reports a value that its key cannot take.
func (k keywords) unreadable(e element, kind string) {
	want := named(kind)
	switch e.key {
	case "minLength", "maxLength", "minItems", "maxItems":
		want = "a whole number from 0 on"
	case "readOnly", "writeOnly", "uniqueItems":
		want = "true or false"
	case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		want = "a number"
	}
	cure := "write " + want
	if d, err := time.ParseDuration(e.value); err == nil && isDuration(k.typ) {
		cure = fmt.Sprintf("write nanoseconds: %d", d.Nanoseconds())
	}
	k.bad(cure, "%s=%s is not %s", e.key, e.value, want)
}

// isDuration reports a time.Duration or a list of them, which JSON has as numbers of nanoseconds.
func isDuration(t types.Type) bool {
	if list, ok := t.Underlying().(*types.Slice); ok {
		t = list.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && fullName(n) == "time.Duration"
}

// applied names a JSON type that a key applies to.
func applied(kind string) string {
	if kind == "boolean" {
		return "a boolean"
	}
	return named(kind)
}

// named is a JSON type with its article.
func named(kind string) string {
	switch kind {
	case "":
		return "a value of any type"
	case "array":
		return "a list"
	case "boolean":
		return "true or false"
	case "integer", "object":
		return "an " + kind
	}
	return "a " + kind
}
