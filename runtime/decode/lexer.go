package decode

import (
	"fmt"
	"unicode/utf8"
)

// lexer reads the tokens of one JSON text, strictly and without reflection. It has only what the
// readers need.
//
// A lexer is for one goroutine and one document. It keeps a reference to the text.
type lexer struct {
	doc    []byte
	pos    int
	depth  int
	values int
	levels int
	limits Limits
	// scanned is set for text that [Scan] has accepted: names are not compared again.
	scanned bool
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
	return beyond("is %d bytes long, more than the maximum %d", len(doc), limits.Bytes)
}

// beyond is the fault of text that exceeds a limit.
func beyond(format string, args ...any) *fault {
	return &fault{rule: tooLarge, message: fmt.Sprintf(format, args...)}
}

// kind skips white space and returns the kind of the next value.
func (l *lexer) kind() (kind, *fault) {
	l.space()
	if l.pos == len(l.doc) {
		return 0, l.broken("a value")
	}
	if l.values++; l.values > l.limits.Values {
		return 0, beyond("is one value more than the maximum of %d in one document", l.limits.Values)
	}
	if l.levels += l.depth; l.levels > l.limits.Levels {
		return 0, beyond("is nested too deeply for so many values: "+
			"their depths add up to more than the maximum %d", l.limits.Levels)
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

// end requires that only white space follows.
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
		return beyond("is nested deeper than the maximum of %d levels", l.limits.Depth)
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

// spaces skips white space. It is separate so that the compiler can inline space.
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

// broken is the fault of invalid JSON.
func (l *lexer) broken(want string) *fault {
	if l.pos == len(l.doc) {
		return &fault{message: fmt.Sprintf("is not JSON: the text ends where %s is expected", want)}
	}
	r, _ := utf8.DecodeRune(l.doc[l.pos:])
	return &fault{
		message: fmt.Sprintf("is not JSON: %q at byte %d where %s is expected", r, l.pos, want)}
}

// number reads a number and returns its text. The caller checks the next byte.
func (l *lexer) number() ([]byte, *fault) {
	start := l.pos
	if l.doc[l.pos] == '-' {
		l.pos++
	}
	digits := 1
	if l.pos < len(l.doc) && l.doc[l.pos] == '0' {
		l.pos++
	} else if digits = l.digits(); digits == 0 {
		return nil, l.broken("a digit")
	}
	if l.pos < len(l.doc) && l.doc[l.pos] == '.' {
		l.pos++
		n := l.digits()
		if n == 0 {
			return nil, l.broken("a digit")
		}
		digits += n
	}
	exponent := 0
	if l.pos < len(l.doc) && l.doc[l.pos]|0x20 == 'e' {
		l.pos++
		if l.pos < len(l.doc) && (l.doc[l.pos] == '+' || l.doc[l.pos] == '-') {
			l.pos++
		}
		from := l.pos
		if l.digits() == 0 {
			return nil, l.broken("a digit")
		}
		for _, c := range l.doc[from:l.pos] {
			exponent = min(exponent*10+int(c-'0'), l.limits.Exponent+1)
		}
	}
	number := l.doc[start:l.pos]
	if digits > l.limits.Digits {
		f := beyond("has %d digits, more than the maximum %d", digits, l.limits.Digits)
		f.literal = string(number)
		return nil, f
	}
	if exponent > l.limits.Exponent {
		f := beyond("has an exponent beyond %d", l.limits.Exponent)
		f.literal = string(number)
		return nil, f
	}
	return number, nil
}

// digits reads digits and returns their number.
func (l *lexer) digits() int {
	start := l.pos
	for l.pos < len(l.doc) && isDigit(l.doc[l.pos]) {
		l.pos++
	}
	return l.pos - start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// text reads a string and returns the bytes between its quotes, and whether they have escapes.
func (l *lexer) text() (raw []byte, escaped bool, f *fault) {
	l.pos++
	start := l.pos
	for {
		l.plain()
		if l.pos == len(l.doc) {
			return nil, false, l.broken(`'"'`)
		}
		switch c := l.doc[l.pos]; {
		case c == '"':
			raw = l.doc[start:l.pos]
			l.pos++
			return raw, escaped, nil
		case c == '\\':
			escaped = true
			if f := l.escape(); f != nil {
				return nil, false, f
			}
		case c < 0x20:
			return nil, false, l.broken("a string without control characters")
		default:
			r, size := utf8.DecodeRune(l.doc[l.pos:])
			if r == utf8.RuneError && size == 1 {
				return nil, false, &fault{rule: notUTF8, message: fmt.Sprintf(
					"has a byte that is not UTF-8, 0x%02x at byte %d", c, l.pos)}
			}
			l.pos += size
		}
	}
}

// plain skips bytes that are not special: most of most documents.
func (l *lexer) plain() {
	rest := l.doc[l.pos:]
	for i, c := range rest {
		if special[c] {
			l.pos += i
			return
		}
	}
	l.pos = len(l.doc)
}

// special are the bytes in a string that need a check: quotes, backslashes, control characters, and
// bytes of longer UTF-8.
var special = func() (table [256]bool) {
	for c := range table {
		table[c] = c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf
	}
	return
}()

// escape reads one escape sequence. A surrogate pair is one.
func (l *lexer) escape() *fault {
	at := l.pos
	l.pos++
	if l.pos == len(l.doc) {
		return l.broken("an escape sequence")
	}
	c := l.doc[l.pos]
	if c != 'u' {
		if simpleEscapes[c] == 0 {
			return l.broken("an escape sequence")
		}
		l.pos++
		return nil
	}
	unit, f := l.hex4()
	if f != nil {
		return f
	}
	if unit < 0xd800 || unit > 0xdfff {
		return nil
	}
	if unit < 0xdc00 && l.pos+1 < len(l.doc) && l.doc[l.pos] == '\\' && l.doc[l.pos+1] == 'u' {
		l.pos++
		second, f := l.hex4()
		if f != nil {
			return f
		}
		if second >= 0xdc00 && second <= 0xdfff {
			return nil
		}
	}
	return &fault{rule: notUTF8,
		message: fmt.Sprintf(`has half of a surrogate pair, \u%04x at byte %d`, unit, at)}
}

// hex4 reads a u and four hexadecimal digits.
func (l *lexer) hex4() (rune, *fault) {
	l.pos++
	var unit rune
	for range 4 {
		if l.pos == len(l.doc) {
			return 0, l.broken("four hexadecimal digits")
		}
		digit := hexDigit(l.doc[l.pos])
		if digit < 0 {
			return 0, l.broken("four hexadecimal digits")
		}
		unit = unit<<4 | digit
		l.pos++
	}
	return unit, nil
}

func hexDigit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// simpleEscapes maps the escapes of one letter to their characters.
var simpleEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape resolves the escapes of a valid string.
func unescape(raw []byte) []byte {
	text := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch {
		case raw[i] != '\\':
			text = append(text, raw[i])
			i++
		case raw[i+1] != 'u':
			text = append(text, simpleEscapes[raw[i+1]])
			i += 2
		default:
			r := unit(raw[i:])
			i += 6
			if 0xd800 <= r && r < 0xdc00 {
				r = 0x10000 + (r-0xd800)<<10 + unit(raw[i:]) - 0xdc00
				i += 6
			}
			text = utf8.AppendRune(text, r)
		}
	}
	return text
}

// unit returns the number of an escape \uXXXX.
func unit(escape []byte) rune {
	var r rune
	for _, c := range escape[2:6] {
		r = r<<4 | hexDigit(c)
	}
	return r
}
