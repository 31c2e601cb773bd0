package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// part has a table whose roles are one chain, or nil.
func part(pkg string, roles []string, rules ...access.Rule) access.Part {
	table := access.Table{Rules: rules}
	if roles != nil {
		table.Roles = slices.DeleteFunc([][]string{roles}, func(c []string) bool { return len(c) == 0 })
	}
	return access.Part{Package: pkg, Table: table}
}

// scopes is a part with lines of scopes.
func scopes(pkg string, lines ...string) access.Part {
	p := access.Part{Package: pkg}
	for _, line := range lines {
		p.Table.Scopes = append(p.Table.Scopes, strings.Fields(line))
	}
	return p
}

func TestComposeRefusesWhatCannotBeMeant(t *testing.T) {
	ab := []string{"A", "B"}
	for name, test := range map[string]struct {
		parts []access.Part
		want  []string
	}{
		"unequal hierarchies": {[]access.Part{part("x/p", ab), part("x/q", []string{"B",
			"A"})}, []string{"packages x/p and x/q have different role hierarchies (A < B and B < A)"}},
		"a longer hierarchy": {[]access.Part{part("x/p", ab), part("x/n", nil),
			part("x/q", []string{"A", "B", "C"})}, []string{"packages x/p and x/q"}},
		"an empty hierarchy": {[]access.Part{part("x/p", []string{})},
			[]string{"package x/p declares an empty role hierarchy"}},
		"a role twice": {[]access.Part{part("x/p", []string{"A", "A"})},
			[]string{"package x/p: //mcp:roles: the role A stands twice in the chain: write " +
				"each role once"}},
		"a role without a name": {[]access.Part{part("x/p", []string{"A", ""})},
			[]string{"package x/p: //mcp:roles: a role has no name"}},
		"a tool in two packages": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true}), part("x/q", nil, access.Rule{Tool: "t", Public: true})},
			[]string{`tool "t" is declared by package x/p and by package x/q`}},
		"a tool twice in a package": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true}, access.Rule{Tool: "t", MinRole: []string{"Viewer"}})},
			[]string{`tool "t" is declared by package x/p and by package x/p`}},
		"a rule without a tool": {[]access.Part{part("x/p", ab,
			access.Rule{Public: true})}, []string{"a rule without the name of its tool"}},
		"public and authenticated": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, Authenticated: true})},
			[]string{
				`package x/p: tool "t": public excludes other requirements, and this rule has ` +
					`some: remove public or the rest`}},
		"public and a role": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, MinRole: []string{access.Lowest}})},
			[]string{"public excludes other requirements"}},
		"public and scopes": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, Scopes: []string{"s"}})}, []string{"public excludes other requirements"}},
		"public and a permission": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, Permission: access.Permission{App: "a", Action: "b"}})},
			[]string{"public excludes other requirements"}},
		"public and constrained": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, Constrained: true})}, []string{"public excludes other requirements"}},
		"an unknown role": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			MinRole: []string{"A", "Manager"}})},
			[]string{
				`tool "t": has the role "Manager", which its hierarchy does not have: run go generate`}},
		"a role without a name in a rule": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			MinRole: []string{""}})}, []string{`has the role "", which`}},
		"a role without roles": {[]access.Part{part("x/p", nil, access.Rule{Tool: "t",
			MinRole: []string{"Viewer"}})}, []string{"its package has no role hierarchy"}},
		"a scope without a name": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Scopes: []string{"s", ""}})}, []string{"a scope without a name"}},
		"an alternative without a name": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Scopes: []string{"s"}, OrScopes: [][]string{{""}}})}, []string{"a scope without a name"}},
		"an empty alternative": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Scopes: []string{"s"}, OrScopes: [][]string{{}}})},
			[]string{`tool "t": has an alternative without scopes: run go generate`}},
		"no first alternative": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			OrScopes: [][]string{{"s"}}})},
			[]string{`tool "t": has an alternative without scopes: run go generate`}},
		"17 alternatives": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Scopes: []string{"s"}, OrScopes: slices.Repeat([][]string{{"s"}}, 16)})},
			[]string{`tool "t": has 17 alternatives of scopes, and at most 16 are possible`}},
		"unequal lines of scopes": {[]access.Part{scopes("x/p", "repo a"), scopes("x/n"),
			scopes("x/q", "repo a b")}, []string{"packages x/p and x/q have different lines " +
			"about the scope repo (repo > a and repo > a, b): write the same //mcp:scopes in both"}},
		"lines of scopes that meet": {[]access.Part{scopes("x/p", "admin repo"), scopes("x/q",
			"repo a")}, []string{"packages x/p and x/q have different lines about the scope admin ("}},
		"a cycle of scopes": {[]access.Part{scopes("x/p", "a b", "b a")}, []string{
			"package x/p: //mcp:scopes: a includes b here, and is included by other lines"}},
		"a cycle of two packages": {[]access.Part{scopes("x/p", "a b"), scopes("x/q",
			"b a")}, []string{"packages x/p and x/q have different lines about the scope a ("}},
		"an unknown denial": {[]access.Part{part("x/p", ab, access.Rule{Tool: "t",
			Public: true, Denial: 7})}, []string{"has an unknown denial mode: use conceal, " +
			"forbid or challenge"}},
		"all at once": {[]access.Part{part("x/p", []string{"A", "A"},
			access.Rule{Tool: "t", MinRole: []string{"Z"}}, access.Rule{Tool: "u", Public: true,
				MinRole: []string{"Viewer"}})}, []string{"role A stands twice", `tool "t"`, `tool "u"`}},
	} {
		table, err := access.Compose(test.parts...)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", name, err, want)
			}
		}
		if len(table.Rules) != 0 {
			t.Errorf("%s: a table all the same: %+v", name, table)
		}
	}
}

// Lines of two packages that give a token the same scopes fit, however they are written.
func TestComposeJoinsTheLinesOfScopes(t *testing.T) {
	whole, err := access.Compose(scopes("x/n"), scopes("x/p", "repo a b", "a c"),
		scopes("x/q", "other d", "repo c a b", "a c"))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"repo", "a", "b"}, {"a", "c"}, {"other", "d"}}
	if !slices.EqualFunc(whole.Scopes, want, slices.Equal[[]string]) {
		t.Errorf("%q", whole.Scopes)
	}
	if _, err := access.Compose(access.Part{Package: "x/r", Table: whole}, scopes("x/q",
		"other d")); err != nil {
		t.Error(err)
	}
}

func TestComposeResolvesReservedRolesAgainstTheServersHierarchy(t *testing.T) {
	table, err := access.Compose(
		part("x/debug", nil, access.Rule{Tool: "low", MinRole: []string{access.Lowest}},
			access.Rule{Tool: "high", MinRole: []string{access.Highest}}),
		part("x/own", []string{"Guest", "Clerk", "Boss"}, access.Rule{Tool: "mine",
			MinRole: []string{"Clerk", access.Highest}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string][]string{"low": {"Guest"}, "mine": {"Clerk", "Boss"},
		"high": {"Boss"}} {
		if rule, ok := table.Tool(tool); !ok || !slices.Equal(rule.MinRole, want) {
			t.Errorf("%s: %+v", tool, rule)
		}
	}
	if got := table.Tools(); !slices.Equal(got, []string{"high", "low", "mine"}) {
		t.Errorf("%v", got)
	}
	if got := table.Hierarchy(); !slices.Equal(got, []string{"Guest", "Clerk", "Boss"}) {
		t.Errorf("%v", got)
	}
}

func TestTablesWithoutRolesHaveTheDefaultOnes(t *testing.T) {
	table, err := access.Compose(part("x/p", nil, access.Rule{Tool: "t",
		MinRole: []string{access.Highest}}))
	if err != nil {
		t.Fatal(err)
	}
	literal := access.Table{Rules: []access.Rule{{Tool: "t", MinRole: []string{access.Highest}}}}
	for _, table := range []access.Table{table, literal} {
		if got := strings.Join(table.Hierarchy(), " < "); got != "Viewer < Member < Manager < Admin" {
			t.Errorf("%s", got)
		}
		boss := access.Principal{Subject: "x", Roles: []string{"Admin"}}
		if !table.Holds(boss, "Viewer", "admin") || table.Holds(boss, "admin", "") || table.Holds(boss) ||
			!table.Holds(boss, access.Highest) || table.Holds(access.Principal{Roles: boss.Roles},
			"Viewer") {
			t.Error("the roles that an Admin holds")
		}
		if !table.Decide(access.Principal{Subject: "x", Roles: []string{"Admin"}}, "t").Allowed ||
			table.Decide(access.Principal{Subject: "x", Roles: []string{"Manager"}}, "t").Allowed {
			t.Error("the highest role is not Admin")
		}
		for i, role := range table.Hierarchy() {
			p := access.Principal{Subject: "x", Roles: []string{role}}
			if may := table.Visible(p).Contains("t"); may != (i == 3) {
				t.Errorf("%s sees the tool of the highest role: %v", role, may)
			}
		}
	}
}

func TestComposedTableDoesNotShareItsParts(t *testing.T) {
	rules := []access.Rule{{Tool: "t", Scopes: []string{"s"}}}
	roles := []string{"A"}
	table, err := access.Compose(part("x/p", roles, rules...))
	if err != nil {
		t.Fatal(err)
	}
	rules[0].Scopes[0], rules[0].Public, roles[0] = "other", true, "B"
	if table.Decide(access.Principal{Subject: "x", Scopes: []string{"other"}}, "t").Allowed ||
		table.Holds(access.Principal{Subject: "x", Roles: []string{"B"}}, "A", "B") {
		t.Error("changing a part changed the table")
	}
	table.Hierarchy()[0], table.MainChain()[0] = "C", "C"
	table.Tools()[0] = "u"
	if table.Hierarchy()[0] != "A" || table.MainChain()[0] != "A" || table.Tools()[0] != "t" {
		t.Error("changing what was returned changed the table")
	}
}

func TestAllIsEveryTool(t *testing.T) {
	table, err := access.Compose(part("x/p", nil, access.Rule{Tool: "b"}, access.Rule{Tool: "a", Public: true}))
	if err != nil {
		t.Fatal(err)
	}
	all, literal := table.All(), access.NewTable(access.Rule{Tool: "b"}, access.Rule{Tool: "a"})
	for _, got := range [][]string{all.Names(), all.Without(access.Set{}).Names(),
		literal.Tools()} {
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%v", got)
		}
	}
	if zero := (access.Set{}); zero.Contains("a") || zero.Len() != 0 || all.And(zero).Len() != 0 {
		t.Error("the zero Set has a tool")
	}
	if _, ok := table.Tool("c"); ok {
		t.Error("a rule of no tool")
	}
}
