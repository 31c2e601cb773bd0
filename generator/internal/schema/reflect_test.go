package schema

import (
	"go/types"
	"path"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
)

func TestReflectEqualsTheReflectorWithoutComments(t *testing.T) {
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		got, problems := walker(t, "types", nil).Reflect(static, nil)
		if len(problems) > 0 {
			t.Fatalf("problems: %v", problems)
		}
		if got, want := encode(t, got), encode(t, Settings().ReflectFromType(dynamic)); got != want {
			t.Errorf("walker:\n%s\nReflector:\n%s", got, want)
		}
	})
}

func TestReflectEqualsTheReflectorWithComments(t *testing.T) {
	reflector := Settings()
	reflector.CommentMap = reflectorComments(t)
	cases(t, func(t *testing.T, static types.Type, dynamic reflect.Type) {
		got, problems := walker(t, "types", nil).Reflect(static, reflector.CommentMap)
		if len(problems) > 0 {
			t.Fatalf("problems: %v", problems)
		}
		if got, want := encode(t, got), encode(t, reflector.ReflectFromType(dynamic)); got != want {
			t.Errorf("walker:\n%s\nReflector:\n%s", got, want)
		}
	})
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
