package schema

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/types"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/ecma"
	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// literal is the grammar of JSON numbers.
var literal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE]([+-]?[0-9]+))?$`)

// Rational is the value of a JSON number, or nil for another text and for an exponent that no Go
// number holds, whose expansion would take memory without end.
func Rational(s string) *big.Rat {
	m := literal.FindStringSubmatch(s)
	if m == nil || len(s) > 400 {
		return nil
	}
	if m[4] != "" {
		if e, err := strconv.Atoi(m[4]); err != nil || e > 308 || e < -400 {
			return nil
		}
	}
	r, _ := new(big.Rat).SetString(s)
	return r
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
// bits: on a 32-bit machine the decoder refuses larger values.
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

// check reports limits that contradict each other, the Go type or the given values.
func (k keywords) check(s *jsonschema.Schema) {
	k.trimBounds(s)
	k.numbers(s)
	k.lengths(s)
	k.pattern(s.Pattern)
	if s.Type != "" {
		if reason := refusesKind(s, s.Type); reason != "" {
			k.bad("remove one of the two", "type=%s %s", s.Type, reason)
		}
	}
	for _, list := range []struct {
		key    string
		values []any
	}{{"default", one(s.Default)}, {"example", s.Examples}, {"enum", s.Enum}} {
		for _, value := range list.values {
			if reason := refuses(s, value, list.key); reason != "" {
				k.bad("change one of the two", "%s=%s %s", list.key, shown(value), reason)
			}
		}
	}
	if s.Items != nil {
		switch u := k.typ.Underlying().(type) {
		case *types.Slice:
			k.typ = u.Elem()
		case *types.Array:
			k.typ = u.Elem()
		}
		k.check(s.Items)
	}
}

// exact reports the numbers of a published schema that some clients cannot keep.
func (k keywords) exact(s *jsonschema.Schema) {
	found := append(bounds(s), limit{"multipleOf", s.MultipleOf})
	for _, count := range []struct {
		key string
		n   *uint64
	}{
		{"minLength", s.MinLength}, {"maxLength", s.MaxLength},
		{"minItems", s.MinItems}, {"maxItems", s.MaxItems},
	} {
		if count.n != nil {
			found = append(found, limit{count.key, json.Number(strconv.FormatUint(*count.n, 10))})
		}
	}
	add := func(key string, values []any) {
		for _, value := range values {
			if n, ok := value.(json.Number); ok {
				found = append(found, limit{key, n})
			}
		}
	}
	items, _ := s.Default.([]any)
	add("default", append(one(s.Default), items...))
	add("example", s.Examples)
	add("enum", s.Enum)
	for _, n := range found {
		if Rational(n.value.String()) != nil && !Exact(n.value.String()) {
			k.bad("write a number in the range, remove the key, or give the "+k.holder()+
				" a string type", "%s=%s %s", n.key, n.value, Inexact)
		}
	}
	if s.Items != nil {
		k.exact(s.Items)
	}
}

// limit is a key with a number.
type limit struct {
	key   string
	value json.Number
}

// bounds lists the limits of a number's size; absent ones are empty.
func bounds(s *jsonschema.Schema) []limit {
	return []limit{{"minimum", s.Minimum}, {"maximum", s.Maximum},
		{"exclusiveMinimum", s.ExclusiveMinimum}, {"exclusiveMaximum", s.ExclusiveMaximum}}
}

func one(value any) []any {
	if value == nil {
		return nil
	}
	return []any{value}
}

// trimBounds drops the bounds of the Go type beside a tag's own, after checking that the
// type holds what the tag allows.
func (k keywords) trimBounds(s *jsonschema.Schema) {
	if s.Type != "integer" || !k.limits {
		return
	}
	basic, ok := element0(k.typ).Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 {
		return
	}
	least, most := IntegerBounds(basic.Kind())
	for _, bound := range bounds(s) {
		r := Rational(bound.value.String())
		if r == nil || !Exact(bound.value.String()) {
			continue
		}
		if r.Cmp(Rational(least.String())) < 0 || r.Cmp(Rational(most.String())) > 0 {
			k.bad(fmt.Sprintf("stay within %s and %s", least, most),
				"%s=%s is beyond the Go type %s", bound.key, bound.value, gotype.Plain(k.typ))
		}
	}
	if (s.ExclusiveMinimum != "" || len(s.Enum) > 0) && s.Minimum == least {
		s.Minimum = ""
	}
	if (s.ExclusiveMaximum != "" || len(s.Enum) > 0) && s.Maximum == most {
		s.Maximum = ""
	}
}

// element0 is the type whose limits a tag sets: that of the items for a list. A list of itself ends
// somewhere.
func element0(t types.Type) types.Type {
	for range depthLimit {
		switch u := t.Underlying().(type) {
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Pointer:
			t = u.Elem()
		default:
			return t
		}
	}
	return t
}

func (k keywords) numbers(s *jsonschema.Schema) {
	for _, n := range append(bounds(s), limit{"multipleOf", s.MultipleOf}) {
		if n.value == "" {
			continue
		}
		r := Rational(n.value.String())
		if r == nil {
			k.bad("write a JSON number", "%s=%s is not a JSON number", n.key, n.value)
			return
		}
		if n.key == "multipleOf" && r.Sign() <= 0 {
			k.bad("write a number above 0", "multipleOf=%s is not above 0", n.value)
			return
		}
	}
	limits := bounds(s)
	for i, lower := range []limit{limits[0], limits[2]} {
		for j, upper := range []limit{limits[1], limits[3]} {
			if lower.value == "" || upper.value == "" {
				continue
			}
			c := Rational(lower.value.String()).Cmp(Rational(upper.value.String()))
			if c > 0 || c == 0 && i+j > 0 { // one of them is exclusive
				k.bad("change one of the two", "%s=%s and %s=%s exclude every value", lower.key, lower.value,
					upper.key, upper.value)
			}
		}
	}
}

func (k keywords) lengths(s *jsonschema.Schema) {
	for _, pair := range []struct {
		least, most string
		from, to    *uint64
	}{
		{"minLength", "maxLength", s.MinLength, s.MaxLength},
		{"minItems", "maxItems", s.MinItems, s.MaxItems},
	} {
		if pair.from != nil && pair.to != nil && *pair.from > *pair.to {
			k.bad("change one of the two", "%s=%d and %s=%d exclude every value", pair.least, *pair.from,
				pair.most, *pair.to)
		}
	}
	if a, ok := k.typ.Underlying().(*types.Array); ok && s.Type == "array" {
		n := uint64(a.Len())
		if s.MinItems != nil && *s.MinItems > n || s.MaxItems != nil && *s.MaxItems > n {
			k.bad("remove the limit, or use a slice", "the array has %d items, which contradicts the tag", n)
		}
	}
}

func (k keywords) pattern(pattern string) {
	if pattern == "" {
		return
	}
	if _, err := regexp.Compile(pattern); err != nil {
		cure := "write a regular expression that is valid in Go and JavaScript"
		if k.holder() == "field" {
			cure += `; a comma is written \\,` // a tag alone separates its keys by commas
		}
		k.bad(cure, "the pattern %s is malformed: %s", pattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	if problem := ecma.Check(pattern); problem != nil {
		cure := problem.Fix()
		if k.holder() == "field" && strings.ContainsAny(problem.Cure, `\\,`) {
			cure += `; in a tag, a comma is written \\, and a backslash \\`
		}
		k.bad(cure, "the pattern %s has %s", pattern, problem)
	}
}

// refuses returns why a schema does not accept a value of its tag, or nothing. Enums are checked
// against the limits, not against themselves.
func refuses(s *jsonschema.Schema, value any, key string) string {
	isValue := func(e any) bool { return equal(e, value) }
	if key != "enum" && len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, isValue) {
		return "is not in its enum"
	}
	switch value := value.(type) {
	case string:
		return cmp.Or(refusesKind(s, "string"), refusesText(s, value))
	case bool:
		return refusesKind(s, "boolean")
	case json.Number:
		kind := "number"
		if r := Rational(value.String()); r != nil && r.IsInt() {
			kind = "integer"
		}
		return cmp.Or(refusesKind(s, kind), refusesNumber(s, value))
	case []any:
		n := uint64(len(value))
		if s.MinItems != nil && n < *s.MinItems || s.MaxItems != nil && n > *s.MaxItems {
			return fmt.Sprintf("has %d items, against its own limits", n)
		}
		for i, item := range value {
			if s.UniqueItems && slices.ContainsFunc(value[:i], func(e any) bool { return equal(e, item) }) {
				return "repeats an item, against uniqueItems"
			}
			if s.Items == nil {
				continue
			}
			if reason := refuses(s.Items, item, key); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// refusesKind reports that oneOf or anyOf has no alternative for values of a JSON type, or that
// oneOf has several.
func refusesKind(s *jsonschema.Schema, kind string) string {
	fits := func(alternative *jsonschema.Schema) bool {
		t := alternative.Type
		return t == "" || t == kind || t == "number" && kind == "integer"
	}
	whole := 0 // alternatives that accept each value of the type
	for _, a := range s.OneOf {
		if a.Type != "" && fits(a) && reflect.DeepEqual(a, &jsonschema.Schema{Type: a.Type}) {
			whole++
		}
	}
	switch {
	case len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, fits),
		len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, fits):
		return "is of no type among the alternatives of the tag"
	case whole > 1:
		return "is of more than one type of oneof_type"
	}
	return ""
}

func refusesText(s *jsonschema.Schema, value string) string {
	n := uint64(utf8.RuneCountInString(value))
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Sprintf("is shorter than minLength=%d", *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("is longer than maxLength=%d", *s.MaxLength)
	}
	switch {
	case s.Format == "date-time":
		if _, err := time.Parse(time.RFC3339, strings.ToUpper(value)); err != nil {
			return "is not an RFC 3339 time, for example 2026-01-31T15:04:05Z"
		}
	case s.ContentEncoding == "base64":
		if _, err := base64.StdEncoding.DecodeString(value); err != nil {
			return "is not base64"
		}
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(value) {
			return "does not match its pattern"
		}
	}
	return ""
}

func refusesNumber(s *jsonschema.Schema, value json.Number) string {
	r := Rational(value.String())
	if r == nil {
		return "is no JSON number"
	}
	refused := []func(c int) bool{
		func(c int) bool { return c < 0 }, func(c int) bool { return c > 0 },
		func(c int) bool { return c <= 0 }, func(c int) bool { return c >= 0 },
	}
	for i, bound := range bounds(s) {
		if limit := Rational(bound.value.String()); limit != nil && refused[i](r.Cmp(limit)) {
			return fmt.Sprintf("is beyond %s=%s", bound.key, bound.value)
		}
	}
	if m := Rational(s.MultipleOf.String()); m != nil && m.Sign() > 0 &&
		!new(big.Rat).Quo(r, m).IsInt() {
		return "is not a multiple of " + s.MultipleOf.String()
	}
	return ""
}

// equal compares values as JSON does: numbers by value.
func equal(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		p, q := Rational(x.String()), Rational(y.String())
		return p != nil && q != nil && p.Cmp(q) == 0
	}
	return a == b
}

// shown writes a value as the tag does.
func shown(value any) string {
	if list, ok := value.([]any); ok {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = shown(item)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(value)
}
