package schema

import (
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"
)

// noteExtras are the keywords of JSON Schema that jsonschema_extras may set: they say
// something about a value and bind nothing.
var noteExtras = map[string]bool{"deprecated": true, "readOnly": true, "writeOnly": true}

// vocabulary is every other keyword of 2020-12. An extra of such a name would stand twice in
// the document or escape the checks.
var vocabulary = []string{
	"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary",
	"additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding", "contentMediaType", "contentSchema",
	"default", "dependentRequired", "dependentSchemas", "description", "else", "enum", "examples", "exclusiveMaximum",
	"exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum",
	"minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern",
	"patternProperties", "prefixItems", "properties", "propertyNames", "required", "then", "title", "type",
	"unevaluatedItems", "unevaluatedProperties", "uniqueItems",
}

// extra adds the keys of jsonschema_extras. A key that comes again makes a list.
func (k keywords) extra(s *jsonschema.Schema, list []element) {
	for _, e := range list {
		if e.flag {
			if k.dir != reflecting {
				k.pass.bad(k.at, "write key=value", "the jsonschema_extras tag has no value for %q", e.text)
			}
			continue
		}
		if k.dir != reflecting {
			if slices.Contains(vocabulary, e.key) {
				k.pass.bad(k.at, "use the jsonschema tag", "jsonschema_extras sets %s, a keyword of JSON Schema", e.key)
				continue
			}
			if noteExtras[e.key] && e.value != "true" && e.value != "false" {
				k.pass.bad(k.at, "write true or false", "%s=%s is not true or false", e.key, e.value)
				continue
			}
		}
		if s.Extras == nil {
			s.Extras = map[string]any{}
		}
		s.Extras[e.key] = again(s.Extras[e.key], e)
	}
}

// again is the value of an extra after one more element of its key.
func again(before any, e element) any {
	switch before := before.(type) {
	case string:
		return []string{before, e.value}
	case []string:
		return append(before, e.value)
	case int:
		n, _ := strconv.Atoi(e.value)
		return n
	case bool:
		return e.value == "true" || e.value == "t"
	}
	switch {
	case e.key == "minimum":
		n, _ := strconv.Atoi(e.value)
		return n
	case e.value == "true", e.value == "false":
		return e.value == "true"
	}
	return e.value
}
