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

func TestPartsThatKeepOmittedFieldsAreFound(t *testing.T) {
	pkg := check(t, "example.com/p", `package p
type In struct { X int; Y int }
type Box struct { in In }
func (Box) MarshalJSON() ([]byte, error) { return nil, nil }
type Text struct { in *In }
func (Text) MarshalText() ([]byte, error) { return nil, nil }
type Plain struct { n int }
func (Plain) MarshalJSON() ([]byte, error) { return nil, nil }
type Other struct { Z string }
type Root struct {
	A *[]map[string]In
	H Hidden
	P Plain
	N string `+"`jsonschema:\"oneof_type=string;integer\"`"+`
	L []In `+"`jsonschema:\"oneof_type=array;null\"`"+`
	B Box `+"`jsonschema:\"-\"`"+`
	R *Root
}
type Hidden struct { In In `+"`jsonschema:\"-\"`"+`; Z int }
type InBox struct { Boxes map[string]*[]Box }
type InKey struct { Texts map[Text]int }
type Types struct { L *[]In `+"`jsonschema:\"oneof_type=array;string\"`"+` }
type Twice struct { L any `+"`jsonschema:\"oneof_type=array,anyof_type=object\"`"+` }
type Ref struct { In In `+"`jsonschema:\"anyof_ref=#/$defs/Other\"`"+` }
`)
	w := New(pkg, nil)
	typ := func(name string) types.Type { return pkg.Scope().Lookup(name).Type() }
	field, _ := w.Lookup(typ("In"), []string{"X"})
	for _, omit := range []bool{false, true} {
		w.Edit(map[*types.Var]Edit{field: {Omit: omit, Optional: true}})
		for name, want := range map[string]struct {
			omits bool
			kept  string
		}{
			"Root": {true, ""}, "Hidden": {true, ""}, "In": {true, ""}, "Other": {}, "Plain": {},
			"Box":   {true, "p.Box has a JSON form of its own"},
			"InBox": {true, "p.Box has a JSON form of its own"},
			"InKey": {true, "p.Text has a JSON form of its own"},
			"Types": {true, "the tag of L in p.Types has alternatives"},
			"Twice": {false, "the tag of L in p.Twice has alternatives"},
			"Ref":   {true, "the tag of In in p.Ref has alternatives"},
		} {
			if got := w.Omits(typ(name)); got != (omit && want.omits) {
				t.Errorf("%s has an omitted field: %t", name, got)
			}
			if got := w.Kept(typ(name)); omit && got != want.kept {
				t.Errorf("%s keeps fields: %q, want %q", name, got, want.kept)
			}
		}
		s, _, problems := w.Output(typ("Hidden"))
		if len(problems) > 0 || (s.AdditionalProperties == nil) == omit {
			t.Errorf("a struct with a hidden field: %s, %v", compact(t, s), problems)
		}
	}
}
