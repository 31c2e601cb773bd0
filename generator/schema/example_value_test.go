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
