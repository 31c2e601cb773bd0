package decode

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Canonical returns a form of a JSON document that is the same for equal documents, whatever
// their white space and the order of their members. It returns text that is not JSON unchanged.
func Canonical(doc []byte) []byte {
	if !json.Valid(doc) {
		return doc
	}
	return canonical(&lexer{doc: doc, limits: unlimited}, nil)
}

// equalItems finds two equal items in an array of n that has been read and found sound.
func equalItems(array []byte, n int) (i, j int, equal bool) {
	l := &lexer{doc: array, limits: unlimited}
	l.pos++
	if n <= fewItems {
		if i, j, equal, ok := equalTexts(*l); ok {
			return i, j, equal
		}
		return equalFew(l)
	}
	met := make(map[string]int, n)
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false
		}
		text := string(canonical(l, nil))
		if i, ok := met[text]; ok {
			return i, j, true
		}
		met[text] = j
	}
}

// fewItems is up to where comparing an item with every one before beats a map.
const fewItems = 8

// equalTexts compares a few strings without escapes. It is not ok where an item is something else.
func equalTexts(l lexer) (i, j int, equal, ok bool) {
	var items [fewItems][]byte
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false, f == nil
		}
		if kind, f := l.kind(); f != nil || kind != stringKind {
			return 0, 0, false, false
		}
		raw, escaped, f := l.text()
		if f != nil || escaped {
			return 0, 0, false, false
		}
		for i, item := range items[:j] {
			if string(item) == string(raw) {
				return i, j, true, true
			}
		}
		items[j] = raw
	}
}

func equalFew(l *lexer) (i, j int, equal bool) {
	var (
		room [256]byte
		ends [fewItems + 1]int // of the items' canonical forms, which stand one after another
	)
	forms := room[:0]
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false
		}
		forms = canonical(l, forms)
		ends[j+1] = len(forms)
		for i := range j {
			if string(forms[ends[i]:ends[i+1]]) == string(forms[ends[j]:]) {
				return i, j, true
			}
		}
	}
}

// unlimited is for text that has been read within limits before.
var unlimited = Limits{Bytes: maxInt, Depth: maxInt, Values: maxInt, Levels: maxInt, Digits: maxInt, Exponent: maxInt / 2}

const maxInt = int(^uint(0) >> 1)

// canonical appends a form of the next value that equal values have in common. The text has
// been found sound before: no fault can occur.
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
		return parseDecimal(number).append(append(to, 'n'))
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
