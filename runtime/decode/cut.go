package decode

import (
	"errors"
	"maps"
	"slices"
)

// fieldKeyword is the keyword of a guarded property in a schema. Its value is the name of a rule in
// access.Table.Fields.
const fieldKeyword = "x-mcpgen-field"

// cutShape is the part of a schema that [Shape.Cut] needs: the properties with a guarded field. In
// contrast to a Shape, it has those of all alternatives. It is nil for values without such
// properties.
type cutShape struct {
	fields     []string // of the property itself
	properties map[string]*cutShape
	additional *cutShape // of properties without a schema of their own, those by pattern included
	items      *cutShape
	prefix     []*cutShape
	guards     bool // there is a guarded property within
}

// cutShape returns the cutShape of a value for which some schemas of a list hold.
func (p *shapeParser) cutShape(root []*schemaNode) *cutShape {
	all := cutParser{p, map[string]*cutShape{}}
	s := all.shape(root)
	for changed := true; changed; { // guards of cycles
		changed = false
		for _, s := range all.shapes {
			if !s.guards && slices.ContainsFunc(s.parts(), func(c *cutShape) bool {
				return c != nil && (c.guards || len(c.fields) > 0)
			}) {
				s.guards, changed = true, true
			}
		}
	}
	items := []*cutShape{s}
	for _, s := range all.shapes {
		items = append(append(items, s.items), s.prefix...)
	}
	for _, s := range items {
		if s != nil && len(s.fields) > 0 {
			p.fail("%s %q belongs to a property, not to an item or a whole value",
				fieldKeyword, s.fields[0])
		}
	}
	return s
}

// parts returns the shapes of members and items, nil ones included.
func (s *cutShape) parts() []*cutShape {
	return append(append(slices.Collect(maps.Values(s.properties)), s.additional, s.items),
		s.prefix...)
}

// cutParser makes one cutShape of each set of schemas, as shapeParser does.
type cutParser struct {
	*shapeParser
	shapes map[string]*cutShape
}

func (p *cutParser) shape(list []*schemaNode) *cutShape {
	list = p.alternatives(list)
	if len(list) == 0 {
		return nil
	}
	key := keyOf(list)
	if s, ok := p.shapes[key]; ok {
		return s
	}
	s := &cutShape{properties: map[string]*cutShape{}}
	p.shapes[key] = s
	each := func(parts func(n *schemaNode) []*schemaNode) *cutShape {
		var all []*schemaNode
		for _, n := range list {
			all = append(all, parts(n)...)
		}
		return p.shape(all)
	}
	unnamed := func(n *schemaNode) []*schemaNode {
		return append(slices.Collect(maps.Values(n.Patterns)), n.Additional)
	}
	prefix := 0
	for _, n := range list {
		s.fields = appendNew(s.fields, n.Field)
		prefix = max(prefix, len(n.Prefix))
		for name := range n.Properties {
			if _, known := s.properties[name]; !known {
				s.properties[name] = each(func(n *schemaNode) []*schemaNode {
					if own := n.Properties[name]; own != nil {
						return append(slices.Collect(maps.Values(n.Patterns)), own)
					}
					return unnamed(n)
				})
			}
		}
	}
	s.additional = each(unnamed)
	s.items = each(func(n *schemaNode) []*schemaNode { return []*schemaNode{n.Items} })
	for i := range prefix {
		s.prefix = append(s.prefix, each(func(n *schemaNode) []*schemaNode {
			if i < len(n.Prefix) {
				return n.Prefix[i : i+1]
			}
			return []*schemaNode{n.Items}
		}))
	}
	return s
}

// alternatives returns the schemas of a list, and those of which some hold wherever they hold, each
// once: targets of references and all alternatives.
func (p *cutParser) alternatives(list []*schemaNode) (all []*schemaNode) {
	for i := 0; i < len(list); i++ {
		if n := list[i]; n != nil && !slices.Contains(all, n) {
			all = append(all, p.number(n))
			if n.Ref != "" {
				list = append(list, p.follow(n.Ref))
			}
			list = slices.Concat(list, n.AllOf, n.AnyOf, n.OneOf)
		}
	}
	return all
}

// appendNew appends a field that the list does not have yet, and no empty one.
func appendNew(list []string, field string) []string {
	if field == "" || slices.Contains(list, field) {
		return list
	}
	return append(list, field)
}

// Fields returns the sorted names of the guarded fields in the schema: the values of its keyword
// x-mcpgen-field. Each is the name of a rule in access.Table.Fields.
func (s *Shape) Fields() []string {
	var fields []string
	seen := map[*cutShape]bool{nil: true}
	var add func(*cutShape)
	add = func(c *cutShape) {
		if seen[c] {
			return
		}
		seen[c] = true
		fields = append(fields, c.fields...)
		for _, part := range c.parts() {
			add(part)
		}
	}
	add(s.cut)
	slices.Sort(fields)
	return slices.Compact(fields)
}

// Cut returns doc without the properties whose field is hidden from a caller. Where the schema has
// several alternatives, it leaves out a property that any of them guards. It does not change doc,
// and returns doc itself if there is nothing to leave out. A document that it cannot read is an
// error.
func (s *Shape) Cut(doc []byte, hidden []string) (out []byte, err error) {
	if s.cut == nil || len(hidden) == 0 {
		return doc, nil
	}
	c := cutter{hidden: hidden}
	c.lexer = lexer{doc: doc, limits: unlimited, scanned: true}
	c.limits.Depth = maxCutDepth
	f := c.value(s.cut)
	if f == nil {
		f = c.end()
	}
	if f != nil {
		return nil, errors.New("cannot leave out hidden fields: " + f.problem().String())
	}
	return c.text(), nil
}

// maxCutDepth is the depth that encoding/json reads. A deeper document could exhaust the stack.
const maxCutDepth = 10_000

// cutter leaves hidden properties out of one document.
type cutter struct {
	editor
	hidden []string
}

func (c *cutter) value(s *cutShape) *fault {
	k, f := c.kind()
	switch {
	case f != nil:
		return f
	case s == nil || !s.guards || k != objectKind && k != arrayKind:
		return skipKind(&c.lexer, k)
	case k == arrayKind:
		return c.list(func(i int) *fault {
			if i < len(s.prefix) {
				return c.value(s.prefix[i])
			}
			return c.value(s.items)
		})
	}
	var member *cutShape
	return c.object(func(name []byte) (drop bool, f *fault) {
		var known bool
		if member, known = s.properties[string(name)]; !known {
			member = s.additional
		}
		return member != nil && hides(c.hidden, member.fields), nil
	}, func() *fault { return c.value(member) })
}

// hides reports whether one of the fields of a property is hidden. It calls no function for each
// field: the work for a property with a hidden field is that for one without fields.
func hides(hidden, fields []string) bool {
	for _, f := range fields {
		if slices.Contains(hidden, f) {
			return true
		}
	}
	return false
}

// editor copies one document with changes. Without changes it copies nothing.
type editor struct {
	lexer
	out    []byte
	copied int // how much of doc is in out
}

// replace writes text in place of doc[from:to], behind every place that was replaced before.
func (e *editor) replace(from, to int, text string) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.doc))
	}
	e.out = append(append(e.out, e.doc[e.copied:from]...), text...)
	e.copied = to
}

// text returns the document with the changes.
func (e *editor) text() []byte {
	if e.copied == 0 {
		return e.doc
	}
	return append(e.out, e.doc[e.copied:]...)
}

// list reads the list that begins here, each item with a func.
func (e *editor) list(item func(i int) *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
	for i := 0; ; i++ {
		more, f := e.more(']', i == 0)
		if f != nil || !more {
			return f
		}
		if f := item(i); f != nil {
			return f
		}
	}
}

// object reads the object that begins here, the value of each member with a func. It leaves out the
// members that drop reports.
func (e *editor) object(drop func(name []byte) (bool, *fault), value func() *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
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
		dropped, f := drop(name)
		if f != nil {
			return f
		}
		if dropped {
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
		if f := value(); f != nil {
			return f
		}
	}
}
