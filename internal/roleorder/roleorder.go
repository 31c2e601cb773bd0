// Package roleorder is the partial order of the roles of a server. Both sides read it: the
// generator for its findings and documents, and the runtime for its decisions.
//
// An Order is built from chains of names, each lowest first, as //mcp:roles has them. The first
// chain is the main chain.
package roleorder

import (
	"fmt"
	"slices"
	"strings"
)

// Most is the greatest number of roles: a set of roles is a mask of 64 bits.
const Most = 64

// Order is a partial order of roles. The zero Order has no roles. It is immutable.
type Order struct {
	names []string // those of the main chain first, lowest first
	main  int      // the number of roles of the main chain
	below []uint64 // the role and all roles below it, by position
}

// Problem is an error of the chains. Chain and At are the place of a name, or of the whole chain
// where At is -1.
type Problem struct {
	Chain, At  int
	Text, Cure string
}

// New returns the order of the chains, with all their problems. An order with problems is the zero
// Order.
func New(chains [][]string) (Order, []Problem) {
	var o Order
	var problems []Problem
	bad := func(chain, at int, cure, format string, args ...any) {
		problems = append(problems, Problem{chain, at, fmt.Sprintf(format, args...), cure})
	}
	for c, chain := range chains {
		if len(chain) == 0 {
			bad(c, -1, "write the roles lowest first, for example Viewer < Member", "a chain has no role")
		}
		for at, name := range chain {
			switch {
			case name == "":
				bad(c, at, "write a name, or remove the chain", "a role has no name")
			case slices.Contains(chain[:at], name):
				bad(c, at, "write each role once", "the role %s stands twice in the chain", name)
			case !slices.Contains(o.names, name):
				o.names = append(o.names, name)
			}
		}
		if c == 0 {
			o.main = len(o.names)
		}
	}
	if len(problems) > 0 {
		return Order{}, problems
	}
	if len(o.names) > Most {
		for c, chain := range chains {
			if at := slices.Index(chain, o.names[Most]); at >= 0 {
				bad(c, at, "merge roles, or write scopes for some of them",
					"%s is the role number %d of the hierarchy, which has at most %d", o.names[Most],
					Most+1, Most)
				return Order{}, problems
			}
		}
	}
	o.close(chains)
	for c, chain := range chains {
		for at := 1; at < len(chain); at++ {
			lower, higher := chain[at-1], chain[at]
			if o.Below(lower)&o.Bit(higher) != 0 {
				bad(c, at, "remove one of the two", "%s is above %s here, and below it by other lines: %s",
					higher, lower, "the order has a cycle")
				return Order{}, problems
			}
		}
	}
	if o.main == 0 {
		return o, nil
	}
	start, end := o.Bit(o.Lowest()), o.Bit(o.Highest())
	for c, chain := range chains {
		for at, name := range chain {
			switch bit := o.Bit(name); {
			case bit != start && o.Below(o.Lowest())&bit != 0:
				bad(c, at, "begin the main chain with "+name,
					"%s is below %s, the start of the main chain", name, o.Lowest())
			case bit != end && o.Below(name)&end != 0:
				bad(c, at, "end the main chain with "+name,
					"%s is above %s, the end of the main chain", name, o.Highest())
			}
		}
	}
	if len(problems) > 0 {
		return Order{}, problems
	}
	return o, nil
}

// close computes the roles below each role.
func (o *Order) close(chains [][]string) {
	o.below = make([]uint64, len(o.names))
	for i := range o.below {
		o.below[i] = 1 << i
	}
	for changed := true; changed; {
		changed = false
		for _, chain := range chains {
			for at := 1; at < len(chain); at++ {
				higher := slices.Index(o.names, chain[at])
				all := o.below[higher] | o.Below(chain[at-1])
				changed = changed || all != o.below[higher]
				o.below[higher] = all
			}
		}
	}
}

// The reserved names that a rule may have for a role, in every hierarchy.
const (
	LowestName  = "lowest"  // the start of the main chain
	HighestName = "highest" // its end
)

// Resolve returns the roles of a rule with the reserved names replaced by the ends of the main
// chain. The roles of a caller are never resolved.
func (o *Order) Resolve(roles []string) []string {
	resolved := slices.Clone(roles)
	for i, name := range roles {
		switch name {
		case LowestName:
			resolved[i] = o.Lowest()
		case HighestName:
			resolved[i] = o.Highest()
		}
	}
	return resolved
}

// Names returns all roles: those of the main chain first, lowest first, and then the others in the
// order of the chains. The slice is shared.
func (o *Order) Names() []string { return o.names }

// Main returns the roles of the main chain, lowest first. The slice is shared.
func (o *Order) Main() []string { return o.names[:o.main:o.main] }

// Lowest returns the start of the main chain, or "" if there is none.
func (o *Order) Lowest() string {
	if o.main == 0 {
		return ""
	}
	return o.names[0]
}

// Highest returns the end of the main chain, or "" if there is none.
func (o *Order) Highest() string {
	if o.main == 0 {
		return ""
	}
	return o.names[o.main-1]
}

// Bit returns the bit of a role, or 0 if the order does not have the name.
func (o *Order) Bit(name string) uint64 {
	if i := slices.Index(o.names, name); i >= 0 {
		return 1 << i
	}
	return 0
}

// Bits returns the bits of roles. Names that the order does not have count as nothing.
func (o *Order) Bits(names []string) (mask uint64) {
	for _, name := range names {
		mask |= o.Bit(name)
	}
	return mask
}

// Below returns the bits of a role and of all roles below it, or 0 if the order does not have the
// name.
func (o *Order) Below(name string) uint64 {
	if i := slices.Index(o.names, name); i >= 0 {
		return o.below[i]
	}
	return 0
}

// BelowAt is Below of the role at a position of Names.
func (o *Order) BelowAt(position int) uint64 { return o.below[position] }

// Held returns the bits of the roles whose rights a caller with the names has: those that the order
// has, and all roles below them.
func (o *Order) Held(names []string) (mask uint64) {
	for _, name := range names {
		mask |= o.Below(name)
	}
	return mask
}

// Implies reports whether each caller who has one of some roles has the rights of one of others.
func (o *Order) Implies(some, others []string) bool {
	need := o.Bits(others)
	return !slices.ContainsFunc(some, func(name string) bool { return o.Below(name)&need == 0 })
}

// Equal reports whether two orders have the same roles, main chain and relation, in whatever lines
// they are written.
func (o *Order) Equal(other *Order) bool {
	if len(o.names) != len(other.names) || !slices.Equal(o.Main(), other.Main()) {
		return false
	}
	for _, name := range o.names {
		if other.Bit(name) == 0 {
			return false
		}
		for _, lower := range o.names {
			if (o.Below(name)&o.Bit(lower) != 0) != (other.Below(name)&other.Bit(lower) != 0) {
				return false
			}
		}
	}
	return true
}

// Text returns chains in one line, as in "Viewer < Admin; Auditor < Admin".
func Text(chains [][]string) string {
	lines := make([]string, len(chains))
	for i, chain := range chains {
		lines[i] = strings.Join(chain, " < ")
	}
	return strings.Join(lines, "; ")
}
