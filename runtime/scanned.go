package runtime

import (
	"bytes"
	"encoding/json"
)

// The funcs of this file step through JSON that [decode.Members] or [decode.Scan] has accepted,
// and believe it, which costs little where a message is looked at twice.

// eachMember yields the members of an object, names unescaped, until yield says no.
func eachMember(text []byte, yield func(name, value []byte) bool) {
	for rest := unspaced(text[1:]); rest[0] != '}'; {
		n := valueLen(rest)
		name := unquoted(rest[:n])
		rest = unspaced(unspaced(rest[n:])[1:]) // the colon
		n = valueLen(rest)
		if !yield(name, rest[:n]) {
			return
		}
		rest = following(rest[n:])
	}
}

// eachItem yields the items of an array until yield says no.
func eachItem(text []byte, yield func(i int, value []byte) bool) {
	rest := unspaced(text[1:])
	for i := 0; rest[0] != ']'; i++ {
		n := valueLen(rest)
		if !yield(i, rest[:n]) {
			return
		}
		rest = following(rest[n:])
	}
}

// following steps over what stands behind an element, to the next one or to the closing bracket.
func following(rest []byte) []byte {
	rest = unspaced(rest)
	if rest[0] == ',' {
		rest = unspaced(rest[1:])
	}
	return rest
}

func unspaced(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// valueLen is how many bytes the value takes that text begins with.
func valueLen(text []byte) int {
	switch text[0] {
	case '"':
		return stringLen(text)
	case '{', '[':
		return nestedLen(text)
	}
	n := 1
	for n < len(text) && !isSpace(text[n]) && text[n] != ',' && text[n] != ']' && text[n] != '}' {
		n++
	}
	return n
}

func nestedLen(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // within a string: what it escapes ends nothing
		case c == '"':
			quoted = !quoted
		case quoted || c > '}':
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquoted is the text of a string.
func unquoted(literal []byte) []byte {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	var s string
	if err := json.Unmarshal(literal, &s); err != nil {
		return literal // it was scanned
	}
	return []byte(s)
}
