package access_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

const (
	viewer access.Role = iota + 1
	member
	manager
	admin
)

func compose(t testing.TB, rules ...access.Rule) access.Table {
	t.Helper()
	table, err := access.Compose(access.Part{Package: "p", Table: access.Table{Roles: access.DefaultRoles(), Rules: rules}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDecisionHasWhoMayAndWhatIsMissing(t *testing.T) {
	nobody, known := access.Principal{}, access.Principal{Subject: "ada"}
	as := func(role string, scopes ...string) access.Principal {
		return access.Principal{Subject: "ada", Role: role, Scopes: scopes}
	}
	for _, test := range []struct {
		rule    access.Rule
		p       access.Principal
		allowed bool
		axis    access.Axis
		missing string
	}{
		{access.Rule{}, as("Admin"), false, access.AxisRule, "admits no caller"},
		{access.Rule{}, nobody, false, access.AxisRule, "admits no caller"},
		{access.Rule{Permission: access.Permission{App: "dcim", Action: "view", Object: "device"}},
			as("Admin"), false, access.AxisRule,
			"admits no caller"},
		{access.Rule{Constrained: true}, as("Admin"), false, access.AxisRule, "admits no caller"},
		{access.Rule{Scopes: []string{}}, as("Admin"), false, access.AxisRule, "admits no caller"},
		{access.Rule{Public: true}, nobody, true, access.AxisPublic, ""},
		{access.Rule{Public: true}, as("Admin"), true, access.AxisPublic, ""},
		{access.Rule{Authenticated: true}, nobody, false, access.AxisAuthentication, "needs an authenticated caller"},
		{access.Rule{Authenticated: true}, known, true, access.AxisAuthentication, ""},
		{access.Rule{Authenticated: true}, access.Principal{Role: "Admin", Scopes: []string{"a"}, Client: "c"}, false, access.AxisAuthentication, "needs an authenticated caller"},
		{access.Rule{MinRole: manager}, as("Member"), false, access.AxisRole, "needs role Manager"},
		{access.Rule{MinRole: manager}, as("Manager"), true, access.AxisRole, ""},
		{access.Rule{MinRole: manager}, as("Admin"), true, access.AxisRole, ""},
		{access.Rule{MinRole: manager}, as("manager"), false, access.AxisRole, "needs role Manager"},
		{access.Rule{MinRole: manager}, as("Root"), false, access.AxisRole, "needs role Manager"},
		{access.Rule{MinRole: viewer}, known, false, access.AxisRole, "needs role Viewer"},
		{access.Rule{MinRole: viewer}, access.Principal{Role: "Admin"}, false, access.AxisAuthentication, "needs an authenticated caller and role Viewer"},
		{access.Rule{MinRole: access.Lowest}, as("Viewer"), true, access.AxisRole, ""},
		{access.Rule{MinRole: access.Lowest}, known, false, access.AxisRole, "needs role Viewer"},
		{access.Rule{MinRole: access.Highest}, as("Manager"), false, access.AxisRole, "needs role Admin"},
		{access.Rule{MinRole: access.Highest}, as("Admin"), true, access.AxisRole, ""},
		{access.Rule{Scopes: []string{"read", "write"}}, as("", "read"), false, access.AxisScopes, "needs scope write"},
		{access.Rule{Scopes: []string{"read", "write"}}, as("Admin"), false, access.AxisScopes, "needs scopes read, write"},
		{access.Rule{Scopes: []string{"read"}}, as("", "write", "read"), true, access.AxisScopes, ""},
		{access.Rule{MinRole: member, Scopes: []string{"read"}}, as("Viewer"), false, access.AxisRole, "needs role Member and scope read"},
		{access.Rule{MinRole: member, Scopes: []string{"read"}}, as("Member"), false, access.AxisScopes, "needs scope read"},
		{access.Rule{MinRole: member, Scopes: []string{"read"}}, as("Member", "read"), true, access.AxisScopes, ""},
	} {
		test.rule.Tool = "t"
		literal := access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{test.rule}}
		for how, table := range map[string]access.Table{"composed": compose(t, test.rule), "literal": literal} {
			d := table.Decide(test.p, "t")
			if d.Allowed != test.allowed || d.Axis != test.axis || d.Missing() != test.missing {
				t.Errorf("%s: %+v for %+v: %v by %s, %q", how, test.rule, test.p, d.Allowed, d.Axis, d.Missing())
			}
		}
	}
}

func TestUnknownToolIsDenied(t *testing.T) {
	table := compose(t, access.Rule{Tool: "known", Public: true})
	for _, name := range []string{"", "Known", "known ", "knownn", "unknown"} {
		d := table.Decide(access.Principal{Subject: "ada", Role: "Admin"}, name)
		if d.Allowed || d.Axis != access.AxisUnknown || d.Missing() != "" {
			t.Errorf("%q: %+v", name, d)
		}
	}
	if d := (access.Table{}).Decide(access.Principal{Subject: "ada"}, ""); d.Allowed {
		t.Errorf("the zero table allows: %+v", d)
	}
	if (access.Decision{}).Allowed {
		t.Error("the zero decision allows")
	}
}

func TestRanksThatNoHierarchyReachesAreOutOfReach(t *testing.T) {
	// Literals that never went through Compose, which refuses them.
	for _, rank := range []access.Role{5, 99, -3, -99} {
		table := access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "t", MinRole: rank}}}
		if d := table.Decide(access.Principal{Subject: "ada", Role: "Admin"}, "t"); d.Allowed {
			t.Errorf("rank %d: %+v", rank, d)
		}
	}
	for _, rank := range []access.Role{access.Lowest, access.Highest, 1} {
		table := access.Table{Roles: []string{}, Rules: []access.Rule{{Tool: "t", MinRole: rank}}}
		if d := table.Decide(access.Principal{Subject: "ada", Role: "Admin"}, "t"); d.Allowed {
			t.Errorf("rank %d of no roles: %+v", rank, d)
		}
	}
}

func TestNameThatStandsTwiceIsNobodys(t *testing.T) {
	table := access.Table{Rules: []access.Rule{{Tool: "t", Public: true}, {Tool: "t", MinRole: admin}}}
	p := access.Principal{Subject: "ada", Role: "Admin"}
	if d := table.Decide(p, "t"); d.Allowed || d.Axis != access.AxisUnknown {
		t.Errorf("%+v", d)
	}
	if names := table.Visible(p).Names(); len(names) != 0 {
		t.Errorf("%v", names)
	}
}

// oracle is the rule in other words, written without looking at the package.
func oracle(roles []string, rule access.Rule, p access.Principal) bool {
	if rule.Public {
		return true
	}
	if p.Subject == "" {
		return false
	}
	asked := false
	if rule.Authenticated {
		asked = true
	}
	if rule.MinRole != 0 {
		asked = true
		need := int(rule.MinRole) - 1
		switch rule.MinRole {
		case access.Lowest:
			need = 0
		case access.Highest:
			need = len(roles) - 1
		}
		if have := slices.Index(roles, p.Role); have < 0 || have < need {
			return false
		}
	}
	for _, scope := range rule.Scopes {
		asked = true
		if !slices.Contains(p.Scopes, scope) {
			return false
		}
	}
	return asked
}

func TestDecisionsAgreeWithTheOracle(t *testing.T) {
	scopes := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		roles := []string{"R1", "R2", "R3", "R4", "R5"}[:rapid.IntRange(1, 5).Draw(t, "roles")]
		var rules []access.Rule
		for i := range rapid.IntRange(1, 130).Draw(t, "rules") {
			rule := access.Rule{Tool: fmt.Sprintf("t%03d", i)}
			if rapid.IntRange(0, 5).Draw(t, "public") == 0 {
				rule.Public = true
			} else {
				rule.Authenticated = rapid.Bool().Draw(t, "authenticated")
				rule.MinRole = access.Role(rapid.IntRange(-2, len(roles)).Draw(t, "min"))
				rule.Scopes = rapid.SliceOfNDistinct(rapid.SampledFrom(scopes), 0, 2, rapid.ID[string]).Draw(t, "scopes")
				if rapid.Bool().Draw(t, "permission") {
					rule.Permission = access.Permission{App: "a", Action: "b"}
				}
			}
			rules = append(rules, rule)
		}
		literal := access.Table{Roles: roles, Rules: rules}
		composed, err := access.Compose(access.Part{Package: "p", Table: literal})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			p := access.Principal{
				Subject: rapid.SampledFrom([]string{"", "ada"}).Draw(t, "subject"),
				Role:    rapid.SampledFrom([]string{"", "R1", "R2", "R3", "R4", "R5", "r1", "Admin"}).Draw(t, "role"),
				Scopes:  rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "A", ""}), 0, 4).Draw(t, "held"),
			}
			var visible []string
			for _, rule := range rules {
				want := oracle(roles, rule, p)
				if want {
					visible = append(visible, rule.Tool)
				}
				for _, table := range []access.Table{literal, composed} {
					d := table.Decide(p, rule.Tool)
					if d.Allowed != want || d.Allowed != (d.Missing() == "") {
						t.Fatalf("%v, %+v, %+v: %+v, %q", roles, rule, p, d, d.Missing())
					}
				}
			}
			for _, table := range []access.Table{literal, composed} {
				set := table.Visible(p)
				if !slices.Equal(set.Names(), visible) || set.Len() != len(visible) {
					t.Fatalf("%+v sees %v, want %v", p, set.Names(), visible)
				}
				for _, rule := range rules {
					if set.Contains(rule.Tool) != slices.Contains(visible, rule.Tool) {
						t.Fatalf("contains %s: %v", rule.Tool, set.Contains(rule.Tool))
					}
				}
			}
			if a, b := literal.Visible(p), composed.Visible(p); !a.Equal(b) {
				t.Fatalf("%+v: keys or digests differ", p)
			}
		}
	})
}

func TestMoreNeverSeesLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []access.Rule
		for i := range 20 {
			rules = append(rules, access.Rule{Tool: fmt.Sprintf("t%02d", i), Authenticated: true,
				MinRole: access.Role(rapid.IntRange(0, 4).Draw(t, "min")),
				Scopes:  rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "scopes")})
		}
		table, err := access.Compose(access.Part{Table: access.Table{Roles: access.DefaultRoles(), Rules: rules}})
		if err != nil {
			t.Fatal(err)
		}
		role := rapid.IntRange(0, 3).Draw(t, "role")
		less := access.Principal{Subject: "x", Role: append([]string{""}, access.DefaultRoles()...)[role], Scopes: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "held")}
		more := less
		more.Role = access.DefaultRoles()[role]
		more.Scopes = append(slices.Clone(less.Scopes), "a")
		for _, tool := range table.Visible(less).Names() {
			if !table.Decide(more, tool).Allowed {
				t.Fatalf("%s: %+v may, %+v may not", tool, less, more)
			}
		}
	})
}

func TestVisibleSetsAreNotSharedWithWhoeverHoldsMoreScopes(t *testing.T) {
	table := compose(t, access.Rule{Tool: "free", Authenticated: true}, access.Rule{Tool: "scoped", Scopes: []string{"s"}})
	plain, scoped := access.Principal{Subject: "a"}, access.Principal{Subject: "b", Scopes: []string{"s"}}
	if got := table.Visible(scoped).Names(); !slices.Equal(got, []string{"free", "scoped"}) {
		t.Errorf("%v", got)
	}
	if got := table.Visible(plain).Names(); !slices.Equal(got, []string{"free"}) {
		t.Errorf("%v", got)
	}
	if table.Visible(plain).Equal(table.Visible(scoped)) {
		t.Error("different sets have one digest")
	}
}

func TestHighestOfIsTheHighestKnownRole(t *testing.T) {
	table := compose(t)
	for want, names := range map[string][]string{
		"":        {"", "root", "admin", "ADMIN"},
		"Admin":   {"Viewer", "Admin", "root"},
		"Member":  {"Member", "Viewer", "Member"},
		"Manager": {"", "Manager"},
	} {
		if got := table.HighestOf(names...); got != want {
			t.Errorf("%v: %q", names, got)
		}
	}
	if table.HighestOf() != "" {
		t.Error("no names make a role")
	}
}

func TestPrincipal(t *testing.T) {
	if p := (access.Principal{}); !p.IsZero() || !p.Anonymous() || p.ClientID() != "" {
		t.Errorf("%+v", p)
	}
	for _, p := range []access.Principal{
		{Issuer: "i"}, {Subject: "s"}, {Client: "c"}, {Role: "r"}, {Scopes: []string{"s"}}, {Groups: []string{"g"}},
		{Orgs: []access.Membership{{Name: "o", Standing: access.Owner}}}, {Teams: []access.Membership{{Name: "t", Standing: access.Lead}}},
	} {
		if p.IsZero() || p.Anonymous() != (p.Subject == "") {
			t.Errorf("%+v", p)
		}
	}
	if p := (access.Principal{Subject: "ada"}); p.ClientID() != "ada" {
		t.Error(p.ClientID())
	}
	if p := (access.Principal{Subject: "ada", Client: "cli"}); p.ClientID() != "cli" {
		t.Error(p.ClientID())
	}
}

func TestDenialIsWrittenAsInDirectives(t *testing.T) {
	var words []string
	for d := access.DenialDefault; d <= access.Challenge+1; d++ {
		words = append(words, d.String())
	}
	if got := strings.Join(words, " "); got != "default conceal forbid challenge unknown" {
		t.Error(got)
	}
}

func BenchmarkDecide(b *testing.B) {
	var rules []access.Rule
	for i := range 1000 {
		rules = append(rules, access.Rule{Tool: fmt.Sprintf("tool_%04d", i), MinRole: access.Role(1 + i%4)})
	}
	table := compose(b, rules...)
	p := access.Principal{Subject: "ada", Role: "Member"}
	b.ReportAllocs()
	for i := range b.N {
		if d := table.Decide(p, "tool_0501"); !d.Allowed {
			b.Fatal(i, d)
		}
	}
}

func BenchmarkVisible(b *testing.B) {
	var rules []access.Rule
	for i := range 1000 {
		rules = append(rules, access.Rule{Tool: fmt.Sprintf("tool_%04d", i), MinRole: access.Role(1 + i%4)})
	}
	table := compose(b, rules...)
	p := access.Principal{Subject: "ada", Role: "Member"}
	b.ReportAllocs()
	for range b.N {
		if table.Visible(p).Len() != 500 {
			b.Fatal("wrong")
		}
	}
}

func TestRoleAndDenialThatThereIsNotStaySo(t *testing.T) {
	for _, far := range []int{math.MaxInt, math.MaxInt32, math.MinInt, math.MinInt32} {
		table := access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "t", MinRole: access.Role(far), Denial: access.Denial(far)}}}
		d := table.Decide(access.Principal{Subject: "ada", Role: "Admin"}, "t")
		if d.Allowed || d.Axis != access.AxisRole || d.Denial.String() != "unknown" {
			t.Errorf("%d: %+v", far, d)
		}
	}
}
