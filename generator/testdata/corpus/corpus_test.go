package corpus

import (
	"encoding/json"
	"errors"
	"go/types"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
	"github.com/mcpgen/mcpgen/internal/testschema"
)

// least is the number of types whose schemas are to be equal.
const least = 250

// pair is one case, as both sides see it.
type pair struct {
	name    string
	static  types.Type
	dynamic reflect.Type
}

// pairs are the cases. Types that stand in several places count once.
func (s source) pairs() []pair {
	var list []pair
	var walk func(prefix string, static *types.Struct, dynamic reflect.Type)
	walk = func(prefix string, static *types.Struct, dynamic reflect.Type) {
		for i := range static.NumFields() {
			name := prefix + static.Field(i).Name()
			list = append(list, pair{name, static.Field(i).Type(), dynamic.Field(i).Type})
		}
	}
	static := s.pkg.Scope().Lookup("Corpus").Type().Underlying().(*types.Struct)
	dynamic := reflect.TypeFor[Corpus]()
	for i := range static.NumFields() {
		group := static.Field(i)
		walk(group.Name()+"/", group.Type().Underlying().(*types.Struct), dynamic.Field(i).Type)
	}
	seen := map[reflect.Type]bool{}
	return slices.DeleteFunc(list, func(p pair) bool {
		again := seen[p.dynamic]
		seen[p.dynamic] = true
		return again
	})
}

var kinds = map[schema.ProblemKind]string{
	schema.UnsupportedType: "unsupported type", schema.BadTag: "bad tag", schema.HookedType: "hooked type",
}

// reflected is the schema of the Reflector, which panics on kinds without a schema.
func reflected(t reflect.Type) (s *jsonschema.Schema) {
	defer func() { _ = recover() }()
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	return reflector.ReflectFromType(t)
}

// TestSchemasOfPlainTypesAreTheReflectors compares the types of the corpus that no rule changes,
// apart from the rules about comments, the bounds of integers and references. The log has the first
// difference of each other type, or its problem.
func TestSchemasOfPlainTypesAreTheReflectors(t *testing.T) {
	src := read(t)
	equal := 0
	for _, p := range src.pairs() {
		s, problems := schema.New(src.pkg, nil).Input(p.static)
		if len(problems) > 0 {
			s, _, problems = schema.New(src.pkg, nil).Output(p.static)
		}
		switch {
		case len(problems) > 0:
			t.Logf("%s: %s", p.name, problems[0].Message)
		case len(s.Definitions) > 0:
			t.Logf("%s: it has references", p.name)
		default:
			difference := testschema.Differ("", values(t, s), values(t, reflected(p.dynamic)))
			if difference == "" {
				equal++
			} else {
				t.Logf("%s: %s", p.name, difference)
			}
		}
	}
	if t.Logf("%d types are equal", equal); equal < least {
		t.Errorf("%d types are equal, want %d", equal, least)
	}
}

func values(t *testing.T, s *jsonschema.Schema) (v any) {
	t.Helper()
	text, err := json.Marshal(s)
	if err := errors.Join(err, json.Unmarshal(text, &v)); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTheWalkerEndsWhereTheReflectorDoesNot walks types on which the Reflector does not end.
func TestTheWalkerEndsWhereTheReflectorDoesNot(t *testing.T) {
	src := read(t)
	static := src.pkg.Scope().Lookup("Endless").Type().Underlying().(*types.Struct)
	for f := range static.Fields() {
		s, _, problems := schema.New(src.pkg, nil).Output(f.Type())
		if s == nil && len(problems) == 0 {
			t.Errorf("%s: neither a schema nor a problem", f.Name())
		}
	}
}
