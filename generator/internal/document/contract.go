package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
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
	root, err := objectOf(text)
	if err != nil {
		return nil, err
	}
	lines := flatten(nil, "", root, false)
	if string(lines[0].value) == `{"type":"object","additionalProperties":false}` {
		lines = lines[1:]
	}
	return lines.text(), nil
}

// flatten appends the line of a schema and the lines of its properties.
func flatten(lines object, pointer string, schema object, required bool) object {
	at := len(lines)
	lines = append(lines, member{key: pointer})
	var line object
	if object := orNull(schema); object != nil {
		schema, line = object, append(line, member{"null", []byte("true")})
	}
	if required {
		line = append(line, member{"required", []byte("true")})
	}
	var names []string
	spread := spreads(schema)
	if spread {
		_ = json.Unmarshal(schema.find("required"), &names)
	}
	for _, m := range schema {
		inner, _ := objectOf(m.value)
		switch {
		case m.key == "properties" && spread:
			for _, p := range inner {
				property, _ := objectOf(p.value) // empty for true
				lines = flatten(lines, pointer+"/"+escape(p.key), property,
					slices.Contains(names, p.key))
			}
		case m.key == "required" && spread:
		case m.key == "required":
			line = append(line, member{"requires", m.value})
		case m.key == "items" && hasLines(inner):
			lines = flatten(lines, pointer+"/[]", inner, false)
		case m.key == "additionalProperties" && hasLines(inner):
			lines = flatten(lines, pointer+"/{}", inner, false)
		case m.key == "$defs" && pointer == "" && objects(inner):
			for _, d := range inner {
				definition, _ := objectOf(d.value)
				lines = flatten(lines, "$defs/"+escape(d.key), definition, false)
			}
		default:
			line = append(line, m)
		}
	}
	slices.SortStableFunc(line, func(a, b member) int { return rank(a.key) - rank(b.key) })
	lines[at].value = line.text()
	return lines
}

// orNull returns the schema of an object, without null, if a schema is that of an object with
// properties or null, and a description. It returns nil for any other.
func orNull(schema object) object {
	var rest object
	var alternatives []json.RawMessage
	for _, m := range schema {
		switch m.key {
		case "anyOf":
			_ = json.Unmarshal(m.value, &alternatives)
		case "description", "$defs":
			rest = append(rest, m)
		default:
			return nil
		}
	}
	if len(alternatives) != 2 || string(alternatives[1]) != `{"type":"null"}` {
		return nil
	}
	inner, _ := objectOf(alternatives[0])
	if string(inner.find("type")) != `"object"` || inner.find("properties") == nil ||
		!spreads(inner) || inner.find("description") != nil || inner.find("$defs") != nil {
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

func hasLines(schema object) bool { return spreads(schema) || orNull(schema) != nil }

// spreads reports whether the properties of a schema have lines of their own.
func spreads(schema object) bool {
	properties, err := objectOf(schema.find("properties"))
	if err != nil || !objects(properties) {
		return false
	}
	var names []string
	if list := schema.find("required"); list != nil && json.Unmarshal(list, &names) != nil {
		return false
	}
	for _, name := range names {
		if properties.find(name) == nil {
			return false
		}
	}
	return properties.find("[]") == nil && properties.find("{}") == nil
}

// objects reports whether all members are objects, or true, which is equal to the empty object.
func objects(members object) bool {
	return !slices.ContainsFunc(members, func(m member) bool {
		return m.value[0] != '{' && string(m.value) != "true"
	})
}

// escape writes a name as a token of a JSON Pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// object is a JSON object in the order of its text.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// errNoObject is the error of objectOf for all other JSON values.
var errNoObject = errors.New("not a JSON object")

// objectOf reads a JSON object.
func objectOf(text []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, cmp.Or(err, errNoObject)
	}
	o := object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	return o, nil
}

// find returns the value of a member, or nil.
func (o object) find(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text writes the object as compact JSON.
func (o object) text() []byte {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		key, _ := json.Marshal(m.key) // a string has no error
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes()
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
	var members object
	var err error
	switch text[0] {
	default:
		b.Write(text)
		return nil
	case '{':
		members, err = objectOf(text)
	case '[':
		var list []json.RawMessage
		err = json.Unmarshal(text, &list)
		for _, value := range list {
			members = append(members, member{value: value})
		}
	}
	if err != nil {
		return err
	}
	first, between, last := "", ", ", ""
	holdsObject := slices.ContainsFunc(members, func(m member) bool { return m.value[0] == '{' })
	if depth < inline && holdsObject {
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
			key, _ := json.Marshal(m.key) // a string has no error
			b.Write(key)
			b.WriteString(": ")
		}
		if err := write(b, m.value, depth); err != nil {
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
	root, err := objectOf(schema)
	if err != nil {
		return nil, err
	}
	var list []Property
	for _, line := range flatten(nil, "", root, false) {
		p := Property{Pointer: line.key}
		if err := json.Unmarshal(line.value, &p.Keywords); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
