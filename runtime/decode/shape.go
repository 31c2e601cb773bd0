package decode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Shape is the part of an output schema that [Shape.NormalizeNulls] needs: the places of arrays and
// objects, and the places where null is valid.
//
// encoding/json writes null for a nil slice, map or pointer. If the schema requires an array or an
// object there, clients that validate refuse the result. NormalizeNulls writes the empty value
// instead. It works on the encoded bytes and never touches the handler's value.
type Shape struct {
	types typeSet // apart from null
	null  bool
	bytes bool // base64 text; a nil slice is the empty text
	typed bool // the schema has a type

	// What only [Lenient] needs.
	closed  bool   // no other properties
	pattern *Shape // of properties by patternProperties
	bound   bool   // to an HTTP header
	unsure  bool   // alternatives have types that the fields above lack
	alone   *Shape // the alternative to null, whole also if it has cycles

	properties map[string]*Shape
	required   []string
	additional *Shape // of properties without a schema of their own; nil if unknown
	items      *Shape
	prefix     []*Shape
}

// typeSet is a set of the types of JSON Schema without null. Integers are numbers.
type typeSet uint8

const (
	textType typeSet = 1 << iota
	numberType
	booleanType
	arrayType
	objectType
)

// typeOf returns the set of one type. It is empty for null.
func typeOf(name string) typeSet {
	switch name {
	case "string":
		return textType
	case "number", "integer":
		return numberType
	case "boolean":
		return booleanType
	case "array":
		return arrayType
	case "object":
		return objectType
	}
	return 0
}

// has reports whether the schema has one of the types.
func (s *Shape) has(types typeSet) bool { return s.types&types != 0 }

// schemaNode is the part of a JSON Schema (2020-12) that a Shape is made from.
type schemaNode struct {
	Ref        string                     `json:"$ref"`
	Type       json.RawMessage            `json:"type"`
	Encoding   string                     `json:"contentEncoding"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Patterns   map[string]json.RawMessage `json:"patternProperties"`
	Header     json.RawMessage            `json:"x-mcp-header"`
	Items      json.RawMessage            `json:"items"`
	Prefix     []json.RawMessage          `json:"prefixItems"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
}

// ParseShape reads the shape of a schema and follows references within it. It fails if a reference
// has no target, or if the schema is not JSON.
func ParseShape(schema string) (*Shape, error) {
	p := shapeParser{root: json.RawMessage(schema), refs: map[string]*Shape{}}
	return p.parse(p.root), p.err
}

type shapeParser struct {
	root json.RawMessage
	refs map[string]*Shape // also breaks cycles
	err  error             // the first one
}

func (p *shapeParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("output schema: "+format, args...)
	}
}

func (p *shapeParser) parse(raw json.RawMessage) *Shape {
	var n schemaNode
	if json.Unmarshal(raw, &n) == nil && n.refersOnly() {
		// The target itself, not a copy: it may refer to this place again.
		return p.follow(n.Ref)
	}
	shape := &Shape{}
	p.fill(shape, raw)
	return shape
}

// refersOnly reports whether a schema has a reference and nothing else that concerns its shape.
func (n *schemaNode) refersOnly() bool {
	return n.Ref != "" && len(n.Type)+len(n.Enum)+len(n.Const)+len(n.Properties)+len(n.Required)+
		len(n.Additional)+len(n.Items)+len(n.Prefix)+len(n.AnyOf)+len(n.OneOf)+len(n.AllOf)+
		len(n.Patterns)+len(n.Header) == 0
}

// fill adds a schema to shape. An empty schema, true and false do not change it.
func (p *shapeParser) fill(shape *Shape, raw json.RawMessage) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "true" || string(trimmed) == "false" {
		return
	}
	var n schemaNode
	if err := json.Unmarshal(raw, &n); err != nil {
		p.fail("%w", err)
		return
	}
	if n.Ref != "" {
		shape.merge(p.follow(n.Ref))
	}
	for _, t := range typeNames(n.Type) {
		shape.typed = true
		shape.types |= typeOf(t)
		shape.null = shape.null || t == "null"
		shape.bytes = shape.bytes || t == "string" && n.Encoding == "base64"
	}
	shape.bound = shape.bound || len(n.Header) > 0
	isNull := func(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }
	if slices.ContainsFunc(append(n.Enum, n.Const), isNull) {
		shape.null = true
	}
	for name, sub := range n.Properties {
		if shape.properties == nil {
			shape.properties = map[string]*Shape{}
		}
		shape.properties[name] = p.parse(sub)
	}
	shape.required = append(shape.required, n.Required...)
	if len(n.Additional) > 0 {
		shape.additional = p.parse(n.Additional)
	}
	for _, sub := range n.Patterns {
		shape.pattern = p.parse(sub)
	}
	if len(n.Patterns) > 1 {
		shape.pattern = &Shape{} // one of them, it is unknown which
	}
	shape.closed = shape.closed || string(bytes.TrimSpace(n.Additional)) == "false"
	if len(n.Items) > 0 {
		shape.items = p.parse(n.Items)
	}
	for _, sub := range n.Prefix {
		shape.prefix = append(shape.prefix, p.parse(sub))
	}
	for _, sub := range n.AllOf {
		p.fill(shape, sub)
	}
	p.fillUnion(shape, append(n.AnyOf, n.OneOf...))
}

// fillUnion adds the only alternative that is not null. With several alternatives it adds only
// whether null is valid, because the alternative of a value is unknown.
func (p *shapeParser) fillUnion(shape *Shape, union []json.RawMessage) {
	var others []*Shape
	for _, sub := range union {
		s := p.parse(sub)
		if s.null {
			shape.null = true
			shape.unsure = shape.unsure || s.unsure || s.types != 0 || !s.typed
		}
		if !s.null || s.has(arrayType|objectType) || s.bytes {
			others = append(others, s)
		}
	}
	if len(others) == 1 {
		null := shape.null
		if !shape.typed && shape.properties == nil && !shape.bound {
			shape.alone = others[0]
		}
		shape.merge(others[0])
		shape.null = shape.null || null
	}
}

func (s *Shape) merge(o *Shape) {
	s.types |= o.types
	s.null = s.null || o.null
	s.bytes = s.bytes || o.bytes
	s.typed = s.typed || o.typed
	s.closed, s.bound, s.unsure = s.closed || o.closed, s.bound || o.bound, s.unsure || o.unsure
	s.pattern = cmp.Or(s.pattern, o.pattern)
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
	s.additional, s.items = cmp.Or(s.additional, o.additional), cmp.Or(s.items, o.items)
	if s.prefix == nil {
		s.prefix = o.prefix
	}
}

// follow resolves a reference within the schema: "#" or a JSON Pointer fragment.
func (p *shapeParser) follow(ref string) *Shape {
	if shape, ok := p.refs[ref]; ok {
		return shape
	}
	shape := &Shape{}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		p.fail("$ref %q refers to another document", ref)
		return shape
	}
	raw := p.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object[step] == nil {
			p.fail("$ref %q has no target", ref)
			return shape
		}
		raw = object[step]
	}
	p.refs[ref] = shape
	p.fill(shape, raw)
	return shape
}

// typeNames reads one name or a list.
func typeNames(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}

// NormalizeNulls returns doc with each null that the schema does not allow replaced by an empty
// array, object or base64 text, as the schema requires. It leaves out an optional property whose
// value would be such a null, and keeps every other null. doc must be the output of encoding/json.
// NormalizeNulls does not change doc, and returns doc itself if it has no null or is not JSON.
func (s *Shape) NormalizeNulls(doc []byte) []byte {
	if !bytes.Contains(doc, []byte("null")) {
		return doc
	}
	if out, ok := s.normalize(doc, false); ok {
		return out
	}
	return doc
}

// Only returns doc as NormalizeNulls does, without the properties that a closed object of the
// schema does not have. It is not ok if doc is not JSON.
func (s *Shape) Only(doc []byte) (out []byte, ok bool) { return s.normalize(doc, true) }

func (s *Shape) normalize(doc []byte, only bool) (out []byte, ok bool) {
	n := normalizer{in: doc, out: make([]byte, 0, len(doc)), only: only}
	n.value(s)
	n.space()
	return n.out, !n.bad && n.pos == len(n.in)
}

// normalizer copies one document from in to out.
type normalizer struct {
	in  []byte
	pos int
	out []byte
	bad bool // in is not the output of encoding/json
	// only leaves out properties that a closed object does not have.
	only bool
}

func (n *normalizer) value(s *Shape) {
	n.space()
	whole := s
	if s != nil && s.alone != nil && !s.unsure {
		whole = s.alone
	}
	switch n.peek() {
	case '{':
		n.objectValue(whole)
	case '[':
		n.arrayValue(whole)
	case '"':
		n.out = append(n.out, n.stringToken()...)
	default:
		start := n.pos
		for n.pos < len(n.in) && strings.IndexByte(",]} \t\r\n", n.in[n.pos]) < 0 {
			n.pos++
		}
		n.bad = n.bad || start == n.pos
		token := n.in[start:n.pos]
		if string(token) == "null" {
			token = s.insteadOfNull()
		}
		n.out = append(n.out, token...)
	}
}

var nullToken = []byte("null")

// insteadOfNull returns the replacement of a null. There is none for an object with required
// properties.
func (s *Shape) insteadOfNull() []byte {
	if s == nil || s.null {
		return nullToken
	}
	switch composite := s.types & (arrayType | objectType); {
	case composite == arrayType:
		return []byte("[]")
	case composite == objectType && len(s.required) == 0:
		return []byte("{}")
	case composite == 0 && s.bytes:
		return []byte(`""`)
	}
	return nullToken
}

func (n *normalizer) objectValue(s *Shape) {
	n.pos++
	n.out = append(n.out, '{')
	open := len(n.out)
	for !n.bad {
		n.space()
		if n.peek() == '}' {
			n.pos++
			break
		}
		if n.peek() == ',' {
			n.pos++
			n.space()
		}
		if n.peek() != '"' {
			n.bad = true
			return
		}
		key := n.stringToken()
		n.space()
		if n.peek() != ':' {
			n.bad = true
			return
		}
		n.pos++
		before := len(n.out)
		if before > open {
			n.out = append(n.out, ',')
		}
		n.out = append(append(n.out, key...), ':')
		start := len(n.out)
		sub, optional := s.property(key)
		n.value(sub)
		if optional && !sub.null && string(n.out[start:]) == "null" ||
			n.only && s != nil && s.closed && sub == nil {
			n.out = n.out[:before]
		}
	}
	n.out = append(n.out, '}')
}

// property returns the shape of a property, and whether it has a type and is optional.
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
	if s.closed {
		return s.pattern, false
	}
	return s.additional, false
}

func (n *normalizer) arrayValue(s *Shape) {
	n.pos++
	n.out = append(n.out, '[')
	for i := 0; !n.bad; i++ {
		n.space()
		if n.peek() == ']' {
			n.pos++
			break
		}
		if n.peek() == ',' {
			n.pos++
			n.out = append(n.out, ',')
		}
		var sub *Shape
		if s != nil {
			if sub = s.items; i < len(s.prefix) {
				sub = s.prefix[i]
			}
		}
		n.value(sub)
	}
	n.out = append(n.out, ']')
}

// stringToken consumes a string and returns it with its quotes.
func (n *normalizer) stringToken() []byte {
	start := n.pos
	for n.pos++; n.pos < len(n.in); n.pos++ {
		switch n.in[n.pos] {
		case '\\':
			n.pos++
		case '"':
			n.pos++
			return n.in[start:n.pos]
		}
	}
	n.bad = true
	return n.in[start:min(n.pos, len(n.in))]
}

func (n *normalizer) space() {
	for n.pos < len(n.in) && strings.IndexByte(" \t\r\n", n.in[n.pos]) >= 0 {
		n.pos++
	}
}

func (n *normalizer) peek() byte {
	if n.pos < len(n.in) {
		return n.in[n.pos]
	}
	n.bad = true
	return 0
}
