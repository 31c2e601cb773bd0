package toolset

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// TestGeneratedCodeReachesNoInstances walks the types that the compiler reads for generated code.
// For each instance of a generic type, it compiles the methods again in every package. With one of
// go-sdk's requests among the types, these are hundreds of functions.
func TestGeneratedCodeReachesNoInstances(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if strings.Contains(typ.Name(), "[") {
			t.Errorf("%s is %s: return it from a function instead", path, typ)
			return
		}
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			walk(m.Type, path+"."+m.Name)
		}
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(typ.Field(i).Type, path+"."+typ.Field(i).Name)
			}
		case reflect.Func:
			for i := range typ.NumIn() {
				walk(typ.In(i), path+"()")
			}
			for i := range typ.NumOut() {
				walk(typ.Out(i), path+"()")
			}
		case reflect.Map:
			walk(typ.Key(), path)
			walk(typ.Elem(), path)
		case reflect.Array, reflect.Slice, reflect.Pointer, reflect.Chan:
			walk(typ.Elem(), path)
		}
		if typ.Kind() != reflect.Pointer && typ.Kind() != reflect.Interface {
			walk(reflect.PointerTo(typ), path)
		}
	}
	for _, root := range []any{
		Generated{}, Toolset{}, Tool{}, Call{}, Result{}, Prompt{}, PromptResult{}, Resource{},
		ResourceResult{},
		access.Table{}, decode.Reader{}, decode.Object{},
	} {
		walk(reflect.TypeOf(root), reflect.TypeOf(root).String())
	}
	if !seen[reflect.TypeFor[Call]()] || len(seen) < 50 {
		t.Errorf("%d types were walked", len(seen))
	}
}
