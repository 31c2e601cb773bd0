package decode

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// GoType describes the values that a JSON decoder accepts for a Go type: null, and one type of
// value. It finds the problems of a value before a decoder whose errors repeat the value.
type GoType struct {
	json    string             // the type as in JSON Schema; empty for any
	bits    int                // of an integer or a number
	element *GoType            // of an array, and of an object without fields
	fields  map[string]*GoType // of an object; the decoder ignores others
	raw     bool               // the decoder keeps any text
	own     reflect.Type       // decodes itself
	refused string             // the message for a text that own refuses
}

// anyType is the type of any value. A decoder makes its numbers float64.
var anyType = &GoType{bits: 64}

// GoTypeOf reads a type without recursion, except below types that decode themselves. refused
// contains the messages for texts that such a type refuses, if they are not [RefusedMessage].
func GoTypeOf(t reflect.Type, refused map[reflect.Type]string) *GoType {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return &GoType{raw: true}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &GoType{own: t, refused: cmp.Or(refused[t], RefusedMessage)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return GoTypeOf(t.Elem(), refused)
	case reflect.String:
		return &GoType{json: "string"}
	case reflect.Bool:
		return &GoType{json: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &GoType{json: "number", bits: t.Bits()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &GoType{json: "integer", bits: t.Bits()}
	case reflect.Slice:
		return &GoType{json: "array", element: GoTypeOf(t.Elem(), refused)}
	case reflect.Map:
		return &GoType{json: "object", element: GoTypeOf(t.Elem(), refused)}
	case reflect.Struct:
		object := &GoType{json: "object", fields: map[string]*GoType{}}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "-" {
				object.fields[cmp.Or(name, f.Name)] = GoTypeOf(f.Type, refused)
			}
		}
		return object
	}
	return anyType
}

// Check returns the problems of a value, without the value itself.
func (t *GoType) Check(v Value) []Problem {
	is := v.Type()
	want := cmp.Or(t.json, is)
	problem := ""
	switch {
	case t.raw || is == "null":
	case t.own != nil:
		if !t.decodes(v) {
			problem = t.refused
		}
	case is != want && (is != "number" || want != "integer"):
		problem = TypeMessage(is, want)
	case want == "integer":
		if _, err := strconv.ParseInt(string(v), 10, t.bits); err != nil {
			problem = "is not an integer in range"
		}
	case want == "number":
		if _, err := strconv.ParseFloat(string(v), t.bits); err != nil {
			problem = FloatRangeMessage(t.bits)
		}
	default:
		return t.checkElements(v)
	}
	if problem == "" {
		return nil
	}
	return []Problem{{Message: problem}}
}

// checkElements checks the items of an array or the members of an object.
func (t *GoType) checkElements(v Value) (found []Problem) {
	element := cmp.Or(t.element, t) // the elements of any value are any values
	check := func(name []byte, i int, value Value) (more bool) {
		for _, p := range element.Check(value) {
			step := string(name)
			if name == nil {
				step = strconv.Itoa(i)
			}
			p.Pointer = Pointer("", step) + p.Pointer
			found = append(found, p)
		}
		return len(found) <= MaxProblems
	}
	for i, item := range v.Items() {
		if !check(nil, i, item) {
			return found
		}
	}
	for name, value := range v.Members() {
		if t.fields != nil {
			element = t.fields[string(name)]
		}
		if element != nil && !element.raw && !check(name, 0, value) {
			return found
		}
	}
	return found
}

// decodes reports whether a type that decodes itself accepts a text, without a panic.
func (t *GoType) decodes(text []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return json.Unmarshal(text, reflect.New(t.own).Interface()) == nil
}
