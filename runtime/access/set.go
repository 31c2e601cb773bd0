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

// Key identifies a set among those of one table; equal sets have equal keys.
func (s Set) Key() string {
	key := make([]byte, 0, 8*len(s.words))
	for _, w := range s.words {
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(w>>shift))
		}
	}
	return string(key)
}

// Digest depends only on the names in the set: it is the same on every replica, and reveals nothing
// about other names.
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

// Without returns the tools in s that are not in other, a set of the same table.
func (s Set) Without(other Set) Set {
	left := newSet(s.names)
	for i, w := range s.words {
		left.words[i] = w
		if i < len(other.words) {
			left.words[i] &^= other.words[i]
		}
	}
	return left
}

// And returns the tools in both sets, which are of one table.
func (s Set) And(other Set) Set {
	both := newSet(s.names)
	for i := range min(len(s.words), len(other.words)) {
		both.words[i] = s.words[i] & other.words[i]
	}
	return both
}

// Named returns the set of the tools with one of the names. It ignores names without a tool.
func (t Table) Named(names []string) Set {
	set := newSet(t.ruleNames())
	for _, name := range names {
		if i := t.find(name); i >= 0 {
			set.add(i)
		}
	}
	return set
}

// All returns the set of every tool of the table.
func (t Table) All() Set {
	set := newSet(t.ruleNames())
	for i := range t.Rules {
		set.add(i)
	}
	return set
}

// Visible returns the tools that a principal may use: exactly those that Decide allows. On an
// aware table it is kept with the principal's Permits for each role.
func (t Table) Visible(p Principal) Set {
	return t.shown(&p, visibleOnly)
}

// Listed returns the tools that a principal sees if server is the denial of rules without one: the
// visible ones, and those that are refused by a [Challenge] for scopes alone.
func (t Table) Listed(p Principal, server Denial) Set {
	return t.shown(&p, server)
}

// visibleOnly is no denial: refused tools are hidden.
const visibleOnly Denial = -1

// shownBy reports whether a caller sees the tool that the decision is about.
func (d Decision) shownBy(server Denial) bool {
	return d.Allowed || server != visibleOnly && d.denial(server) == Challenge && d.LacksScopesOnly()
}

// denial is the form of the refusal. server is that of rules without one.
func (d Decision) denial(server Denial) Denial {
	if d.Denial == DenialDefault {
		return server
	}
	return d.Denial
}

// shows reports whether a caller sees the tool of a rule.
func (t *Table) shows(e entry, p *Principal, rank Role, server Denial) bool {
	var d Decision
	t.decide(e, p, rank, &d)
	return d.shownBy(server)
}

func (t *Table) shown(p *Principal, server Denial) Set {
	rank := t.rank(p.Role)
	if t.index == nil {
		set := newSet(t.ruleNames())
		for i := range t.Rules {
			if t.find(t.Rules[i].Name()) == i && t.shows(t.entry(i), p, rank, server) {
				set.add(i)
			}
		}
		return set
	}
	level := 0
	if !p.anonymous() {
		level = 1 + int(rank)
	}
	var held *permitSet
	if t.aware && level > 0 {
		if held = p.Permits.of(t); held == nil {
			level = 0 // public tools only
		}
	}
	base := t.index.levels[level]
	set := base.free
	if held != nil {
		set = held.seen(level, set)
	}
	copied := false
	for _, i := range base.scoped {
		if !t.shows(t.index.byName[t.index.names[i]], p, rank, server) {
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
