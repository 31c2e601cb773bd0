package toollist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// property is what a schema tells about the values of an argument.
type property struct {
	Type       json.RawMessage     `json:"type"` // a name, or a list of names
	Ref        string              `json:"$ref"`
	Items      *property           `json:"items"`
	AnyOf      []property          `json:"anyOf"`
	Properties map[string]property `json:"properties"`
	Defs       map[string]property `json:"$defs"`
}

// Arguments reads the arguments of a call. "key=value" is a value of the type in the tool's input
// schema; for an array it is an element, and may be repeated. "key:=JSON" is JSON as it is written.
func Arguments(schema json.RawMessage, words []string) (map[string]any, error) {
	var input property
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &input); err != nil {
			return nil, fmt.Errorf("the input schema: %w", err)
		}
	}
	arguments := map[string]any{}
	for _, word := range words {
		key, text, ok := strings.Cut(word, "=")
		raw := strings.HasSuffix(key, ":")
		if key = strings.TrimSuffix(key, ":"); !ok || key == "" {
			return nil, fmt.Errorf("%q is neither key=value nor key:=JSON", word)
		}
		present, twice := arguments[key]
		p, known := input.Properties[key]
		types := input.types(p, 0)
		list, isList := present.([]any)
		var value any
		var err error
		switch {
		case raw:
			value, err = jsonOf(text)
		case !known:
			return nil, fmt.Errorf("the schema has no argument %q: write one of %s, or %s:=JSON",
				key, listed(input.Properties), key)
		case types["array"] != nil:
			if value, err = input.value(types["array"].Items, text); err == nil {
				value, twice = append(list, value), twice && !isList
			}
		default:
			value, err = input.value(&p, text)
		}
		if err == nil && twice {
			err = errors.New("it is written twice")
		}
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", key, err)
		}
		arguments[key] = value
	}
	return arguments, nil
}

// value converts a text to the type of a schema. A schema that allows strings, or has no type,
// takes the text as a string.
func (input *property) value(schema *property, text string) (any, error) {
	if schema == nil {
		return text, nil
	}
	types := input.types(*schema, 0)
	if len(types) == 0 || types["string"] != nil {
		return text, nil
	}
	value, err := jsonOf(text)
	kind := ""
	switch v := value.(type) {
	case json.Number:
		kind = "number"
		if !strings.ContainsAny(v.String(), ".eE") && types["integer"] != nil {
			kind = "integer"
		}
	case bool:
		kind = "boolean"
	case map[string]any:
		kind = "object"
	case []any:
		kind = "array"
	case nil:
		kind = "null"
	}
	if err != nil || types[kind] == nil {
		names := slices.Sorted(maps.Keys(types))
		return nil, fmt.Errorf("%q is not of type %s", text, plain(strings.Join(names, " or ")))
	}
	return value, nil
}

// types are the schemas of the alternatives, by the type that each allows.
func (input *property) types(p property, depth int) map[string]*property {
	const deepest = 8 // a reference may refer to itself
	all := map[string]*property{}
	if depth > deepest {
		return all
	}
	if name, ok := strings.CutPrefix(p.Ref, "#/$defs/"); ok {
		return input.types(input.Defs[name], depth+1)
	}
	var one string
	var several []string
	if json.Unmarshal(p.Type, &one) == nil {
		several = []string{one}
	} else if json.Unmarshal(p.Type, &several) != nil {
		several = nil
	}
	for _, name := range several {
		all[name] = &p
	}
	for _, alternative := range p.AnyOf {
		maps.Copy(all, input.types(alternative, depth+1))
	}
	return all
}

func jsonOf(text string) (value any, err error) {
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

func listed(properties map[string]property) string {
	if len(properties) == 0 {
		return "none"
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		names = append(names, plain(name))
	}
	return strings.Join(names, ", ")
}

// Usage is how the arguments of a tool are written for [Arguments], in the order of names.
func (t Tool) Usage() string {
	var input property
	if json.Unmarshal(t.InputSchema, &input) != nil {
		return ""
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		types := slices.Sorted(maps.Keys(input.types(input.Properties[name], 0)))
		if len(types) == 0 {
			types = []string{"any"}
		}
		words = append(words, plain(name)+"="+plain(strings.Join(types, "|")))
	}
	return strings.Join(words, " ")
}
