package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// fieldRules draws the rules of fields of a table with some roles.
func fieldRules(t *rapid.T, roles [][]string) (rules []access.Rule) {
	names := append(slices.Concat(roles...), access.Lowest, access.Highest)
	slices.Sort(names)
	names = slices.Compact(names)
	scopes := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 1, 2, rapid.ID[string])
	for i := range rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 70)).Draw(t, "fields") {
		rule := access.Rule{Field: fmt.Sprintf("example.com/p.T.F%02d", i), MinRole: anyRoles(t, names)}
		rule.Authenticated = rapid.Bool().Draw(t, "authenticated")
		if rapid.Bool().Draw(t, "scoped") {
			rule.Scopes = scopes.Draw(t, "scopes")
			if rapid.Bool().Draw(t, "or") {
				rule.OrScopes = [][]string{scopes.Draw(t, "alternative")}
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "permission") == 0 {
			rule.Permission = device(rapid.SampledFrom([]string{"view", "change"}).Draw(t, "action"))
		}
		rules = append(rules, rule)
	}
	return rules
}

// fieldSeen is the reference: the rule holds for a caller with the roles that count within a
// boundary, and an aware table needs a user of the host with the permission.
func fieldSeen(table access.Table, rule access.Rule, p access.Principal, h host) bool {
	if !table.IsAware() {
		return oracle(table.Roles, rule, p)
	}
	if p.Subject == "" || p.Permits == nil {
		return false
	}
	if rule.Permission.Required() {
		rule.Authenticated = true // a permission alone is a rule here
		if h[rule.Permission.String()] != access.PermitAll {
			return false
		}
	}
	return oracle(table.Roles, rule, p)
}

// Laws 1 and 2 for fields. Hidden, Decide, Visible and Explain agree with the reference, in each
// form of a table. One more role or scope hides no field, and a boundary shows none. Rules of
// fields change no decision about tools.
func TestHiddenFieldsAreThoseThatDecideDenies(t *testing.T) {
	hid, saw := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := newRuled(t)
		plain := composed(t, r.Table)
		r.Fields = fieldRules(t, r.Roles)
		whole := composed(t, r.Table)
		h := host{"dcim.view_device": access.Permit(rapid.IntRange(0, 2).Draw(t, "view")),
			"dcim.change_device": access.PermitAll}
		fields := []string{"example.com/p.T.None"}
		for _, rule := range r.Fields {
			fields = append(fields, rule.Field)
		}
		known := slices.Sorted(slices.Values(slices.Concat(r.Roles...)))
		for range 2 {
			p := access.Principal{
				Subject: rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "subject"),
				Roles:   anyRoles(t, append(known, "", "nobody")),
				Scopes:  rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A"}), 0, 3).Draw(t, "held"),
			}
			counting := anyRoles(t, append(known, "nobody"))
			has := rapid.Bool().Draw(t, "has fields")
			for _, table := range []access.Table{r.Table, whole, whole.Aware(), r.Aware()} {
				own := p
				if table.IsAware() && rapid.Bool().Draw(t, "user") {
					own.Permits = table.Permits(h.ask)
				}
				if !table.IsAware() && !plain.Visible(p).Equal(whole.Visible(p)) {
					t.Fatal("rules of fields change the visible tools")
				}
				hidden := table.Hidden(own, fields)
				for _, p := range []access.Principal{own, table.Resolve(own)} {
					seesFields(t, table, p, fields, func(rule access.Rule) bool {
						return fieldSeen(table, rule, own, h)
					})
				}
				more := own
				more.Roles = append(slices.Clone(p.Roles), rapid.SampledFrom(known).Draw(t, "more"))
				more.Scopes = append(slices.Clone(p.Scopes), "a")
				within(t, "one more role and scope", table.Hidden(more, fields), hidden)
				bounded, same := own, own
				bounded.Bounds = table.Bounds(counting, func(k access.Kind, _ access.Rule) bool {
					return has && k == access.Fields
				})
				counts := closure(r.Roles, counting)
				same.Roles = slices.DeleteFunc(closure(r.Roles, p.Roles), func(role string) bool {
					return !slices.Contains(counts, role)
				})
				seesFields(t, table, bounded, fields, func(rule access.Rule) bool {
					return has && fieldSeen(table, rule, same, h)
				})
				within(t, "no boundary", hidden, table.Hidden(bounded, fields))
				hid, saw = hid+len(hidden), saw+len(fields)-len(hidden)
			}
		}
	})
	if min(hid, saw)*50 < hid+saw {
		t.Errorf("%d hidden fields and %d others: too few to prove much", hid, saw)
	}
}

// within fails if there is a field in less that is not in more.
func within(t *rapid.T, what string, less, more []string) {
	for _, field := range less {
		if !slices.Contains(more, field) {
			t.Fatalf("%s: %s is hidden", what, field)
		}
	}
}

func seesFields(t *rapid.T, table access.Table, p access.Principal, fields []string,
	sees func(access.Rule) bool) {
	hidden, part := table.Hidden(p, fields), table.Of(access.Fields)
	visible := part.Visible(p)
	var want []string
	for _, field := range fields {
		rule, known := part.Tool(field)
		allowed := known && sees(rule)
		if !allowed {
			want = append(want, field)
		}
		d, holds := part.Decide(p, field), true
		for _, v := range part.Explain(p, field) {
			holds = holds && v.Holds
		}
		if d.Allowed != allowed || visible.Contains(field) != allowed || holds != allowed ||
			(d.Missing() == "") != (allowed || !known) {
			t.Fatalf("%+v on %+v: %+v, %q, visible %v, explained as %v, want %v", p, rule, d, d.Missing(),
				visible.Contains(field), part.Explain(p, field), allowed)
		}
	}
	if !slices.Equal(hidden, want) {
		t.Fatalf("%+v: hidden %q, want %q", p, hidden, want)
	}
}

// A caller for whom no field is hidden costs no memory, and neither does a tool without fields.
func TestFieldsOfACallerWhoSeesAllCostNoMemory(t *testing.T) {
	table := access.NewTable()
	var fields []string
	for i := range 100 {
		fields = append(fields, fmt.Sprintf("p.T.F%d", i))
		table.Fields = append(table.Fields, access.Rule{Field: fields[i],
			MinRole: []string{"Manager"}, Scopes: []string{"read"}, Permission: device("view")})
	}
	table.Roles = access.DefaultRoles()
	table, err := access.Compose(access.Part{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	table = table.Aware()
	p := table.Resolve(access.Principal{Subject: "ada", Roles: []string{"Admin", "Viewer"},
		Scopes: []string{"read"}, Permits: table.Permits(host{"dcim.view_device": access.PermitAll}.ask)})
	p.Bounds = table.Bounds(access.DefaultRoles()[0], func(access.Kind, access.Rule) bool {
		return true
	})
	var hidden, none []string
	if n := testing.AllocsPerRun(10, func() {
		hidden, none = table.Hidden(p, fields), table.Hidden(access.Principal{}, nil)
	}); n != 0 || hidden != nil || none != nil {
		t.Errorf("%v allocations, %q, %q", n, hidden, none)
	}
	p.Scopes = nil
	if hidden = table.Hidden(p, fields); !slices.Equal(hidden, fields) {
		t.Errorf("%q", hidden)
	}
}

// Several packages may have the rule of one field, if it is the same rule.
func TestComposeJoinsTheRulesOfAField(t *testing.T) {
	const field = "example.com/p.T.F"
	same := []access.Rule{
		{MinRole: []string{"B", "C"}, Scopes: []string{"x", "y"}, OrScopes: [][]string{{"z"}}},
		{MinRole: []string{access.Highest, "B"}, Scopes: []string{"z"}, OrScopes: [][]string{{"y", "x"}}},
	}
	other := []access.Rule{{}, {Authenticated: true}, {MinRole: []string{"B"}},
		{MinRole: []string{"A"}}, {Scopes: []string{"x"}}, {Permission: device("view")},
		{Permission: device("view"), Verb: "retrieve"}}
	table := func(rule access.Rule) access.Table {
		rule.Field = field
		return access.Table{Roles: [][]string{{"A", "B", "C"}}, Fields: []access.Rule{rule}}
	}
	both := func(a, b access.Rule) (access.Table, error) {
		return access.Compose(access.Part{Package: "x/p", Table: table(a)},
			access.Part{Package: "x/q", Table: table(b)})
	}
	for _, b := range same {
		got, err := both(same[0], b)
		if err != nil || len(got.Fields) != 1 {
			t.Errorf("%+v: %+v, %v", b, got.Fields, err)
			continue
		}
		if rule, known := got.Of(access.Fields).Tool(field); !known || !rule.Same(same[0]) {
			t.Errorf("%+v became %+v", b, rule)
		}
	}
	want := fmt.Sprintf("field %q has one rule in package x/p and another in package x/q: write the "+
		"same //mcp:field in both", field)
	facts := same[0]
	facts.Facts = "none"
	if _, err := both(same[0], facts); err == nil || err.Error() != want {
		t.Errorf("facts in one of two packages: %v", err)
	}
	for i, a := range other {
		for j, b := range other {
			if _, err := both(a, b); (err == nil) != (i == j) || err != nil && err.Error() != want {
				t.Errorf("%+v and %+v: %v", a, b, err)
			}
		}
	}
}

func TestComposeRefusesRulesThatNoFieldCanHave(t *testing.T) {
	const cannot = "has public, constrained, a denial or facts, which the rule of a field cannot have"
	for _, test := range []struct {
		rule access.Rule
		want string
	}{
		{access.Rule{Field: "p.T.F", Public: true}, cannot},
		{access.Rule{Field: "p.T.F", Authenticated: true, Constrained: true}, cannot},
		{access.Rule{Field: "p.T.F", Authenticated: true, Denial: access.Conceal}, cannot},
		{access.Rule{Field: "p.T.F", Authenticated: true, Facts: "none"}, cannot},
		{access.Rule{Authenticated: true}, "a rule without the name of its field"},
		{access.Rule{Tool: "t", Field: "p.T.F", Authenticated: true},
			"a rule of another kind among those of fields"},
	} {
		_, err := access.Compose(access.Part{Package: "x/p",
			Table: access.Table{Fields: []access.Rule{test.rule}}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.rule, err)
		}
	}
	_, err := access.Compose(access.Part{Table: access.Table{
		Rules: []access.Rule{{Tool: "t", Field: "p.T.F", Public: true}}}})
	if err == nil {
		t.Error("a rule of a tool may name a field")
	}
}

func BenchmarkHidden(b *testing.B) {
	table := large(b, access.DefaultRoles())
	var fields []string
	for i := range 20 {
		fields = append(fields, fmt.Sprintf("p.T.F%d", i))
		table.Fields = append(table.Fields, access.Rule{Field: fields[i], MinRole: []string{"Manager"}})
	}
	table, err := access.Compose(access.Part{Table: table})
	if err != nil {
		b.Fatal(err)
	}
	for _, role := range []string{"Member", "Admin"} {
		p := table.Resolve(access.Principal{Subject: "ada", Roles: []string{role}})
		b.Run(role, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if hidden := table.Hidden(p, fields); (hidden == nil) != (role == "Admin") {
					b.Fatal(hidden)
				}
			}
		})
	}
}
