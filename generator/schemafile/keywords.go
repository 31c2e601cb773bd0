package schemafile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// form is the form of a keyword's value.
type form int

const (
	schemaForm form = iota + 1 // one schema
	schemas                    // a list of schemas, not empty
	named                      // schemas by name
	pattern                    // schemas by regular expression
	text
	flag
	number
	positive // a number above 0
	count    // an integer from 0 on
	names    // a list of strings, none twice
	needs    // names by name
	list
	expression
	reference
	anchor
	types
)

// keywords are those of JSON Schema 2020-12, section by section: core, applicators, unevaluated
// locations, validation, metadata, format and content. Further names may have any value.
var keywords = map[string]form{
	"$ref": reference, "$dynamicRef": reference, "$id": reference, "$anchor": anchor,
	"$dynamicAnchor": anchor, "$comment": text, "$defs": named,

	"prefixItems": schemas, "items": schemaForm, "contains": schemaForm,
	"additionalProperties": schemaForm, "properties": named, "patternProperties": pattern,
	"dependentSchemas": named, "propertyNames": schemaForm, "if": schemaForm, "then": schemaForm,
	"else": schemaForm, "allOf": schemas, "anyOf": schemas, "oneOf": schemas, "not": schemaForm,

	"unevaluatedItems": schemaForm, "unevaluatedProperties": schemaForm,

	"type": types, "enum": list, "multipleOf": positive, "maximum": number, "minimum": number,
	"exclusiveMaximum": number, "exclusiveMinimum": number, "maxLength": count,
	"minLength": count, "pattern": expression, "maxItems": count, "minItems": count,
	"uniqueItems": flag, "maxContains": count, "minContains": count, "maxProperties": count,
	"minProperties": count, "required": names, "dependentRequired": needs,

	"title": text, "description": text, "deprecated": flag, "readOnly": flag, "writeOnly": flag,
	"examples": list,

	"format": text, "contentEncoding": text, "contentMediaType": text, "contentSchema": schemaForm,
}

var (
	typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	anchors   = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)
)

// checker visits each schema of a document once, and each schema's keywords in order.
type checker struct {
	// fault is the first wrong value, and at is its path.
	fault string
	at    []string
	// defaults are the paths of the schemas with a default.
	defaults [][]string
	// dynamic reports a $dynamicRef.
	dynamic bool
}

func (c *checker) refuse(path []string, want string) {
	if c.fault == "" {
		c.fault, c.at = fmt.Sprintf("at %s: want %s", pointerTo(path), want), path
	}
}

func (c *checker) schema(v any, path []string) {
	object, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); !ok {
			c.refuse(path, "a schema: an object, true or false")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "default" {
			c.defaults = append(c.defaults, path)
		}
		c.dynamic = c.dynamic || name == "$dynamicRef"
		if form := keywords[name]; form != 0 {
			c.value(form, object[name], append(slices.Clip(path), name))
		}
	}
}

func (c *checker) value(f form, v any, path []string) {
	s, isText := v.(string)
	switch f {
	case schemaForm:
		c.schema(v, path)
	case schemas:
		items, _ := v.([]any)
		if len(items) == 0 {
			c.refuse(path, "a list of schemas")
		}
		for i, item := range items {
			c.schema(item, append(slices.Clip(path), strconv.Itoa(i)))
		}
	case named, pattern, needs:
		object, ok := v.(map[string]any)
		if !ok {
			c.refuse(path, "an object")
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			below := append(slices.Clip(path), name)
			switch f {
			case pattern:
				c.value(expression, name, below)
				c.schema(object[name], below)
			case named:
				c.schema(object[name], below)
			default:
				c.value(names, object[name], below)
			}
		}
	case text:
		if !isText {
			c.refuse(path, "a string")
		}
	case flag:
		if _, ok := v.(bool); !ok {
			c.refuse(path, "true or false")
		}
	case number, positive, count:
		c.number(f, v, path)
	case names:
		c.names(v, path)
	case list:
		if _, ok := v.([]any); !ok {
			c.refuse(path, "a list")
		}
	case expression:
		if _, err := regexp.Compile(s); !isText || err != nil {
			c.refuse(path, "a regular expression of RE2 syntax")
		}
	case reference:
		if _, err := url.Parse(s); !isText || err != nil {
			c.refuse(path, "a URI reference")
		}
	case anchor:
		if !isText || !anchors.MatchString(s) {
			c.refuse(path, "a letter or _, then letters, digits, -, . and _")
		}
	case types:
		all, isList := v.([]any)
		if !isList {
			all = []any{v}
		} else if c.names(v, path); len(all) == 0 {
			c.refuse(path, "at least one type")
		}
		for _, name := range all {
			if s, ok := name.(string); !ok || !slices.Contains(typeNames, s) {
				c.refuse(path, "one of "+strings.Join(typeNames, ", "))
			}
		}
	}
}

func (c *checker) number(f form, v any, path []string) {
	literal, _ := v.(json.Number)
	n, err := literal.Float64()
	switch {
	case err != nil:
		c.refuse(path, "a number")
	case f == positive && n <= 0:
		c.refuse(path, "a number above 0")
	case f == count && (n < 0 || n != float64(int64(n))):
		c.refuse(path, "an integer from 0 on")
	}
}

func (c *checker) names(v any, path []string) {
	items, ok := v.([]any)
	if !ok {
		c.refuse(path, "a list of strings")
	}
	seen := map[string]bool{}
	for _, item := range items {
		s, ok := item.(string)
		if !ok || seen[s] {
			c.refuse(path, "a list of strings, none twice")
		}
		seen[s] = true
	}
}
