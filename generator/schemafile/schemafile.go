// Package schemafile reads a JSON Schema that an author wrote by hand, the file of //mcp:schema.
// It accepts a schema of draft 2020-12 that refers to nothing outside itself.
package schemafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/generator/schema"
)

// Schema is a schema by hand, as //mcp:schema names one for a type that cannot be read statically.
type Schema struct {
	// Text is the schema as compact JSON, in the author's order, without $schema.
	Text string
	// Object says that the root's type is object and nothing else.
	Object bool
	// Properties are the names of the root's properties, sorted.
	Properties []string
	// Known is the schema as far as jsonschema.Schema can hold it, for documentation, or nil.
	Known *jsonschema.Schema
}

// Error is what is wrong with a schema by hand. Offset is the byte where it is wrong.
type Error struct {
	Offset  int
	Message string // one line, no full stop
	Cure    string // one line
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Read reads a schema by hand: a JSON object, valid under the meta-schema of draft 2020-12, that
// refers to nothing outside itself and whose defaults fit it. An error is a *Error.
func Read(doc []byte) (Schema, error) {
	if err := oneDocument(doc); err != nil {
		return Schema{}, err
	}
	members, err := membersOf(doc)
	if err != nil {
		return Schema{}, &Error{0, "the schema is not a JSON object",
			"write an object, for example {\"type\": \"object\", …}"}
	}
	dialect := ""
	for _, m := range members {
		switch m.name {
		case "$schema":
			if json.Unmarshal(m.value, &dialect) != nil ||
				strings.TrimSuffix(dialect, "#") != jsonschema.Version {
				return Schema{}, &Error{m.at, "the schema is not of draft 2020-12", "write " +
					jsonschema.Version + ", or remove $schema"}
			}
		case "$id":
			return Schema{}, &Error{m.at, "$id has no effect for clients",
				"remove it; write references that begin with #"}
		}
	}
	if err := usable(doc); err != nil {
		return Schema{}, err
	}
	if err := exact(doc); err != nil {
		return Schema{}, err
	}
	w := Schema{Text: objectOf(members)}
	var root struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(doc, &root); err != nil {
		return Schema{}, &Error{0, err.Error(), "fix the schema"} // usable has seen to it
	}
	w.Object = string(root.Type) == `"object"`
	for name := range root.Properties {
		w.Properties = append(w.Properties, name)
	}
	slices.Sort(w.Properties)
	known := &jsonschema.Schema{}
	if json.Unmarshal([]byte(w.Text), known) == nil {
		w.Known = known
	}
	return w, nil
}

// Wrapped is the schema of {"result": value} for a value that w describes. Definitions move to the
// root, where their references look for them; other references would point elsewhere and are an
// error.
func (w Schema) Wrapped() (Schema, error) {
	if w.Object {
		return w, nil
	}
	members, err := membersOf([]byte(w.Text))
	if err != nil {
		return Schema{}, &Error{0, err.Error(), "fix the schema"}
	}
	if ref := foreignRef([]byte(w.Text)); ref != "" {
		return Schema{}, &Error{0,
			fmt.Sprintf(
				"the reference %s changes its target when the server wraps the result as {\"result\": …}",
				ref),
			"refer to #/$defs/…, or write the schema of the whole {\"result\": …}"}
	}
	text := `{"type":"object","properties":{"result":` + objectOf(members, "$defs", "$schema") +
		`},"required":["result"],"additionalProperties":false`
	for _, m := range members {
		if m.name == "$defs" {
			text += `,"$defs":` + string(m.value)
		}
	}
	return Read([]byte(text + "}"))
}

// location names the one document of a compiler. Nothing is ever loaded from it.
const location = "mcpgen:///schema"

type nothingElse struct{}

func (nothingElse) Load(string) (any, error) {
	return nil, errors.New("a schema must not refer to other documents")
}

// usable reports what the meta-schema, a reference or a default makes unusable.
func usable(doc []byte) error {
	tree, err := validator.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return &Error{0, err.Error(), "fix the JSON"}
	}
	compiler := validator.NewCompiler()
	compiler.DefaultDraft(validator.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(nothingElse{})
	if err := compiler.AddResource(location, tree); err != nil {
		return &Error{0, plain(err), "fix the schema"}
	}
	if _, err := compiler.Compile(location); err != nil {
		message := "the schema is not valid under JSON Schema 2020-12: " + plain(err)
		return &Error{offsetOf(doc, where(err)), message, "fix the schema"}
	}
	for _, path := range defaults(tree, nil) {
		pointer := pointerTo(path)
		s, err := compiler.Compile(location + "#" + pointer)
		if err == nil && s.Default != nil {
			err = s.Validate(*s.Default)
		}
		if err != nil {
			return &Error{offsetOf(doc, append(path, "default")),
				fmt.Sprintf("the default at %s does not match its schema", pointer),
				"change the default or the schema"}
		}
	}
	return nil
}

// exact reports the first number of a schema, wherever it stands, that some clients cannot keep.
func exact(doc []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end
		}
		if n, ok := token.(json.Number); ok && !schema.Exact(n.String()) {
			return &Error{int(decoder.InputOffset()) - len(n),
				fmt.Sprintf("the number %s %s", n, schema.Inexact),
				"write a number in the range, or describe the value as a string"}
		}
	}
}

// plain is the first of the innermost causes in an error of the validator, which indents them.
func plain(err error) string {
	found, depth := "", -1
	for line := range strings.Lines(err.Error()) {
		text := strings.TrimLeft(line, " ")
		if indent := len(line) - len(text); indent > depth {
			found, depth = strings.TrimSpace(strings.TrimPrefix(text, "- ")), indent
		}
	}
	return strings.ReplaceAll(found, location, "")
}

// applicators are the keywords whose value is a schema, a list of them, or a map of them by name.
var (
	single = []string{"items", "additionalProperties", "contains", "not", "if", "then", "else",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	listed = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapped = []string{"properties", "$defs", "patternProperties", "dependentSchemas"}
)

// defaults are the paths of the schemas that have a default, in the order of their pointers.
func defaults(s any, at []string) [][]string {
	object, ok := s.(map[string]any)
	if !ok {
		return nil
	}
	var found [][]string
	if _, has := object["default"]; has {
		found = append(found, at)
	}
	below := func(s any, steps ...string) {
		found = append(found, defaults(s, slices.Concat(at, steps))...)
	}
	for key, value := range object {
		switch {
		case slices.Contains(single, key):
			below(value, key)
		case slices.Contains(listed, key):
			list, _ := value.([]any)
			for i, sub := range list {
				below(sub, key, strconv.Itoa(i))
			}
		case slices.Contains(mapped, key):
			named, _ := value.(map[string]any)
			for name, sub := range named {
				below(sub, key, name)
			}
		}
	}
	slices.SortFunc(found, slices.Compare)
	return found
}

// where is the path of the innermost cause in an error of the validator, the one that plain tells.
func where(err error) []string {
	var invalid *validator.SchemaValidationError
	var found *validator.ValidationError
	if !errors.As(err, &invalid) || !errors.As(invalid.Err, &found) {
		return nil
	}
	deepest := -1
	var path []string
	var walk func(e *validator.ValidationError, depth int)
	walk = func(e *validator.ValidationError, depth int) {
		if depth > deepest {
			path, deepest = e.InstanceLocation, depth
		}
		for _, cause := range e.Causes {
			walk(cause, depth+1)
		}
	}
	walk(found, 0)
	return path
}

// foreignRef finds a $ref, $dynamicRef or anchor that a move of the root would break.
func foreignRef(doc []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	key := ""
	for {
		t, err := decoder.Token()
		if err != nil {
			return ""
		}
		text, ok := t.(string)
		if ok && key != "" && !strings.HasPrefix(text, "#/$defs/") {
			return text
		}
		key = ""
		if ok && (text == "$ref" || text == "$dynamicRef") {
			key = text
		}
	}
}
