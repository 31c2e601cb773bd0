// Package structured has the forms of structured content in each version of MCP: 2026-07-28 has
// every value as it is (SEP-2106), and the versions with sessions before it have an object.
package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strings"
)

// Form is the form of structured content in one version.
type Form uint8

// The forms. The output schema of a tool has one of the last three.
const (
	ByValue  Form = iota // as it is if it is an object, else as in InResult; a null cannot be sent
	AsIs                 // every value
	AsObject             // an object
	NotNull              // an object; a null cannot be sent
	InResult             // {"result": value}
)

// Stateless returns the form in 2026-07-28 for the form in versions with sessions.
func (f Form) Stateless() Form {
	if f == AsObject {
		return f
	}
	return AsIs
}

// Schema is the output schema of a tool. Its root has at most one type, because some clients
// refuse the whole list of tools for a list of types.
type Schema struct {
	Natural    json.RawMessage // of the value
	InSessions json.RawMessage // of an object
	Form       Form
}

// schemaObject is the root of a schema.
type schemaObject map[string]json.RawMessage

func (o schemaObject) encode() json.RawMessage { return marshal(o) }

// marshal encodes what was decoded, which does not fail.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}

const objectType = `"object"`

// New reads a schema, which is JSON. It does not change the schema of an object.
func New(schema []byte) Schema {
	var root schemaObject
	if json.Unmarshal(schema, &root) != nil || root == nil {
		root, schema = schemaObject{}, []byte(`{}`) // true, or no schema
	}
	if string(root["type"]) == objectType {
		return Schema{schema, schema, AsObject}
	}
	var types []string
	switch _ = json.Unmarshal(root["type"], &types); len(types) {
	case 0:
	case 1:
		root["type"] = marshal(types[0])
		return New(root.encode())
	default:
		root.unite(types)
		schema = root.encode()
	}
	s := Schema{Natural: schema, Form: InResult}
	if object := root.object(); object != nil && onlyToDefinitions(s.Natural) {
		s.InSessions, s.Form = object.encode(), NotNull
	} else {
		s.InSessions = root.inResult()
	}
	return s
}

// unite turns a list of types into alternatives.
func (o schemaObject) unite(types []string) {
	var anyOf []map[string]string
	for _, name := range types {
		anyOf = append(anyOf, map[string]string{"type": name})
	}
	delete(o, "type")
	if o["anyOf"] == nil {
		o["anyOf"] = marshal(anyOf)
		return
	}
	var allOf []json.RawMessage
	_ = json.Unmarshal(o["allOf"], &allOf)
	o["allOf"] = marshal(append(allOf, marshal(map[string]any{"anyOf": anyOf})))
}

// object returns the schema of the objects, if a schema describes these and null alone.
func (o schemaObject) object() schemaObject {
	var anyOf []schemaObject
	if json.Unmarshal(o["anyOf"], &anyOf) != nil || len(anyOf) != 2 {
		return nil
	}
	object, null := anyOf[0], anyOf[1]
	if string(object["type"]) != objectType {
		object, null = null, object
	}
	if string(object["type"]) != objectType || string(null["type"]) != `"null"` || len(null) != 1 {
		return nil
	}
	only := maps.Clone(o)
	delete(only, "anyOf")
	for name := range only {
		switch name {
		case "$schema", "$id", "$defs", "title", "description", "type":
			if object[name] != nil {
				return nil
			}
		default: // its meaning may depend on the members beside it
			if len(object) > 1 {
				return nil
			}
		}
	}
	maps.Copy(only, object)
	return only
}

// inResult returns the schema of {"result": value}. Definitions stay at the root, where clients
// look for them.
func (o schemaObject) inResult() json.RawMessage {
	whole := schemaObject{"type": json.RawMessage(objectType),
		"required": json.RawMessage(`["result"]`), "additionalProperties": json.RawMessage("false")}
	value := o
	if o["$id"] == nil { // with one, references are relative to the value's schema
		value = schemaObject{}
		_ = json.Unmarshal(references(o.encode(), func(ref string) string {
			if isOfRoot(ref) {
				return "#/properties/result" + strings.TrimPrefix(ref, "#")
			}
			return ref
		}), &value)
		for _, name := range []string{"$defs", "$schema"} {
			if value[name] != nil {
				whole[name] = value[name]
				delete(value, name)
			}
		}
	}
	whole["properties"] = schemaObject{"result": value.encode()}.encode()
	return whole.encode()
}

// isOfRoot reports whether the target of a reference depends on where the root is.
func isOfRoot(ref string) bool {
	pointer, err := url.PathUnescape(ref)
	return err == nil && (pointer == "" || pointer == "#" ||
		strings.HasPrefix(pointer, "#/") && !isToDefinition(ref))
}

// isToDefinition reports whether a reference is a pointer into the definitions at the root. A
// pointer in a URI may have escapes (RFC 6901, section 6).
func isToDefinition(ref string) bool {
	pointer, err := url.PathUnescape(ref)
	return err == nil && strings.HasPrefix(pointer, "#/$defs/")
}

// onlyToDefinitions reports whether no reference of a schema can have the root as its target, by a
// pointer, an anchor or a URI.
func onlyToDefinitions(schema []byte) bool {
	only := true
	references(schema, func(ref string) string {
		only = only && isToDefinition(ref)
		return ref
	})
	return only
}

// references returns a schema with each of its references replaced (JSON Schema 2020-12, section
// 8.2.3 of the core). A schema in it with an $id has references of its own, and stays.
func references(schema []byte, replace func(string) string) []byte {
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil {
		return schema
	}
	isRoot := true
	var visit func(any)
	members := func(of any) {
		named, _ := of.(map[string]any)
		for _, s := range named {
			visit(s)
		}
	}
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, s := range v {
				visit(s)
			}
		case map[string]any:
			if v["$id"] != nil && !isRoot {
				return
			}
			isRoot = false
			for name, s := range v {
				switch name {
				case "$ref", "$dynamicRef":
					if ref, ok := s.(string); ok {
						v[name] = replace(ref)
					}
				case "const", "enum", "default", "examples": // values
				case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
					members(s)
				default:
					visit(s)
				}
			}
		}
	}
	visit(root)
	return marshal(root)
}

// ErrNull is the error for a null that a version with sessions cannot send.
var ErrNull = errors.New(
	"a nil result, which clients of MCP versions before 2026-07-28 cannot receive")

// Apply returns JSON in a form.
func (f Form) Apply(content json.RawMessage) (json.RawMessage, error) {
	isNull := string(content) == "null"
	switch isObject := len(content) > 0 && content[0] == '{'; {
	case f == AsIs, isObject && f != InResult:
		return content, nil
	case f == InResult, f == ByValue && !isNull:
		return bytes.Join([][]byte{[]byte(`{"result":`), content, []byte(`}`)}, nil), nil
	case isNull && f != AsObject:
		return nil, ErrNull
	}
	return nil, errors.New(
		"structured content that is not an object: return a value, not a nil pointer")
}
