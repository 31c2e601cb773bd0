package access

import (
	"crypto/sha256"
	"math/bits"
	"slices"
)

// Set is a set of tools of one table: the tools that a principal sees. It is immutable.
type Set struct {
	words []uint64
	names []string // of the table, by position; shared
}

// Len is the number of tools in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Contains reports whether a tool is in the set.
func (s Set) Contains(tool string) bool {
	for i, name := range s.names {
		if name == tool && s.has(i) {
			return true
		}
	}
	return false
}

// Names returns the tools of the set in the order of their table, which for a composed table
// is the order of names. The slice is the caller's own.
func (s Set) Names() []string {
	names := make([]string, 0, s.Len())
	for i, name := range s.names {
		if s.has(i) {
			names = append(names, name)
		}
	}
	return names
}

// Key tells sets of one table apart; equal sets have equal keys.
func (s Set) Key() string {
	key := make([]byte, 0, 8*len(s.words))
	for _, w := range s.words {
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(w>>shift))
		}
	}
	return string(key)
}

// Digest depends on the names in the set and on nothing else: it says the same on every
// replica and tells nothing of what is not in the set.
func (s Set) Digest() [sha256.Size]byte {
	h := sha256.New()
	for i, name := range s.names {
		if s.has(i) {
			h.Write([]byte(name))
			h.Write([]byte{0}) // no tool name contains NUL, so that ["ab"] and ["a","b"] differ
		}
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

func (s Set) has(i int) bool { return s.words[i>>6]&(1<<(i&63)) != 0 }

func (s Set) add(i int) { s.words[i>>6] |= 1 << (i & 63) }

func newSet(names []string) Set {
	return Set{words: make([]uint64, (len(names)+63)/64), names: names}
}

// All returns the set of every tool of the table.
func (t Table) All() Set {
	set := newSet(t.ruleNames())
	for i := range t.Rules {
		set.add(i)
	}
	return set
}

// Visible returns the tools that a principal may use: exactly those that Decide allows.
func (t Table) Visible(p Principal) Set {
	rank := t.Rank(p.Role)
	if t.index == nil {
		set := newSet(t.ruleNames())
		for i := range t.Rules {
			if t.find(t.Rules[i].Name()) == i && t.decide(&t.Rules[i], &p, rank).Allowed {
				set.add(i)
			}
		}
		return set
	}
	level := 0
	if !p.Anonymous() {
		level = 1 + int(rank)
	}
	base := t.index.levels[level]
	if len(base.scoped) == 0 || len(p.Scopes) == 0 {
		return base.free
	}
	set := base.free
	copied := false
	for _, i := range base.scoped {
		if !t.decide(&t.Rules[i], &p, rank).Allowed {
			continue
		}
		if !copied {
			set.words = slices.Clone(set.words)
			copied = true
		}
		set.add(i)
	}
	return set
}

func (t *Table) ruleNames() []string {
	if t.index != nil {
		return t.index.names
	}
	names := make([]string, len(t.Rules))
	for i := range t.Rules {
		names[i] = t.Rules[i].Name()
	}
	return names
}
