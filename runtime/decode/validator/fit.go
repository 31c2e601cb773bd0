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
	"github.com/mcpgen/mcpgen/runtime/decode/internal/decimal"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType        = reflect.TypeFor[time.Time]()
	bigIntType      = reflect.TypeFor[big.Int]()
	numberType      = reflect.TypeFor[json.Number]()
)

// fitter adapts an accepted document to encoding/json and a Go type, where they differ from JSON
// Schema, and finds values that the type cannot hold.
type fitter struct {
	// probe tries the UnmarshalJSON and UnmarshalText methods of types, one by one.
	probe bool

	problems []decode.Problem
	changed  bool // the document differs from its text
	path     []string
}

// fit returns v or its replacement for encoding/json. It changes objects and arrays in place.
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
		f.report(v, describeType(v, []string{"string"}))
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
			f.report(v, decode.RefusedMessage)
			return v
		}
		return f.fitAny(v)
	}
	return f.fitScalar(t, v)
}

// isOptional reports a toolset.Optional, which this package cannot import. Its first field is the
// value.
func isOptional(t reflect.Type) bool {
	return t.PkgPath() == "github.com/mcpgen/mcpgen/runtime/toolset" &&
		strings.HasPrefix(t.Name(), "Optional[")
}

// fitOpaque fits a type with its own method to read JSON or text.
func (f *fitter) fitOpaque(t reflect.Type, v any) any {
	if s, ok := v.(string); ok && t == timeType {
		// RFC 3339 section 5.6 allows t and z. time.Time refuses them, and escapes.
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
			f.report(v, f.describeRefused(v, err))
		}
	}
	return v
}

// describeRefused returns the error of a type's own method, unless it could repeat a secret.
func (f *fitter) describeRefused(v any, err error) string {
	if decode.SecretPointer(f.pointer()) || holdsSecret(v) {
		return decode.RefusedMessage
	}
	return decode.RefusedMessage + ": " + decode.Show(err.Error())
}

// holdsSecret reports whether v contains a property whose name looks secret.
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
		f.report(v, describeType(v, []string{"object"}))
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
		f.report(v, describeType(v, []string{"object"}))
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
		f.report(nil, decode.SameKeyMessage) // one of the values would be lost
	}
	return v
}

// key converts a name to a map's key, or returns false.
func (f *fitter) key(t reflect.Type, name string) (any, bool) {
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		key := reflect.New(t)
		err := key.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(name))
		if err != nil && f.probe {
			f.report(nil, decode.BadNameMessage+f.describeRefused(nil, err))
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
		f.report(nil, decode.BadIndexMessage)
		return nil, false
	}
	return key, true
}

func (f *fitter) fitList(t reflect.Type, v any) any {
	if s, ok := v.(string); ok && isBytes(t) {
		if _, ok := decode.Base64(s); !ok {
			f.report(v, decode.Base64Message)
		}
		return v
	}
	list, ok := v.([]any)
	if !ok {
		f.report(v, describeType(v, []string{"array"}))
		return v
	}
	if t.Kind() == reflect.Array && len(list) > t.Len() {
		f.report(v, decode.CountMessage(len(list), "item", "more", "maximum", t.Len()))
		return v
	}
	for i, item := range list {
		f.path = append(f.path, strconv.Itoa(i))
		list[i] = f.fit(t.Elem(), item)
		f.path = f.path[:len(f.path)-1]
	}
	return v
}

// fitAny finds numbers that are too large for the float64 of encoding/json in an interface.
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
			f.report(v, describeType(v, []string{"boolean"}))
		}
	case t == numberType:
		if s, ok := v.(string); !isNumber && !(ok && isNumberText(s)) {
			f.report(v, describeType(v, []string{"number"}))
		}
	case k == reflect.String:
		if _, ok := v.(string); !ok {
			f.report(v, describeType(v, []string{"string"}))
		}
	case k == reflect.Float32 || k == reflect.Float64:
		if !isNumber {
			f.report(v, describeType(v, []string{"number"}))
		} else {
			f.float(number, t.Bits())
		}
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr:
		if !isNumber {
			f.report(v, describeType(v, []string{"integer"}))
			return v
		}
		return f.integer(t, number)
	default:
		f.report(v, decode.RefusedMessage)
	}
	return v
}

func (f *fitter) float(number json.Number, bits int) {
	if _, err := strconv.ParseFloat(number.String(), bits); err != nil {
		f.report(number, decode.FloatRangeMessage(bits))
	}
}

// canonicalInteger converts a JSON number to the notation of Go's integers: 1.0, 10e-1 and -0 are
// 1, 1 and 0. JSON Schema counts them as integers, encoding/json does not. It returns false for a
// number with a fraction.
func canonicalInteger(number string) (string, bool) {
	d := decimal.Parse([]byte(number))
	if !d.IsInteger() {
		return "", false
	}
	return string(d.Integer()), true
}

func (f *fitter) integer(t reflect.Type, number json.Number) any {
	canonical, ok := canonicalInteger(number.String())
	if !ok {
		f.report(number, describeType(number, []string{"integer"}))
		return number
	}
	var err error
	if isUnsigned(t) {
		_, err = strconv.ParseUint(canonical, 10, t.Bits())
	} else {
		_, err = strconv.ParseInt(canonical, 10, t.Bits())
	}
	if err != nil {
		f.report(number, decode.RangeMessage(t.Bits(), !isUnsigned(t)))
		return number
	}
	if canonical == number.String() {
		return number
	}
	f.changed = true
	return json.Number(canonical)
}

// report adds a problem with the value at the current path.
func (f *fitter) report(v any, message string) {
	if len(f.problems) > enough {
		return
	}
	f.problems = append(f.problems, decode.NewProblem(f.pointer(), literal(v), message))
}

func (f *fitter) pointer() string { return pointer(f.path) }

func isUnsigned(t reflect.Type) bool {
	return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr
}

// isNumberText reports whether a string is a JSON number, which encoding/json accepts for a
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
