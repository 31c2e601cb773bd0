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

	"github.com/mcpgen/mcpgen/generator/internal/ecma"
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
	dependencies // schemas, or names, by name
	foreign      // not accepted
)

// keywords are those of JSON Schema 2020-12, section by section: core, applicators, unevaluated
// locations, validation, metadata, format and content. Further names may have any value.
var keywords = map[string]form{
	"$ref": reference, "$dynamicRef": reference, "$anchor": anchor, "$dynamicAnchor": anchor,
	"$comment": text, "$defs": named,

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

	// Of earlier drafts, which the meta-schema still has.
	"definitions": named, "dependencies": dependencies,
	// Of earlier drafts, or of whole documents. They would change what a reference means.
	"$schema": foreign, "$id": foreign, "$vocabulary": foreign, "$recursiveRef": foreign,
	"$recursiveAnchor": foreign,
}

// inPlace are the keywords whose schemas apply to the same value as the schema that has them.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}

var (
	typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	anchors   = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)
)

// checker visits each schema of a document once, and each schema's keywords in order.
type checker struct {
	// fault is the first wrong value, and at is its path.
	fault string
	at    []string
	// pattern is the first fault of a regular expression, and patternAt is its path.
	pattern   *PatternError
	patternAt []string
	// defaults are the paths of the schemas with a default.
	defaults [][]string
	// dynamic reports a $dynamicRef.
	dynamic bool
	// applied has, for each schema, those that apply to the same value, by JSON Pointers. Of an
	// anchor it has the schema with the anchor.
	applied map[string][]string
	paths   map[string][]string
	// objects has the schemas that are objects, by JSON Pointers.
	objects map[string]map[string]any
}

func (c *checker) refuse(path []string, want string) {
	if c.fault == "" {
		c.fault, c.at = fmt.Sprintf("at %s: want %s", pointerTo(path), want), path
	}
}

// circular finds a schema that applies itself to the same value. No value could be validated by it.
func (c *checker) circular() (path []string, found bool) {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(at string) bool
	visit = func(at string) bool {
		state[at] = open
		for _, next := range c.applied[at] {
			if state[next] == open {
				path = c.paths[at]
				return true
			}
			if state[next] == 0 && visit(next) {
				return true
			}
		}
		state[at] = done
		return false
	}
	for _, at := range slices.Sorted(maps.Keys(c.applied)) {
		if state[at] == 0 && visit(at) {
			return path, true
		}
	}
	return nil, false
}

// apply records that the schema at a path applies to the same value as the one at, or before, it.
func (c *checker) apply(from, to string, path []string) {
	c.applied[from] = append(c.applied[from], to)
	c.paths[from] = path
}

func (c *checker) schema(v any, path []string) {
	object, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); !ok {
			c.refuse(path, "a schema: an object, true or false")
		}
		return
	}
	c.objects[pointer(path)] = object
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "default" {
			c.defaults = append(c.defaults, path)
		}
		c.dynamic = c.dynamic || name == "$dynamicRef"
		form := keywords[name]
		if form == 0 || name == "$schema" && len(path) == 0 {
			continue
		}
		c.value(form, object[name], append(slices.Clip(path), name))
		at := pointer(path)
		if s, ok := object[name].(string); ok {
			switch form {
			case anchor:
				c.apply(s, at, path)
			case reference:
				target, err := url.PathUnescape(strings.TrimPrefix(s, "#"))
				if err == nil {
					c.apply(at, target, path)
				}
			}
		}
		if slices.Contains(inPlace, name) {
			c.applyBelow(at, object[name], append(slices.Clip(path), name))
		}
	}
}

// applyBelow records the schemas of a keyword that applies them in place.
func (c *checker) applyBelow(at string, v any, path []string) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			c.apply(at, pointer(append(slices.Clip(path), strconv.Itoa(i))), path)
		}
	case map[string]any:
		if path[len(path)-1] != "dependentSchemas" {
			c.apply(at, pointer(path), path)
			return
		}
		for name := range v {
			c.apply(at, pointer(append(slices.Clip(path), name)), path)
		}
	}
}

// pointer is the JSON Pointer of a path (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
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
	case named, pattern, needs, dependencies:
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
				if _, ok := object[name].([]any); !ok && f == dependencies {
					c.schema(object[name], below)
				} else {
					c.value(names, object[name], below)
				}
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
		if !isText {
			c.refuse(path, "a regular expression")
		} else if c.pattern == nil {
			c.pattern, c.patternAt = patternFault(s, path), path
		}
	case reference:
		if _, err := url.Parse(s); err != nil || !strings.HasPrefix(s, "#") {
			c.refuse(path, "a reference within this schema, which begins with #")
		}
	case foreign:
		c.refuse(path, "a schema without "+path[len(path)-1])
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

// patternFault is the fault of a regular expression without its offset, or nil.
func patternFault(pattern string, path []string) *PatternError {
	fault := Error{Message: "the pattern at " + pointerTo(path)}
	if _, err := regexp.Compile(pattern); err != nil {
		fault.Message += " is malformed: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		fault.Cure = "write a regular expression that is valid in Go and JavaScript"
		return &PatternError{fault}
	}
	problem := ecma.Check(pattern)
	if problem == nil {
		return nil
	}
	fault.Message += " has " + problem.String()
	fault.Cure = problem.Fix()
	return &PatternError{fault}
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
	case f == count && strings.ContainsAny(literal.String(), "eE"):
		c.refuse(path, "an integer without an exponent")
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
