package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/internal/testschema"
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
		if difference := testschema.Differ("", ours, theirs); difference != "" {
			t.Log(difference)
			return
		}
		equal++
	})
	if equal < all/2 {
		t.Errorf("%d of %d types are equal, want half", equal, all)
	}
}

// TestRequiredByTagsIsTheReflectors compares the required properties of every object of the corpus
// with those of RequiredFromJSONSchemaTags.
func TestRequiredByTagsIsTheReflectors(t *testing.T) {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true,
		RequiredFromJSONSchemaTags: true}
	required := 0
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		w := walker(t, "types", nil)
		w.RequiredByTags = true
		s, problems := w.Input(static)
		if len(problems) > 0 || len(s.Definitions) > 0 {
			return
		}
		theirs := map[string][]string{}
		objects("", reflector.ReflectFromType(dynamic), theirs)
		ours := map[string][]string{}
		objects("", s, ours)
		for pointer, names := range ours {
			want, known := theirs[pointer]
			if slices.Sort(want); known && fmt.Sprint(slices.Sorted(slices.Values(names))) !=
				fmt.Sprint(want) {
				t.Errorf("%s requires %v, want %v", pointer, names, want)
			}
			required += len(names)
		}
	})
	if required == 0 {
		t.Error("nothing is required")
	}
}

// objects adds the required properties of each object in a schema by its path.
func objects(path string, s *jsonschema.Schema, into map[string][]string) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		into[path] = s.Required
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			objects(path+"/"+p.Key, p.Value, into)
		}
	}
	objects(path+"[]", s.Items, into)
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
