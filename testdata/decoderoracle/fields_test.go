package decoderoracle

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// keyword is that of a property whose field has a rule.
const keyword = "x-mcpgen-field"

// conceal deletes the properties of hidden fields from a schema, and collects all fields with
// rules.
func conceal(schema any, hidden, fields map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, one := range schema {
			conceal(one, hidden, fields)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, of := range properties {
			property, _ := of.(map[string]any)
			if field, ok := property[keyword].(string); ok {
				if fields[field] = true; hidden[field] {
					delete(properties, name)
				}
			}
		}
		for _, member := range schema {
			conceal(member, hidden, fields)
		}
	}
}

func read(t *testing.T, schema string) (root any) {
	t.Helper()
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// erase sets hidden fields of a value to their zero values: those of structs of this package.
func erase(v reflect.Value, hidden map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			erase(v.Elem(), hidden)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			erase(v.Index(i), hidden)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(key))
			erase(elem, hidden)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			switch of := v.Type().Field(i); {
			case !f.CanSet():
			case hidden[v.Type().PkgPath()+"."+v.Type().Name()+"."+of.Name]:
				f.SetZero()
			default:
				erase(f, hidden)
			}
		}
	}
}

// TestHiddenFieldsDoNotExist draws documents and hidden fields. A decoder accepts a document if the
// independent validator accepts it by a schema without the properties. The cut of a result is what
// encoding/json writes of a value without the fields.
func TestHiddenFieldsDoNotExist(t *testing.T) {
	var total, refused, cuts, guarded int
	for i, c := range cases {
		fields := map[string]bool{}
		conceal(read(t, c.schema), nil, fields)
		if len(fields) == 0 {
			continue
		}
		guarded++
		all := slices.Sorted(maps.Keys(fields))
		shape, err := decode.ParseShape(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		if got := shape.Fields(); !slices.Equal(got, all) {
			t.Errorf("%s: the shape has the fields %v, and the schema %v", c.name, got, all)
		}
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		d := drawer{rand: r, root: read(t, c.schema).(map[string]any)}
		for range 4 {
			hidden := map[string]bool{}
			for _, field := range all {
				if r.IntN(2) == 0 {
					hidden[field] = true
				}
			}
			names := slices.Sorted(maps.Keys(hidden))
			schema := read(t, c.schema)
			conceal(schema, hidden, map[string]bool{})
			text, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			reference := judge(t, string(text))
			for range max(*documents/len(cases)/16, 1) {
				doc := d.document()
				value, wrong := c.decode(doc)
				less, err := c.without(doc, names)
				total++
				if decode.Scan(doc, decode.Limits{}) == nil {
					if complaint := opinion(reference, doc, less, err, &count{}); complaint != "" {
						t.Errorf("%s without %v\n%s\n%s\ndecoder: %v", c.name, names, doc, complaint, err)
					}
				}
				if wrong != nil {
					continue
				}
				if err != nil {
					refused++
				}
				whole, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				cut, err := shape.Cut(whole, names)
				copied := reflect.New(reflect.TypeOf(value))
				copied.Elem().Set(reflect.ValueOf(value))
				erase(copied.Elem(), hidden)
				want, failed := json.Marshal(copied.Interface())
				if err != nil || failed != nil || string(cut) != string(want) {
					t.Errorf("%s without %v\nwhole %s\ncut   %s\nwant  %s\n%v %v", c.name, names, whole, cut, want,
						err, failed)
				}
				if len(cut) < len(whole) {
					cuts++
				}
			}
		}
	}
	t.Logf("%d types with rules, %d documents, %d refused for a field, %d results cut", guarded, total,
		refused, cuts)
	if guarded < 100 || refused < total/50 || cuts < total/50 {
		t.Error("too few fields have rules: the documents prove too little")
	}
}
