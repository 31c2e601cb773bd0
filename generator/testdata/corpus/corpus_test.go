package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// least is the number of types that the comparison is to cover.
const least = 300

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

// reflected is what the Reflector says. It panics on kinds without a schema.
func reflected(r *jsonschema.Reflector, t reflect.Type) (text string, refused any) {
	defer func() { refused = recover() }()
	return encode(r.ReflectFromType(t)), nil
}

func encode(s *jsonschema.Schema) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", " "); err != nil {
		return err.Error()
	}
	return b.String()
}

var kinds = map[schema.ProblemKind]string{
	schema.UnsupportedType: "unsupported type", schema.BadTag: "bad tag", schema.HookedType: "hooked type",
}

// TestTheWalkerEqualsTheReflector compares every type of the corpus, byte for byte, with the
// comments of its source and without. A type may differ only where the walker says that it cannot
// be read statically, which a hook or a refusal of the Reflector itself must bear out.
func TestTheWalkerEqualsTheReflector(t *testing.T) {
	src := read(t)
	sides := map[string]map[string]string{"comments off": nil, "comments on": src.comments}
	for _, name := range slices.Sorted(maps.Keys(sides)) {
		reflector := schema.Settings()
		reflector.CommentMap = sides[name]
		t.Run(name, func(t *testing.T) {
			equal, differences, diagnosed := 0, 0, map[string][]string{}
			for _, p := range src.pairs() {
				walker := schema.New(src.pkg, nil)
				got, problems := walker.Reflect(p.static, reflector.CommentMap)
				want, refused := reflected(reflector, p.dynamic)
				switch {
				case len(problems) > 0:
					kind := kinds[problems[0].Kind]
					diagnosed[kind] = append(diagnosed[kind], p.name)
					if problems[0].Kind != schema.HookedType && refused == nil {
						t.Errorf("%s: the walker says %s: %s; the Reflector makes\n%s", p.name, problems[0].Path, problems[0].Message, want)
					}
				case refused != nil:
					differences++
					t.Errorf("%s: the Reflector refuses: %v", p.name, refused)
				case encode(got) != want:
					differences++
					t.Errorf("%s: %s", p.name, firstDifference(encode(got), want))
				default:
					equal++
				}
			}
			t.Logf("%s: %d types equal, %d differences", name, equal, differences)
			for kind, list := range diagnosed {
				t.Logf("%s: %d diagnosed as %s: %s", name, len(list), kind, strings.Join(list, ", "))
			}
			if equal < least {
				t.Errorf("%d types compared, want %d", equal, least)
			}
		})
	}
}

// firstDifference is the lines around the place where two texts part.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	around := func(lines []string) string {
		return strings.Join(lines[max(0, i-4):min(len(lines), i+4)], "\n")
	}
	return fmt.Sprintf("line %d\nwalker:\n%s\nReflector:\n%s", i+1, around(a), around(b))
}

// TestTheWalkerEndsWhereTheReflectorDoesNot walks the types that no side by side is possible for.
func TestTheWalkerEndsWhereTheReflectorDoesNot(t *testing.T) {
	src := read(t)
	pkg := src.pkg
	static := pkg.Scope().Lookup("Endless").Type().Underlying().(*types.Struct)
	for i := range static.NumFields() {
		schema.New(pkg, nil).Reflect(static.Field(i).Type(), nil)
		s, _, problems := schema.New(pkg, nil).Output(static.Field(i).Type())
		if s == nil && len(problems) == 0 {
			t.Errorf("%s: neither a schema nor a problem", static.Field(i).Name())
		}
	}
}
