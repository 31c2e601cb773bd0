package access_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// valueCase is a random table whose tools have rules by value, and its parts.
type valueCase struct {
	*rand.Rand
	plain, ruled access.Table // without and with the rules of values
}

// roles returns at least so many roles for a rule.
func (c valueCase) roles(least int) []string {
	all := access.DefaultRoles()[0]
	c.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:least+c.IntN(3-least)]
}

func newValueCase(seed uint64) (c valueCase, err error) {
	c.Rand = rand.New(rand.NewPCG(seed, 1))
	var tools, values []access.Rule
	for i := range 1 + c.IntN(3) {
		tool := access.Rule{Tool: fmt.Sprintf("t%d", i), Denial: access.Denial(c.IntN(3))}
		switch c.IntN(5) {
		case 0:
			tool.Public = true
		case 1:
			tool.Authenticated = true
		case 2:
			tool.MinRole = c.roles(1)
		default:
			tool.MinRole, tool.Scopes = c.roles(0), []string{"read"}
		}
		if !tool.Public {
			tool.Permission = []access.Permission{access.NoPermission(),
				{Action: "use"}}[c.IntN(2)]
		}
		tools = append(tools, tool)
		for argument := range c.IntN(3) {
			for value := range 1 + c.IntN(3) {
				rule := tool
				rule.Argument = string(rune('a' + argument))
				rule.Value, rule.Denial = fmt.Sprint(value), access.DenialDefault
				switch c.IntN(4) {
				case 0:
					rule.Public = false
					rule.MinRole = c.roles(1)
				case 1:
					rule.Public = false
					rule.Scopes = append(slices.Clone(rule.Scopes), "write")
				}
				if !rule.Public && rule.Permission == (access.Permission{}) {
					rule.Permission = tool.Permission
				}
				values = append(values, rule)
			}
		}
	}
	part := access.Part{Package: "p",
		Table: access.Table{Roles: access.DefaultRoles(), Rules: tools}}
	if c.plain, err = access.Compose(part); err != nil {
		return c, err
	}
	part.Table.Values = values
	c.ruled, err = access.Compose(part)
	return c, err
}

func (c valueCase) principal() (p access.Principal) {
	if c.IntN(6) > 0 {
		p.Subject = "ada"
	}
	p.Roles = []string{append(access.DefaultRoles()[0], "", "nobody")[c.IntN(6)]}
	for _, scope := range []string{"read", "write"} {
		if c.IntN(2) == 0 {
			p.Scopes = append(p.Scopes, scope)
		}
	}
	return p
}

// able returns whether a value is allowed to each principal that has all that the rule of a tool
// requires, one of its roles included, and lacks what p lacks otherwise. An anonymous principal has
// no role and no scopes.
func (c valueCase) able(plain, values access.Table, p access.Principal, tool, value string) bool {
	rule, _ := plain.Tool(tool)
	if rule.Public {
		return values.Decide(p, value).Allowed
	}
	if p.Anonymous() {
		p = access.Principal{Subject: "ada"}
	}
	p.Scopes = slices.Concat(p.Scopes, rule.Scopes)
	if len(rule.MinRole) == 0 || plain.Holds(p, rule.MinRole...) {
		return values.Decide(p, value).Allowed
	}
	return !slices.ContainsFunc(rule.MinRole, func(role string) bool {
		p := p
		p.Roles = append(slices.Clone(p.Roles), role)
		return !values.Decide(p, value).Allowed
	})
}

// The rules of values only narrow, and lists, calls and schemas agree: a tool is allowed if its own
// rule allows it and the caller may send a value of each argument; the values that are offered for
// an allowed tool are those that are allowed.
func TestRulesOfValuesOnlyNarrow(t *testing.T) {
	hidden, offered := 0, 0
	for seed := range uint64(4000) {
		c, err := newValueCase(seed)
		if err != nil {
			t.Fatal(seed, err)
		}
		p, plain, ruled := c.principal(), c.plain, c.ruled
		q := p
		if c.IntN(2) == 0 {
			plain, ruled = plain.Aware(), ruled.Aware()
			permit := access.Permit(c.IntN(3))
			ask := func(access.Kind, access.Rule) access.Permit { return permit }
			p.Permits, q.Permits = ruled.Permits(ask), plain.Permits(ask)
		}
		values := ruled.Of(access.Values)
		server := access.Denial(1 + c.IntN(3))
		listed := ruled.Listed(p, server)
		for _, tool := range ruled.Tools() {
			before, after := plain.Decide(q, tool), ruled.Decide(p, tool)
			want := before.Allowed
			for _, choice := range ruled.Choices(p, tool) {
				want = want && len(choice.Values) > 0
			}
			if after.Allowed != want {
				t.Fatalf("seed %d: %s: allowed %v, want %v", seed, tool, after.Allowed, want)
			}
			if after.Allowed != ruled.Visible(p).Contains(tool) {
				t.Fatalf("seed %d: %s: Decide and Visible differ", seed, tool)
			}
			if listed.Contains(tool) && !plain.Listed(q, server).Contains(tool) {
				t.Fatalf("seed %d: %s is listed only with its values", seed, tool)
			}
			if before.Allowed && !after.Allowed {
				hidden++
				if after.Axis != access.AxisValues || after.LacksScopesOnly() ||
					after.Missing() == "" {
					t.Fatalf("seed %d: %s: %v %q", seed, tool, after.Axis, after.Missing())
				}
			}
			all := ruled.Offered(p, ruled.Named([]string{tool}))
			for _, rule := range ruled.Values {
				if rule.Tool != tool {
					continue
				}
				has := slices.ContainsFunc(ruled.Choices(p, tool), func(choice access.Choice) bool {
					return choice.Argument == rule.Argument &&
						slices.Contains(choice.Values, rule.Value)
				})
				if has != all.Contains(rule.Name()) {
					t.Fatalf("seed %d: %s: Choices and Offered differ", seed, rule.Name())
				}
				if !before.Allowed && !ruled.IsAware() &&
					has != c.able(plain, values, q, tool, rule.Name()) {
					t.Fatalf("seed %d: %s: offered %v, and not to who may use the tool", seed,
						rule.Name(), has)
				}
				if before.Allowed && has != values.Decide(p, rule.Name()).Allowed {
					t.Fatalf("seed %d: %s: offered %v, and Decide differs", seed, rule.Name(), has)
				}
				if has && before.Allowed {
					offered++
				}
			}
			bare := access.Table{Roles: ruled.Roles, Rules: ruled.Rules, Values: ruled.Values}
			if p.Permits == nil && bare.Decide(p, tool).Allowed != ruled.Decide(p, tool).Allowed &&
				!ruled.IsAware() {
				t.Fatalf("seed %d: %s: a table that is not composed decides otherwise", seed, tool)
			}
			holds := true
			for _, v := range ruled.Explain(p, tool) {
				holds = holds && v.Holds
			}
			if holds != after.Allowed {
				t.Fatalf("seed %d: %s: Explain and Decide differ", seed, tool)
			}
		}
	}
	if hidden < 100 || offered < 100 {
		t.Errorf("%d tools without a value, and %d values: too few to prove much", hidden, offered)
	}
}

// A caller whom a tool challenges for scopes is listed the values that these scopes would allow,
// and none that needs more.
func TestChallengedCallerIsOfferedWhatTheScopesAllow(t *testing.T) {
	tool := access.Rule{Tool: "t", Scopes: []string{"use"}, Denial: access.Challenge}
	value := func(name string, role []string, scopes ...string) access.Rule {
		return access.Rule{Tool: "t", Argument: "a", Value: name, MinRole: role,
			Scopes: append([]string{"use"}, scopes...)}
	}
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: access.DefaultRoles(), Rules: []access.Rule{tool},
		Values: []access.Rule{value("free", nil), value("high", []string{"Admin"}), value("scoped",
			nil, "more")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		role, want string
		scopes     []string
	}{
		{"Viewer", "[free]", nil},
		{"Admin", "[free high]", nil},
		{"Viewer", "[free]", []string{"use"}},
		{"Viewer", "[free scoped]", []string{"more", "use"}},
	} {
		p := access.Principal{Subject: "ada", Roles: []string{test.role}, Scopes: test.scopes}
		if got := fmt.Sprint(table.Choices(p, "t")[0].Values); got != test.want {
			t.Errorf("%s with %v: %s, want %s", test.role, test.scopes, got, test.want)
		}
	}
}

func TestComposeRefusesRulesOfValuesThatWiden(t *testing.T) {
	rule := func(r access.Rule) access.Rule {
		r.Tool, r.Argument, r.Value = "t", "a", "v"
		return r
	}
	for name, test := range map[string]struct{ tool, value access.Rule }{
		"public":  {access.Rule{Authenticated: true}, access.Rule{Public: true}},
		"no rule": {access.Rule{MinRole: []string{"Manager"}}, access.Rule{}},
		"scopes":  {access.Rule{Scopes: []string{"x"}}, access.Rule{Authenticated: true}},
		"login":   {access.Rule{Authenticated: true}, access.Rule{}},
		"permission": {access.Rule{Authenticated: true, Permission: access.Permission{Action: "x"}},
			access.Rule{Authenticated: true}},
		"another tool": {access.Rule{Tool: "other", Public: true}, access.Rule{Public: true}},
	} {
		tool := test.tool
		if tool.Tool == "" {
			tool.Tool = "t"
		}
		_, err := access.Compose(access.Part{Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{tool}, Values: []access.Rule{rule(test.value)}}})
		if err == nil {
			t.Errorf("%s: composed", name)
		}
	}
	for _, value := range []access.Rule{{Authenticated: true}, {MinRole: []string{"Viewer"}},
		{Scopes: []string{"x"}}} {
		table := access.NewTable(access.Rule{Tool: "t", Authenticated: true}, rule(value))
		table.Roles = access.DefaultRoles()
		if _, err := access.Compose(access.Part{Table: table}); err != nil {
			t.Errorf("%+v: %v", value, err)
		}
	}
}

// A table that was not composed may have a value that its tool's rule excludes.
func TestValueThatAdmitsMoreThanItsTool(t *testing.T) {
	table := access.Table{Rules: []access.Rule{{Tool: "t", MinRole: []string{"Manager"}}},
		Values: []access.Rule{{Tool: "t", Argument: "a", Value: "v", Public: true}}}
	viewer := access.Principal{Subject: "ada", Roles: []string{"Viewer"}}
	if got := fmt.Sprint(table.Choices(viewer, "t")); got != "[{a [v]}]" ||
		table.Decide(viewer, "t").Allowed {
		t.Error(got)
	}
}

// A value of a public tool needs no permission of the host.
func TestValuesOfAPublicToolOnAnAwareTable(t *testing.T) {
	table, err := access.Compose(access.Part{Package: "p", Table: access.Table{
		Roles: access.DefaultRoles(),
		Rules: []access.Rule{{Tool: "pub", Public: true}},
		Values: []access.Rule{{Tool: "pub", Argument: "k", Value: "a", Public: true},
			{Tool: "pub", Argument: "k", Value: "b", MinRole: []string{"Member"}},
			{Tool: "pub", Argument: "k", Value: "c", MinRole: []string{"Member"},
				Permission: device("view")}}}})
	if err != nil {
		t.Fatal(err)
	}
	plain := table
	if table = plain.Aware(); plain.Values[1].Permission.Action != "" {
		t.Error("Aware changed its table")
	}
	permits := table.Permits(host{}.ask)
	for role, want := range map[string]string{"": "[a]", "Viewer": "[a]", "Admin": "[a b]"} {
		p := access.Principal{}
		if role != "" {
			p = access.Principal{Subject: "u", Roles: []string{role}, Permits: permits}
		}
		if got := fmt.Sprint(table.Choices(p, "pub")[0].Values); got != want {
			t.Errorf("%q may send %s, want %s", role, got, want)
		}
	}
}
