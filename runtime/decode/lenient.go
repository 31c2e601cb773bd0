package decode

import (
	"math/bits"
	"slices"
)

// Lenient is an input schema with the coercions of lenient arguments. It works on the text of the
// arguments, before a decoder reads them, so that decoders stay strict and no slower.
type Lenient struct {
	shape  *Shape
	strict map[string]bool
}

// Coercions are the numbers of changes that [Lenient.Coerce] made to one document.
type Coercions struct {
	Numbers  int // strings that became numbers
	Booleans int // strings that became booleans
	Lists    int // values that became lists of one
	Nulls    int // optional properties that were null and were left out
	Unknown  int // unknown properties that were left out
}

// ParseLenient reads an input schema. The properties of the arguments in strict, and those with an
// x-mcp-header, are never changed.
func ParseLenient(schema string, strict ...string) (*Lenient, error) {
	shape, err := ParseShape(schema)
	l := &Lenient{shape: shape, strict: map[string]bool{}}
	for _, name := range strict {
		l.strict[name] = true
	}
	return l, err
}

// Coerce returns arguments with the coercions applied, where the schema refuses a value by its
// type:
//
//   - a string becomes a number or an integer, if its whole content is a JSON number (RFC 8259);
//   - "true" and "false" become booleans;
//   - a value that is neither null nor an array becomes a list of one, except within a list, and
//     except for a list of lists;
//   - an optional property that is null is left out;
//   - an unknown property is left out.
//
// A property whose field is hidden from the caller is an unknown one.
//
// Arguments that the schema accepts are returned unchanged, and so are arguments that [Scan]
// refuses: a repeated name stays an error. The schema must have one type at the place of the
// value, apart from null. Coerce does not change its argument.
func (l *Lenient) Coerce(arguments []byte, hidden []string) ([]byte, Coercions) {
	c := coercer{strict: l.strict, hidden: hidden}
	c.doc, c.limits = arguments, defaultLimits
	if tooLong(arguments, defaultLimits) != nil {
		return arguments, Coercions{}
	}
	f := c.value(l.shape, false)
	if f == nil {
		f = c.end()
	}
	if f != nil || c.done == (Coercions{}) {
		return arguments, Coercions{}
	}
	return c.text(), c.done
}

// coercer is the editor of one document's coercions.
type coercer struct {
	editor
	strict map[string]bool
	hidden []string
	done   Coercions
}

// value reads one value. listed is set for an item of a list.
func (c *coercer) value(s *Shape, listed bool) *fault {
	k, f := c.kind()
	if f != nil {
		return f
	}
	start := c.pos
	if !s.known() {
		return skipKind(&c.lexer, k)
	}
	is := typeOf(Value(c.doc[c.pos:]).Type())
	switch {
	case k == objectKind && s.has(objectType):
		return c.object(s)
	case k == arrayKind && s.has(arrayType):
		return c.list(s)
	case is == 0 || s.has(is) || bits.OnesCount8(uint8(s.types)) != 1: // null is in no set
		return skipKind(&c.lexer, k)
	case s.has(arrayType):
		if listed || len(s.prefix) > 0 || s.items != nil && s.items.has(arrayType) {
			return skipKind(&c.lexer, k)
		}
		c.replace(start, start, "[")
		c.done.Lists++
		if f := c.value(s.items, true); f != nil {
			return f
		}
		c.replace(c.pos, c.pos, "]")
		return nil
	case k != stringKind:
		return skipKind(&c.lexer, k)
	}
	raw, escaped, f := c.lexer.text()
	if f != nil {
		return f
	}
	if escaped {
		raw = unescape(raw)
	}
	switch {
	case s.has(booleanType) && (string(raw) == "true" || string(raw) == "false"):
		c.done.Booleans++
	case s.has(numberType) && isNumber(raw):
		c.done.Numbers++
	default:
		return nil
	}
	c.replace(start, c.pos, string(raw))
	return nil
}

// isNumber reports whether text is a JSON number within the limits, and nothing else.
func isNumber(text []byte) bool {
	if len(text) == 0 || text[0] != '-' && !isDigit(text[0]) {
		return false
	}
	l := lexer{doc: text, limits: defaultLimits}
	_, f := l.number()
	return f == nil && l.pos == len(text)
}

func (c *coercer) list(s *Shape) *fault {
	return c.editor.list(func(i int) *fault {
		if i < len(s.prefix) {
			return c.value(s.prefix[i], true)
		}
		return c.value(s.items, true)
	})
}

func (c *coercer) object(s *Shape) *fault {
	root := c.depth == 0
	var names nameSet
	var sub *Shape
	return c.editor.object(func(name []byte) (drop bool, f *fault) {
		if !names.add(name) {
			return false, twice(name)
		}
		own, strict := s.properties[string(name)], root && c.strict[string(name)]
		var fields []string
		if own != nil {
			fields = own.fields
		}
		if hides(c.hidden, fields) { // called for an unknown property too: a hidden one costs as much
			own, strict = nil, false
		}
		if sub = own; own == nil {
			sub = s.other()
		}
		c.space()
		switch null := c.pos < len(c.doc) && c.doc[c.pos] == 'n'; {
		case strict:
			sub = nil
		case null && own.known() && !own.null && !s.requires(name):
			c.done.Nulls++
			return true, nil
		case sub == nil && s.closed:
			c.done.Unknown++
			return true, nil
		}
		return false, nil
	}, func() *fault { return c.value(sub, false) })
}

// other returns the shape of a member without a schema of its own, or nil.
func (s *Shape) other() *Shape {
	if s.pattern != nil {
		return s.pattern
	}
	if s.closed {
		return nil
	}
	return s.additional
}

// requires reports whether a property must be present.
func (s *Shape) requires(name []byte) bool {
	return slices.ContainsFunc(s.required, func(other string) bool { return other == string(name) })
}

// known reports whether the schema lists all accepted types, so that values may be coerced.
func (s *Shape) known() bool { return s != nil && s.typed && !s.unsure && !s.bound }
