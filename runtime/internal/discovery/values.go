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

// narrow returns a tool whose schemas have the values of choices alone: those that one caller may
// send. It is nil if a schema cannot be read, so that nobody is listed the tool.
func narrow(t *mcp.Tool, choices []access.Choice) *mcp.Tool {
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
	hidden   []string            // the values of the enums that are not among them
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
				if m.name == "enum" && !slices.Contains(values, value) {
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

// output removes the examples with hidden values from the schema of a result.
func (n *narrower) output(schema []byte) []byte {
	switch decode.Value(schema).Type() {
	case "object":
		members := n.members(schema)
		for i, m := range members {
			if m.name == "examples" && decode.Value(m.value).Type() == "array" {
				var examples []json.RawMessage
				n.read(m.value, &examples)
				members[i].value = n.write(slices.DeleteFunc(examples, n.hasHidden))
			} else {
				members[i].value = n.output(m.value)
			}
		}
		return n.object(members)
	case "array":
		var items []json.RawMessage
		n.read(schema, &items)
		for i := range items {
			items[i] = n.output(items[i])
		}
		return n.write(items)
	}
	return schema
}

// hasHidden reports whether an example is or contains a hidden value.
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
	for _, value := range v.Members() {
		if n.hasHidden(json.RawMessage(value)) {
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
