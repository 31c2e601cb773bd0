package decode

import (
	"fmt"
	"unicode/utf8"
)

// lexer reads the tokens of one JSON text, strictly and without reflection. It is no general
// JSON library: it has what readers of known shapes need, in the order they need it.
//
// A lexer is for one goroutine and one document; it keeps a reference to the text.
type lexer struct {
	doc    []byte
	pos    int
	depth  int
	values int
	levels int
	limits Limits
}

type kind byte

const (
	literalKind kind = iota // null, true, false
	numberKind
	stringKind
	arrayKind
	objectKind
)

// newLexer returns a lexer at the start of doc, or the fault of a document that is too large.
func newLexer(doc []byte, limits Limits) (lexer, *fault) {
	limits = limits.orDefaults()
	if f := tooLong(doc, limits); f != nil {
		return lexer{}, f
	}
	return lexer{doc: doc, limits: limits}, nil
}

// tooLong is the fault of a document that is too large, or nil.
func tooLong(doc []byte, limits Limits) *fault {
	if len(doc) <= limits.Bytes {
		return nil
	}
	return &fault{rule: tooLarge, says: fmt.Sprintf("is %d bytes long, more than the maximum %d", len(doc), limits.Bytes)}
}

// kind skips white space and says what kind of value begins.
func (l *lexer) kind() (kind, *fault) {
	l.space()
	if l.pos == len(l.doc) {
		return 0, l.broken("a value")
	}
	if l.values++; l.values > l.limits.Values {
		return 0, &fault{rule: tooLarge, says: fmt.Sprintf("is one value more than the maximum of %d in one document", l.limits.Values)}
	}
	if l.levels += l.depth; l.levels > l.limits.Levels {
		return 0, &fault{rule: tooLarge, says: fmt.Sprintf("is nested too deeply for so many values: their depths add up to more than the maximum %d", l.limits.Levels)}
	}
	switch c := l.doc[l.pos]; {
	case c == '"':
		return stringKind, nil
	case c == '{':
		return objectKind, nil
	case c == '[':
		return arrayKind, nil
	case c == '-' || isDigit(c):
		return numberKind, nil
	case c == 'n' || c == 't' || c == 'f':
		return literalKind, nil
	}
	return 0, l.broken("a value")
}

// end makes sure that nothing but white space follows.
func (l *lexer) end() *fault {
	l.space()
	if l.pos < len(l.doc) {
		return l.broken("the end")
	}
	return nil
}

// open enters the array or object that begins here.
func (l *lexer) open() *fault {
	if l.depth++; l.depth > l.limits.Depth {
		return &fault{rule: tooLarge, says: fmt.Sprintf("is nested deeper than the maximum of %d levels", l.limits.Depth)}
	}
	l.pos++
	return nil
}

// more reports whether the open array or object has a next element, and steps to it; at
// the closing bracket it leaves the array or object.
func (l *lexer) more(closing byte, first bool) (bool, *fault) {
	l.space()
	if l.pos < len(l.doc) {
		switch c := l.doc[l.pos]; {
		case c == closing:
			l.pos++
			l.depth--
			return false, nil
		case first:
			return true, nil
		case c == ',':
			l.pos++
			return true, nil
		}
	}
	if first {
		return false, l.broken(fmt.Sprintf("a first element or %q", closing))
	}
	return false, l.broken(fmt.Sprintf("',' or %q", closing))
}

// name reads a property's name and the colon. The name is unescaped and is valid as long as doc.
func (l *lexer) name() ([]byte, *fault) {
	l.space()
	if l.pos == len(l.doc) || l.doc[l.pos] != '"' {
		return nil, l.broken("a name in quotes")
	}
	raw, escaped, f := l.text()
	if f != nil {
		return nil, f
	}
	if escaped {
		raw = unescape(raw)
	}
	l.space()
	if l.pos == len(l.doc) || l.doc[l.pos] != ':' {
		return nil, l.broken("':'").within(string(raw))
	}
	l.pos++
	return raw, nil
}

// word reads null, true or false.
func (l *lexer) word() *fault {
	word := "null"
	switch l.doc[l.pos] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	for i := range len(word) {
		if l.pos == len(l.doc) || l.doc[l.pos] != word[i] {
			return l.broken(word)
		}
		l.pos++
	}
	return nil
}

func (l *lexer) space() {
	if l.pos < len(l.doc) && l.doc[l.pos] <= ' ' {
		l.spaces()
	}
}

// spaces is space where there may be some: apart from it, so that it costs nothing if there is
// none.
func (l *lexer) spaces() {
	for l.pos < len(l.doc) {
		switch l.doc[l.pos] {
		case ' ', '\t', '\r', '\n':
			l.pos++
		default:
			return
		}
	}
}

// broken is the fault of text that is no JSON here.
func (l *lexer) broken(want string) *fault {
	if l.pos == len(l.doc) {
		return &fault{says: fmt.Sprintf("is not JSON: the text ends where %s is expected", want)}
	}
	r, _ := utf8.DecodeRune(l.doc[l.pos:])
	return &fault{says: fmt.Sprintf("is not JSON: %q at byte %d where %s is expected", r, l.pos, want)}
}
