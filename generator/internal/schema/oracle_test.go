package schema

import (
	"encoding/json"
	"fmt"
	"go/types"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testschema"
)

// fill sets a value: pointers are nil when sparse, slices and maps never, since the runtime
// corrects those. Recursion ends at depth 0.
func fill(v reflect.Value, sparse bool, depth int) {
	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		return // nil is null
	case reflect.TypeFor[net.IP]():
		v.Set(reflect.ValueOf(net.IPv4(192, 0, 2, 1)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !sparse && depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), sparse, depth-1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, sparse, depth)
			} else if v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				fill(f, sparse, depth) // exported fields of an unexported embedded struct can be set
			}
		}
	case reflect.Slice:
		n := 0
		if !sparse && depth > 0 {
			n = 2
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), sparse, depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), sparse, depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if !sparse && depth > 0 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, sparse, 0)
			fill(elem, sparse, depth-1)
			v.SetMapIndex(key, elem)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			v.SetString("12.5")
		} else if !sparse {
			v.SetString("text")
		}
	case reflect.Bool:
		v.SetBool(!sparse)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if !sparse {
			v.SetInt(-3)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if !sparse {
			v.SetUint(7)
		}
	case reflect.Float32, reflect.Float64:
		if !sparse {
			v.SetFloat(-0.5)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && !sparse {
			v.Set(reflect.ValueOf("anything"))
		}
	}
}

// authors' tags declare types of fields of any type, which the values of fill do not have.
var declared = []string{"OtherTags", "Shapes"}

// hiding have fields that the schema hides.
var hiding = []string{"Hides", "TextTags"}

// texts have fields that take some strings only.
var texts = []string{"Network", "Texts"}

func oneOf(t *testing.T, names []string) bool {
	return slices.Contains(names, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
}

func TestWhatEncodingJSONWritesFitsTheOutputSchema(t *testing.T) {
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		s, _, problems := walker(t, "types", source(t)).Output(static)
		if len(problems) > 0 {
			return // the golden file shows which
		}
		compiled := compile(t, s)
		isPointer := dynamic.Kind() == reflect.Pointer
		if isPointer {
			accepts(t, compiled, []byte("null"), compact(t, s))
		}
		for dynamic.Kind() == reflect.Pointer {
			dynamic = dynamic.Elem()
		}
		for _, sparse := range []bool{true, false} {
			if !sparse && oneOf(t, declared) {
				continue
			}
			value := reflect.New(dynamic).Elem()
			fill(value, sparse, 3)
			if isPointer { // the methods of the pointer are reached
				value = value.Addr()
			}
			b, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			accepts(t, compiled, b, compact(t, s))
		}
	})
}

// accepts checks a document against a schema.
func accepts(t *testing.T, compiled testschema.Schema, doc []byte, schema string) {
	t.Helper()
	if err := compiled.Validate(doc); err != nil {
		t.Errorf("%v\ndocument: %s\nschema: %s", err, doc, schema)
	}
}

func TestPropertiesAreTheOnesThatEncodingJSONWrites(t *testing.T) {
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		if dynamic.Kind() != reflect.Struct || oneOf(t, hiding) {
			return
		}
		value := reflect.New(dynamic).Elem()
		fill(value, false, 3)
		b, err := json.Marshal(value.Interface())
		if err != nil || b[0] != '{' {
			return // a type with methods of its own
		}
		s, _, problems := walker(t, "types", source(t)).Output(static)
		if len(problems) > 0 {
			return
		}
		var written map[string]json.RawMessage
		if err := json.Unmarshal(b, &written); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for name := range written {
			want = append(want, name)
		}
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			got = append(got, p.Key)
		}
		slices.Sort(want)
		slices.Sort(got)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("properties %v, encoding/json writes %v", got, want)
		}
	})
}

func TestWhatTheInputSchemaRequiresDecodes(t *testing.T) {
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		in, problems := walker(t, "types", source(t)).Input(static)
		if len(problems) > 0 || oneOf(t, texts) {
			return
		}
		for dynamic.Kind() == reflect.Pointer {
			dynamic = dynamic.Elem()
		}
		b := example(t, in, in.Definitions, 4)
		doc, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		value := reflect.New(dynamic)
		decoder := json.NewDecoder(strings.NewReader(string(doc)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(value.Interface()); err != nil {
			t.Errorf("%v\ndocument: %s", err, doc)
		}
	})
}
