package access

import "math"

// entry is the part of a rule that a decision reads, stored next to its name: reading the large
// rule itself takes longer than the rest of a decision.
type entry struct {
	at     int32 // the rule's position
	need   int32 // its MinRole as a rank of the hierarchy, or 0
	denial int32
	is     trait
	// The rules of the values of the tool's arguments are within this range of Table.Values.
	from, to int32
}

type trait uint8

const (
	public trait = 1 << iota
	enforced
	scoped // it has scopes
	needsPermission
)

// entry compiles the rule at a position.
func (t *Table) entry(i int) entry {
	rule := &t.Rules[i]
	e := entry{
		at: int32(i), need: saturated(int(t.resolve(rule.MinRole))),
		denial: saturated(int(rule.Denial)),
	}
	for _, trait := range [...]struct {
		has bool
		is  trait
	}{{rule.Public, public}, {t.enforced(rule), enforced}, {len(rule.Scopes) > 0, scoped},
		{rule.Permission.Required(), needsPermission}} {
		if trait.has {
			e.is |= trait.is
		}
	}
	for j := range t.Values {
		if t.Values[j].Tool == rule.Tool {
			if e.from == e.to {
				e.from = int32(j)
			}
			e.to = int32(j + 1)
		}
	}
	return e
}

// saturated is n, or the nearest int32: an unknown role or denial stays unknown.
func saturated(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// lookup returns the entry of a tool's rule, and false if the tool has none.
func (t *Table) lookup(name string) (entry, bool) {
	if t.index != nil {
		e, known := t.index.byName[name]
		return e, known
	}
	i := t.find(name)
	if i < 0 {
		return entry{}, false
	}
	return t.entry(i), true
}
