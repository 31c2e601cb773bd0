package policydiff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// Agents are the agents whose blast radius is computed, beside one for each kind of caller.
type Agents struct {
	Boundaries []boundaryfile.Entry
	Sets       [][]string // of roles that one caller has
	Unbounded  bool       // the file does not exist: no client has a boundary
}

// Agents returns the agents with these boundaries, and with sets of roles.
func (b Boundaries) Agents(sets [][]string) Agents { return Agents{b.entries, sets, b.Missing} }

// Radius is what agents of the callers of one server reach once somebody else controls them.
type Radius struct {
	Server   string   `json:"server"`
	Packages []string `json:"packages"` // import paths
	Agents   []Reach  `json:"agents"`
}

// Reach is what one agent reaches, by the facts of the items. The items are as in a file of
// boundaries.
type Reach struct {
	Kind      AgentKind `json:"kind"`
	Name      string    `json:"name"`            // of the caller, roles, or the party of the boundary
	Where     string    `json:"where,omitempty"` // of the boundary, as in "boundaries.yaml:12"
	Private   []string  `json:"private"`
	Untrusted []string  `json:"untrusted"`
	Egress    []string  `json:"egress"`
	Unstated  []string  `json:"unstated"` // those of the items without stated facts
	// AllThree is whether the agent reaches items with each of the three facts.
	AllThree bool `json:"allThree"`
}

// AgentKind is the kind of an agent.
type AgentKind string

// The kinds of agents.
const (
	OfCaller   AgentKind = "caller"   // acts for one kind of caller: anonymous, no role, or a role
	OfRoles    AgentKind = "roles"    // acts for a caller with several roles
	OfBoundary AgentKind = "boundary" // has a boundary, and acts for a caller with every role
)

// String returns the agent as in "Admin" or "boundary client a of https://id.example".
func (r Reach) String() string {
	if r.Kind == OfBoundary {
		return fmt.Sprintf("boundary %s (%s)", r.Name, r.Where)
	}
	return r.Name
}

// The facts of an item, in the words of the directive.
const (
	private   = "private"
	untrusted = "untrusted"
	egress    = "egress"
)

// has reports whether a fact counts for an item. Without stated facts all count, except that
// openworld=false removes egress.
func (i *Item) has(fact string) bool {
	if fact == egress && i.Hints.OpenWorld != nil && !*i.Hints.OpenWorld {
		return false
	}
	return i.Facts == nil || slices.Contains(i.Facts, fact)
}

// text is an item as in a file of boundaries.
func (i *Item) text() string { return i.kind + ":" + i.id() }

// server is the packages of one server: those whose names of the server are equal.
type server struct {
	name  string
	set   []*Manifest
	order roleorder.Order
}

// servers groups manifests, in their order.
func servers(set []*Manifest) (list []*server) {
	for _, m := range set {
		i := slices.IndexFunc(list, func(s *server) bool { return s.name == m.Server.Name })
		if i < 0 {
			i, list = len(list), append(list, &server{name: m.Server.Name, order: anyRoles})
		}
		s := list[i]
		if s.set = append(s.set, m); len(m.Roles) > 0 && !s.hasRoles() {
			s.order = m.order
		}
	}
	return list
}

// hasRoles reports whether a package of the server has roles.
func (s *server) hasRoles() bool { return !s.order.Equal(&anyRoles) }

// RadiusOf returns the blast radius of each server. The error lists roles that no server has, and
// notes are about items of boundaries that none has: these do not count.
func RadiusOf(set []*Manifest, agents Agents) (list []Radius, notes []string, err error) {
	all := servers(set)
	list = []Radius{}
	if err := checkRoles(all, agents); err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		r := Radius{Server: s.name, Packages: []string{}, Agents: []Reach{}}
		for _, m := range s.set {
			r.Packages = append(r.Packages, m.Package)
		}
		for _, caller := range append([]string{anonymous, noRole}, s.order.Names()...) {
			r.Agents = append(r.Agents, s.reach(Reach{Kind: OfCaller, Name: caller}, caller, nil))
		}
		for _, set := range agents.Sets {
			r.Agents = append(r.Agents, s.reachOfSet(set))
		}
		for _, e := range agents.Boundaries {
			r.Agents = append(r.Agents, s.reachOf(e.Party, &e.Boundary))
		}
		list = append(list, r)
	}
	return list, unknownItems(set, agents.Boundaries), nil
}

// checkRoles returns an error for the first role that no server has.
func checkRoles(all []*server, agents Agents) error {
	check := func(where string, roles []string) error {
		for _, role := range roles {
			var known []string
			for _, s := range all {
				known = append(known, s.order.Names()...)
			}
			if !slices.Contains(known, role) {
				return fmt.Errorf("%s: no server has the role %q: %s", where, role, cureOf(role, known))
			}
		}
		return nil
	}
	for _, set := range agents.Sets {
		if err := check("--roles", set); err != nil {
			return err
		}
	}
	for _, e := range agents.Boundaries {
		if boundaryitem.IsAll(e.Boundary.Roles) {
			continue
		}
		if err := check(e.Boundary.Where, e.Boundary.Roles); err != nil {
			return err
		}
	}
	return nil
}

// reachOfSet returns what an agent of a caller with several roles reaches.
func (s *server) reachOfSet(set []string) Reach {
	caller := strings.Join(set, together)
	return s.reach(Reach{Kind: OfRoles, Name: caller}, caller, nil)
}

// reachOf returns what an agent with a boundary reaches, if it acts for a caller with every role.
func (s *server) reachOf(party boundaryfile.Party, b *boundaryfile.Boundary) Reach {
	roles := b.Roles
	if boundaryitem.IsAll(roles) {
		roles = s.order.Names()
	}
	r := Reach{Kind: OfBoundary, Name: partyWords(party), Where: b.Where}
	return s.reach(r, cmp.Or(strings.Join(roles, together), noRole), s.limitsOf(b))
}

func partyWords(p boundaryfile.Party) string {
	words := "client " + p.Client
	if p.Actor != "" {
		words = "actor " + p.Actor
	}
	if p.Subject != "" {
		words += " for " + p.Subject
	}
	return words + " of " + cmp.Or(p.Issuer, "no issuer")
}

// reach completes what an agent of a caller reaches. Scopes, permissions and grants do not count:
// the caller may have all of them.
func (s *server) reach(r Reach, caller string, within *limits) Reach {
	r.Private, r.Untrusted, r.Egress, r.Unstated = []string{}, []string{}, []string{}, []string{}
	for _, i := range items(s.set) {
		// A boundary holds for a client while it sends its token. Without one it is anonymous.
		if !i.reaches(caller, s.order, within) && !i.reaches(anonymous, s.order, nil) {
			continue
		}
		for fact, list := range map[string]*[]string{private: &r.Private, untrusted: &r.Untrusted,
			egress: &r.Egress} {
			if i.has(fact) {
				*list = append(*list, i.text())
			}
		}
		if i.Facts == nil {
			r.Unstated = append(r.Unstated, i.text())
		}
	}
	r.AllThree = len(r.Private) > 0 && len(r.Untrusted) > 0 && len(r.Egress) > 0
	return r
}

// reaches reports whether a caller may use an item with some values, as far as roles and a boundary
// decide.
func (i *Item) reaches(caller string, order roleorder.Order, within *limits) bool {
	if !within.allow(i) || len(i.Access.of(caller, order)) == 0 {
		return false
	}
	for _, argument := range i.ruled() {
		values := i.listed(argument)
		if len(i.Input.values(argument)) > 0 && !slices.ContainsFunc(values, func(value string) bool {
			return within.allowValue(i, argument, value) &&
				len(i.valueNeed(argument, value, caller, order)) > 0
		}) {
			return false
		}
	}
	return true
}

// limits are a boundary, as the runtime applies it.
type limits struct {
	items    boundaryitem.Set
	readOnly bool
}

func (s *server) limitsOf(b *boundaryfile.Boundary) *limits {
	catalogs := map[string][]string{}
	for _, i := range items(s.set) {
		for _, name := range i.Catalogs {
			catalogs[name] = append(catalogs[name], i.id())
		}
	}
	set, _ := boundaryitem.NewSet(b.Items, catalogs, ruledIn(s.set)) // the file has been checked
	return &limits{set, b.ReadOnly}
}

// allow reports whether a boundary has an item, with some values at least.
func (l *limits) allow(i *Item) bool {
	return l == nil || l.items.Has(boundaryitem.Kind(i.kind), i.id()) &&
		(!l.readOnly || i.readOnly())
}

// allowValue reports whether a boundary that has a tool has a value of it.
func (l *limits) allowValue(i *Item, argument, value string) bool {
	return l == nil || l.items.HasValue(i.id(), argument, value)
}

// CompareRadius returns a change for each agent that reaches all three facts together in the newer
// set and did not in the older one. A client without an entry in a file of boundaries reaches the
// public items alone, as with a server that requires boundaries.
func CompareRadius(before, after []*Manifest, old, current Agents) (list []Change, err error) {
	was, is := servers(before), servers(after)
	if err := checkRoles(is, current); err != nil {
		return nil, err
	}
	for _, now := range is {
		then := &server{order: anyRoles}
		for _, s := range was {
			if s.name == now.name || len(was) == 1 && len(is) == 1 {
				then = s
			}
		}
		if !then.hasRoles() {
			then.order = now.order
		} else if !now.hasRoles() {
			now.order = then.order
		}
		for _, pair := range pairs(then, now, old, current) {
			if pair[1].AllThree && !pair[0].AllThree {
				list = append(list, now.together(pair[0], pair[1]))
			}
		}
	}
	return list, nil
}

// pairs returns what each agent reached and reaches.
func pairs(then, now *server, old, current Agents) (list [][2]Reach) {
	for _, caller := range append([]string{anonymous, noRole}, now.order.Names()...) {
		r := Reach{Kind: OfCaller, Name: caller}
		list = append(list, [2]Reach{then.reach(r, caller, nil), now.reach(r, caller, nil)})
	}
	for _, set := range current.Sets {
		list = append(list, [2]Reach{then.reachOfSet(set), now.reachOfSet(set)})
	}
	seen := map[boundaryfile.Party]bool{}
	for _, e := range slices.Concat(current.Boundaries, old.Boundaries) {
		if seen[e.Party] {
			continue
		}
		seen[e.Party] = true
		public := then.reach(Reach{}, anonymous, nil)
		a, b := public, now.reach(Reach{Kind: OfBoundary, Name: partyWords(e.Party)}, anonymous, nil)
		if found, ok := (Boundaries{entries: old.Boundaries}).of(e.Party); ok {
			a = then.reachOf(e.Party, &found)
		}
		if found, ok := (Boundaries{entries: current.Boundaries}).of(e.Party); ok {
			b = now.reachOf(e.Party, &found)
		} else if e.Party.Actor != "" || current.Unbounded { // it is not limited
			b = now.reachOf(e.Party, &boundaryfile.Boundary{Roles: []string{boundaryitem.All},
				Items: []string{boundaryitem.All}})
		}
		list = append(list, [2]Reach{a, b})
	}
	return list
}

// together returns the change of an agent that reaches all three facts now.
func (s *server) together(before, after Reach) Change {
	c := Change{Kind: Together, Subject: string(after.Kind), Name: after.Name, File: s.set[0].File,
		Line: memberLine(s.set[0].Text, "roles")}
	var packages, causes []string
	for _, m := range s.set {
		packages = append(packages, m.Package)
	}
	c.Package = strings.Join(packages, ", ")
	for _, of := range []struct {
		fact     string
		had, has []string
	}{{private, before.Private, after.Private}, {untrusted, before.Untrusted, after.Untrusted},
		{egress, before.Egress, after.Egress}} {
		if len(of.had) == 0 {
			causes = append(causes, of.fact+" by "+strings.Join(of.has, ", "))
		}
	}
	c.Message = "private, untrusted and egress come together, which they did not: " +
		strings.Join(causes, "; ")
	if after.Kind != OfBoundary {
		c.Callers = []string{after.Name}
	} else if at := strings.LastIndexByte(after.Where, ':'); at > 0 {
		c.File = after.Where[:at]
		c.Line, _ = strconv.Atoi(after.Where[at+1:]) // as package boundaryfile writes it
	}
	return c
}
