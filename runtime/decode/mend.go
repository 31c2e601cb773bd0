package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Shape is what mending needs to know of an output schema: where arrays and objects stand, and where
// null may.
//
// Go writes null for a nil slice, map or pointer; JSON Schema calls that a null and nothing
// else, and clients that validate refuse it. Mending writes what the handler meant, on the
// bytes, so that the handler's value is never touched.
type Shape struct {
	array, object, null bool
	bytes               bool // base64 text, of which the nil slice is the empty one
	typed               bool // the schema names the types a value may have
	properties          map[string]*Shape
	required            []string
	additional          *Shape // of properties that are not named; nil where nothing is known
	items               *Shape
	prefix              []*Shape
}

// schemaNode is the part of a JSON Schema (2020-12) that says shape.
type schemaNode struct {
	Ref        string                     `json:"$ref"`
	Type       json.RawMessage            `json:"type"`
	Encoding   string                     `json:"contentEncoding"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
	Prefix     []json.RawMessage          `json:"prefixItems"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
}

// ParseShape reads the shape of a schema. References are followed within the schema; an
// error says which one leads nowhere or what is not JSON.
func ParseShape(schema string) (*Shape, error) {
	p := shapeParser{root: json.RawMessage(schema), refs: map[string]*Shape{}}
	return p.parse(p.root)
}

type shapeParser struct {
	root json.RawMessage
	refs map[string]*Shape // also breaks cycles
}

func (p *shapeParser) parse(raw json.RawMessage) (*Shape, error) {
	var n schemaNode
	if json.Unmarshal(raw, &n) == nil && n.refersOnly() {
		// The target itself, not a copy: it may refer to this place again.
		return p.follow(n.Ref)
	}
	shape := &Shape{}
	return shape, p.fill(shape, raw)
}

// refersOnly reports whether a schema says nothing of a shape but where to find it.
func (n *schemaNode) refersOnly() bool {
	return n.Ref != "" && len(n.Type)+len(n.Enum)+len(n.Const)+len(n.Properties)+len(n.Required)+
		len(n.Additional)+len(n.Items)+len(n.Prefix)+len(n.AnyOf)+len(n.OneOf)+len(n.AllOf) == 0
}

// fill adds to shape what a schema says. A schema that says nothing, true or false leaves it as
// it is.
func (p *shapeParser) fill(shape *Shape, raw json.RawMessage) error {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "true" || string(trimmed) == "false" {
		return nil
	}
	var n schemaNode
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	if n.Ref != "" {
		target, err := p.follow(n.Ref)
		if err != nil {
			return err
		}
		shape.merge(target)
	}
	for _, t := range typeNames(n.Type) {
		shape.typed = true
		switch t {
		case "array":
			shape.array = true
		case "object":
			shape.object = true
		case "null":
			shape.null = true
		case "string":
			shape.bytes = shape.bytes || n.Encoding == "base64"
		}
	}
	if slices.ContainsFunc(append(n.Enum, n.Const), func(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }) {
		shape.null = true
	}
	for name, sub := range n.Properties {
		s, err := p.parse(sub)
		if err != nil {
			return err
		}
		if shape.properties == nil {
			shape.properties = map[string]*Shape{}
		}
		shape.properties[name] = s
	}
	shape.required = append(shape.required, n.Required...)
	var err error
	if len(n.Additional) > 0 {
		if shape.additional, err = p.parse(n.Additional); err != nil {
			return err
		}
	}
	if len(n.Items) > 0 {
		if shape.items, err = p.parse(n.Items); err != nil {
			return err
		}
	}
	for _, sub := range n.Prefix {
		s, err := p.parse(sub)
		if err != nil {
			return err
		}
		shape.prefix = append(shape.prefix, s)
	}
	for _, sub := range n.AllOf {
		if err := p.fill(shape, sub); err != nil {
			return err
		}
	}
	return p.fillUnion(shape, append(n.AnyOf, n.OneOf...))
}

// fillUnion takes over the one alternative that is not null. Of several, which of them the
// value follows is not known, so that only whether null may stand is taken from them.
func (p *shapeParser) fillUnion(shape *Shape, union []json.RawMessage) error {
	var others []*Shape
	for _, sub := range union {
		s, err := p.parse(sub)
		if err != nil {
			return err
		}
		if s.null {
			shape.null = true
		}
		if !s.null || s.array || s.object || s.bytes {
			others = append(others, s)
		}
	}
	if len(others) == 1 {
		null := shape.null
		shape.merge(others[0])
		shape.null = shape.null || null
	}
	return nil
}

func (s *Shape) merge(o *Shape) {
	s.array = s.array || o.array
	s.object = s.object || o.object
	s.null = s.null || o.null
	s.bytes = s.bytes || o.bytes
	s.typed = s.typed || o.typed
	if s.properties == nil {
		s.properties = o.properties
	} else {
		for name, sub := range o.properties {
			if s.properties[name] == nil {
				s.properties[name] = sub
			}
		}
	}
	s.required = append(s.required, o.required...)
	if s.additional == nil {
		s.additional = o.additional
	}
	if s.items == nil {
		s.items = o.items
	}
	if s.prefix == nil {
		s.prefix = o.prefix
	}
}

// follow resolves a reference within the schema: "#" or a JSON Pointer fragment.
func (p *shapeParser) follow(ref string) (*Shape, error) {
	if shape, ok := p.refs[ref]; ok {
		return shape, nil
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("output schema: $ref %q points out of the schema", ref)
	}
	raw := p.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object[step] == nil {
			return nil, fmt.Errorf("output schema: $ref %q leads nowhere", ref)
		}
		raw = object[step]
	}
	shape := &Shape{}
	p.refs[ref] = shape
	return shape, p.fill(shape, raw)
}

func typeNames(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many
	}
	return nil
}

// Mend returns doc with every null that its schema does not allow put right: an empty array,
// object or base64 text where the schema wants one, and nothing at all in place of a property that need
// not be there. Any other null stays. doc must be what encoding/json wrote; it is not changed, and
// where there is nothing to mend it is returned as it is.
func (s *Shape) Mend(doc []byte) []byte {
	if !bytes.Contains(doc, []byte("null")) {
		return doc
	}
	m := mender{in: doc, out: make([]byte, 0, len(doc))}
	m.value(s)
	m.space()
	if m.bad || m.pos != len(m.in) {
		return doc
	}
	return m.out
}

// mender copies one document from in to out.
type mender struct {
	in  []byte
	pos int
	out []byte
	bad bool // in is not what encoding/json writes
}

func (m *mender) value(s *Shape) {
	m.space()
	switch m.peek() {
	case '{':
		m.objectValue(s)
	case '[':
		m.arrayValue(s)
	case '"':
		m.out = append(m.out, m.stringToken()...)
	default:
		start := m.pos
		for m.pos < len(m.in) && strings.IndexByte(",]} \t\r\n", m.in[m.pos]) < 0 {
			m.pos++
		}
		m.bad = m.bad || start == m.pos
		token := m.in[start:m.pos]
		if string(token) == "null" {
			token = s.insteadOfNull()
		}
		m.out = append(m.out, token...)
	}
}

var nullToken = []byte("null")

// insteadOfNull is what stands for null. An object with required properties cannot be made up.
func (s *Shape) insteadOfNull() []byte {
	switch {
	case s == nil || s.null:
		return nullToken
	case s.array && !s.object:
		return []byte("[]")
	case s.object && !s.array && len(s.required) == 0:
		return []byte("{}")
	case s.bytes && !s.array && !s.object:
		return []byte(`""`)
	}
	return nullToken
}

func (m *mender) objectValue(s *Shape) {
	m.pos++
	m.out = append(m.out, '{')
	open := len(m.out)
	for !m.bad {
		m.space()
		if m.peek() == '}' {
			m.pos++
			break
		}
		if m.peek() == ',' {
			m.pos++
			m.space()
		}
		if m.peek() != '"' {
			m.bad = true
			return
		}
		key := m.stringToken()
		m.space()
		if m.peek() != ':' {
			m.bad = true
			return
		}
		m.pos++
		before := len(m.out)
		if before > open {
			m.out = append(m.out, ',')
		}
		m.out = append(append(m.out, key...), ':')
		start := len(m.out)
		sub, optional := s.property(key)
		m.value(sub)
		if optional && !sub.null && string(m.out[start:]) == "null" {
			m.out = m.out[:before]
		}
	}
	m.out = append(m.out, '}')
}

// property is the shape of a property, and whether it has a type and may be left out.
func (s *Shape) property(token []byte) (sub *Shape, optional bool) {
	if s == nil {
		return nil, false
	}
	name := string(token[1 : len(token)-1])
	if bytes.IndexByte(token, '\\') >= 0 && json.Unmarshal(token, &name) != nil {
		return nil, false
	}
	if sub, ok := s.properties[name]; ok {
		return sub, sub.typed && !slices.Contains(s.required, name)
	}
	return s.additional, false
}

func (m *mender) arrayValue(s *Shape) {
	m.pos++
	m.out = append(m.out, '[')
	for i := 0; !m.bad; i++ {
		m.space()
		if m.peek() == ']' {
			m.pos++
			break
		}
		if m.peek() == ',' {
			m.pos++
			m.out = append(m.out, ',')
		}
		var sub *Shape
		if s != nil {
			if sub = s.items; i < len(s.prefix) {
				sub = s.prefix[i]
			}
		}
		m.value(sub)
	}
	m.out = append(m.out, ']')
}

// stringToken consumes a string and returns it with its quotes.
func (m *mender) stringToken() []byte {
	start := m.pos
	for m.pos++; m.pos < len(m.in); m.pos++ {
		switch m.in[m.pos] {
		case '\\':
			m.pos++
		case '"':
			m.pos++
			return m.in[start:m.pos]
		}
	}
	m.bad = true
	return m.in[start:min(m.pos, len(m.in))]
}

func (m *mender) space() {
	for m.pos < len(m.in) && strings.IndexByte(" \t\r\n", m.in[m.pos]) >= 0 {
		m.pos++
	}
}

func (m *mender) peek() byte {
	if m.pos < len(m.in) {
		return m.in[m.pos]
	}
	m.bad = true
	return 0
}
