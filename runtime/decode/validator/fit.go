package validator

import (
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType        = reflect.TypeFor[time.Time]()
	bigIntType      = reflect.TypeFor[big.Int]()
	numberType      = reflect.TypeFor[json.Number]()
)

// fitter makes a document that the schema has accepted fit for encoding/json and a Go type,
// where the two understand JSON differently, and finds what the type cannot hold.
type fitter struct {
	// probe tries the UnmarshalJSON and UnmarshalText methods of types, one by one.
	probe bool

	problems []decode.Problem
	changed  bool // the document is no longer what its text says
	path     []string
}

// fit returns v, or what encoding/json has to read in its place. Objects and arrays are changed in
// place.
func (f *fitter) fit(t reflect.Type, v any) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	_, isText := v.(string)
	switch {
	case isOptional(t):
		if v == nil {
			return nil
		}
		return f.fit(t.Field(0).Type, v)
	case p.Implements(jsonUnmarshaler), isText && p.Implements(textUnmarshaler):
		return f.fitOpaque(t, v)
	case v == nil:
		return nil
	case p.Implements(textUnmarshaler):
		f.report(v, saysType(v, []string{"string"}))
		return v
	}
	switch t.Kind() {
	case reflect.Struct:
		return f.fitStruct(t, v)
	case reflect.Map:
		return f.fitMap(t, v)
	case reflect.Slice, reflect.Array:
		return f.fitList(t, v)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			f.report(v, decode.SaysRefused)
			return v
		}
		return f.fitAny(v)
	}
	return f.fitScalar(t, v)
}

// isOptional reports a toolset.Optional, which this package cannot import: its first field is the
// value.
func isOptional(t reflect.Type) bool {
	return t.PkgPath() == "github.com/mcpgen/mcpgen/runtime/toolset" &&
		strings.HasPrefix(t.Name(), "Optional[")
}

// fitOpaque fits a type that reads JSON or text by a method of its own.
func (f *fitter) fitOpaque(t reflect.Type, v any) any {
	if s, ok := v.(string); ok && t == timeType {
		// RFC 3339 section 5.6 allows t and z, time.Time does not, and it does not read escapes.
		f.changed = true
		v = strings.ToUpper(s)
	}
	if number, ok := v.(json.Number); ok && t == bigIntType {
		// 1.0 and 1e2 are integers, but not to big.Int.
		if canonical, ok := canonicalInteger(number.String()); ok && canonical != number.String() {
			f.changed = true
			v = json.Number(canonical)
		}
	}
	if f.probe {
		doc, err := text(v)
		if err == nil {
			err = json.Unmarshal(doc, reflect.New(t).Interface())
		}
		if err != nil {
			f.report(v, f.saysRefused(v, err))
		}
	}
	return v
}

// saysRefused tells the error of a type's own method, unless it could repeat a secret.
func (f *fitter) saysRefused(v any, err error) string {
	if decode.SecretPointer(f.pointer()) || holdsSecret(v) {
		return decode.SaysRefused
	}
	return decode.SaysRefused + ": " + decode.Show(err.Error())
}

// holdsSecret reports whether a property whose name looks secret lies within v.
func holdsSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if decode.SecretName(name) || holdsSecret(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	}
	return false
}

func (f *fitter) fitStruct(t reflect.Type, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		f.report(v, saysType(v, []string{"object"}))
		return v
	}
	known := fields(t)
	for name, value := range object {
		if field, ok := known[name]; ok {
			object[name] = f.member(name, field, value)
			continue
		}
		for other := range known {
			if strings.EqualFold(name, other) {
				delete(object, name)
				f.changed = true
				break
			}
		}
	}
	return v
}

func (f *fitter) member(name string, field field, v any) any {
	f.path = append(f.path, name)
	defer func() { f.path = f.path[:len(f.path)-1] }()
	if s, ok := v.(string); ok && field.quoted {
		return f.fitQuoted(field.typ, s)
	}
	return f.fit(field.typ, v)
}

// fitQuoted fits the JSON within a string.
func (f *fitter) fitQuoted(t reflect.Type, s string) any {
	inner, err := tree([]byte(s))
	if err != nil || decode.Scan([]byte(s), decode.Limits{}) != nil {
		f.report(s, "is not a value in quotes")
		return s
	}
	outer := f.changed
	f.changed = false
	inner = f.fit(t, inner)
	if f.changed {
		if b, err := text(inner); err == nil {
			return string(b)
		}
	}
	f.changed = outer
	return s
}

func (f *fitter) fitMap(t reflect.Type, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		f.report(v, saysType(v, []string{"object"}))
		return v
	}
	keys, known := map[any]bool{}, 0
	for name, value := range object {
		f.path = append(f.path, name)
		if key, ok := f.key(t.Key(), name); ok {
			keys[key] = true
			known++
		}
		object[name] = f.fit(t.Elem(), value)
		f.path = f.path[:len(f.path)-1]
	}
	if known > len(keys) {
		f.report(nil, decode.SaysSameKey) // one of the values would be lost
	}
	return v
}

// key is the key of a map that a name becomes; false where it becomes none.
func (f *fitter) key(t reflect.Type, name string) (any, bool) {
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		key := reflect.New(t)
		err := key.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name))
		if err != nil && f.probe {
			f.report(nil, decode.SaysBadName+f.saysRefused(nil, err))
		}
		if err != nil || !key.Elem().Comparable() {
			return nil, false
		}
		return key.Elem().Interface(), true
	}
	if t.Kind() == reflect.String {
		return name, true
	}
	var key any
	var err error
	if isUnsigned(t) {
		key, err = strconv.ParseUint(name, 10, t.Bits())
	} else {
		key, err = strconv.ParseInt(name, 10, t.Bits())
	}
	if err != nil {
		f.report(nil, decode.SaysBadIndex)
		return nil, false
	}
	return key, true
}

func (f *fitter) fitList(t reflect.Type, v any) any {
	if s, ok := v.(string); ok && isBytes(t) {
		if _, ok := decode.Base64(s); !ok {
			f.report(v, decode.SaysBase64)
		}
		return v
	}
	list, ok := v.([]any)
	if !ok {
		f.report(v, saysType(v, []string{"array"}))
		return v
	}
	if t.Kind() == reflect.Array && len(list) > t.Len() {
		f.report(v, decode.SaysCount(len(list), "item", "more", "maximum", t.Len()))
		return v
	}
	for i, item := range list {
		f.path = append(f.path, strconv.Itoa(i))
		list[i] = f.fit(t.Elem(), item)
		f.path = f.path[:len(f.path)-1]
	}
	return v
}

// fitAny finds the numbers that encoding/json could not put into an interface, which are float64
// there.
func (f *fitter) fitAny(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			f.path = append(f.path, name)
			f.fitAny(value)
			f.path = f.path[:len(f.path)-1]
		}
	case []any:
		for i, item := range v {
			f.path = append(f.path, strconv.Itoa(i))
			f.fitAny(item)
			f.path = f.path[:len(f.path)-1]
		}
	case json.Number:
		f.float(v, 64)
	}
	return v
}

func (f *fitter) fitScalar(t reflect.Type, v any) any {
	number, isNumber := v.(json.Number)
	switch k := t.Kind(); {
	case k == reflect.Bool:
		if _, ok := v.(bool); !ok {
			f.report(v, saysType(v, []string{"boolean"}))
		}
	case t == numberType:
		if s, ok := v.(string); !isNumber && !(ok && isNumberText(s)) {
			f.report(v, saysType(v, []string{"number"}))
		}
	case k == reflect.String:
		if _, ok := v.(string); !ok {
			f.report(v, saysType(v, []string{"string"}))
		}
	case k == reflect.Float32 || k == reflect.Float64:
		if !isNumber {
			f.report(v, saysType(v, []string{"number"}))
		} else {
			f.float(number, t.Bits())
		}
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr:
		if !isNumber {
			f.report(v, saysType(v, []string{"integer"}))
			return v
		}
		return f.integer(t, number)
	default:
		f.report(v, decode.SaysRefused)
	}
	return v
}

func (f *fitter) float(number json.Number, bits int) {
	if _, err := strconv.ParseFloat(number.String(), bits); err != nil {
		f.report(number, decode.SaysFloatRange(bits))
	}
}

func (f *fitter) integer(t reflect.Type, number json.Number) any {
	canonical, ok := canonicalInteger(number.String())
	if !ok {
		f.report(number, saysType(number, []string{"integer"}))
		return number
	}
	var err error
	if isUnsigned(t) {
		_, err = strconv.ParseUint(canonical, 10, t.Bits())
	} else {
		_, err = strconv.ParseInt(canonical, 10, t.Bits())
	}
	if err != nil {
		f.report(number, decode.SaysRange(t.Bits(), !isUnsigned(t)))
		return number
	}
	if canonical == number.String() {
		return number
	}
	f.changed = true
	return json.Number(canonical)
}

// report adds a problem with the value at the current path.
func (f *fitter) report(v any, says string) {
	if len(f.problems) > enough {
		return
	}
	f.problems = append(f.problems, decode.NewProblem(f.pointer(), literal(v), says))
}

func (f *fitter) pointer() string { return pointer(f.path) }

func isUnsigned(t reflect.Type) bool {
	return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr
}

// isNumberText reports whether a string is a JSON number, which encoding/json takes for a
// json.Number.
func isNumberText(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') &&
		strings.TrimSpace(s) == s && decode.Scan([]byte(s), decode.Limits{}) == nil
}

// isBytes reports whether encoding/json reads a slice from base64.
func isBytes(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8 {
		return false
	}
	p := reflect.PointerTo(t.Elem())
	return !p.Implements(jsonUnmarshaler) && !p.Implements(textUnmarshaler)
}
