package decode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Shape is the part of a schema that [Shape.NormalizeNulls] and [Shape.Cut] need: the places of
// arrays and objects, the places where null is valid, and the properties with a guarded field.
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

	// unclear is for [Shape.Only]: which alternative an object or array has is unknown.
	unclear bool

	properties map[string]*Shape
	required   []string
	additional *Shape // of properties without a schema of their own; nil if unknown
	items      *Shape
	prefix     []*Shape

	fields []string // of Go types, for a property that a rule guards
	cut    *cutShape
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
	Ref        string                 `json:"$ref"`
	Type       json.RawMessage        `json:"type"`
	Encoding   string                 `json:"contentEncoding"`
	Enum       []json.RawMessage      `json:"enum"`
	Const      json.RawMessage        `json:"const"`
	Properties map[string]*schemaNode `json:"properties"`
	Required   []string               `json:"required"`
	Additional *schemaNode            `json:"additionalProperties"`
	Patterns   map[string]*schemaNode `json:"patternProperties"`
	Header     json.RawMessage        `json:"x-mcp-header"`
	Items      *schemaNode            `json:"items"`
	Prefix     []*schemaNode          `json:"prefixItems"`
	AnyOf      []*schemaNode          `json:"anyOf"`
	OneOf      []*schemaNode          `json:"oneOf"`
	AllOf      []*schemaNode          `json:"allOf"`
	Field      string                 `json:"x-mcpgen-field"`

	never bool   // false
	id    int    // from 1, in the order of their first use
	union *union // of AnyOf and OneOf, once it is known
}

// union is the part of alternatives that a Shape is made from.
type union struct {
	null, unsure, unclear bool
	only                  *schemaNode // the only alternative that is not null
}

// UnmarshalJSON reads an object, true or false.
func (n *schemaNode) UnmarshalJSON(raw []byte) error {
	if n.never = string(raw) == "false"; n.never || string(raw) == "true" {
		return nil
	}
	type object schemaNode
	return json.Unmarshal(raw, (*object)(n))
}

// refersOnly reports whether a schema has a reference and nothing else that concerns its shape.
func (n *schemaNode) refersOnly() bool {
	return n.Ref != "" && n.Additional == nil && n.Items == nil &&
		len(n.Type)+len(n.Enum)+len(n.Const)+len(n.Properties)+len(n.Required)+len(n.Prefix)+
			len(n.AnyOf)+len(n.OneOf)+len(n.AllOf)+len(n.Patterns)+len(n.Header)+len(n.Field) == 0
}

// inside reports whether a schema has schemas of members or items.
func (n *schemaNode) inside() bool {
	return n.Additional != nil || n.Items != nil ||
		len(n.Properties)+len(n.Patterns)+len(n.Prefix) > 0
}

// closed reports whether an object has no other properties.
func (n *schemaNode) closed() bool { return n.Additional != nil && n.Additional.never }

// severalPatterns is the schema of a property whose pattern is unknown.
var severalPatterns = &schemaNode{id: -1, union: &union{unclear: true}}

// pattern returns the schema of properties by patternProperties.
func (n *schemaNode) pattern() *schemaNode {
	if len(n.Patterns) > 1 {
		return severalPatterns
	}
	for _, sub := range n.Patterns {
		return sub
	}
	return nil
}

// ParseShape reads the shape of a schema and follows references within it. It fails if a reference
// has no target, or if the schema is not JSON.
func ParseShape(schema string) (*Shape, error) {
	p := shapeParser{
		root: json.RawMessage(schema), refs: map[string]*schemaNode{}, shapes: map[string]*Shape{},
	}
	root := []*schemaNode{p.parse(p.root)}
	s := p.shape(root)
	if strings.Contains(schema, fieldKeyword) {
		s.cut = p.cutShape(root)
	}
	return s, p.err
}

// shapeParser makes one Shape of each set of schemas that hold for the same value. The sets are
// finite, also in schemas with cycles.
type shapeParser struct {
	root   json.RawMessage
	refs   map[string]*schemaNode
	shapes map[string]*Shape // by the numbers of the schemas; also breaks cycles
	nodes  int
	err    error // the first one
}

func (p *shapeParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("output schema: "+format, args...)
	}
}

func (p *shapeParser) parse(raw json.RawMessage) *schemaNode {
	n := &schemaNode{}
	if err := json.Unmarshal(raw, n); err != nil {
		p.fail("%w", err)
	}
	return n
}

// shape returns the shape of a value for which all schemas of a list hold.
func (p *shapeParser) shape(list []*schemaNode) *Shape {
	list = slices.DeleteFunc(p.all(list), (*schemaNode).refersOnly)
	key := keyOf(list)
	if s, ok := p.shapes[key]; ok {
		return s
	}
	s := p.flat(list)
	p.shapes[key] = s
	each := func(part func(n *schemaNode) *schemaNode) *Shape {
		var parts []*schemaNode
		for _, n := range list {
			if sub := part(n); sub != nil {
				parts = append(parts, sub)
			}
		}
		if len(parts) == 0 {
			return nil
		}
		return p.shape(parts)
	}
	lacks := func(name string) bool { // the empty name is that of no property
		return slices.ContainsFunc(list, func(n *schemaNode) bool {
			return n.closed() && len(n.Patterns) == 0 && n.Properties[name] == nil
		})
	}
	for _, n := range list {
		for name := range n.Properties {
			if s.properties[name] != nil || lacks(name) {
				continue
			}
			if s.properties == nil {
				s.properties = map[string]*Shape{}
			}
			s.properties[name] = each(func(n *schemaNode) *schemaNode {
				return cmp.Or(n.Properties[name], n.pattern(), n.Additional)
			})
		}
	}
	s.additional = each(func(n *schemaNode) *schemaNode { return n.Additional })
	patterned := func(n *schemaNode) bool { return !n.closed() || len(n.Patterns) > 0 }
	if !slices.ContainsFunc(list, func(n *schemaNode) bool { return !patterned(n) }) {
		s.pattern = each((*schemaNode).pattern)
	}
	s.items = each(func(n *schemaNode) *schemaNode { return n.Items })
	for _, n := range list {
		for i := len(s.prefix); i < len(n.Prefix); i++ {
			s.prefix = append(s.prefix, each(func(n *schemaNode) *schemaNode {
				if i < len(n.Prefix) {
					return n.Prefix[i]
				}
				return n.Items
			}))
		}
	}
	return s
}

// all returns the schemas of a list, and those that hold wherever they hold, each once: targets of
// references, parts of allOf, and the only alternative that is not null.
func (p *shapeParser) all(list []*schemaNode) []*schemaNode {
	var all []*schemaNode
	add := func(more ...*schemaNode) {
		for _, n := range more {
			if n != nil && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	add(list...)
	for i := 0; i < len(all); i++ {
		n := p.number(all[i])
		if n.Ref != "" {
			add(p.follow(n.Ref))
		}
		add(n.AllOf...)
		add(p.unionOf(n).only)
	}
	return all
}

// number numbers a schema at its first use.
func (p *shapeParser) number(n *schemaNode) *schemaNode {
	if n.id == 0 {
		p.nodes++
		n.id = p.nodes
	}
	return n
}

// keyOf returns a text that is equal for equal sets of schemas.
func keyOf(list []*schemaNode) string {
	ids := make([]int, len(list))
	for i, n := range list {
		ids[i] = n.id
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

// flat returns a shape without the shapes of members and items. An empty schema, true and false do
// not change it.
func (p *shapeParser) flat(list []*schemaNode) *Shape {
	s := &Shape{}
	isNull := func(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }
	for _, n := range list {
		for _, t := range typeNames(n.Type) {
			s.typed = true
			s.types |= typeOf(t)
			s.null = s.null || t == "null"
			s.bytes = s.bytes || t == "string" && n.Encoding == "base64"
		}
		u := p.unionOf(n)
		s.null = s.null || u.null || slices.ContainsFunc(n.Enum, isNull) || isNull(n.Const)
		s.unsure, s.unclear = s.unsure || u.unsure, s.unclear || u.unclear
		s.bound = s.bound || len(n.Header) > 0
		s.closed = s.closed || n.closed()
		s.required = append(s.required, n.Required...)
		s.fields = appendNew(s.fields, n.Field)
	}
	return s
}

// unionOf returns the only alternative that is not null. Of several alternatives the one of a value
// is unknown, and only null remains.
func (p *shapeParser) unionOf(n *schemaNode) *union {
	if n.union != nil {
		return n.union
	}
	n.union = &union{} // breaks cycles
	u, others := n.union, 0
	for _, sub := range slices.Concat(n.AnyOf, n.OneOf) {
		all := p.all([]*schemaNode{sub})
		s := p.flat(all)
		if s.null {
			u.null = true
			u.unsure = u.unsure || s.unsure || s.types != 0 || !s.typed
		}
		if !s.null || s.has(arrayType|objectType) || s.bytes {
			others++
			u.only = sub
			u.unclear = u.unclear || s.unclear || s.typed || slices.ContainsFunc(all, (*schemaNode).inside)
		}
	}
	if others == 1 {
		u.unclear = false // that of the alternative holds
	} else {
		u.only = nil
	}
	return u
}

// follow resolves a reference within the schema: "#" or a JSON Pointer fragment.
func (p *shapeParser) follow(ref string) *schemaNode {
	if n, ok := p.refs[ref]; ok {
		return n
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		p.fail("$ref %q refers to another document", ref)
		return nil
	}
	raw := p.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object[step] == nil {
			p.fail("$ref %q has no target", ref)
			return nil
		}
		raw = object[step]
	}
	p.refs[ref] = p.parse(raw)
	return p.refs[ref]
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
// schema does not have. It is not ok if doc is not JSON, or has an object or array in a place where
// the schema has another type, or several alternatives.
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
	switch n.peek() {
	case '{':
		n.bad = n.bad || n.only && !s.describes(objectType)
		n.objectValue(s)
	case '[':
		n.bad = n.bad || n.only && !s.describes(arrayType)
		n.arrayValue(s)
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

// describes reports whether the members or items of a value are known, as far as a schema has them.
func (s *Shape) describes(is typeSet) bool {
	return s == nil || !s.unclear && (s.has(is) || !s.typed)
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
