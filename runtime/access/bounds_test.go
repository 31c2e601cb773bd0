package access_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// boundary is a random boundary of a table, with the names that it allows.
type boundary struct {
	roles []string
	items map[string]bool // rules by kind and name
}

func keyOf(k access.Kind, rule access.Rule) string { return k.String() + " " + rule.Name() }

func (b boundary) allow(k access.Kind, rule access.Rule) bool { return b.items[keyOf(k, rule)] }

func newBoundary(t *rapid.T, r ruled) boundary {
	known := slices.Sorted(slices.Values(slices.Concat(r.Roles...)))
	b := boundary{anyRoles(t, append(known, "", "nobody")), map[string]bool{}}
	if rapid.Bool().Draw(t, "all roles") {
		b.roles = known
	}
	most := rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "outside")
	for _, k := range []access.Kind{access.Tools, access.Values} {
		for _, rule := range r.Of(k).Rules {
			b.items[keyOf(k, rule)] = rapid.IntRange(0, 5).Draw(t, "item") >= most
		}
	}
	return b
}

// closure returns the roles that some roles come to, by the walk of the reference.
func closure(chains [][]string, roles []string) (all []string) {
	known := slices.Sorted(slices.Values(slices.Concat(chains...)))
	for _, role := range slices.Compact(known) {
		if reaches(chains, roles, []string{role}) {
			all = append(all, role)
		}
	}
	return all
}

// bounded is the reference for a boundary: the table without the items outside, and the caller with
// the roles that count.
func (b boundary) bounded(r ruled, p access.Principal) (ruled, access.Principal) {
	counts := closure(r.Roles, b.roles)
	p.Roles = slices.DeleteFunc(closure(r.Roles, p.Roles), func(role string) bool {
		return !slices.Contains(counts, role)
	})
	inside := func(k access.Kind, rule access.Rule) bool {
		return b.allow(k, rule) && (len(rule.MinRole) == 0 || reaches(r.Roles, counts, rule.MinRole))
	}
	less := ruled{access.Table{Roles: r.Roles}, map[string][]access.Rule{}}
	for _, tool := range r.Rules {
		open := map[string]bool{}
		var values []access.Rule
		for _, value := range r.values[tool.Tool] {
			has := inside(access.Values, value)
			if open[value.Argument] = open[value.Argument] || has; has {
				values = append(values, value)
			}
		}
		ok := inside(access.Tools, tool)
		for _, has := range open {
			ok = ok && has
		}
		if ok {
			less.Rules, less.values[tool.Tool] = append(less.Rules, tool), values
		}
	}
	return less, p
}

// Laws 1 to 3 of boundaries. A boundary only narrows. Whatever reads the table agrees, and decides
// as the table without the items outside does. A refusal is that of the caller without the
// boundary, or has the axis of the boundary, whatever the denial mode.
func TestBoundariesDecideAsATableWithoutTheItemsOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRuled(t)
		known := slices.Sorted(slices.Values(slices.Concat(r.Roles...)))
		whole := composed(t, r.Table)
		for range 4 {
			b := newBoundary(t, r)
			p := access.Principal{
				Subject: rapid.SampledFrom([]string{"ada", "ada", ""}).Draw(t, "subject"),
				Roles:   anyRoles(t, append(known, "nobody")),
				Scopes:  rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "held"),
			}
			less, same := b.bounded(r, p)
			for _, table := range []access.Table{r.Table, whole, whole.Aware()} {
				own := table.Resolve(p)
				if table.IsAware() {
					own.Permits = table.Permits(host{}.ask)
				}
				bounded, unresolved := own, p
				bounded.Bounds = table.Bounds(b.roles, b.allow)
				unresolved.Bounds, unresolved.Permits = bounded.Bounds, own.Permits
				agreesWithin(t, r, less, table, own, bounded, same)
				agreesWithin(t, r, less, table, own, unresolved, same)
			}
		}
	})
}

// A boundary can take a part of a rule with alternatives, or of an argument with several values.
// The caller who needs that part is outside, and another one is refused as without the boundary.
func TestBoundaryThatTakesAPartOfARule(t *testing.T) {
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: [][]string{{"Viewer", "Admin"}, {"Auditor"}},
		Rules: []access.Rule{
			{Tool: "report", MinRole: []string{"Admin", "Auditor"}, Denial: access.Forbid},
			{Tool: "manage", Authenticated: true, Denial: access.Forbid}},
		Values: []access.Rule{
			{Tool: "manage", Argument: "first", Value: "list", Authenticated: true},
			{Tool: "manage", Argument: "first", Value: "drop", MinRole: []string{"Admin"}},
			{Tool: "manage", Argument: "last", Value: "all", MinRole: []string{"Auditor"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	bounds := table.Bounds([]string{"Auditor", "Viewer"}, func(_ access.Kind, rule access.Rule) bool {
		return rule.Value != "list"
	})
	admins := table.Bounds([]string{"Admin", "Auditor"}, func(_ access.Kind, rule access.Rule) bool {
		return rule.Value != "list"
	})
	for _, test := range []struct {
		tool, want string
		bounds     *access.Bounds
		roles      []string
	}{
		{"report", "boundary: needs role Admin or Auditor in the boundary of its client", bounds,
			[]string{"Admin"}},
		{"report", "role: ", bounds, []string{"Auditor"}},
		{"report", "role: needs role Admin or Auditor", bounds, []string{"Viewer"}},
		{"manage", "boundary: needs a boundary of its client that allows it", bounds,
			[]string{"Auditor"}},
		{"manage", "boundary: needs a boundary of its client that allows it", admins,
			[]string{"Auditor"}},
		{"manage", "values: needs more for each value of its argument last", admins,
			[]string{"Viewer"}},
		{"manage", "authentication: ", admins, []string{"Admin", "Auditor"}},
	} {
		d := table.Decide(access.Principal{Subject: "ada", Roles: test.roles, Bounds: test.bounds},
			test.tool)
		if got := string(d.Axis) + ": " + d.Missing(); got != test.want {
			t.Errorf("%s by %s: %q, want %q", test.tool, test.roles, got, test.want)
		}
	}
}

func agreesWithin(t *rapid.T, r, less ruled, table access.Table, own, p, same access.Principal) {
	values := table.Of(access.Values)
	visible, shown := table.Visible(p), map[access.Denial]access.Set{}
	for _, mode := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		shown[mode] = table.Listed(p, mode)
		if more := shown[mode].Without(table.Listed(own, mode)).Names(); len(more) > 0 {
			t.Fatalf("a boundary adds %q to a list", more)
		}
	}
	offered := table.Offered(p, visible)
	for _, tool := range r.Rules {
		want := slices.ContainsFunc(less.Rules, func(l access.Rule) bool {
			return l.Tool == tool.Tool
		}) &&
			less.may(tool, same)
		d, without := table.Decide(p, tool.Tool), table.Decide(own, tool.Tool)
		if d.Allowed != want || visible.Contains(tool.Tool) != want || want != (d.Missing() == "") {
			t.Fatalf("%+v by %q: %+v, visible %v, want %v", tool, p.Roles, d,
				visible.Contains(tool.Tool), want)
		}
		if d.Axis == access.AxisBoundary {
			for mode, set := range shown {
				if set.Contains(tool.Tool) || d.LacksScopesOnly() {
					t.Fatalf("%+v is outside, and listed by %v", tool, mode)
				}
			}
		} else if d.Axis != without.Axis || d.Missing() != without.Missing() ||
			fmt.Sprint(d.ScopesThatWouldDo(true)) != fmt.Sprint(without.ScopesThatWouldDo(true)) {
			t.Fatalf("%+v by %q: %+v with a boundary, and %+v without", tool, p.Roles, d, without)
		}
		if !slices.ContainsFunc(less.Rules, func(l access.Rule) bool { return l.Tool == tool.Tool }) &&
			d.Axis != access.AxisBoundary {
			t.Fatalf("%+v is outside: %+v", tool, d)
		}
		holds := true
		for _, v := range table.Explain(p, tool.Tool) {
			holds = holds && v.Holds
		}
		if holds != want {
			t.Fatalf("%+v: explained as %v", tool, table.Explain(p, tool.Tool))
		}
		var chosen []string
		for _, choice := range table.Choices(p, tool.Tool) {
			for _, value := range choice.Values {
				chosen = append(chosen, choice.Argument+"="+value)
			}
		}
		for _, value := range r.values[tool.Tool] {
			isIn := func(l access.Rule) bool { return l.Name() == value.Name() }
			allowed := slices.ContainsFunc(less.values[tool.Tool], isIn) && less.allows(tool, value, same)
			d := values.Decide(p, value.Name())
			has := slices.Contains(chosen, value.Argument+"="+value.Value)
			if d.Allowed != allowed || want && has != allowed || has && d.Axis == access.AxisBoundary ||
				offered.Contains(value.Name()) != (want && allowed) {
				t.Fatalf("%+v of %+v: %+v, chosen %v, offered %v, want %v", value, tool, d, has,
					offered.Contains(value.Name()), allowed)
			}
		}
	}
}

func TestBoundsOfAnotherTableAllowNothing(t *testing.T) {
	rules := []access.Rule{{Tool: "a", Public: true}, {Tool: "b", MinRole: []string{"Viewer"}}}
	table, other := compose(t, rules...), compose(t, rules...)
	all := func(access.Kind, access.Rule) bool { return true }
	p := access.Principal{Subject: "ada", Roles: []string{"Admin"},
		Bounds: other.Bounds(other.Hierarchy(), all)}
	clone := table.Clone()
	for _, table := range []access.Table{table, clone, access.NewTable(rules...)} {
		if n := table.Visible(p).Len(); n > 0 || table.Decide(p, "a").Axis != access.AxisBoundary {
			t.Errorf("%d tools, %+v", n, table.Decide(p, "a"))
		}
	}
	if n := other.Visible(p).Len(); n != 2 || p.IsZero() ||
		(access.Principal{Bounds: p.Bounds}).IsZero() {
		t.Errorf("%d tools of its own", n)
	}
	p.Bounds = &access.Bounds{}
	if n := other.Visible(p).Len(); n > 0 || other.Holds(p, "Viewer") {
		t.Errorf("the zero Bounds allow %d tools", n)
	}
}

// Parts of one server may have their lines of roles in other orders. In a boundary, the same roles
// count for the tables of all parts, and none for a table of another server.
func TestBoundsCountTheSameRolesForOtherLines(t *testing.T) {
	part := func(pkg string, lines ...[]string) access.Part {
		return access.Part{Package: pkg, Table: access.Table{
			Roles: append([][]string{{"Viewer", "Admin"}}, lines...),
			Rules: []access.Rule{{Tool: pkg, MinRole: []string{"Viewer"}}}}}
	}
	a, b := part("a", []string{"Auditor"}, []string{"Support"}), part("b", []string{"Support"},
		[]string{"Auditor"})
	server, err := access.Compose(a, b)
	if err != nil {
		t.Fatal(err)
	}
	all := func(access.Kind, access.Rule) bool { return true }
	p := server.Resolve(access.Principal{Subject: "ada", Roles: []string{"Support", "Auditor"}})
	p.Bounds = server.Bounds([]string{"Auditor"}, all)
	for name, table := range map[string]access.Table{"server": server, "a": a.Table, "b": b.Table} {
		within := p.Within()
		if table.Holds(p, "Support") || !table.Holds(p, "Auditor") ||
			!slices.Equal(within.Roles, []string{"Auditor"}) {
			t.Errorf("%s: Support %t, Auditor %t, within %q", name, table.Holds(p, "Support"),
				table.Holds(p, "Auditor"), within.Roles)
		}
	}
	other := access.Table{Roles: [][]string{{"Support", "Auditor"}}}
	for _, bounds := range []*access.Bounds{p.Bounds, server.Bounds(server.Hierarchy(), all), {}} {
		p.Bounds = bounds
		if other.Holds(p, "Support", "Auditor") {
			t.Error("a boundary of another server lets roles count")
		}
	}
}

// The roles within a boundary have the same rights without the boundary. Each is a role of the
// caller, or the highest below one that does not count. If every role counts, they do not change.
func TestRolesWithinABoundary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRuled(t)
		known := slices.Sorted(slices.Values(slices.Concat(r.Roles...)))
		b := newBoundary(t, r)
		p := access.Principal{Subject: "ada", Roles: anyRoles(t, append(known, "nobody")),
			Bounds: r.Bounds(b.roles, b.allow)}
		within := p.Within()
		if len(closure(r.Roles, b.roles)) == len(slices.Compact(known)) {
			if !slices.Equal(within.Roles, p.Roles) {
				t.Fatalf("%q of %q without a limit", within.Roles, p.Roles)
			}
			return
		}
		_, same := b.bounded(r, p)
		if got := closure(r.Roles, within.Roles); !slices.Equal(got, same.Roles) {
			t.Fatalf("%q of %q have the rights of %q, want %q", within.Roles, p.Roles, got, same.Roles)
		}
		for _, role := range within.Roles {
			above := func(other string) bool {
				return other != role && reaches(r.Roles, []string{other}, []string{role})
			}
			if !slices.Contains(p.Roles, role) && slices.ContainsFunc(same.Roles, above) {
				t.Fatalf("%q of %q: a role above %q counts", within.Roles, p.Roles, role)
			}
		}
	})
}

// Two boundaries are equal, and have equal texts, if they allow the same.
func TestBoundsAreEqualIfTheyAllowTheSame(t *testing.T) {
	table := access.NewTable(access.Rule{Tool: "a", Public: true}, access.Rule{Tool: "b",
		Public: true},
		access.Rule{Prompt: "a", Public: true})
	of := func(roles []string, allowed ...string) *access.Bounds {
		return table.Bounds(roles, func(k access.Kind, rule access.Rule) bool {
			return slices.Contains(allowed, keyOf(k, rule))
		})
	}
	every := []*access.Bounds{of(nil), of(nil, "tool a"), of(nil, "tool b"), of(nil, "prompt a"),
		of([]string{"Viewer"}), of([]string{"Admin"})}
	for i, b := range every {
		for j, c := range every {
			first, _ := b.AppendText(nil)
			second, _ := c.AppendText(nil)
			if b.Equal(c) != (i == j) || (string(first) == string(second)) != (i == j) {
				t.Errorf("%d and %d: %s and %s", i, j, first, second)
			}
		}
		if b.Equal(nil) || (*access.Bounds)(nil).Equal(b) {
			t.Errorf("%d equals no boundary", i)
		}
	}
	if !of([]string{"Viewer", "Admin"}, "tool a").Equal(of([]string{"Admin"}, "tool a")) {
		t.Error("equal boundaries differ")
	}
}

// Law 4: a decision within a boundary allocates nothing, whatever the refusal, and a list is one
// set.
func TestDecisionsWithinABoundaryCostNoMemory(t *testing.T) {
	table := large(t, chain64())
	p := table.Resolve(access.Principal{Subject: "ada", Roles: table.Hierarchy()[16:48]})
	p.Bounds = table.Bounds(table.Hierarchy()[:40], func(_ access.Kind, rule access.Rule) bool {
		return rule.Tool[len(rule.Tool)-1]%2 == 0
	})
	tools, allowed := table.Tools(), 0
	if n := testing.AllocsPerRun(10, func() {
		allowed = 0
		for _, tool := range tools {
			if table.Decide(p, tool).Allowed {
				allowed++
			}
		}
	}); n != 0 || allowed != table.Visible(p).Len() || allowed < 100 || allowed > 400 {
		t.Errorf("%v allocations, %d tools", n, allowed)
	}
	valued, err := newValueCase(3)
	if err != nil || len(valued.ruled.Values) == 0 {
		t.Fatal(err, "no values")
	}
	for word := range uint8(8) { // which values are inside
		p.Bounds = valued.ruled.Bounds(table.Hierarchy(), func(k access.Kind, rule access.Rule) bool {
			return k == access.Tools || word&(1<<(rule.Value[0]%3)) != 0
		})
		p.Scopes = []string{"read"}
		if n := testing.AllocsPerRun(10, func() {
			for i := range valued.ruled.Rules {
				valued.ruled.Decide(p, valued.ruled.Rules[i].Tool)
			}
		}); n != 0 {
			t.Errorf("%v allocations with values", n)
		}
	}
}

// The blast radius is that of a caller with every scope and permission, by the facts of each item.
func TestReachIsByFacts(t *testing.T) {
	host := access.Permission{App: "crm", Action: "view", Object: "mail"}
	own := access.NewTable(
		access.Rule{Tool: "find", MinRole: []string{"Admin"}, Permission: host, Facts: "private"},
		access.Rule{Tool: "mail", Permission: host, Scopes: []string{"mail"}, Facts: "untrusted,egress"},
		access.Rule{Tool: "old", Public: true},
		access.Rule{Tool: "time", Public: true, Facts: "none"},
		access.Rule{Prompt: "greet", Authenticated: true, Permission: access.NoPermission(),
			Facts: "egress"},
		access.Rule{Resource: "doc://{id}", Authenticated: true, OrScopes: [][]string{{"docs"}},
			Scopes: []string{"all", "read"}, Permission: access.NoPermission(), Facts: "private,untrusted"})
	own.Roles = access.DefaultRoles()
	table, err := access.Compose(access.Part{Package: "p", Table: own})
	if err != nil {
		t.Fatal(err)
	}
	tools := func(k access.Kind, rule access.Rule) bool {
		return k == access.Tools &&
			rule.Tool != "mail"
	}
	for _, test := range []struct {
		table  access.Table
		bounds *access.Bounds
		want   string
	}{
		{table.Aware(), nil, "[tool:find tool:old resource:doc://{id}] " +
			"[tool:mail tool:old resource:doc://{id}] [tool:mail tool:old prompt:greet]"},
		{table.Aware(), table.Bounds([]string{"Admin"}, tools),
			"[tool:find tool:old] [tool:old] [tool:old]"},
		{table, table.Bounds([]string{"Viewer"}, tools), "[tool:old] [tool:old] [tool:old]"},
		{table, &access.Bounds{}, "[tool:old] [tool:old] [tool:old]"},
		{access.Table{}, nil, "[] [] []"},
	} {
		private, untrusted, egress := test.table.Reach(test.bounds)
		if got := fmt.Sprint(private, untrusted, egress); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestFactsThatDoNotExistAreReported(t *testing.T) {
	for facts, valid := range map[string]bool{"": true, "none": true, "egress": true,
		"egress,private,untrusted": true, "privat": false, "none,egress": false, "private,": false} {
		_, err := access.Compose(access.Part{Package: "p", Table: access.NewTable(
			access.Rule{Tool: "a", Public: true, Facts: facts})})
		if (err == nil) != valid {
			t.Errorf("%q: %v", facts, err)
		}
	}
}
