package discovery

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// narrow returns a tool whose schemas have the values of choices alone, and no hidden fields: those
// that one caller may send and see. It is nil if a schema cannot be read, so that nobody is listed
// the tool.
func narrow(t *mcp.Tool, choices []access.Choice, hidden []string) *mcp.Tool {
	t, _ = withoutFields(t, hidden)
	if t == nil || choices == nil {
		return t
	}
	input, _ := t.InputSchema.(json.RawMessage)
	n := narrower{choices: map[string][]string{}}
	for _, c := range choices {
		n.choices[c.Argument] = c.Values
	}
	narrowed := *t
	narrowed.InputSchema = n.input(input)
	if output, ok := t.OutputSchema.(json.RawMessage); ok {
		narrowed.OutputSchema = json.RawMessage(n.output(output))
	}
	if n.failed {
		return nil
	}
	return &narrowed
}

// narrower rewrites schemas. It keeps the order of members, so that the result is the schema that
// mcpgen generates for fewer values.
type narrower struct {
	choices  map[string][]string // the values by argument
	known    []string            // the values of the enums
	hidden   []string            // those of them that are not among the choices
	order    []string            // all properties
	required map[string]bool     // those that must be there
	failed   bool
}

type member struct {
	name  string
	value []byte
}

// input narrows the schema of the arguments.
func (n *narrower) input(schema json.RawMessage) json.RawMessage {
	n.required = map[string]bool{}
	root := n.members(schema)
	var required []string
	for i := range root {
		switch root[i].name {
		case "properties":
			root[i].value = n.properties(root[i].value)
		case "required":
			n.read(root[i].value, &required)
		}
	}
	for _, name := range required {
		n.required[name] = true
	}
	if len(n.required) == len(required) {
		return n.object(root)
	}
	names := slices.DeleteFunc(n.order, func(name string) bool { return !n.required[name] })
	at := slices.IndexFunc(root, func(m member) bool { return m.name == "required" })
	if at < 0 { // a generated schema has it behind the type
		at = 1 + slices.IndexFunc(root, func(m member) bool { return m.name == "type" })
		root = slices.Insert(root, at, member{name: "required"})
	}
	root[at].value = n.write(names)
	return n.object(root)
}

// properties narrows the properties that have choices.
func (n *narrower) properties(object []byte) []byte {
	all := n.members(object)
	for i, p := range all {
		n.order = append(n.order, p.name)
		if _, has := n.choices[p.name]; has {
			all[i].value = n.property(p.name, p.value)
		}
	}
	return n.object(all)
}

func (n *narrower) property(name string, schema []byte) []byte {
	values := n.choices[name]
	keywords := n.members(schema)
	for i, m := range keywords {
		var list []string
		switch m.name {
		case "enum", "examples":
			n.read(m.value, &list)
			for _, value := range list {
				if m.name != "enum" {
					continue
				}
				if n.known = append(n.known, value); !slices.Contains(values, value) {
					n.hidden = append(n.hidden, value)
				}
			}
			keywords[i].value = n.write(slices.DeleteFunc(list, func(value string) bool {
				return !slices.Contains(values, value)
			}))
		case "default":
			var value string
			if n.read(m.value, &value); !slices.Contains(values, value) {
				keywords[i].value, n.required[name] = nil, true
			}
		}
	}
	return n.object(keywords)
}

// output removes the hidden values from the schema of a result: from its enums of the same type,
// and its examples, defaults and constants.
func (n *narrower) output(schema []byte) []byte {
	if decode.Value(schema).Type() != "object" {
		return schema
	}
	members := n.members(schema)
	for i, m := range members {
		switch kind := decode.Value(m.value).Type(); {
		case slices.Contains(namesOfSchemas, m.name) && kind == "object":
			members[i].value = n.each(m.value)
		case m.name == "examples" && kind == "array":
			var examples []json.RawMessage
			n.read(m.value, &examples)
			members[i].value = n.write(slices.DeleteFunc(examples, n.hasHidden))
		case m.name == "enum" && kind == "array":
			members[i].value = n.enum(m.value)
		case m.name == "default" || m.name == "const":
			if n.hasHidden(m.value) {
				members[i].value = nil
			}
		case kind == "object":
			members[i].value = n.output(m.value)
		case kind == "array":
			var items []json.RawMessage
			n.read(m.value, &items)
			for j := range items {
				items[j] = n.output(items[j])
			}
			if len(items) > 0 {
				members[i].value = n.write(items)
			}
		}
	}
	return n.object(members)
}

// namesOfSchemas are the keywords whose members have schemas under names of their own.
var namesOfSchemas = []string{"properties", "patternProperties", "$defs", "definitions",
	"dependentSchemas"}

// each narrows the schemas of an object of schemas.
func (n *narrower) each(object []byte) []byte {
	members := n.members(object)
	for i, m := range members {
		members[i].value = n.output(m.value)
	}
	return n.object(members)
}

// enum removes the hidden values from an enum of the same type: one that has no other values than
// an argument with choices.
func (n *narrower) enum(list []byte) []byte {
	var values []json.RawMessage
	n.read(list, &values)
	text := func(value json.RawMessage) string { return string(decode.Value(value).Text()) }
	for _, value := range values {
		if decode.Value(value).Type() != "string" || !slices.Contains(n.known, text(value)) {
			return list
		}
	}
	return n.write(slices.DeleteFunc(values, func(value json.RawMessage) bool {
		return slices.Contains(n.hidden, text(value))
	}))
}

// hasHidden reports whether an example is or contains a hidden value, or has a member of its name.
func (n *narrower) hasHidden(example json.RawMessage) bool {
	v := decode.Value(example)
	if v.Type() == "string" {
		return slices.Contains(n.hidden, string(v.Text()))
	}
	for _, item := range v.Items() {
		if n.hasHidden(json.RawMessage(item)) {
			return true
		}
	}
	for name, value := range v.Members() {
		if slices.Contains(n.hidden, string(name)) || n.hasHidden(json.RawMessage(value)) {
			return true
		}
	}
	return false
}

func (n *narrower) members(object []byte) (all []member) {
	err := decode.Members(object, decode.Limits{}, func(name, value []byte) {
		all = append(all, member{string(name), value})
	})
	n.failed = n.failed || err != nil
	return all
}

func (n *narrower) read(text []byte, to any) {
	n.failed = json.Unmarshal(text, to) != nil || n.failed
}

// write returns the JSON of a list, and nil for an empty one.
func (n *narrower) write(list any) []byte {
	text, err := wire.Marshal(list)
	n.failed = n.failed || err != nil
	if string(text) == "[]" || string(text) == "null" {
		return nil
	}
	return text
}

// object returns the JSON of an object, without the members that have no value.
func (n *narrower) object(members []member) []byte {
	text := []byte{'{'}
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, n.write(m.name)...), ':'), bytes.TrimSpace(m.value)...)
	}
	return append(text, '}')
}
