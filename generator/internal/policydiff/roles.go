package policydiff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// chains are the lines of a role hierarchy. Format 2 has one line.
type chains [][]string

// UnmarshalJSON reads the lines of either format.
func (c *chains) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[][]string)(c)) == nil {
		return nil
	}
	var line []string
	err := json.Unmarshal(text, &line)
	*c = chains{line}
	return err
}

// names are the roles of a rule. Format 2 has one.
type names []string

// UnmarshalJSON reads the roles of either format.
func (n *names) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[]string)(n)) == nil {
		return nil
	}
	var name string
	err := json.Unmarshal(text, &name)
	if *n = nil; name != "" {
		*n = names{name}
	}
	return err
}

// side is what callers need for a subject in one set of manifests.
type side struct {
	order roleorder.Order
	roles []string // that the set knows
	need  func(caller string) need
	// lists are the lists of roles of the subject's rules. The subject needs at most so many of them
	// together.
	lists []list
	most  int
}

// list is a list of roles of which a rule needs one.
type list struct {
	order roleorder.Order
	roles []string
}

func (l list) has(role string) bool {
	return l.order.Below(role)&l.order.Bits(l.order.Resolve(l.roles)) != 0
}

// denied is the side of a subject that no caller may use.
func denied(order roleorder.Order) side {
	return side{order: order, roles: order.Names(), need: func(string) need { return nil }}
}

// side returns what callers need for an item.
func (i *Item) side(order roleorder.Order) side {
	s := denied(order)
	s.need = func(caller string) need { return i.needs(caller, order) }
	s.needs(i.Access)
	for _, argument := range i.ruled() {
		if i.closed(argument) {
			s.most++
		}
	}
	for _, v := range i.Values {
		s.lists = append(s.lists, list{s.order, v.Access.MinRole})
	}
	return s
}

// valueSide returns what callers need to send a value. A value without a rule needs what its tool
// needs.
func (i *Item) valueSide(argument, value string, order roleorder.Order) side {
	s := denied(order)
	s.need = func(caller string) need { return i.valueNeed(argument, value, caller, order) }
	s.needs(i.Access)
	if v := i.value(argument, value); v != nil {
		s.needs(v.Access)
	}
	return s
}

// needs adds the roles of a rule.
func (s *side) needs(a Access) {
	if len(a.MinRole) > 0 {
		s.lists, s.most = append(s.lists, list{s.order, a.MinRole}), s.most+1
	}
}

// together joins the roles of a caller with several.
const together = " + "

func rolesOf(caller string) []string { return strings.Split(caller, together) }

// callersOf returns the kinds of callers of a subject with two sides: those below every role, those
// with one role, and the sets of roles that satisfy rules which none of their parts satisfies. Sets
// come after their parts.
func callersOf(old, current side) []string {
	roles := sorted(slices.Concat(old.roles, current.roles))
	slices.SortStableFunc(roles, func(a, b string) int {
		return position(a, old.roles, current.roles) - position(b, old.roles, current.roles)
	})
	callers := append([]string{anonymous, noRole}, roles...)
	all := append(old.sets(roles), current.sets(roles)...)
	slices.SortStableFunc(all, func(a, b string) int {
		return strings.Count(a, together) - strings.Count(b, together)
	})
	for _, set := range all {
		if !slices.Contains(callers, set) {
			callers = append(callers, set)
		}
	}
	return callers
}

// sets returns the sets of two roles or more each of which has a list that none of the others has.
func (s side) sets(roles []string) (sets []string) {
	if s.most < 2 {
		return nil
	}
	var extend func(set []string, from int)
	extend = func(set []string, from int) {
		if len(set) > 1 {
			sets = append(sets, strings.Join(set, together))
		}
		if len(set) == s.most {
			return
		}
		for at, role := range roles[from:] {
			more := append(slices.Clone(set), role)
			if s.needsEach(more) {
				extend(more, from+at+1)
			}
		}
	}
	extend(nil, 0)
	return sets
}

// needsEach reports whether each role of a set has a list that none of the others has.
func (s side) needsEach(set []string) bool {
	own := make([]bool, len(set))
	for _, l := range s.lists {
		has, n := -1, 0
		for at, role := range set {
			if l.has(role) {
				has, n = at, n+1
			}
		}
		if n == 1 {
			own[has] = true
		}
	}
	return !slices.Contains(own, false)
}

// holdsAll reports whether a caller with roles has the rights of another one.
func holdsAll(order roleorder.Order, caller, other string) bool {
	return order.Held(rolesOf(other))&^order.Held(rolesOf(caller)) == 0
}

// several reports whether a caller has several roles.
func several(caller string) bool { return strings.Contains(caller, together) }

// anyRoles is the hierarchy of servers none of whose packages has roles: only the ends are known.
var anyRoles, _ = roleorder.New(chains{{"lowest role", "highest role"}})

// hierarchies returns the roles of a package in both sets. A package without roles has those of its
// server: of a package with the same server name, or of the other set. Without any, only the lowest
// and the highest role are known.
func hierarchies(
	old, current *Manifest, before, after []*Manifest,
) (b, a roleorder.Order) {
	of := func(m *Manifest, set []*Manifest) *Manifest {
		if m == nil || len(m.Roles) > 0 {
			return m
		}
		for _, other := range set {
			if other.Server.Name == m.Server.Name && len(other.Roles) > 0 {
				return other
			}
		}
		return nil
	}
	first, second := of(old, before), of(current, after)
	if first, second = cmp.Or(first, second), cmp.Or(second, first); first == nil {
		return anyRoles, anyRoles
	}
	return first.order, second.order
}

// order reports roles that are above others now and were not, and a new end of the main chain,
// which administers the server unless it names another role.
func (c *comparison) order(old, m *Manifest) {
	if len(old.Roles) == 0 || len(m.Roles) == 0 {
		return // it fits any hierarchy
	}
	before, after := hierarchies(old, m, nil, nil)
	change := func(kind Kind, role, format string, args ...any) {
		c.changes = append(c.changes, Change{Kind: kind, Subject: "role", Name: role,
			Package: m.Package, Message: fmt.Sprintf(format, args...), Callers: []string{role},
			File: m.File, Line: memberLine(m.Text, "roles")})
	}
	for _, role := range after.Names() {
		var gained, lost []string
		for _, other := range after.Names() {
			if before.Bit(role) == 0 || before.Bit(other) == 0 {
				continue // known by one hierarchy alone
			}
			had := before.Below(role)&before.Bit(other) != 0
			switch has := after.Below(role)&after.Bit(other) != 0; {
			case has && !had:
				gained = append(gained, other)
			case had && !has:
				lost = append(lost, other)
			}
		}
		if gained != nil {
			change(Widened, role, "now above %s", strings.Join(gained, ", "))
		}
		if lost != nil {
			change(Narrowed, role, "no longer above %s", strings.Join(lost, ", "))
		}
	}
	if was, is := before.Highest(), after.Highest(); was != is {
		if before.Bit(is) != 0 {
			change(Widened, is, "now the end of the main chain")
		}
		if after.Bit(was) != 0 {
			change(Narrowed, was, "no longer the end of the main chain")
		}
	}
}

// inclusions reports scopes that include others now and did not, and the other way round.
func (c *comparison) inclusions(old, m *Manifest) {
	for _, scope := range sorted(slices.Concat(old.scopes.Names(), m.scopes.Names())) {
		was, is := old.scopes.Below(scope), m.scopes.Below(scope)
		for _, change := range []struct {
			kind        Kind
			text        string
			less, after []string
		}{{Widened, "now includes ", was, is}, {Narrowed, "no longer includes ", is, was}} {
			others := slices.DeleteFunc(slices.Clone(change.after), func(other string) bool {
				return slices.Contains(change.less, other)
			})
			if len(others) > 0 {
				c.changes = append(c.changes, Change{Kind: change.kind, Subject: "scope", Name: scope,
					Package: m.Package, Message: change.text + strings.Join(others, ", "), File: m.File,
					Line: memberLine(m.Text, "scopes")})
			}
		}
	}
}
