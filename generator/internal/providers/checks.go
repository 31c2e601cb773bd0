package providers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The cures that several problems have.
const (
	plainer  = "write the argument without this keyword, or check the value in the handler"
	closed   = "use a struct, or a list of structs with a name and a value, in place of a map"
	optional = "write optional=null on //mcp:server, or nullable for this argument, or make it " +
		"required; in a schema by hand, write anyOf with {\"type\": \"null\"}"
	listed = "use a concrete type, or list the JSON types with anyof_type= in the tag or //mcp:param"
)

// annotations bind no value. They may stand beside a reference or a choice.
var annotations = []string{"$comment", "$defs", "default", "definitions", "deprecated",
	"description", "examples", "readOnly", "title", "writeOnly"}

// unsupported are the keywords that OpenAI's strict mode refuses wherever they are.
var unsupported = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "allOf", "contains",
	"contentEncoding", "contentMediaType", "contentSchema", "dependentRequired",
	"dependentSchemas", "else", "if", "maxContains", "maxProperties", "minContains",
	"minProperties", "not", "oneOf", "patternProperties", "prefixItems", "propertyNames", "then",
	"unevaluatedItems", "unevaluatedProperties", "uniqueItems"}

// openAI checks one schema for toStrictJsonSchema of OpenAI's library and for the strict conversion
// of its agents library: closed objects, all of whose properties are required.
func (d *document) openAI(n node) {
	if n.in == "additionalProperties" {
		return // the object's own check reports it
	}
	if n.object == nil {
		d.problem(n, "write a schema, or {} for any value", "a boolean is not a schema there")
		return
	}
	s := n.object
	kinds := types(s)
	for _, keyword := range unsupported {
		if _, ok := s[keyword]; ok && !(n.pointer == "" && slices.Contains(
			roots["openai"].keywords, keyword)) { // a rule of the API reports it
			d.problem(n, plainer, "the keyword %s is not supported", keyword)
		}
	}
	if n.pointer == "" {
		if !slices.Equal(kinds, []string{"object"}) {
			d.problem(n, "write \"type\": \"object\"", "the root has no type object")
		}
	} else if _, ok := s["$id"]; ok {
		d.problem(n, "remove $id", "a part has an $id")
	}
	d.openAIReference(n)
	if _, ok := s["anyOf"]; ok && n.pointer != "" {
		d.beside(n, "anyOf")
	}
	if slices.Contains(kinds, "array") && s["items"] == nil {
		d.problem(n, "write items", "the list has no items")
	}
	_, properties := s["properties"]
	_, additional := s["additionalProperties"]
	if slices.Contains(kinds, "object") || len(kinds) == 0 && (properties || additional) {
		d.openAIObject(n)
	}
}

func (d *document) openAIReference(n node) {
	ref, ok := n.object["$ref"]
	if !ok {
		return
	}
	d.beside(n, "$ref")
	text, _ := ref.(string)
	if _, ok := d.resolve(text); !ok {
		d.problem(n, "refer to a part of the same schema", "the reference %q has no target", text)
	}
}

// beside reports keywords next to one that OpenAI allows annotations beside only.
func (d *document) beside(n node, keyword string) {
	for _, other := range sortedKeys(n.object) {
		if other != keyword && !slices.Contains(annotations, other) &&
			!slices.Contains(unsupported, other) {
			d.problem(n, "write "+other+" within the schemas of "+keyword,
				"%s stands beside %s", other, keyword)
		}
	}
}

func (d *document) openAIObject(n node) {
	s := n.object
	properties := asObject(s["properties"])
	if more, ok := s["additionalProperties"]; ok && more != false ||
		!ok && len(properties) == 0 {
		d.problem(n, closed, "the object is open: it takes properties of any name")
	}
	var required []string
	for _, value := range asList(s["required"]) {
		name, _ := value.(string)
		required = append(required, name)
		if _, ok := properties[name]; !ok {
			d.problem(n, "write the property, or remove it from required",
				"the required property %s is not among the properties", name)
		}
	}
	for _, name := range sortedKeys(properties) {
		if !slices.Contains(required, name) && !d.nullable(properties[name], nil) {
			at := n
			at.pointer += "/properties/" + escapePointer(name)
			d.problem(at, optional, "the argument is optional and may not be null")
		}
	}
}

// nullable reports a schema that surely accepts null. The references in seen led to it.
func (d *document) nullable(value any, seen []string) bool {
	s, ok := value.(map[string]any)
	if !ok {
		return value == true
	}
	if ref, ok := s["$ref"].(string); ok {
		target, found := d.resolve(ref)
		return found && !slices.Contains(seen, ref) && d.nullable(target, append(seen, ref))
	}
	if kinds := types(s); len(kinds) > 0 && !slices.Contains(kinds, "null") {
		return false
	}
	if enum, ok := s["enum"]; ok && !slices.Contains(asList(enum), nil) {
		return false
	}
	if fixed, ok := s["const"]; ok && fixed != nil {
		return false
	}
	if _, ok := s["properties"]; ok && s["type"] == nil {
		return false
	}
	if anyOf, ok := s["anyOf"]; ok {
		return slices.ContainsFunc(asList(anyOf), func(v any) bool { return d.nullable(v, seen) })
	}
	return true
}

// anthropic checks one schema for transformJSONSchema of Anthropic's library.
func (d *document) anthropic(n node) {
	switch n.in {
	case "", "$defs", "allOf", "anyOf", "items", "oneOf", "properties":
	default:
		return // the library copies these to the description
	}
	for _, keyword := range roots["anthropic"].keywords {
		if strings.HasPrefix(n.pointer, "/"+keyword+"/") {
			return // a rule of the API reports the keyword
		}
	}
	if n.object == nil {
		d.problem(n, "write a schema", "a boolean is not a schema there")
		return
	}
	enum := asList(n.object["enum"])
	fixed, isFixed := n.object["const"]
	_, isRef := n.object["$ref"]
	fixes := isRef || isFixed && scalar(fixed) ||
		len(enum) > 0 && !slices.ContainsFunc(enum, func(v any) bool { return !scalar(v) })
	more, ok := n.object["additionalProperties"]
	// The library closes each object. Without properties, that leaves an empty one.
	if ok && more != false || !ok && !fixes && n.object["type"] == "object" &&
		len(asObject(n.object["properties"])) == 0 {
		d.problem(n, closed, "the object is open: it takes properties of any name")
	}
	switch {
	case fixes, len(asList(n.object["anyOf"])) > 0, len(asList(n.object["oneOf"])) > 0,
		len(asList(n.object["allOf"])) > 0:
	case n.object["type"] == nil:
		d.problem(n, listed, "the value has no type")
	}
}

// scalar reports a value that is no list and no object.
func scalar(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// geminiKeys are the keywords of Schema in Google's library, and those that it removes.
var geminiKeys = []string{"additionalProperties", "anyOf", "default", "description", "enum",
	"example", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems",
	"minLength", "minProperties", "minimum", "nullable", "pattern", "properties",
	"propertyOrdering", "required", "title", "type"}

// gemini checks one schema for the parameters of a function declaration, as processJsonSchema of
// Google's library translates them to its type Schema. The library sends a schema with $schema as
// it is.
func (d *document) gemini(n node) {
	if _, ok := asObject(d.root)["$schema"]; ok && n.pointer != "" {
		return
	}
	switch n.in {
	case "", "anyOf", "items", "properties":
	default:
		return
	}
	s := n.object
	if _, ok := s["$schema"]; ok {
		return
	}
	for _, key := range sortedKeys(s) {
		if !slices.Contains(geminiKeys, key) {
			cure := plainer
			if n.pointer == "" && slices.Contains(roots["openai"].keywords, key) {
				cure = fmt.Sprintf(rootCure, key)
			}
			d.problem(n, cure, "the keyword %s is not supported", key)
		}
	}
	for _, value := range asList(s["enum"]) {
		if _, ok := value.(string); !ok {
			d.problem(n, "use a string type", "the enum has a value that is not a string")
			break
		}
	}
	kinds := types(s)
	_, anyOf := s["anyOf"]
	switch {
	case len(kinds) > 0 && anyOf && n.pointer == "":
		d.problem(n, fmt.Sprintf(rootCure, "anyOf"), "type stands beside anyOf")
	case len(kinds) > 0 && anyOf:
		d.problem(n, "write the type within the schemas of anyOf", "type stands beside anyOf")
	case slices.Equal(kinds, []string{"null"}) && n.in != "anyOf":
		d.problem(n, "remove the argument", "the value can only be null")
	}
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
