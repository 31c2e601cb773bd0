package access

import (
	"math"
	"slices"
)

// entry is the part of a rule that a decision reads, stored next to its name: reading the large
// rule itself takes longer than the rest of a decision.
type entry struct {
	at     int32  // the rule's position
	need   uint64 // one of these roles, where ranked
	denial int32
	is     trait
	// of is the position of the rule of a value's tool, whose roles, base, are needed too; or -1.
	of   int32
	base uint64
	// The rules of the values of the tool's arguments are within this range of Table.Values.
	from, to int32
}

type trait uint8

const (
	public trait = 1 << iota
	enforced
	scoped // it has scopes
	needsPermission
	ranked // it has roles
)

// entry compiles the rule at a position, without the range of its values.
func (t *Table) entry(i int) entry {
	rule := &t.Rules[i]
	e := entry{
		at: int32(i), need: t.bits(rule.MinRole), denial: saturated(int(rule.Denial)), of: -1,
	}
	if t.kind == Values {
		t.base(rule, &e)
	}
	for _, trait := range [...]struct {
		has bool
		is  trait
	}{{rule.Public, public}, {t.enforced(rule), enforced}, {rule.scoped(), scoped},
		{rule.Permission.Required(), needsPermission}, {len(rule.MinRole) > 0, ranked}} {
		if trait.has {
			e.is |= trait.is
		}
	}
	return e
}

// base adds the roles of the tool to the entry of a value, unless the value's imply them.
func (t *Table) base(rule *Rule, e *entry) {
	at := -1
	if t.named != nil {
		at = t.named.find(rule.Tool)
	} else {
		at = slices.IndexFunc(t.tools, func(tool Rule) bool { return tool.Tool == rule.Tool })
	}
	if at < 0 || len(t.tools[at].MinRole) == 0 {
		return
	}
	if need := t.resolve(t.tools[at].MinRole); !t.order().Implies(t.resolve(rule.MinRole), need) ||
		len(rule.MinRole) == 0 {
		e.of, e.base = int32(at), t.bits(need)
	}
}

// saturated is n, or the nearest int32: an unknown denial stays unknown.
func saturated(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// ranges returns the range of the rules of values of each tool that has some.
func (t *Table) ranges() map[string][2]int32 {
	ranges := map[string][2]int32{}
	for j := range t.Values {
		tool := t.Values[j].Tool
		r, has := ranges[tool]
		if !has {
			r[0] = int32(j)
		}
		r[1] = int32(j + 1)
		ranges[tool] = r
	}
	return ranges
}

// lookup returns the entry of a tool's rule, and false if the tool has none. In a table that was
// not composed, a name with two rules has none: it is ambiguous.
func (t *Table) lookup(name string) (entry, bool) {
	if t.index != nil {
		e, known := t.index.byName[name]
		return e, known
	}
	at := -1
	for i := range t.Rules {
		switch {
		case t.Rules[i].Name() != name:
		case at >= 0:
			return entry{}, false
		default:
			at = i
		}
	}
	if at < 0 {
		return entry{}, false
	}
	e := t.entry(at)
	of := t.ranges()[name]
	e.from, e.to = of[0], of[1]
	return e, true
}
