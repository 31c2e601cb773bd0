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

// kinds are the types of fields that tags are tried on.
var kinds = []types.Type{
	types.Typ[types.String], types.Typ[types.Int16], types.Typ[types.Uint],
	types.Typ[types.Float64], types.Typ[types.Bool],
	types.NewPointer(types.Typ[types.String]), types.NewSlice(types.Typ[types.String]),
	types.NewSlice(types.Typ[types.Int]), types.NewSlice(types.Typ[types.Bool]),
	types.NewSlice(types.NewSlice(types.Typ[types.String])),
	types.NewArray(types.Typ[types.Float32], 2), types.NewSlice(types.Typ[types.Uint8]),
	types.NewMap(types.Typ[types.String], types.Typ[types.Int]),
	types.Universe.Lookup("any").Type(), types.NewStruct(nil, nil),
}

// checkTags checks that any tags of a struct of two fields result in a valid schema for clients or a
// list of problems.
func checkTags(t interface {
	Fatalf(string, ...any)
}, first, second int, tags [2]reflect.StructTag) {
	pkg := types.NewPackage("example.com/p", "p")
	static := types.NewStruct([]*types.Var{
		types.NewField(0, pkg, "A", kinds[first], false), types.NewField(0, pkg, "B",
			kinds[second], false),
	}, []string{string(tags[0]), string(tags[1])})
	w := New(pkg, nil)

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

}

func TestTagsOfAnyKindMakeASchemaOrProblems(t *testing.T) {
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
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.IntRange(0, len(kinds)-1)
		checkTags(t, kind.Draw(t, "A"), kind.Draw(t, "B"), [2]reflect.StructTag{draw(t), draw(t)})
	})
}

func FuzzTags(f *testing.F) {
	f.Add(0, "x,omitempty", `minLength=1,pattern=a\,b`, "x=1")
	f.Add(3, "", "minimum=0.5,default=1e3", "")
	f.Add(7, "-,", "uniqueItems=false,default=1", "minimum=3")
	f.Fuzz(func(t *testing.T, kind int, name, tag, extras string) {
		if kind < 0 {
			kind = -(kind + 1)
		}
		whole := reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q jsonschema_extras:%q", name,
			tag, extras))
		checkTags(t, kind%len(kinds), (kind/len(kinds))%len(kinds), [2]reflect.StructTag{whole,
			""})
	})
}
