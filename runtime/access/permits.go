package access

import (
	"slices"
	"sync/atomic"
)

// Permit is a host's decision about one caller and one permission. The zero Permit denies.
type Permit uint8

const (
	PermitNone        Permit = iota // the caller does not have it
	PermitConstrained               // the caller has it for some objects only
	PermitAll                       // the caller has it for all objects
)

// String is the permit in a word, for explanations.
func (p Permit) String() string {
	switch p {
	case PermitConstrained:
		return "constrained"
	case PermitAll:
		return "all objects"
	}
	return "none"
}

// Permits are the permissions of one caller on a host, compiled for the rules of one table: a few
// bits for each rule. [Table.Permits] makes them, and nothing changes them. They fit that table and
// the tables that Aware and Of make of it. For any other table they are none.
type Permits struct {
	kinds [len(kinds)]*permitSet // nil for a kind without rules
}

// permitSet holds the permits of the rules of one kind, by position. Equal words are one slice.
type permitSet struct {
	first *Rule // of those that it was compiled for
	rules int
	some  []uint64
	all   []uint64
	// usable has the rules whose permission the caller holds as the rule needs it, and the rules
	// that require no permission.
	usable []uint64
	// seen has the tools of the level of an aware table that was read last: callers with equal
	// permits usually have the same level. Every package with generated code would compile an
	// atomic.Pointer again, because it reaches the type from its table.
	seen atomic.Value // a *seen
}

type seen struct {
	by    seenBy
	tools Set
}

// seenBy is the level of a caller: that of anonymous ones, or the roles that the caller holds.
type seenBy struct {
	known bool
	held  uint64
}

// Permits compiles the permissions of one caller on a host. It calls permit once for each rule that
// requires a permission, and not after it has returned.
func (t Table) Permits(permit func(Kind, Rule) Permit) *Permits {
	p := &Permits{}
	for _, k := range kinds {
		if part := t.Of(k); len(part.Rules) > 0 {
			p.kinds[k] = part.permits(permit)
		}
	}
	return p
}

func (t *Table) permits(permit func(Kind, Rule) Permit) *permitSet {
	words := (len(t.Rules) + 63) / 64
	some, all, usable := make([]uint64, words), make([]uint64, words), make([]uint64, words)
	for i := range t.Rules {
		rule := &t.Rules[i]
		word, bit := i>>6, uint64(1)<<(i&63)
		if !rule.Permission.Required() {
			if rule.Public || t.exempt(rule) {
				usable[word] |= bit
			}
			continue
		}
		switch permit(t.kind, *rule) {
		case PermitAll:
			some[word] |= bit
			all[word] |= bit
			usable[word] |= bit
		case PermitConstrained:
			some[word] |= bit
			if rule.Constrained {
				usable[word] |= bit
			}
		}
	}
	if slices.Equal(some, all) {
		some = all
	}
	if slices.Equal(usable, all) {
		usable = all
	}
	return &permitSet{first: &t.Rules[0], rules: len(t.Rules), some: some, all: all, usable: usable}
}

// Equal reports whether two permits of one table let a caller do the same. Either may be nil, which
// equals only nil.
func (p *Permits) Equal(q *Permits) bool {
	if p == nil || q == nil {
		return p == q
	}
	for i := range p.kinds {
		a, b := p.kinds[i], q.kinds[i]
		if a != b && (a == nil || b == nil || !slices.Equal(a.some, b.some) ||
			!slices.Equal(a.all, b.all)) {
			return false
		}
	}
	return true
}

// of returns the permits for a table's rules. It returns nil if they were compiled for another
// table, or not at all.
func (p *Permits) of(t *Table) *permitSet {
	if p == nil || t.kind < Tools || t.kind > Fields {
		return nil
	}
	set := p.kinds[t.kind]
	if set == nil || set.rules != len(t.Rules) || set.first != &t.Rules[0] {
		return nil
	}
	return set
}

// permit returns the permit for the rule at a position.
func (s *permitSet) permit(i int) Permit {
	switch word, bit := i>>6, uint64(1)<<(i&63); {
	case s.all[word]&bit != 0:
		return PermitAll
	case s.some[word]&bit != 0:
		return PermitConstrained
	}
	return PermitNone
}

func (s *permitSet) use(i int) bool { return s.usable[i>>6]&(1<<(i&63)) != 0 }

// visible returns the tools of a level that the permits allow.
func (s *permitSet) visible(by seenBy, free Set) Set {
	if kept, ok := s.seen.Load().(*seen); ok && kept.by == by {
		return kept.tools
	}
	tools := free.and(s.usable)
	s.seen.Store(&seen{by, tools})
	return tools
}

// and is the set of the tools with a bit in words.
func (s Set) and(words []uint64) Set {
	s.words = slices.Clone(s.words)
	for i := range s.words {
		s.words[i] &= words[i]
	}
	return s
}

// Aware returns the same table with the permissions of its rules enforced. A rule that is not
// public then needs a permission or [NoPermission], and callers whose Permits are nil use public
// tools only.
func (t Table) Aware() Table {
	t.aware = true
	t.Values = slices.Clone(t.Values)
	tools := t.indexed()
	for i := range t.Values {
		v := &t.Values[i]
		at := tools.find(v.Tool)
		if !v.Public && !v.Permission.Required() && at >= 0 && t.Rules[at].Public {
			v.Permission = NoPermission() // its tool requires none
		}
	}
	if t.index == nil {
		return t
	}
	t.compile()
	return t
}

// IsAware reports whether the table enforces the permissions of its rules.
func (t Table) IsAware() bool { return t.aware }

// RecordedPermissions returns the names of the tools, prompts, resources, values and fields, in
// this order, whose permission the table records and does not enforce. An aware table has none.
func (t Table) RecordedPermissions() []string {
	var names []string
	for _, rule := range slices.Concat(t.Rules, t.Prompts, t.Resources, t.Values, t.Fields) {
		if !t.aware && rule.Permission.Required() {
			names = append(names, rule.Name())
		}
	}
	return names
}
