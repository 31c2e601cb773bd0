package decode

import (
	"hash/maphash"
	"math"
	"strconv"
)

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
		if !l.scanned && !names.add(name) {
			return twice(name)
		}
		if f := skip(l); f != nil {
			return f.within(string(name))
		}
	}
}

// nameSet holds the names of one object. The zero value is empty.
type nameSet struct {
	first [8][]byte // enough for most objects, without an allocation
	n     int
	few   [][]byte
	// many has the names by their hash, each in the next free place; nil is free. A map would
	// allocate for each name.
	many [][]byte
}

// manyNames is the size from which hashes are faster than comparing all names.
const manyNames = 24

// add reports whether the name was new.
func (s *nameSet) add(name []byte) bool {
	for _, known := range s.first[:min(s.n, len(s.first))] {
		if string(known) == string(name) {
			return false
		}
	}
	switch {
	case s.n < len(s.first):
		s.first[s.n] = name
	case s.many != nil:
		if 2*s.n > len(s.many) {
			s.hash(s.many, 4*len(s.many))
		}
		if !s.place(name) {
			return false
		}
	default:
		for _, known := range s.few {
			if string(known) == string(name) {
				return false
			}
		}
		if s.few = append(s.few, name); len(s.few) > manyNames {
			s.hash(s.few, 4*manyNames)
			s.few = nil
		}
	}
	s.n++
	return true
}

// hash makes many from names.
func (s *nameSet) hash(names [][]byte, size int) {
	s.many = make([][]byte, size)
	for _, name := range names {
		if name != nil {
			s.place(name)
		}
	}
}

// seed keeps clients from choosing names of one hash.
var seed = maphash.MakeSeed()

// place reports whether the name was not among many.
func (s *nameSet) place(name []byte) bool {
	size := uint64(len(s.many))
	for i := maphash.Bytes(seed, name) % size; ; i = (i + 1) % size {
		switch known := s.many[i]; {
		case known == nil:
			s.many[i] = name
			return true
		case string(known) == string(name):
			return false
		}
	}
}

// Members calls yield with the unescaped name and the text of each member of the object doc, in
// order. Both are valid as long as doc is. If doc is no object, or [Scan] refuses it, the error
// reports the problem; yield may have been called for some members before.
func Members(doc []byte, limits Limits, yield func(name, value []byte)) error {
	if f := members(doc, limits, yield); f != nil {
		return NewError([]Problem{f.problem()})
	}
	return nil
}

func members(doc []byte, limits Limits, yield func(name, value []byte)) *fault {
	l, f := newLexer(doc, limits)
	if f != nil {
		return f
	}
	kind, f := l.kind()
	if f != nil {
		return f
	}
	if kind != objectKind {
		return l.broken("an object")
	}
	if f := l.open(); f != nil {
		return f
	}
	var names nameSet
	for first := true; ; first = false {
		more, f := l.more('}', first)
		if f != nil {
			return f
		}
		if !more {
			return l.end()
		}
		name, f := l.name()
		if f != nil {
			return f
		}
		if !names.add(name) {
			return twice(name)
		}
		value, f := l.value()
		if f != nil {
			return f.within(string(name))
		}
		yield(name, value)
	}
}

// The defaults of Limits. encoding/json allows 10,000 levels and has no other limit. Arguments of
// tools need much less, and their readers (regular expressions, exact arithmetic, a tree in
// memory) multiply every byte.
const (
	DefaultBytes    = 16 << 20
	DefaultDepth    = 128
	DefaultValues   = 100_000
	DefaultLevels   = 1_000_000
	DefaultDigits   = 800
	DefaultExponent = 400
)

// Limits of a document. A zero field has its default.
type Limits struct {
	Bytes  int // size of the whole text
	Depth  int // arrays and objects within each other; a scalar alone has depth 0
	Values int // all values of the document: a tree of them needs much more memory than "[1,1,1]"
	// Levels is the sum of the depths of all values. A reader that keeps the place of each value
	// pays for them: 90,000 wrong items within 127 levels, 350 KiB of text, took a validator 310
	// MiB.
	Levels int
	Digits int // of a number before its exponent; a float64 written out has fewer than 800
	// Exponent is the largest absolute value of a written exponent. float64 ends at 308 and begins
	// at -324. Exact arithmetic on 1e999999999 would never return.
	Exponent int
}

func (l Limits) orDefaults() Limits {
	or := func(n, fallback int) int {
		if n > 0 {
			return n
		}
		return fallback
	}
	return Limits{
		Bytes: or(l.Bytes, DefaultBytes), Depth: or(l.Depth, DefaultDepth),
		Values: or(l.Values, DefaultValues), Levels: or(l.Levels, DefaultLevels),
		Digits: or(l.Digits, DefaultDigits), Exponent: or(l.Exponent, DefaultExponent),
	}
}

// unlimited is for text that was already read within limits.
var unlimited = Limits{Bytes: math.MaxInt, Depth: math.MaxInt, Values: math.MaxInt,
	Levels: math.MaxInt, Digits: math.MaxInt, Exponent: math.MaxInt / 2}
