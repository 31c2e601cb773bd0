package schema

import (
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// example makes a value that a schema accepts, with every property that it may have.
func example(t *testing.T, s *jsonschema.Schema, defs jsonschema.Definitions, depth int) any {
	t.Helper()
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = defs[name]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth <= 0 && len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
		return nil
	case len(s.AnyOf) > 0:
		return example(t, s.AnyOf[0], defs, depth)
	case len(s.OneOf) > 0 && s.Type == "":
		return example(t, s.OneOf[0], defs, depth)
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		if s.Properties != nil {
			for p := s.Properties.Oldest(); p != nil; p = p.Next() {
				required := false
				for _, name := range s.Required {
					required = required || name == p.Key
				}
				if required || depth > 0 {
					object[p.Key] = example(t, p.Value, defs, depth-1)
				}
			}
		}
		for _, elem := range s.PatternProperties {
			object["7"] = example(t, elem, defs, depth-1)
		}
		return object
	case "array":
		list := []any{}
		n := 1
		if s.MinItems != nil {
			n = int(*s.MinItems)
		}
		for range n {
			if depth > 0 {
				list = append(list, example(t, s.Items, defs, depth-1))
			}
		}
		return list
	case "string":
		switch {
		case s.Format == "date-time":
			return "2024-02-29T12:00:00Z"
		case s.Pattern == NumberPattern, s.Pattern == SignedPattern, s.Pattern == UnsignedPattern:
			return "12"
		case s.ContentEncoding == "base64":
			return "AAEC"
		}
		return "text"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return nil
}

// smallest makes a value that a schema accepts, with the properties that it must have alone and
// null where it may be. A schema that no finite value fits fails the test.
func smallest(t *testing.T, s *jsonschema.Schema, defs jsonschema.Definitions, depth int) any {
	t.Helper()
	if depth > 50 {
		t.Fatal("the value has no end")
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return smallest(t, defs[name], defs, depth+1)
	}
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		return nil
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			of, _ := s.Properties.Get(name)
			object[name] = smallest(t, of, defs, depth+1)
		}
		return object
	case "array":
		list := []any{}
		for n := 0; s.MinItems != nil && n < int(*s.MinItems); n++ {
			list = append(list, smallest(t, s.Items, defs, depth+1))
		}
		return list
	}
	return example(t, s, defs, 0)
}
