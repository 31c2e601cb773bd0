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
	kinds [4]permitSet
}

// permitSet holds the permits of the rules of one kind, by position.
type permitSet struct {
	rules  []Rule // those that it was compiled for
	some   []uint64
	all    []uint64
	usable []uint64 // held as the rule needs it, and rules that require none
	// visible are the tools that are visible at each level of an aware table, a Set made at its
	// first use. An atomic.Pointer would be compiled anew in every package with generated code,
	// which reaches it from its table.
	visible []atomic.Value
}

// Permits compiles the permissions of one caller on a host. It calls permit once for each rule that
// requires a permission, and not after it has returned.
func (t Table) Permits(permit func(Kind, Rule) Permit) *Permits {
	p := &Permits{}
	for _, k := range []Kind{Tools, Prompts, Resources, Values} {
		part := t.Of(k)
		words := (len(part.Rules) + 63) / 64
		set := permitSet{
			rules: part.Rules, some: make([]uint64, words), all: make([]uint64, words),
			usable:  make([]uint64, words),
			visible: make([]atomic.Value, len(part.Hierarchy())+2),
		}
		for i := range part.Rules {
			rule := &part.Rules[i]
			word, bit := i>>6, uint64(1)<<(i&63)
			if !rule.Permission.Required() {
				if rule.Public || rule.Permission == NoPermission() {
					set.usable[word] |= bit
				}
				continue
			}
			switch permit(k, *rule) {
			case PermitAll:
				set.some[word] |= bit
				set.all[word] |= bit
				set.usable[word] |= bit
			case PermitConstrained:
				set.some[word] |= bit
				if rule.Constrained {
					set.usable[word] |= bit
				}
			}
		}
		p.kinds[k] = set
	}
	return p
}

// Equal reports whether two permits of one table let a caller do the same. Either may be nil, which
// equals only nil.
func (p *Permits) Equal(q *Permits) bool {
	if p == nil || q == nil {
		return p == q
	}
	for i := range p.kinds {
		a, b := &p.kinds[i], &q.kinds[i]
		if !slices.Equal(a.some, b.some) || !slices.Equal(a.all, b.all) {
			return false
		}
	}
	return true
}

// of returns the permits for a table's rules. It returns nil if they were compiled for another
// table, or not at all.
func (p *Permits) of(t *Table) *permitSet {
	if p == nil || t.kind < Tools || t.kind > Values {
		return nil
	}
	set := &p.kinds[t.kind]
	if len(set.rules) != len(t.Rules) || len(t.Rules) > 0 && &set.rules[0] != &t.Rules[0] {
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

// seen returns the tools of a level that the permits allow. Callers of one level share it.
func (s *permitSet) seen(level int, free Set) Set {
	if level >= len(s.visible) {
		return free.and(s.usable)
	}
	if set, made := s.visible[level].Load().(Set); made {
		return set
	}
	set := free.and(s.usable)
	s.visible[level].Store(set)
	return set
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
	for i := range t.Values {
		v := &t.Values[i]
		public := func(tool Rule) bool { return tool.Tool == v.Tool && tool.Public }
		if !v.Public && !v.Permission.Required() && slices.ContainsFunc(t.Rules, public) {
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

// RecordedPermissions returns the names of the tools, prompts and resources, in this order, whose
// permission the table records and does not enforce. An aware table has none.
func (t Table) RecordedPermissions() []string {
	var names []string
	for _, k := range []Kind{Tools, Prompts, Resources} {
		for _, rule := range t.Of(k).Rules {
			if !t.aware && rule.Permission.Required() {
				names = append(names, rule.Name())
			}
		}
	}
	return names
}
