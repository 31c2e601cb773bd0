package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"
)

// TestSchemasOfPlainTypesAreTheReflectors compares the types of the corpus that no rule changes,
// apart from the rules about comments, the bounds of integers and references.
func TestSchemasOfPlainTypesAreTheReflectors(t *testing.T) {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	equal, all := 0, 0
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		s, problems := walker(t, "types", nil).Input(static)
		if len(problems) > 0 {
			s, _, _ = walker(t, "types", nil).Output(static)
		}
		if all++; s == nil || len(s.Definitions) > 0 {
			return
		}
		var ours, theirs any
		if err := errors.Join(json.Unmarshal([]byte(compact(t, s)), &ours),
			json.Unmarshal([]byte(compact(t, reflector.ReflectFromType(dynamic))), &theirs)); err != nil {
			t.Fatal(err)
		}
		if difference := differ("", ours, theirs); difference != "" {
			t.Log(difference)
			return
		}
		equal++
	})
	if equal < all/2 {
		t.Errorf("%d of %d types are equal, want half", equal, all)
	}
}

// differ returns the first difference of two schemas, or nothing.
func differ(at string, ours, theirs any) string {
	if theirs == true {
		theirs = map[string]any{}
	}
	a, isObject := ours.(map[string]any)
	b, both := theirs.(map[string]any)
	if !isObject || !both {
		if reflect.DeepEqual(ours, theirs) {
			return ""
		}
		return fmt.Sprintf("%s: %v, and the Reflector has %v", at, ours, theirs)
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		_, theirOwn := b[key]
		if key == "$schema" || !theirOwn && (key == "minimum" || key == "maximum" ||
			key == "properties" && len(a[key].(map[string]any)) == 0) {
			continue
		}
		if d := differ(at+"/"+key, a[key], b[key]); d != "" {
			return d
		}
	}
	return ""
}

// reflectorComments is the CommentMap of the test packages.
func reflectorComments(t *testing.T) map[string]string {
	t.Helper()
	var r jsonschema.Reflector
	if err := r.AddGoComments(path.Clean(base), "./testdata/types", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	if r.CommentMap[base+"testdata/types.Person"] == "" {
		t.Fatal("the Reflector found no comments")
	}
	return r.CommentMap
}
