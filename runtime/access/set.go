package access

import (
	"math/bits"
	"slices"
)

// Set is a set of tools of one table: the tools that a principal sees. It is immutable.
type Set struct {
	words []uint64
	of    *index // its names, by position; shared
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
	if s.of == nil {
		return false
	}
	i := s.of.find(tool)
	return i >= 0 && s.has(i)
}

// All returns the tools of the set, each with the position of its rule in the table, in the order
// of their table. For a composed table that is the order of names. It is an iterator:
// range over s.All.
func (s Set) All(yield func(position int, tool string) bool) {
	for at, w := range s.words {
		for ; w != 0; w &= w - 1 {
			i := at<<6 | bits.TrailingZeros64(w)
			if !yield(i, s.of.names[i]) {
				return
			}
		}
	}
}

// Names returns the tools of the set in the order of [Set.All]. The slice is the caller's own.
func (s Set) Names() []string {
	names := make([]string, 0, s.Len())
	for _, name := range s.All {
		names = append(names, name)
	}
	return names
}

// Equal reports whether two sets of one table have the same tools.
func (s Set) Equal(other Set) bool { return slices.Equal(s.words, other.words) }

func (s Set) has(i int) bool { return s.words[i>>6]&(1<<(i&63)) != 0 }

func (s Set) add(i int) { s.words[i>>6] |= 1 << (i & 63) }

func newSet(of *index) Set {
	return Set{words: make([]uint64, (len(of.names)+63)/64), of: of}
}

// Without returns the tools in s that are not in other, a set of the same table.
func (s Set) Without(other Set) Set {
	if s.of == nil {
		return s
	}
	left := newSet(s.of)
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
	if s.of == nil {
		return s
	}
	both := newSet(s.of)
	for i := range min(len(s.words), len(other.words)) {
		both.words[i] = s.words[i] & other.words[i]
	}
	return both
}

// Named returns the set of the tools with one of the names. It ignores names without a tool.
func (t Table) Named(names []string) Set {
	set := newSet(t.indexed())
	for _, name := range names {
		if i := set.of.find(name); i >= 0 {
			set.add(i)
		}
	}
	return set
}

// All returns the set of every tool of the table.
func (t Table) All() Set {
	set := newSet(t.indexed())
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
func (t *Table) shows(e entry, p *Principal, held uint64, server Denial) bool {
	var d Decision
	t.decide(e, p, held, &d)
	return d.shownBy(server)
}

func (t *Table) shown(p *Principal, server Denial) Set {
	held := t.mask(p)
	if t.index == nil {
		set := newSet(t.indexed())
		for name, e := range set.of.byName {
			if t.shows(e, p, held, server) && set.of.names[e.at] == name {
				set.add(int(e.at))
			}
		}
		return set
	}
	known := !p.anonymous()
	var permits *permitSet
	if t.aware {
		permits = p.Permits.of(t)
		known = known && permits != nil // otherwise public tools only
	}
	base := t.level(known, held)
	set := base.free
	if permits != nil {
		set = permits.visible(seenBy{known, held}, set)
	}
	copied := p.Bounds != nil
	if copied {
		set = t.bounded(p, set)
	}
	if base.scoped.of == nil {
		return set
	}
	for i, name := range base.scoped.All {
		if !t.shows(t.index.byName[name], p, held, server) {
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

// level returns the level of a caller: that of one role if the role comes to all that the caller
// holds, and otherwise the union of several.
func (t *Table) level(known bool, held uint64) *level {
	levels := t.index.levels
	switch {
	case !known:
		return &levels[0]
	case held == 0:
		return &levels[1]
	}
	order, last := t.order(), bits.Len64(held)-1
	if order.BelowAt(last) == held {
		return &levels[2+last]
	}
	top := held // will have the roles that are below no other one
	for left := held; left != 0; left &= left - 1 {
		top &^= order.BelowAt(bits.TrailingZeros64(left)) &^ (left & -left)
	}
	if i := bits.TrailingZeros64(top); top == 1<<i {
		return &levels[2+i]
	}
	all := &level{free: newSet(t.index)}
	for ; top != 0; top &= top - 1 {
		of := &levels[2+bits.TrailingZeros64(top)]
		all.free.addAll(of.free)
		if of.scoped.of != nil && all.scoped.of == nil {
			all.scoped = newSet(t.index)
		}
		all.scoped.addAll(of.scoped)
	}
	return all
}

func (s Set) addAll(other Set) {
	for i, w := range other.words {
		s.words[i] |= w
	}
}
