package access

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// Bounds are the permission boundary of one client, compiled for the rules of one table: the roles
// that count for its callers, and one bit for each rule. [Table.Bounds] makes them, and nothing
// changes them. They fit that table and the tables that Aware and Of make of it. For any other
// table they allow no item. For [Table.Holds] and [Table.Within] of a table with the same order of
// roles, in whatever lines, the same roles count. For a table with another order, none does.
//
// A caller with Bounds may use an item if its rule allows the caller and the Bounds allow the item.
// Bounds hold for public items too. An item outside of them is unknown to the caller.
type Bounds struct {
	order *roleorder.Order       // of the table
	roles uint64                 // those that count, in order
	kinds [len(kinds)]*boundsSet // nil for a kind without rules
}

// boundsSet holds the rules of one kind that are inside, by position.
type boundsSet struct {
	first *Rule // of those that it was compiled for
	rules int
	words []uint64
}

// Bounds compiles a boundary. Of the roles of a caller, those count that the given roles are or
// include. allow reports whether the boundary has an item. It is called for each rule, and not
// after Bounds has returned. An item is outside as well if none of the roles in its rule counts.
// The items of a boundary do not concern fields: allow reports whether a caller may have any.
func (t Table) Bounds(roles []string, allow func(Kind, Rule) bool) *Bounds {
	order := t.order()
	b := &Bounds{order: order, roles: order.Held(t.resolve(roles))}
	for _, k := range kinds {
		if part := t.Of(k); len(part.Rules) > 0 {
			b.kinds[k] = part.bounds(b.roles, allow)
		}
	}
	if tools, values := b.kinds[Tools], b.kinds[Values]; tools != nil && values != nil {
		t.narrow(tools, values)
	}
	return b
}

// narrow removes the tools that have an argument without a value inside, and then the values of
// tools that are outside.
func (t *Table) narrow(tools, values *boundsSet) {
	type argument struct{ tool, name string }
	some := map[argument]bool{}
	for j := range t.Values {
		of := argument{t.Values[j].Tool, t.Values[j].Argument}
		some[of] = some[of] || values.has(j)
	}
	at := make(map[string]int, len(t.Rules))
	for i := range t.Rules {
		at[t.Rules[i].Tool] = i
	}
	for of, has := range some {
		if i, known := at[of.tool]; known && !has {
			tools.words[i>>6] &^= 1 << (i & 63)
		}
	}
	for j := range t.Values {
		if i, known := at[t.Values[j].Tool]; !known || !tools.has(i) {
			values.words[j>>6] &^= 1 << (j & 63)
		}
	}
}

func (s *boundsSet) has(i int) bool { return s.words[i>>6]&(1<<(i&63)) != 0 }

func (t *Table) bounds(roles uint64, allow func(Kind, Rule) bool) *boundsSet {
	set := &boundsSet{first: &t.Rules[0], rules: len(t.Rules),
		words: make([]uint64, (len(t.Rules)+63)/64)}
	for i := range t.Rules {
		e := t.entry(i)
		if allow(t.kind, t.Rules[i]) && (e.is&ranked == 0 || e.need&roles != 0) &&
			(e.of < 0 || e.base&roles != 0) {
			set.words[i>>6] |= 1 << (i & 63)
		}
	}
	return set
}

// Equal reports whether two boundaries of one table allow the same. Either may be nil, which equals
// only nil.
func (b *Bounds) Equal(c *Bounds) bool {
	if b == nil || c == nil || b == c {
		return b == c
	}
	for i := range b.kinds {
		p, q := b.kinds[i], c.kinds[i]
		if p != q && (p == nil || q == nil || p.first != q.first || !slices.Equal(p.words, q.words)) {
			return false
		}
	}
	return b.roles == c.roles
}

// rolesIn returns the roles that count, by the bits of another order.
func (b *Bounds) rolesIn(other *roleorder.Order) (mask uint64) {
	if b.order == nil || !b.order.Equal(other) {
		return 0
	}
	for i, name := range b.order.Names() {
		if b.roles&(1<<i) != 0 {
			mask |= other.Bit(name)
		}
	}
	return mask
}

// AppendText appends a text that is equal for two boundaries of one server, or of two replicas of
// it, if both allow the same. It implements encoding.TextAppender.
func (b *Bounds) AppendText(to []byte) ([]byte, error) {
	to = appendHex(to, b.roles)
	for _, set := range b.kinds {
		to = append(to, '.')
		if set != nil {
			for _, w := range set.words {
				to = appendHex(to, w)
			}
		}
	}
	return to, nil
}

func appendHex(to []byte, w uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		to = append(to, digits[w>>shift&15])
	}
	return to
}

// of returns the boundary of a table's rules. It returns nil if it was compiled for another table.
func (b *Bounds) of(t *Table) *boundsSet {
	if t.kind < Tools || t.kind > Fields {
		return nil
	}
	set := b.kinds[t.kind]
	if set == nil || set.rules != len(t.Rules) || set.first != &t.Rules[0] {
		return nil
	}
	return set
}

// inside reports whether the boundary of a caller, if there is one, has the rule at a position.
func (t *Table) inside(p *Principal, i int32) bool {
	if p.Bounds == nil {
		return true
	}
	set := p.Bounds.of(t)
	return set != nil && set.has(int(i))
}

// outside is the decision about an item that a boundary excludes. roles and base are those that the
// boundary takes from the caller, if the item needs them.
func (d *Decision) outside(e entry, roles, base []string) {
	*d = Decision{Axis: AxisBoundary, Denial: Denial(e.denial), roles: roles, base: base}
}

// decideBounds changes the refusal of a caller who has the roles that are missing without the
// boundary.
func (t *Table) decideBounds(e entry, p *Principal, d *Decision) {
	if p.Bounds == nil || d.Allowed || d.roles == nil && d.base == nil {
		return
	}
	own := t.ownMask(p)
	if d.roles != nil && e.need&own != 0 || d.base != nil && e.base&own != 0 {
		d.outside(e, d.roles, d.base)
	}
}

// bounded returns the items of a set that the boundary of a caller has.
func (t *Table) bounded(p *Principal, set Set) Set {
	inside := p.Bounds.of(t)
	if inside == nil {
		return newSet(set.of)
	}
	return set.and(inside.words)
}

// allFacts are the words of [Rule].Facts.
var allFacts = [...]string{"private", "untrusted", "egress"}

// Reach returns the tools, prompts and resources that an agent can use while somebody else controls
// it, by their [Rule].Facts, as in "tool:find". The agent acts for a caller with every role, scope
// and permission of the host, within a boundary. Nil is no boundary. Without its token the agent
// also reaches public items. An agent that reaches all three facts can be made to send private data
// to outsiders.
func (t Table) Reach(b *Bounds) (private, untrusted, egress []string) {
	agent := Principal{Subject: "somebody", Roles: t.Hierarchy(), Bounds: b,
		Permits: t.Permits(func(Kind, Rule) Permit { return PermitAll })}
	for _, k := range []Kind{Tools, Prompts, Resources, Values} {
		for _, rule := range t.Of(k).Rules {
			agent.Scopes = append(agent.Scopes, slices.Concat(rule.Alternatives()...)...)
		}
	}
	slices.Sort(agent.Scopes)
	agent.Scopes = slices.Compact(agent.Scopes)
	for _, k := range []Kind{Tools, Prompts, Resources} {
		part := t.Of(k)
		for i, name := range part.Tools() {
			if !part.Decide(agent, name).Allowed && !part.Decide(Principal{}, name).Allowed {
				continue
			}
			facts, item := part.Rules[i].Facts, k.String()+":"+name
			for j, list := range [...]*[]string{&private, &untrusted, &egress} {
				if facts == "" || strings.Contains(facts, allFacts[j]) {
					*list = append(*list, item)
				}
			}
		}
	}
	return private, untrusted, egress
}

// validFacts reports whether a text is one of [Rule].Facts.
func validFacts(text string) bool {
	if text == "" || text == "none" {
		return true
	}
	for _, fact := range strings.Split(text, ",") {
		if !slices.Contains(allFacts[:], fact) {
			return false
		}
	}
	return true
}
