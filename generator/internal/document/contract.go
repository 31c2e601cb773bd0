package document

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/ordered"
)

// A contract is a JSON Schema as the manifest holds it: an object with one member per property.
//
// The key is the property's pointer: "/filter/since", with [] for the items of an array and {} for
// the other properties of an object ("/hosts/[]/name"). Definitions are below "$defs/NAME". The
// key "" is the root, which is left out if it is only a closed object. The value has the keywords
// of the property without its own properties: type, "required": true, limits, description.
//
// An object or null has the lines of the object, and "null": true.
//
// Nothing is lost. Parts without such a form (alternatives, items that are no objects) stay in the
// value. If such a value has a list of required names, its key is "requires".
type contract json.RawMessage

// MarshalJSON returns the contract itself.
func (c contract) MarshalJSON() ([]byte, error) { return c, nil }

// contractOf returns the contract of a schema by hand, or of one that was read from a type; nil if
// there is neither.
func contractOf(written string, read *jsonschema.Schema) (contract, error) {
	text := []byte(written)
	if written == "" {
		if read == nil {
			return nil, nil
		}
		var err error
		if text, err = json.Marshal(read); err != nil {
			return nil, err
		}
	}
	root, err := ordered.Read(text)
	if err != nil {
		return nil, err
	}
	lines := flatten(nil, "", root, false)
	if string(lines[0].Value) == `{"type":"object","additionalProperties":false}` {
		lines = lines[1:]
	}
	return lines.Text(), nil
}

// flatten appends the line of a schema and the lines of its properties.
func flatten(
	lines ordered.Object, pointer string, schema ordered.Object, required bool,
) ordered.Object {
	at := len(lines)
	lines = append(lines, ordered.Member{Key: pointer})
	var line ordered.Object
	if object := orNull(schema); object != nil {
		schema, line = object, append(line, ordered.Member{Key: "null", Value: []byte("true")})
	}
	if required {
		line = append(line, ordered.Member{Key: "required", Value: []byte("true")})
	}
	var names []string
	spread := spreads(schema)
	if spread {
		_ = json.Unmarshal(schema.Find("required"), &names)
	}
	for _, m := range schema {
		inner, _ := ordered.Read(m.Value)
		switch {
		case m.Key == "properties" && spread:
			for _, p := range inner {
				property, _ := ordered.Read(p.Value) // empty for true
				lines = flatten(lines, pointer+"/"+escape(p.Key), property,
					slices.Contains(names, p.Key))
			}
		case m.Key == "required" && spread:
		case m.Key == "required":
			line = append(line, ordered.Member{Key: "requires", Value: m.Value})
		case m.Key == "items" && hasLines(inner):
			lines = flatten(lines, pointer+"/[]", inner, false)
		case m.Key == "additionalProperties" && hasLines(inner):
			lines = flatten(lines, pointer+"/{}", inner, false)
		case m.Key == "$defs" && pointer == "" && objects(inner):
			for _, d := range inner {
				definition, _ := ordered.Read(d.Value)
				lines = flatten(lines, "$defs/"+escape(d.Key), definition, false)
			}
		default:
			line = append(line, m)
		}
	}
	slices.SortStableFunc(line, func(a, b ordered.Member) int { return rank(a.Key) - rank(b.Key) })
	lines[at].Value = line.Text()
	return lines
}

// orNull returns the schema of an object, without null, if a schema is that of an object with
// properties or null, and a description. It returns nil for any other.
func orNull(schema ordered.Object) ordered.Object {
	var rest ordered.Object
	var alternatives []json.RawMessage
	for _, m := range schema {
		switch m.Key {
		case "anyOf":
			_ = json.Unmarshal(m.Value, &alternatives)
		case "description", "$defs", model.GuardKey:
			rest = append(rest, m)
		default:
			return nil
		}
	}
	if len(alternatives) != 2 || string(alternatives[1]) != `{"type":"null"}` {
		return nil
	}
	inner, _ := ordered.Read(alternatives[0])
	if string(inner.Find("type")) != `"object"` || inner.Find("properties") == nil ||
		!spreads(inner) || inner.Find("description") != nil || inner.Find("$defs") != nil {
		return nil
	}
	return append(rest, inner...)
}

// rank orders the keywords of a line: what a reviewer reads first comes first.
func rank(keyword string) int {
	switch keyword {
	case "type", "$ref":
		return 0
	case "required", "null":
		return 1
	case "description":
		return 3
	}
	return 2
}

func hasLines(schema ordered.Object) bool { return spreads(schema) || orNull(schema) != nil }

// spreads reports whether the properties of a schema have lines of their own.
func spreads(schema ordered.Object) bool {
	properties, err := ordered.Read(schema.Find("properties"))
	if err != nil || !objects(properties) {
		return false
	}
	var names []string
	if list := schema.Find("required"); list != nil && json.Unmarshal(list, &names) != nil {
		return false
	}
	for _, name := range names {
		if properties.Find(name) == nil {
			return false
		}
	}
	return properties.Find("[]") == nil && properties.Find("{}") == nil
}

// objects reports whether all members are objects, or true, which is equal to the empty object.
func objects(members ordered.Object) bool {
	return !slices.ContainsFunc(members, func(m ordered.Member) bool {
		return m.Value[0] != '{' && string(m.Value) != "true"
	})
}

// escape writes a name as a token of a JSON Pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// layout indents a manifest: to a depth of three, a list or object that holds objects has a line
// per member. All others are on one line.
func layout(manifest []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, manifest, 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// inline is a depth from which everything is on one line.
const inline = 4

func write(b *bytes.Buffer, text json.RawMessage, depth int) error {
	var members ordered.Object
	var err error
	switch text[0] {
	default:
		b.Write(text)
		return nil
	case '{':
		members, err = ordered.Read(text)
	case '[':
		var list []json.RawMessage
		err = json.Unmarshal(text, &list)
		for _, value := range list {
			members = append(members, ordered.Member{Value: value})
		}
	}
	if err != nil {
		return err
	}
	first, between, last := "", ", ", ""
	isObject := func(m ordered.Member) bool { return m.Value[0] == '{' }
	if depth < inline && slices.ContainsFunc(members, isObject) {
		first = "\n" + strings.Repeat("  ", depth+1)
		between, last = ","+first, "\n"+strings.Repeat("  ", depth)
		depth++
	} else {
		depth = inline
	}
	b.WriteByte(text[0])
	b.WriteString(first)
	for i, m := range members {
		if i > 0 {
			b.WriteString(between)
		}
		if text[0] == '{' {
			key, _ := json.Marshal(m.Key) // a string has no error
			b.Write(key)
			b.WriteString(": ")
		}
		if err := write(b, m.Value, depth); err != nil {
			return err
		}
	}
	b.WriteString(last)
	b.WriteByte(text[0] + 2) // ] and } come two after [ and {
	return nil
}

// Property is one line of a schema: what the manifest has for a property.
type Property struct {
	Pointer  string // "" is the root
	Keywords map[string]json.RawMessage
}

// Properties returns the lines of a schema, in its order, the root first.
func Properties(schema []byte) ([]Property, error) {
	root, err := ordered.Read(schema)
	if err != nil {
		return nil, err
	}
	var list []Property
	for _, line := range flatten(nil, "", root, false) {
		p := Property{Pointer: line.Key}
		if err := json.Unmarshal(line.Value, &p.Keywords); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
