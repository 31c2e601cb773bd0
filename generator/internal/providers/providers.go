// Package providers checks tools against model providers. It has the rules of their APIs, and those
// of their strict modes: what their libraries refuse to translate, or translate with another
// meaning.
package providers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names returns the providers.
func Names() []string { return slices.Sorted(maps.Keys(checks)) }

// Problem is a part of a tool that a provider cannot use.
type Problem struct {
	Pointer string // JSON Pointer into the schema; empty for the root
	Message string
	Cure    string
	Rule    *Rule // of the API; nil for a problem in strict mode

	aboutName bool // of the tool
}

// String is the end of a sentence about the tool.
func (p Problem) String() string {
	if p.aboutName {
		return p.Message
	}
	return "at " + cmp.Or(p.Pointer, "the root") + ", " + p.Message
}

// Refuses is the sentence about providers that have a problem with a tool.
func (p Problem) Refuses(tool string, providers ...string) string {
	who := strings.Join(providers, " and ")
	switch {
	case p.Rule == nil:
		return fmt.Sprintf("%s cannot use tool %s in strict mode: %s", who, tool, p)
	case len(providers) > 1:
		return fmt.Sprintf("%s refuse each request with tool %s: %s", who, tool, p)
	}
	return fmt.Sprintf("%s refuses each request with tool %s: %s", who, tool, p)
}

// checks are the checks of one schema, by provider. Each sees all schemas of a document.
var checks = map[string]func(*document, node){
	"openai":    (*document).openAI,
	"anthropic": (*document).anthropic,
	"gemini":    (*document).gemini,
}

// Check returns the problems that a provider has with a tool, by its input schema: first with its
// name, then in the order of pointers.
func Check(provider, tool string, schema []byte) ([]Problem, error) {
	ofStrictMode := checks[provider]
	if ofStrictMode == nil {
		return nil, fmt.Errorf("unknown provider %q: write %s", provider,
			strings.Join(Names(), ", "))
	}
	d, err := read(schema)
	if err != nil {
		return nil, err
	}
	d.toolName(provider, tool)
	d.walk(node{value: d.root}, api(provider))
	d.walk(node{value: d.root}, ofStrictMode)
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return strings.Compare(a.Pointer, b.Pointer)
	})
	return d.problems, nil
}

func read(schema []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(schema, &d.root); err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	return d, nil
}

// document is one schema with its problems.
type document struct {
	root     any
	problems []Problem
}

// node is one schema of a document.
type node struct {
	pointer string
	value   any
	object  map[string]any // nil for a boolean
	// in is the keyword of the parent that contains the schema.
	in string
}

// The keywords that contain schemas: one, a list, and a map of them.
var (
	single = []string{"additionalProperties", "contains", "contentSchema", "else", "if", "items",
		"not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	lists  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	tables = []string{"$defs", "definitions", "dependentSchemas", "patternProperties",
		"properties"}
)

func (d *document) walk(n node, check func(*document, node)) {
	n.object, _ = n.value.(map[string]any)
	delete(n.object, "x-mcpgen-field") // no client gets it
	check(d, n)
	child := func(value any, keyword string, path ...string) {
		pointer := n.pointer
		for _, step := range path {
			pointer += "/" + escapePointer(step)
		}
		d.walk(node{pointer: pointer, value: value, in: keyword}, check)
	}
	for _, keyword := range single {
		if value, ok := n.object[keyword]; ok {
			child(value, keyword, keyword)
		}
	}
	for _, keyword := range lists {
		for i, value := range asList(n.object[keyword]) {
			child(value, keyword, keyword, fmt.Sprint(i))
		}
	}
	for _, keyword := range tables {
		members := asObject(n.object[keyword])
		for _, name := range slices.Sorted(maps.Keys(members)) {
			child(members[name], keyword, keyword, name)
		}
	}
}

func (d *document) problem(n node, cure, format string, args ...any) {
	d.problems = append(d.problems, Problem{Pointer: n.pointer,
		Message: fmt.Sprintf(format, args...), Cure: cure})
}

func escapePointer(step string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// types are the JSON types of a schema.
func types(schema map[string]any) []string {
	if one, ok := schema["type"].(string); ok {
		return []string{one}
	}
	var names []string
	for _, name := range asList(schema["type"]) {
		text, _ := name.(string)
		names = append(names, text)
	}
	return names
}

// resolve returns the schema that a reference within the document refers to.
func (d *document) resolve(ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	value := d.root
	for _, step := range strings.Split(rest, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if value, ok = asObject(value)[step]; !ok {
			return nil, false
		}
	}
	return value, true
}
