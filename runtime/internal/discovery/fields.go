package discovery

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// FieldKeyword is the keyword of the schema of a property with a rule of its own. Its value is the
// name of the rule. No list has the keyword.
const FieldKeyword = "x-mcpgen-field"

// withoutFields returns a tool whose schemas have neither the keyword of guarded fields nor the
// properties of hidden ones, and the guarded fields: the tool itself if there are none. The tool is
// nil if a schema cannot be read.
func withoutFields(t *mcp.Tool, hidden []string) (_ *mcp.Tool, fields []string) {
	without, found := *t, map[string]bool{}
	for _, schema := range []*any{&without.InputSchema, &without.OutputSchema} {
		text, ok := (*schema).(json.RawMessage)
		if !ok || !bytes.Contains(text, []byte(FieldKeyword)) {
			continue
		}
		c := fieldCutter{hidden: hidden, fields: found}
		c.schema(text) // finds the names of the hidden properties
		*schema = json.RawMessage(c.root(text))
		if c.failed {
			return nil, nil
		}
	}
	if len(found) == 0 {
		return t, nil
	}
	return &without, slices.Sorted(maps.Keys(found))
}

// splitFields returns a tool as its lists have it, and its guarded fields.
func splitFields(t *mcp.Tool) (*mcp.Tool, *guarded[mcp.Tool]) {
	without, fields := withoutFields(t, nil)
	if fields == nil {
		return without, nil
	}
	return without, &guarded[mcp.Tool]{marked: t, fields: fields}
}

// fieldCutter rewrites one schema without hidden fields. The result is the schema that mcpgen
// generates for a type without these fields.
type fieldCutter struct {
	narrower
	hidden []string
	fields map[string]bool // that the schema has
	names  []string        // of hidden properties
}

// root removes also the definitions that only hidden properties refer to.
func (c *fieldCutter) root(schema []byte) []byte {
	members := c.members(c.schema(schema))
	if len(c.names) == 0 {
		return c.object(members)
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "$defs" })
	if at < 0 {
		return c.object(members)
	}
	defs, used := c.members(members[at].value), map[string]bool{}
	var follow func(text []byte)
	follow = func(text []byte) {
		for ref := range refs(text) {
			pointer, _ := url.PathUnescape(ref)
			name, inDefs := strings.CutPrefix(pointer, "#/$defs/")
			name, _, _ = strings.Cut(name, "/")
			name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
			if !inDefs || used[name] {
				continue
			}
			used[name] = true
			for _, d := range defs {
				if d.name == name {
					follow(d.value)
				}
			}
		}
	}
	follow(c.object(slices.Delete(slices.Clone(members), at, at+1)))
	defs = slices.DeleteFunc(defs, func(d member) bool { return !used[d.name] })
	if members[at].value = nil; len(defs) > 0 {
		members[at].value = c.object(defs)
	}
	return c.object(members)
}

// refs returns the references in a text.
func refs(text []byte) map[string]bool {
	found := map[string]bool{}
	var add func(decode.Value)
	add = func(v decode.Value) {
		for _, item := range v.Items() {
			add(item)
		}
		for name, value := range v.Members() {
			if string(name) == "$ref" && value.Type() == "string" {
				found[string(value.Text())] = true
			}
			add(value)
		}
	}
	add(decode.Value(text))
	return found
}

func (c *fieldCutter) schema(schema []byte) []byte {
	if decode.Value(schema).Type() != "object" {
		return schema
	}
	members := c.members(schema)
	var gone []string // properties of this object
	for i, m := range members {
		kind := decode.Value(m.value).Type()
		switch {
		case m.name == FieldKeyword:
			members[i].value = nil
		case m.name == "properties" && kind == "object":
			members[i].value, gone = c.properties(m.value)
		case slices.Contains(namesOfSchemas, m.name) && kind == "object":
			all := c.members(m.value)
			for j := range all {
				all[j].value = c.schema(all[j].value)
			}
			members[i].value = c.object(all)
		case slices.Contains(keywordsOfValues, m.name):
			members[i].value = c.value(m.value)
		case kind == "object":
			members[i].value = c.schema(m.value)
		case kind == "array":
			members[i].value = c.list(m.value, c.schema)
		}
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "required" })
	if len(gone) > 0 && at >= 0 {
		var required []string
		c.read(members[at].value, &required)
		members[at].value = c.write(slices.DeleteFunc(required, func(name string) bool {
			return slices.Contains(gone, name)
		}))
	}
	return c.object(members)
}

// keywordsOfValues are the keywords whose values are not schemas.
var keywordsOfValues = []string{"default", "examples", "const", "enum"}

// properties returns the properties without hidden ones, and the names of these.
func (c *fieldCutter) properties(object []byte) (_ []byte, gone []string) {
	all := c.members(object)
	for i, p := range all {
		var field string
		if of := decode.Value(p.value).Member(FieldKeyword); of != nil {
			c.read(of, &field)
			c.fields[field] = true
		}
		if field != "" && slices.Contains(c.hidden, field) {
			all[i].value, gone = nil, append(gone, p.name)
			continue
		}
		all[i].value = c.schema(p.value)
	}
	c.names = append(c.names, gone...)
	return c.object(all), gone
}

// value removes members with the names of hidden properties from an example or a default, whatever
// object of it they are in.
func (c *fieldCutter) value(text []byte) []byte {
	switch decode.Value(text).Type() {
	case "object":
		members := c.members(text)
		for i, m := range members {
			if members[i].value = c.value(m.value); slices.Contains(c.names, m.name) {
				members[i].value = nil
			}
		}
		return c.object(members)
	case "array":
		return c.list(text, c.value)
	}
	return text
}

// list rewrites the items of a list.
func (c *fieldCutter) list(text []byte, item func([]byte) []byte) []byte {
	var items []json.RawMessage
	c.read(text, &items)
	for i := range items {
		items[i] = item(items[i])
	}
	if len(items) == 0 {
		return text
	}
	return c.write(items)
}
