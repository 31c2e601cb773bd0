package decode

import "strconv"

// Scan reports whether doc is one JSON text (RFC 8259) that every reader reads the same way,
// within the limits. It accepts what encoding/json accepts, except:
//
//   - invalid UTF-8, and escapes of half a surrogate pair, which encoding/json replaces
//     silently;
//   - a repeated name in an object, compared after unescaping: readers use the first, the last
//     or both;
//   - a document that exceeds the limits.
//
// The error is an *Error with the first problem and its place. Scan is safe for concurrent use.
// The names of the largest object bound its memory.
func Scan(doc []byte, limits Limits) error {
	_, err := ScanTo(doc, limits)
	return err
}

// ScanTo is [Scan], and returns how many bytes it read. The problem is in the line where it
// stopped.
func ScanTo(doc []byte, limits Limits) (int, error) {
	n, f := scan(doc, limits)
	if f != nil {
		return n, NewError([]Problem{f.problem()})
	}
	return n, nil
}

func scan(doc []byte, limits Limits) (int, *fault) {
	l, f := newLexer(doc, limits)
	if f == nil {
		f = skip(&l)
	}
	if f == nil {
		f = l.end()
	}
	return l.pos, f
}

// skip reads one value and everything in it.
func skip(l *lexer) *fault {
	kind, f := l.kind()
	if f != nil {
		return f
	}
	return skipKind(l, kind)
}

// skipKind reads the rest of a value whose kind is known.
func skipKind(l *lexer, kind kind) (f *fault) {
	switch kind {
	case stringKind:
		_, _, f = l.text()
	case numberKind:
		_, f = l.number()
	case objectKind:
		return skipObject(l)
	case arrayKind:
		return skipArray(l)
	default:
		f = l.word()
	}
	return f
}

func skipArray(l *lexer) *fault {
	if f := l.open(); f != nil {
		return f
	}
	for i := 0; ; i++ {
		more, f := l.more(']', i == 0)
		if f != nil {
			return f.within(strconv.Itoa(i))
		}
		if !more {
			return nil
		}
		if f := skip(l); f != nil {
			return f.within(strconv.Itoa(i))
		}
	}
}

func skipObject(l *lexer) *fault {
	if f := l.open(); f != nil {
		return f
	}
	var names nameSet
	for first := true; ; first = false {
		more, f := l.more('}', first)
		if f != nil || !more {
			return f
		}
		name, f := l.name()
		if f != nil {
			return f
		}
		if !names.add(name) {
			return (&fault{rule: duplicate, says: "is twice in its object"}).within(string(name))
		}
		if f := skip(l); f != nil {
			return f.within(string(name))
		}
	}
}

// nameSet holds the names of one object. The zero value is empty.
type nameSet struct {
	first [8][]byte // which most objects do not have more of, and which take no memory of their own
	n     int
	few   [][]byte
	many  map[string]struct{}
}

// manyNames is where a map beats comparing with every name before.
const manyNames = 24

// add reports whether the name was new.
func (s *nameSet) add(name []byte) bool {
	for _, known := range s.first[:s.n] {
		if string(known) == string(name) {
			return false
		}
	}
	if s.n < len(s.first) {
		s.first[s.n] = name
		s.n++
		return true
	}
	if s.many != nil {
		if _, ok := s.many[string(name)]; ok {
			return false
		}
		s.many[string(name)] = struct{}{}
		return true
	}
	for _, known := range s.few {
		if string(known) == string(name) {
			return false
		}
	}
	s.few = append(s.few, name)
	if len(s.few) > manyNames {
		s.many = make(map[string]struct{}, 4*manyNames)
		for _, known := range s.few {
			s.many[string(known)] = struct{}{}
		}
		s.few = nil
	}
	return true
}
