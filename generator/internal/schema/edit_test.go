package schema

import (
	"go/types"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"
)

// TestEditsHoldInEverySchema edits each field of each type of the corpus, and compares the schemas
// with those without edits.
func TestEditsHoldInEverySchema(t *testing.T) {
	edited := 0
	cases(t, func(t *testing.T, static types.Type, _ reflect.Type) {
		w := walker(t, "types", source(t))
		_, names := w.Lookup(static, []string{""})
		for _, name := range names {
			field, _ := w.Lookup(static, []string{name})
			for _, walk := range []func(types.Type) (*jsonschema.Schema, []Problem){
				w.Input,
				func(t types.Type) (*jsonschema.Schema, []Problem) {
					s, _, problems := w.Output(t)
					return s, problems
				},
			} {
				w.Edit(nil)
				plain, problems := walk(static)
				if plain == nil || plain.Properties == nil || len(problems) > 0 {
					continue
				}
				if _, has := plain.Properties.Get(name); !has {
					continue // hidden by its tag
				}
				before := compact(t, plain)
				w.Edit(map[*types.Var]Edit{field: {Optional: true}})
				if s, _ := walk(static); s == nil || slices.Contains(s.Required, name) {
					t.Errorf("%s is required", name)
				}
				w.Edit(map[*types.Var]Edit{field: {Omit: true}})
				s, problems := walk(static)
				if len(problems) > 0 {
					t.Fatal(problemText(problems))
				}
				if _, has := s.Properties.Get(name); has || slices.Contains(s.Required, name) ||
					s.AdditionalProperties != jsonschema.FalseSchema {
					t.Errorf("%s is not omitted: %s", name, compact(t, s))
				}
				if s.Properties.Len() != plain.Properties.Len()-1 {
					t.Errorf("%s: other properties differ: %s", name, compact(t, s))
				}
				w.Edit(nil)
				if s, _ := walk(static); compact(t, s) != before {
					t.Errorf("%s: the edit remains: %s", name, compact(t, s))
				}
				edited++
			}
		}
	})
	if edited < 100 {
		t.Errorf("%d fields were edited", edited)
	}
}

func TestFieldsAreFoundThroughPointersListsAndMaps(t *testing.T) {
	pkg := check(t, "example.com/p", `package p
type In struct { X int `+"`json:\"x\"`"+`; Time T `+"`json:\"time\"`"+` }
type T struct { Y int }
func (T) MarshalText() ([]byte, error) { return nil, nil }
type Base struct { B int `+"`json:\"b\"`"+` }
type Root struct {
	Base
	A *[]map[string]**In `+"`json:\"a\"`"+`
	P *Root
	N int
}`)
	w := New(pkg, nil)
	root := pkg.Scope().Lookup("Root").Type()
	for _, test := range []struct {
		path []string
		want string
		near []string
	}{
		{[]string{"b"}, "B", []string{"b", "a", "P", "N"}},
		{[]string{"a", "x"}, "X", []string{"x", "time"}},
		{[]string{"P", "P", "a", "time"}, "Time", []string{"x", "time"}},
		{[]string{"P", "A"}, "", []string{"b", "a", "P", "N"}},
		{[]string{"a", "time", "Y"}, "", nil},
		{[]string{"N", "x"}, "", nil},
		{[]string{""}, "", []string{"b", "a", "P", "N"}},
	} {
		field, near := w.Lookup(root, test.path)
		name := ""
		if field != nil {
			name = field.Name()
		}
		if name != test.want || !slices.Equal(near, test.near) {
			t.Errorf("%v: %q %v, want %q %v", test.path, name, near, test.want, test.near)
		}
	}
}
