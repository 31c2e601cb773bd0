package access

import (
	"slices"

	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// The reserved roles of toolsets that fit anybody's hierarchy.
const (
	Lowest  = roleorder.LowestName  // the lowest role of the server's main chain
	Highest = roleorder.HighestName // the highest
)

// DefaultRoles returns the hierarchy of a server none of whose packages declares one: the chain
// Viewer, Member, Manager and Admin.
func DefaultRoles() [][]string { return [][]string{{"Viewer", "Member", "Manager", "Admin"}} }

var defaultOrder, _ = roleorder.New(DefaultRoles())

// order returns the order of the roles: the table's own, or that of the default roles if it has
// none. Roles with an error have no order, so that no caller holds one.
func (t *Table) order() *roleorder.Order {
	switch {
	case t.roles != nil:
		return t.roles
	case t.Roles == nil:
		return &defaultOrder
	}
	order, _ := roleorder.New(t.Roles)
	return &order
}

// Hierarchy returns the names of all roles of decisions: those of the main chain first, lowest
// first, and then the others. The slice is the caller's own.
func (t Table) Hierarchy() []string { return slices.Clone(t.order().Names()) }

// MainChain returns the roles of the main chain, lowest first. The slice is the caller's own.
func (t Table) MainChain() []string { return slices.Clone(t.order().Main()) }

// Holds reports whether a principal has one of the roles within its Bounds, or a role above one of
// them. The names may be [Lowest] and [Highest].
func (t Table) Holds(p Principal, roles ...string) bool {
	return t.mask(&p)&t.bits(roles) != 0
}

// Resolve returns the principal with its roles compiled for the table and for the tables that Aware
// and Of make of it, which makes decisions about a caller with many roles faster. A change of
// [Principal.Roles] to another slice is safe; do not change its elements afterwards.
func (t Table) Resolve(p Principal) Principal {
	order := t.order()
	p.held = held{of: order, mask: order.Held(p.Roles), n: len(p.Roles)}
	if p.held.n > 0 {
		p.held.first = &p.Roles[0]
	}
	return p
}

// Within returns the principal with the roles that count within its Bounds: the roles of its own
// that count, and the highest of those below its other roles. Functions of the program get this
// principal, because they may compare the names.
func (p Principal) Within() Principal {
	b := p.Bounds
	if b == nil {
		return p
	}
	own := p.Roles
	if p.Roles = nil; b.order == nil || p.anonymous() {
		return p
	}
	names := b.order.Names()
	if b.roles == 1<<len(names)-1 {
		p.Roles = own
		return p
	}
	within, below := b.order.Held(own)&b.roles, uint64(0)
	for i := range names {
		if within&(1<<i) != 0 {
			below |= b.order.BelowAt(i) &^ (1 << i)
		}
	}
	for i, name := range names {
		if within&(1<<i) != 0 && (below&(1<<i) == 0 || slices.Contains(own, name)) {
			p.Roles = append(p.Roles, name)
		}
	}
	return p
}

// hierarchyText returns the roles for messages, as in "Viewer < Admin; Auditor < Admin".
func (t *Table) hierarchyText() string {
	if t.Roles == nil {
		return roleorder.Text(DefaultRoles())
	}
	return roleorder.Text(t.Roles)
}

// held is what the roles of a principal come to in one order.
type held struct {
	of    *roleorder.Order
	first *string // of the roles that it was compiled for
	n     int
	mask  uint64
}

// mask returns the roles whose rights a caller has within its boundary.
func (t *Table) mask(p *Principal) uint64 {
	if p.Bounds != nil {
		return t.ownMask(p) & t.counting(p.Bounds)
	}
	return t.ownMask(p)
}

// counting returns the roles that count within a boundary.
func (t *Table) counting(b *Bounds) uint64 {
	if order := t.order(); order != b.order {
		return b.rolesIn(order)
	}
	return b.roles
}

// ownMask returns the roles whose rights a caller has. An anonymous caller has none.
func (t *Table) ownMask(p *Principal) uint64 {
	if len(p.Roles) == 0 || p.anonymous() {
		return 0
	}
	order := t.order()
	if h := &p.held; h.of == order && h.n == len(p.Roles) && h.first == &p.Roles[0] {
		return h.mask
	}
	return order.Held(p.Roles)
}

// bits returns the bits of the roles of a rule.
func (t *Table) bits(roles []string) uint64 { return t.order().Bits(t.resolve(roles)) }

// resolve replaces the reserved names in the roles of a rule. A name that the hierarchy does not
// have stays: no caller holds it.
func (t *Table) resolve(roles []string) []string {
	if !slices.Contains(roles, Lowest) && !slices.Contains(roles, Highest) {
		return roles
	}
	return t.order().Resolve(roles)
}
