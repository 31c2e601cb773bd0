package uritemplate

import (
	"slices"
	"strings"
)

// scanner decides whether a template matches a text, in a time that depends on the length of the
// text alone: a pattern that stops at the first character that does not fit would reveal by time
// that a template exists whose beginning fits. It is the automaton of positions (Glushkov), whose
// states are bits; bit 0 is the beginning.
type scanner struct {
	begin string   // literal text, which has no positions
	words int      // of a set of positions
	reads []uint64 // the positions that read a byte, by byte
	shift []uint64 // the positions that only the next position follows
	jumps []jump   // the other positions
	last  []uint64 // the positions at which the template ends
}

// jump has what follows each of some positions.
type jump struct{ from, to []uint64 }

func newScanner(atoms []atom) *scanner {
	variable := slices.IndexFunc(atoms, func(a atom) bool { return a.name != "" })
	if variable < 0 {
		variable = len(atoms)
	}
	begin, atoms := atoms[:variable], atoms[variable:]
	reads, follow, exits := positionsOf(atoms)
	s := &scanner{words: (len(reads) + 63) / 64}
	for _, a := range begin {
		s.begin += string([]byte{a.literal})
	}
	set := func() []uint64 { return make([]uint64, s.words) }
	add := func(to []uint64, i int) { to[i/64] |= 1 << (i % 64) }
	s.reads, s.shift, s.last = make([]uint64, 256*s.words), set(), set()
	for i, bytes := range reads {
		for _, c := range []byte(bytes) {
			add(s.reads[int(c)*s.words:(int(c)+1)*s.words], i)
		}
	}
	for _, exit := range exits {
		add(s.last, exit)
	}
	for i, next := range follow {
		if len(next) == 1 && next[0] == i+1 {
			add(s.shift, i)
			continue
		}
		j := jump{set(), set()}
		for _, n := range next {
			add(j.to, n)
		}
		same := func(k jump) bool { return slices.Equal(j.to, k.to) }
		if at := slices.IndexFunc(s.jumps, same); at >= 0 {
			j = s.jumps[at]
		} else if len(next) > 0 {
			s.jumps = append(s.jumps, j)
		}
		add(j.from, i)
	}
	return s
}

// positionsOf returns the automaton of atoms: the bytes that each position reads, the positions
// that follow it, and the positions at which the atoms end. Position 0 is the beginning.
func positionsOf(atoms []atom) (reads []string, follow [][]int, exits []int) {
	reads, follow, exits = []string{""}, [][]int{nil}, []int{0}
	for _, a := range atoms {
		base, positions := len(reads), a.positions()
		for i, p := range positions {
			reads, follow = append(reads, p.bytes), append(follow, nil)
			for _, next := range p.next {
				follow[base+i] = append(follow[base+i], base+next)
			}
			if p.first {
				for _, exit := range exits {
					follow[exit] = append(follow[exit], base+i)
				}
			}
		}
		exits = nil
		for i, p := range positions {
			if p.last {
				exits = append(exits, base+i)
			}
		}
	}
	return reads, follow, exits
}

// matches reads the whole text, also if nothing can match any more, and does not branch on it.
func (s *scanner) matches(text string) bool {
	rest := text[min(len(s.begin), len(text)):]
	found := s.ends(rest)
	return strings.HasPrefix(text, s.begin) && found
}

// ends reports whether a text matches the template behind its literal beginning.
func (s *scanner) ends(text string) bool {
	if s.words == 1 {
		return s.endsShort(text)
	}
	state, next := make([]uint64, s.words), make([]uint64, s.words)
	state[0] = 1
	for i := range len(text) {
		var carry uint64
		for w, bits := range state {
			bits &= s.shift[w]
			next[w], carry = bits<<1|carry, bits>>63
		}
		for _, j := range s.jumps {
			var some uint64
			for w, bits := range j.from {
				some |= state[w] & bits
			}
			some = -((some | -some) >> 63) // all bits, or none
			for w, bits := range j.to {
				next[w] |= bits & some
			}
		}
		reads := s.reads[int(text[i])*s.words:][:s.words]
		for w := range next {
			next[w] &= reads[w]
		}
		state, next = next, state
	}
	var found uint64
	for w, bits := range s.last {
		found |= state[w] & bits
	}
	return found != 0
}

// endsShort is ends for a template whose positions have one word.
func (s *scanner) endsShort(text string) bool {
	type short struct{ from, to uint64 }
	var few [8]short
	jumps := few[:0]
	for _, j := range s.jumps {
		jumps = append(jumps, short{j.from[0], j.to[0]})
	}
	reads, shift, state := (*[256]uint64)(s.reads), s.shift[0], uint64(1)
	for i := range len(text) {
		next := (state & shift) << 1
		for _, j := range jumps {
			some := state & j.from
			next |= j.to & -((some | -some) >> 63)
		}
		state = next & reads[text[i]]
	}
	return state&s.last[0] != 0
}

// position is one position of an atom, which reads one byte.
type position struct {
	bytes       string
	first, last bool
	next        []int // positions of the same atom that may follow
}

const (
	digits     = "0123456789"
	hexDigits  = digits + "abcdefABCDEF"
	plainText  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits + "-._~"
	delimiters = ":/?#[]@!$&'()*+,;="
)

func (a atom) positions() []position {
	switch {
	case a.name == "":
		return []position{{string([]byte{a.literal}), true, true, nil}}
	case a.kind == Integer:
		return []position{{"-", true, false, []int{1, 2}}, {"0", true, true, nil},
			{digits[1:], true, true, []int{3}}, {digits, false, true, []int{3}}}
	case a.kind == Boolean:
		return append(word("true", 0), word("false", 4)...)
	}
	text := plainText
	if a.reserved {
		text += delimiters
	}
	return []position{{text, true, true, []int{0, 1}}, {"%", true, false, []int{2}},
		{hexDigits, false, false, []int{3}}, {hexDigits, false, true, []int{0, 1}}}
}

// word returns the positions of a word, of which the first has a number.
func word(text string, number int) (list []position) {
	for i := range len(text) {
		p := position{text[i : i+1], i == 0, i == len(text)-1, nil}
		if !p.last {
			p.next = []int{number + i + 1}
		}
		list = append(list, p)
	}
	return list
}
