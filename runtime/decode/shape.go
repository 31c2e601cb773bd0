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

// editor copies one document with changes. Without changes it copies nothing.
type editor struct {
	lexer
	out    []byte
	copied int // how much of doc is in out
}

// replace writes text in place of doc[from:to], behind every place that was replaced before.
func (e *editor) replace(from, to int, text string) {
	e.out = append(append(e.out, e.doc[e.copied:from]...), text...)
	e.copied = to
}

// edited is the changed document.
func (e *editor) edited() []byte { return append(e.out, e.doc[e.copied:]...) }

// null reports whether the next value begins as null does.
func (e *editor) null() bool { return e.pos < len(e.doc) && e.doc[e.pos] == 'n' }

// list reads an array, each item by value with its shape.
func (e *editor) list(s *Shape, value func(*Shape) *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
	for i := 0; ; i++ {
		more, f := e.more(']', i == 0)
		if f != nil || !more {
			return f
		}
		items := s.items
		if i < len(s.prefix) {
			items = s.prefix[i]
		}
		if f := value(items); f != nil {
			return f
		}
	}
}

// object reads an object, each value by value with the shape of its member. It leaves out each
// member for which member returns a counter, and counts there.
func (e *editor) object(member func(name []byte) (sub *Shape, dropped *int),
	value func(*Shape) *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
	var names nameSet
	kept := false
	for first := true; ; first = false {
		end := e.pos // of the member before
		more, f := e.more('}', first)
		if f != nil || !more {
			return f
		}
		begin := e.pos
		name, f := e.name()
		if f != nil {
			return f
		}
		if !e.scanned && !names.add(name) {
			return twice(name)
		}
		e.space()
		sub, dropped := member(name)
		if dropped != nil {
			*dropped++
			if f := skip(&e.lexer); f != nil {
				return f
			}
			e.replace(end, e.pos, "") // with the comma before it
			continue
		}
		if !kept && !first {
			e.replace(end, begin, "") // the comma after members that were left out
		}
		kept = true
		if f := value(sub); f != nil {
			return f
		}
	}
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
	if !bytes.Contains(doc, nullToken) {
		return doc
	}
	e := editor{lexer: lexer{doc: doc, limits: unlimited, scanned: true}}
	f := e.normalize(s)
	if f == nil {
		f = e.end()
	}
	if f != nil {
		return doc
	}
	return e.edited()
}

// normalize reads one value.
func (e *editor) normalize(s *Shape) *fault {
	k, f := e.kind()
	switch {
	case f != nil:
		return f
	case k == objectKind && s != nil:
		leftOut := 0
		return e.object(func(name []byte) (sub *Shape, dropped *int) {
			sub, optional := s.property(name)
			if optional && e.null() && !sub.null && string(sub.insteadOfNull()) == "null" {
				dropped = &leftOut
			}
			return sub, dropped
		}, e.normalize)
	case k == arrayKind && s != nil:
		return e.list(s, e.normalize)
	}
	start, null := e.pos, e.null()
	f = skipKind(&e.lexer, k)
	if f == nil && null {
		e.replace(start, e.pos, string(s.insteadOfNull()))
	}
	return f
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

// property returns the shape of a property, and whether it has a type and is optional.
func (s *Shape) property(name []byte) (sub *Shape, optional bool) {
	if sub, ok := s.properties[string(name)]; ok {
		return sub, sub.typed && s.isOptional(name)
	}
	return s.additional, false
}
