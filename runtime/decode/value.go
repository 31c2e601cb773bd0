package decode

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/decimal"
)

// Value is the text of one JSON value that [Scan] or [Members] has accepted, without white space
// around it. Its methods step through the text. They stop at malformed text without an error.
type Value []byte

// Type returns the type of the value as in JSON Schema, and "" for an empty Value.
func (v Value) Type() string {
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// Text returns what a string contains, and nil for any other value. It may be a part of v.
func (v Value) Text() []byte {
	if v.Type() != "string" {
		return nil
	}
	l := lexer{doc: v, limits: unlimited}
	raw, escaped, f := l.text()
	if f != nil || !escaped {
		return raw
	}
	return unescape(raw)
}

// Member returns the value of a member of an object, and nil if it has none of that name.
func (v Value) Member(name string) Value {
	for known, value := range v.Members() {
		if string(known) == name {
			return value
		}
	}
	return nil
}

// Members yields the members of an object in their order, with unescaped names. Any other value
// has none.
func (v Value) Members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) { v.each('{', '}', yield) }
}

// Items yields the items of an array in their order. Any other value has none.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		i := -1
		v.each('[', ']', func(_ []byte, item Value) bool {
			i++
			return yield(i, item)
		})
	}
}

// each yields the elements between two brackets until yield returns false. Items have no names.
func (v Value) each(opening, closing byte, yield func(name []byte, value Value) bool) {
	if len(v) == 0 || v[0] != opening {
		return
	}
	l := lexer{doc: v, pos: 1, limits: unlimited, scanned: true}
	for first := true; ; first = false {
		more, f := l.more(closing, first)
		if f != nil || !more {
			return
		}
		var name []byte
		if opening == '{' {
			if name, f = l.name(); f != nil {
				return
			}
		}
		if value, f := l.value(); f != nil || !yield(name, value) {
			return
		}
	}
}

// value reads one value and returns its text.
func (l *lexer) value() ([]byte, *fault) {
	l.space()
	from := l.pos
	f := skip(l)
	return l.doc[from:l.pos], f
}

// Canonical returns a form of a JSON document that is the same for equal documents, whatever
// their white space and the order of their members. It returns text that is not JSON unchanged.
func Canonical(doc []byte) []byte {
	if !json.Valid(doc) {
		return doc
	}
	return canonical(&lexer{doc: doc, limits: unlimited}, nil)
}

// canonical appends the same form for equal values. The text must be valid: no fault can occur.
func canonical(l *lexer, to []byte) []byte {
	kind, _ := l.kind()
	start := l.pos
	switch kind {
	case stringKind:
		raw, escaped, _ := l.text()
		if escaped {
			raw = unescape(raw)
		}
		return append(append(strconv.AppendInt(append(to, 's'), int64(len(raw)), 10), ':'), raw...)
	case numberKind:
		number, _ := l.number()
		return decimal.Parse(number).Append(append(to, 'n'))
	case arrayKind:
		_ = l.open()
		to = append(to, '[')
		for first := true; ; first = false {
			if more, f := l.more(']', first); f != nil || !more {
				return append(to, ']')
			}
			to = append(canonical(l, to), ',')
		}
	case objectKind:
		return canonicalObject(l, to)
	}
	_ = l.word()
	return append(to, l.doc[start:l.pos]...)
}

func canonicalObject(l *lexer, to []byte) []byte {
	_ = l.open()
	var members []string
	for first := true; ; first = false {
		if more, f := l.more('}', first); f != nil || !more {
			break
		}
		name, _ := l.name()
		member := append(strconv.AppendInt(nil, int64(len(name)), 10), ':')
		members = append(members, string(canonical(l, append(member, name...))))
	}
	slices.Sort(members)
	to = append(to, '{')
	for _, m := range members {
		to = append(append(to, m...), ',')
	}
	return append(to, '}')
}
