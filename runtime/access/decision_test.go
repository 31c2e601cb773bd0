package access_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
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
		return access.Principal{Subject: "ada", Roles: strings.Split(role, ","), Scopes: scopes}
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
		{access.Rule{Authenticated: true}, access.Principal{Roles: []string{"Admin"},
			Scopes: []string{"a"}, Client: "c"}, false, access.AxisAuthentication,
			"needs an authenticated caller"},
		{access.Rule{MinRole: []string{"Manager"}}, as("Member"), false, access.AxisRole,
			"needs role Manager"},
		{access.Rule{MinRole: []string{"Manager"}}, as("Manager"), true, access.AxisRole, ""},
		{access.Rule{MinRole: []string{"Manager"}}, as("Admin"), true, access.AxisRole, ""},
		{access.Rule{MinRole: []string{"Manager"}}, as("manager"), false, access.AxisRole,
			"needs role Manager"},
		{access.Rule{MinRole: []string{"Manager"}}, as("Root"), false, access.AxisRole,
			"needs role Manager"},
		{access.Rule{MinRole: []string{"Viewer"}}, known, false, access.AxisRole, "needs role Viewer"},
		{access.Rule{MinRole: []string{"Viewer"}}, access.Principal{Roles: []string{"Admin"}},
			false, access.AxisAuthentication, "needs an authenticated caller and role Viewer"},
		{access.Rule{MinRole: []string{access.Lowest}}, as("Viewer"), true, access.AxisRole, ""},
		{access.Rule{MinRole: []string{access.Lowest}}, known, false, access.AxisRole,
			"needs role Viewer"},
		{access.Rule{MinRole: []string{access.Highest}}, as("Manager"), false, access.AxisRole,
			"needs role Admin"},
		{access.Rule{MinRole: []string{access.Highest}}, as("Admin"), true, access.AxisRole, ""},
		{access.Rule{MinRole: []string{"Manager", "Admin"}}, as("Viewer,Member"), false,
			access.AxisRole, "needs role Manager or Admin"},
		{access.Rule{MinRole: []string{"Manager", "Admin"}}, as("Root,Manager"), true,
			access.AxisRole, ""},
		{access.Rule{Scopes: []string{"read", "write"}}, as("", "read"), false, access.AxisScopes, "needs scope write"},
		{access.Rule{Scopes: []string{"read", "write"}}, as("Admin"), false, access.AxisScopes, "needs scopes read, write"},
		{access.Rule{Scopes: []string{"read"}}, as("", "write", "read"), true, access.AxisScopes, ""},
		{access.Rule{Scopes: []string{"a", "b"}, OrScopes: [][]string{{"c"}}}, as("", "c"), true,
			access.AxisScopes, ""},
		{access.Rule{Scopes: []string{"a", "b"}, OrScopes: [][]string{{"c"}}}, as("", "b"), false,
			access.AxisScopes, "needs scope a"},
		{access.Rule{Scopes: []string{"a", "b"}, OrScopes: [][]string{{"c"}}}, as(""), false,
			access.AxisScopes, "needs scope c"},
		{access.Rule{MinRole: []string{"Member"}, Scopes: []string{"read"}}, as("Viewer"), false,
			access.AxisRole, "needs role Member and scope read"},
		{access.Rule{MinRole: []string{"Member"}, Scopes: []string{"read"}}, as("Member"), false,
			access.AxisScopes, "needs scope read"},
		{access.Rule{MinRole: []string{"Member"}, Scopes: []string{"read"}}, as("Member", "read"),
			true, access.AxisScopes, ""},
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
		d := table.Decide(access.Principal{Subject: "ada", Roles: []string{"Admin"}}, name)
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

func TestRolesThatNoHierarchyHasAreOutOfReach(t *testing.T) {
	// Literals that never went through Compose, which refuses them.
	for _, roles := range [][][]string{nil, access.DefaultRoles(), {}, {{"A", "A"}}, {{"A", "B"},
		{"B", "A"}}} {
		for _, role := range []string{"", "Boss", "A", "B", access.Lowest, access.Highest} {
			table := access.Table{Roles: roles, Rules: []access.Rule{{Tool: "t", MinRole: []string{role}}}}
			all := []string{"A", "B", "Boss", "", access.Lowest, access.Highest}
			if d := table.Decide(access.Principal{Subject: "ada", Roles: all}, "t"); d.Allowed {
				t.Errorf("%q of %q: %+v", role, roles, d)
			}
		}
	}
}

func TestNameThatStandsTwiceIsNobodys(t *testing.T) {
	table := access.Table{Rules: []access.Rule{{Tool: "t", Public: true}, {Tool: "t",
		MinRole: []string{"Admin"}}}}
	p := access.Principal{Subject: "ada", Roles: []string{"Admin"}}
	if d := table.Decide(p, "t"); d.Allowed || d.Axis != access.AxisUnknown {
		t.Errorf("%+v", d)
	}
	if names := table.Visible(p).Names(); len(names) != 0 {
		t.Errorf("%v", names)
	}
}

// Compose refuses an alternative without scopes, and a literal holds it for nobody.
func TestNobodyHasAnAlternativeWithoutScopes(t *testing.T) {
	for missing, rule := range map[string]access.Rule{
		"needs scope a":    {Tool: "t", Scopes: []string{"a"}, OrScopes: [][]string{{}, {"b"}}},
		"needs scope b":    {Tool: "t", OrScopes: [][]string{{}, {"b"}}},
		"admits no caller": {Tool: "t", OrScopes: [][]string{{}}},
	} {
		table := access.NewTable(rule)
		d := table.Decide(access.Principal{Subject: "ada", Scopes: []string{""}}, "t")
		if d.Allowed || d.Axis != access.AxisScopes || d.Missing() != missing {
			t.Errorf("%s: %+v, %q", missing, d, d.Missing())
		}
	}
}

// oracle is the rule in other words, written without looking at the package.
func oracle(roles [][]string, rule access.Rule, p access.Principal) bool {
	if rule.Public {
		return true
	}
	if p.Subject == "" {
		return false
	}
	asked := rule.Authenticated
	if len(rule.MinRole) > 0 {
		asked = true
		if !reaches(roles, p.Roles, rule.MinRole) {
			return false
		}
	}
	some := len(rule.Scopes) == 0
	for _, scopes := range append([][]string{rule.Scopes}, rule.OrScopes...) {
		all := len(scopes) > 0
		for _, scope := range scopes {
			all = all && slices.Contains(p.Scopes, scope)
		}
		asked, some = asked || len(scopes) > 0, some || all
	}
	return asked && some
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

func TestPrincipal(t *testing.T) {
	if p := (access.Principal{}); !p.IsZero() || !p.Anonymous() || p.ClientID() != "" {
		t.Errorf("%+v", p)
	}
	for _, p := range []access.Principal{
		{Issuer: "i"}, {Subject: "s"}, {Client: "c"}, {Roles: []string{"r"}},
		{Scopes: []string{"s"}}, {Groups: []string{"g"}},
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

func TestDenialThatThereIsNotStaysSo(t *testing.T) {
	for _, far := range []int{math.MaxInt, math.MaxInt32, math.MinInt, math.MinInt32} {
		table := access.Table{Rules: []access.Rule{{Tool: "t", MinRole: []string{"Admin"},
			Denial: access.Denial(far)}}}
		d := table.Decide(access.Principal{Subject: "ada", Roles: []string{"Manager"}}, "t")
		if d.Allowed || d.Axis != access.AxisRole || d.Denial.String() != "unknown" {
			t.Errorf("%d: %+v", far, d)
		}
	}
}
