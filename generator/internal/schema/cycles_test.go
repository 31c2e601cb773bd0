package schema

import (
	"go/types"
	"reflect"
	"strings"
	"testing"
)

// TestEveryInputOfTheCorpusHasAFiniteDocument walks the schemas themselves, without the walker's
// own check: what must be there must end.
func TestEveryInputOfTheCorpusHasAFiniteDocument(t *testing.T) {
	cases(t, func(t *testing.T, static types.Type, _ reflect.Type) {
		s, problems := walker(t, "types", source(t)).Input(static)
		if len(problems) > 0 {
			return
		}
		smallest(t, s, s.Definitions, 0) // fails if it has no end
	})
}

func TestAPointerThatLeadsBackTakesNull(t *testing.T) {
	const orNull = `{"anyOf":[{"$ref":"#/$defs/`
	tests := []struct {
		name, src  string
		want, lack []string // parts of the schema
	}{
		{"itself", "type Root struct { Next *Root; Value int }",
			[]string{`"Next":` + orNull + `Root"},{"type":"null"}]}`}, nil},
		{"pointer to pointer", "type Root struct { Next **Root }", []string{`"Next":` + orNull},
			nil},
		{"not what leads there", "type N struct { Next *N }\ntype Root struct { First *N }",
			[]string{`"Next":` + orNull + `N"`, `"First":{"$ref":"#/$defs/N"}`}, nil},
		{"left out", "type Root struct { Next *Root `json:\",omitempty\"` }", nil,
			[]string{"null"}},
		{"left out but required",
			"type Root struct { Next *Root `json:\",omitempty\" jsonschema:\"required\"` }",
			[]string{`"Next":` + orNull}, nil},
		{"nullable already", "type Root struct { Next *Root `jsonschema:\"nullable\"` }",
			[]string{`"Next":` + orNull}, nil},
		{"mutual", "type A struct { B *Root; C int }\ntype Root struct { A *A }",
			[]string{`"A":{"anyOf":[{"properties"`, `"B":` + orNull + `Root"`}, nil},
		{"by value between", "type V struct { R *Root }\ntype Root struct { V V }",
			[]string{`"V":{"properties":{"R":` + orNull + `Root"`}, nil},
		{"an optional way back",
			"type A struct { B *Root `json:\",omitempty\"` }\ntype Root struct { A *A }", nil,
			[]string{"null"}},
		{"promoted", "type E struct { Next *Root }\ntype Root struct { E }",
			[]string{`"Next":` + orNull}, nil},
		{"array", "type Root struct { Two [2]*Root }", []string{`"items":` + orNull}, nil},
		{"array of none", "type Root struct { None [0]*Root }", nil, []string{"null"}},
		{"named array", "type Two [2]*Root\ntype Root struct { Two Two }",
			[]string{`"items":` + orNull}, nil},
		{"slice and map", "type Root struct { L []*Root; M map[string]*Root; Q []Root }", nil,
			[]string{"null"}},
		{"slice with an item",
			"type S struct { R *Root }\ntype Root struct { L []S `jsonschema:\"minItems=1\"` }",
			[]string{`"R":` + orNull}, nil},
		{"pointer to a slice with an item",
			"type Root struct { L *[]Root `jsonschema:\"minItems=1\"` }",
			[]string{`"L":{"anyOf":[{"items":{"$ref"`}, nil},
		{"generic", "type N[T any] struct { Next *N[T]; V T }\ntype Root struct { N N[int] }",
			[]string{orNull + `N_int"}`}, nil},
		{"text of its own",
			"type T struct { Next *T }\nfunc (*T) UnmarshalText([]byte) error { return nil " +
				"}\ntype Root struct { T *T }", nil, []string{"null"}},
		{"replaced",
			"type X struct { V int }\ntype Root struct { Next *Root `jsonschema:\"oneof_ref=#/$defs/X\"` }", nil, []string{`"null"`}},
		{"groups",
			"type Root struct { A *Root `json:\",omitempty\" jsonschema:\"oneof_required=a\"`; B int `json:\",omitempty\" jsonschema:\"oneof_required=b\"` }", nil, []string{"null"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems, got := problemsOf(t, test.src, false)
			if len(problems) > 0 {
				t.Fatal(problemText(problems))
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(got, lack) {
					t.Errorf("%s has %s", got, lack)
				}
			}
		})
	}
}

// A pointer takes null wherever its struct stands, so that one decoder is enough for a type.
func TestATypeOfACycleHasOneSchema(t *testing.T) {
	const src = "type A struct { B *B }\ntype B struct { A *A; L []A }\n" +
		"type Root struct { X *A; Y *B; Z A; M map[string]B }"
	problems, got := problemsOf(t, src, false)
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	if strings.Contains(got, `"A":{"$ref"`) ||
		strings.Count(got, `"A":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`) != 3 ||
		strings.Count(got, `"B":{"anyOf":[`) != 1 {
		t.Error(got)
	}
	for _, name := range []string{"X", "Y", "Z"} {
		if strings.Contains(got, `"`+name+`":{"anyOf"`) {
			t.Errorf("%s takes null: %s", name, got)
		}
	}
}

func TestTypesThatNoFiniteDocumentFitsAreProblems(t *testing.T) {
	for _, test := range []struct{ name, src, path, want string }{
		{"minItems", "type Root struct { Kids []Root `jsonschema:\"minItems=1\"` }", "Root.Kids",
			"no finite document fits: each item must contain Kids again"},
		{"minItems of pointers", "type Root struct { Kids []*Root `jsonschema:\"minItems=1\"` }",
			"Root.Kids", "no finite document fits"},
		{"below",
			"type N struct { V int; Kids []N `jsonschema:\"minItems=2\"` }\ntype Root struct { A int; N N }", "Root.N.Kids", "no finite document fits"},
		{"two types",
			"type N struct { Up []Root `jsonschema:\"minItems=1\"` }\ntype Root struct { N N }",
			"Root.N.Up", "no finite document fits"},
		{"named list", "type L []Root\ntype Root struct { L L `jsonschema:\"minItems=1\"` }",
			"Root.L", "no finite document fits"},
		{"groups",
			"type Root struct { A *Root `json:\",omitempty\" jsonschema:\"oneof_required=a\"`; B *Root " +
				"`json:\",omitempty\" jsonschema:\"oneof_required=b\"` }", "Root.A",
			"no finite document fits: A must contain itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			problems, _ := problemsOf(t, test.src, false)
			if len(problems) != 1 || problems[0].Path != test.path ||
				!strings.HasPrefix(problems[0].Message, test.want) || problems[0].Obj == nil {
				t.Fatal(problemText(problems))
			}
		})
	}
}
