package generator

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/providers"
)

// A bad name in any part of a schema is found without encoding it.
func TestMayWarnVisitsEachPart(t *testing.T) {
	bad := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	bad.Properties.Set("a b", jsonschema.TrueSchema)
	named := jsonschema.NewProperties()
	named.Set("a", bad)
	visited := 0
	for i, typ := 0, reflect.TypeFor[jsonschema.Schema](); i < typ.NumField(); i++ {
		s := &jsonschema.Schema{}
		for _, value := range []any{bad, []*jsonschema.Schema{bad}, named,
			map[string]*jsonschema.Schema{"a": bad}, jsonschema.Definitions{"a": bad}} {
			if field := reflect.ValueOf(s).Elem().Field(i); field.CanSet() &&
				field.Type() == reflect.TypeOf(value) {
				field.Set(reflect.ValueOf(value))
				visited++
				text, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				found, err := providers.Warnings(text)
				if err != nil || len(found) == 0 || !mayWarn(s, false) {
					t.Errorf("%s: %v, %v", text, found, err)
				}
			}
		}
	}
	if visited < 15 {
		t.Errorf("a schema has %d parts", visited)
	}
	if !mayWarn(&jsonschema.Schema{OneOf: []*jsonschema.Schema{{}}}, true) ||
		mayWarn(&jsonschema.Schema{OneOf: []*jsonschema.Schema{{}}}, false) || mayWarn(nil, true) {
		t.Error("a choice at the root, and below it")
	}
}
