package schema

import (
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testschema"
)

// kinds pairs the types of fields that tags are tried on.
var kinds = []struct {
	static  types.Type
	dynamic reflect.Type
}{
	{types.Typ[types.String], reflect.TypeFor[string]()},
	{types.Typ[types.Int16], reflect.TypeFor[int16]()},
	{types.Typ[types.Uint], reflect.TypeFor[uint]()},
	{types.Typ[types.Float64], reflect.TypeFor[float64]()},
	{types.Typ[types.Bool], reflect.TypeFor[bool]()},
	{types.NewPointer(types.Typ[types.String]), reflect.TypeFor[*string]()},
	{types.NewSlice(types.Typ[types.String]), reflect.TypeFor[[]string]()},
	{types.NewSlice(types.Typ[types.Int]), reflect.TypeFor[[]int]()},
	{types.NewSlice(types.Typ[types.Bool]), reflect.TypeFor[[]bool]()},
	{types.NewSlice(types.NewSlice(types.Typ[types.String])), reflect.TypeFor[[][]string]()},
	{types.NewArray(types.Typ[types.Float32], 2), reflect.TypeFor[[2]float32]()},
	{types.NewSlice(types.Typ[types.Uint8]), reflect.TypeFor[[]byte]()},
	{types.NewMap(types.Typ[types.String], types.Typ[types.Int]),
		reflect.TypeFor[map[string]int]()},
	{types.Universe.Lookup("any").Type(), reflect.TypeFor[any]()},
	{types.NewStruct(nil, nil), reflect.TypeFor[struct{}]()},
}

// compareTags compares both sides on structs of two fields with the given tags. It reports whether
// the Reflector made a schema at all.
func compareTags(t interface {
	Fatalf(string, ...any)
}, first, second int, tags [2]reflect.StructTag) bool {
	pkg := types.NewPackage("example.com/p", "p")
	static := types.NewStruct([]*types.Var{
		types.NewField(0, pkg, "A", kinds[first].static, false), types.NewField(0, pkg, "B",
			kinds[second].static, false),
	}, []string{string(tags[0]), string(tags[1])})
	dynamic := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: kinds[first].dynamic, Tag: tags[0]},
		{Name: "B", Type: kinds[second].dynamic, Tag: tags[1]},
	})
	w := New(pkg, nil)

	// Any tags result in a valid schema for clients or a list of problems.
	for _, output := range []bool{false, true} {
		s, problems := w.Input(static)
		if output {
			s, _, problems = w.Output(static)
		}
		if (s == nil) == (len(problems) == 0) {
			t.Fatalf("tags %q: schema %v, problems %v", tags, s, problems)
		}
		if s == nil {
			continue
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("tags %q: %v", tags, err)
		}
		if _, err := testschema.Compile(b); err != nil {
			t.Fatalf("tags %q: %v\n%s", tags, err, b)
		}
	}

	got, problems := w.Reflect(static, nil)
	if len(problems) > 0 {
		t.Fatalf("tags %q: %v", tags, problems)
	}
	want, err := reflected(dynamic)
	if err != nil {
		return false
	}
	have, err := json.Marshal(got)
	if err != nil || string(have) != want {
		t.Fatalf("tags %q: %v\nwalker    %s\nReflector %s", tags, err, have, want)
	}
	return true
}

// reflected is what the Reflector makes of a type. It panics on some tags and makes schemas
// of others that cannot be written.
func reflected(t reflect.Type) (schema string, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("panic: %v", e)
		}
	}()
	b, err := json.Marshal(Settings().ReflectFromType(t))
	return string(b), err
}

func TestTagsOfAnyKindEqualTheReflectors(t *testing.T) {
	pieces := append([]string{"required", "nullable", "-", "", "nonsense", "a b", "type=integer",
		"type=string", "type=", "oneof_type=string;null", "anyof_type=integer",
		"oneof_required=x", "oneof_required=y", "anyof_required=x", "oneof_ref=#/$defs/A;#/$defs/B",
		"anyof_ref=#/$defs/A", `pattern=a\\,b`, `description=x\\,required`,
		"default=true", "default=false", "example=1=2", "uniqueItems=false", "title=T",
		"description=D", "anchor=A"}, "")
	for _, key := range allKeys {
		if strings.HasPrefix(key, "oneof") || strings.HasPrefix(key, "anyof") || key == "type" {
			continue
		}
		for _, value := range []string{"", "1", "5", "2.5", "-3", "x", "^[a-z]+$", "true", "a=b"} {
			pieces = append(pieces, key+"="+value)
		}
	}
	names := []string{"", "x", "-", "-,", "x,omitempty", ",omitempty", ",omitzero", "x,string",
		",inline"}
	extras := []string{"", "x-a=1", "x-a=1,x-a=2,x-a=3", "minimum=4,minimum=5", "x-b=true,x-b=f",
		"flag"}
	draw := func(t *rapid.T) reflect.StructTag {
		tag := fmt.Sprintf("json:%q", rapid.SampledFrom(names).Draw(t, "json"))
		if n := rapid.IntRange(0, 4).Draw(t, "n"); n > 0 {
			list := make([]string, n)
			for i := range list {
				list[i] = rapid.SampledFrom(pieces).Draw(t, "piece")
			}
			tag += ` jsonschema:"` + strings.Join(list, ",") + `"`
		}
		if e := rapid.SampledFrom(extras).Draw(t, "extras"); e != "" {
			tag += fmt.Sprintf(" jsonschema_extras:%q", e)
		}
		if rapid.IntRange(0, 5).Draw(t, "d") == 0 {
			tag += ` jsonschema_description:"by tag"`
		}
		return reflect.StructTag(tag)
	}
	compared, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tried++
		kind := rapid.IntRange(0, len(kinds)-1)
		if compareTags(t, kind.Draw(t, "A"), kind.Draw(t, "B"), [2]reflect.StructTag{draw(t),
			draw(t)}) {
			compared++
		}
	})
	if compared < tried/2 {
		t.Errorf("the Reflector made a schema in %d of %d cases only", compared, tried)
	}
}

func FuzzTagsEqualTheReflector(f *testing.F) {
	f.Add(0, "x,omitempty", `minLength=1,pattern=a\,b`, "x=1")
	f.Add(3, "", "minimum=0.5,default=1e3", "")
	f.Add(7, "-,", "uniqueItems=false,default=1", "minimum=3")
	f.Fuzz(func(t *testing.T, kind int, name, tag, extras string) {
		if kind < 0 {
			kind = -(kind + 1)
		}
		whole := reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q jsonschema_extras:%q", name,
			tag, extras))
		compareTags(t, kind%len(kinds), (kind/len(kinds))%len(kinds), [2]reflect.StructTag{whole,
			""})
	})
}
