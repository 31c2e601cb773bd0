package decode

import (
	"fmt"
	"unicode/utf8"
)

// text reads a string and returns what stands between its quotes, and whether escapes are in it.
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
				return nil, false, &fault{rule: notUTF8, says: fmt.Sprintf(
					"has a byte that is not UTF-8, 0x%02x at byte %d", c, l.pos)}
			}
			l.pos += size
		}
	}
}

// plain passes over what stands for itself: most of what most documents are made of.
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

// special are the bytes in a string that do not stand for themselves alone: quotes, backslashes,
// control characters, and those of longer UTF-8.
var special = func() (table [256]bool) {
	for c := range table {
		table[c] = c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf
	}
	return
}()

// escape reads one escape sequence, a surrogate pair being one.
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
		says: fmt.Sprintf(`has half of a surrogate pair, \u%04x at byte %d`, unit, at)}
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

// simpleEscapes is what the escapes of one letter stand for.
var simpleEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescape resolves the escapes of a string that has been read and found sound.
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

// unit is the number of an escape \uXXXX.
func unit(escape []byte) rune {
	var r rune
	for _, c := range escape[2:6] {
		r = r<<4 | hexDigit(c)
	}
	return r
}
