package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

func device(action string) access.Permission {
	return access.Permission{App: "dcim", Action: action, Object: "device"}
}

func TestPermissionIsWrittenAsTheHostWritesIt(t *testing.T) {
	for want, p := range map[string]access.Permission{
		"":                        {},
		"none":                    access.NoPermission(),
		"dcim.napalm_read_device": device("napalm_read"),
		"billing.export":          {App: "billing", Action: "export"},
		"app.none":                {App: "app", Action: "none"},
	} {
		if p.String() != want {
			t.Errorf("%+v: %q, want %q", p, p, want)
		}
		if asked := p.Required(); asked != strings.Contains(want, ".") {
			t.Errorf("%q is requested: %v", want, asked)
		}
	}
	if got := device("view").Type() + " " +
		(access.Permission{App: "billing", Action: "export"}).Type(); got != "dcim.device billing" {
		t.Error(got)
	}
}

func TestPermitsAreEqualIfTheyLetACallerDoTheSame(t *testing.T) {
	table := access.Table{Rules: []access.Rule{
		{Tool: "a", Permission: device("view")}, {Tool: "b", Permission: access.NoPermission()}},
		Resources: []access.Rule{{Resource: "r", Permission: device("view")}}}
	of := func(tools, resources access.Permit) *access.Permits {
		return table.Permits(func(k access.Kind, _ access.Rule) access.Permit {
			if k == access.Tools {
				return tools
			}
			return resources
		})
	}
	const none, some, all = access.PermitNone, access.PermitConstrained, access.PermitAll
	every := []*access.Permits{nil, of(none, none), of(some, none), of(all, none), of(none, all)}
	for i, p := range every {
		for j, q := range every {
			if p.Equal(q) != (i == j) {
				t.Errorf("%d and %d", i, j)
			}
		}
	}
	toolsOnly := access.NewTable(table.Rules...).Permits(host{}.ask)
	if p := every[1]; p.Equal(toolsOnly) || toolsOnly.Equal(p) {
		t.Error("permits with and without resources are equal")
	}
	if !of(some, all).Equal(of(some, all)) {
		t.Error("two of one kind differ")
	}
}

// every rule that the parts of a rule can make, by the words of oracle below.
func everyRule() []access.Rule {
	rules := []access.Rule{{Public: true}}
	for _, authenticated := range []bool{false, true} {
		for _, role := range [][]string{nil, {"Viewer"}, {"Admin"},
			{access.Lowest}, {access.Highest}, {"Member", "Admin"}} {
			for _, scopes := range [][]string{nil, {"a"}, {"a", "b"}} {
				for _, permission := range []access.Permission{{}, access.NoPermission(),
					device("view"), device("change"), {App: "billing", Action: "export"}} {
					for _, constrained := range []bool{false, true} {
						for _, denial := range []access.Denial{access.DenialDefault, access.Conceal,
							access.Forbid, access.Challenge} {
							if denial == access.Challenge && scopes == nil {
								continue // Compose refuses it
							}
							rules = append(rules, access.Rule{Authenticated: authenticated,
								MinRole: role, Scopes: scopes, Permission: permission,
								Constrained: constrained, Denial: denial})
						}
					}
				}
			}
		}
	}
	for i := range rules {
		rules[i].Tool = fmt.Sprintf("t%04d", i)
	}
	return rules
}

// host is the answer of a host in a test, by permission.
type host map[string]access.Permit

func (h host) ask(_ access.Kind, rule access.Rule) access.Permit {
	return h[rule.Permission.String()]
}

// onAware is the rule of aware tables in other words, laid over the oracle of tables that are not.
func onAware(rule access.Rule, p access.Principal, h host, known bool) bool {
	if rule.Public {
		return true
	}
	if p.Subject == "" || !known {
		return false
	}
	said := rule.Permission.String()
	if said == "" {
		return false
	}
	if said == "none" {
		return oracle(access.DefaultRoles(), rule, p)
	}
	rule.Authenticated = true // a permission alone is a rule here
	if !oracle(access.DefaultRoles(), rule, p) {
		return false
	}
	switch h[said] {
	case access.PermitAll:
		return true
	case access.PermitConstrained:
		return rule.Constrained
	}
	return false
}

// listedToo is a second implementation of the rule for visible tools that a caller may not use.
func listedToo(rule access.Rule, p access.Principal, server access.Denial,
	may func(access.Principal) bool) bool {
	denial := rule.Denial
	if denial == access.DenialDefault {
		denial = server
	}
	if denial != access.Challenge || may(p) {
		return false
	}
	p.Scopes = slices.Concat(p.Scopes, rule.Scopes)
	return may(p)
}

func TestEveryRuleOfAnAwareTableAgreesWithTheOracle(t *testing.T) {
	rules := everyRule()
	few := access.Table{Roles: access.DefaultRoles()} // a literal looks names up one by one
	for i := 0; i < len(rules); i += 13 {
		few.Rules = append(few.Rules, rules[i])
	}
	composed := compose(t, rules...)
	permits := []access.Permit{access.PermitNone, access.PermitConstrained, access.PermitAll}
	for _, view := range permits {
		for _, change := range permits {
			h := host{"dcim.view_device": view, "dcim.change_device": change,
				"billing.export": view}
			for _, known := range []bool{false, true} {
				for _, table := range []access.Table{few.Aware(), composed.Aware()} {
					rules := table.Rules
					var held *access.Permits
					if known {
						held = table.Permits(h.ask)
					}
					for _, subject := range []string{"", "ada"} {
						for _, role := range []string{"", "Viewer", "Admin", "admin"} {
							for _, scopes := range [][]string{nil, {"a"}, {"b", "a"}} {
								p := access.Principal{Subject: subject, Roles: []string{role}, Scopes: scopes,
									Permits: held}
								agrees(t, table, rules, p,
									func(rule access.Rule, p access.Principal) bool {
										return onAware(rule, p, h, known)
									})
							}
						}
					}
				}
			}
		}
	}
}

func members(s access.Set) map[string]bool {
	all := map[string]bool{}
	for _, name := range s.Names() {
		all[name] = true
	}
	return all
}

// agrees holds list, decision, explanation and oracle against each other.
func agrees(t *testing.T, table access.Table, rules []access.Rule, p access.Principal,
	may func(access.Rule, access.Principal) bool) {
	t.Helper()
	set := table.Visible(p)
	if again := table.Visible(p); !set.Equal(again) {
		t.Fatalf("%+v: two lists differ", p)
	}
	visible, listed, challenged := members(set), members(table.Listed(p, access.Conceal)),
		members(table.Listed(p, access.Challenge))
	for i, rule := range rules {
		want := may(rule, p)
		if visible[rule.Tool] != want {
			t.Fatalf("%+v, %+v: listed %v, want %v", p, rule, !want, want)
		}
		if i%11 != 0 {
			continue // what is below is slow, and the same code for all
		}
		d := table.Decide(p, rule.Tool)
		if d.Allowed != want || want != (d.Missing() == "") {
			t.Fatalf("%+v, %+v: %+v, %q, want %v", p, rule, d, d.Missing(), want)
		}
		holds := true
		for _, v := range table.Explain(p, rule.Tool) {
			holds = holds && v.Holds
		}
		if holds != want {
			t.Fatalf("%+v, %+v: explained as %v", p, rule, table.Explain(p, rule.Tool))
		}
		mayAs := func(p access.Principal) bool { return may(rule, p) }
		for server, set := range map[access.Denial]map[string]bool{access.Conceal: listed,
			access.Challenge: challenged} {
			if set[rule.Tool] != (want || listedToo(rule, p, server, mayAs)) {
				t.Fatalf("%+v, %+v: shown where the server says %v: %v", p, rule, server,
					set[rule.Tool])
			}
		}
		if scopes := d.ScopesThatWouldDo(true); scopes != nil {
			more := p
			more.Scopes = scopes
			if !mayAs(more) {
				t.Fatalf("%+v: %v would not do", rule, scopes)
			}
		}
	}
}

func TestRandomHostsAgreeWithTheOracle(t *testing.T) {
	rules := everyRule()
	tables := []access.Table{compose(t, rules...).Aware()}
	rapid.Check(t, func(rt *rapid.T) {
		h := host{}
		for _, name := range []string{"dcim.view_device", "dcim.change_device", "billing.export",
			"dcim.delete_device"} {
			h[name] = access.Permit(rapid.IntRange(0, 3).Draw(rt, name)) // one is no permit at all
		}
		p := access.Principal{Subject: rapid.SampledFrom([]string{"", "ada"}).Draw(rt, "subject"),
			Roles: anyRoles(rt, append(access.DefaultRoles()[0], "", "root")),
			Scopes: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 3).Draw(rt,
				"scopes")}
		known := rapid.Bool().Draw(rt, "known")
		for _, table := range tables {
			if known {
				p.Permits = table.Permits(h.ask)
			}
			agrees(t, table, rules, p, func(rule access.Rule, p access.Principal) bool {
				return onAware(rule, p, h, known)
			})
		}
	})
}

func TestRefusalsOnAnAwareTableNameWhatIsMissing(t *testing.T) {
	table := compose(t,
		access.Rule{Tool: "free", Authenticated: true, Permission: access.NoPermission()},
		access.Rule{Tool: "silent", Authenticated: true},
		access.Rule{Tool: "view", Permission: device("view")},
		access.Rule{Tool: "manage", MinRole: []string{"Manager"}, Scopes: []string{"s"},
			Permission: device("change")},
		access.Rule{Tool: "part", Permission: device("part")},
		access.Rule{Tool: "part_honoured", Permission: device("part"), Constrained: true},
		access.Rule{Tool: "public", Public: true},
	).Aware()
	if !table.IsAware() || compose(t).IsAware() {
		t.Error("which table is aware?")
	}
	held := table.Permits(host{"dcim.part_device": access.PermitConstrained,
		"dcim.view_device": access.PermitAll}.ask)
	ada := access.Principal{Subject: "ada", Roles: []string{"Viewer"}, Permits: held}
	stranger := access.Principal{Subject: "ada", Roles: []string{"Admin"}, Scopes: []string{"s"}}
	for _, test := range []struct {
		p       access.Principal
		tool    string
		axis    access.Axis
		missing string
	}{
		{ada, "free", access.AxisAuthentication, ""},
		{ada, "silent", access.AxisRule, "admits no caller"},
		{ada, "view", access.AxisPermission, ""},
		{ada, "manage", access.AxisRole,
			"needs role Manager and scope s and permission dcim.change_device"},
		{ada, "part", access.AxisConstraint,
			"needs permission dcim.part_device without constraints"},
		{ada, "part_honoured", access.AxisPermission, ""},
		{stranger, "free", access.AxisPermission, "needs a user of the host"},
		{stranger, "view", access.AxisPermission, "needs permission dcim.view_device"},
		{stranger, "manage", access.AxisPermission, "needs permission dcim.change_device"},
		{stranger, "public", access.AxisPublic, ""},
		{access.Principal{Permits: held}, "view", access.AxisAuthentication,
			"needs an authenticated caller and permission dcim.view_device"},
		{access.Principal{Permits: held}, "free", access.AxisAuthentication,
			"needs an authenticated caller"},
	} {
		if d := table.Decide(test.p, test.tool); d.Axis != test.axis ||
			d.Missing() != test.missing || d.Allowed != (test.missing == "") {
			t.Errorf("%s: %v by %s, %q", test.tool, d.Allowed, d.Axis, d.Missing())
		}
	}
}

func TestPermitsOfAnotherTableAreNone(t *testing.T) {
	rule := access.Rule{Tool: "t", Permission: device("view")}
	all := func(access.Kind, access.Rule) access.Permit { return access.PermitAll }
	mine, other := compose(t, rule).Aware(), compose(t, rule).Aware()
	p := access.Principal{Subject: "ada", Permits: other.Permits(all)}
	if mine.Decide(p, "t").Allowed || mine.Visible(p).Len() != 0 {
		t.Error("permits of another table count")
	}
	if p.Permits = mine.Permits(all); !mine.Decide(p, "t").Allowed ||
		mine.Of(access.Prompts).Decide(p, "t").Allowed {
		t.Error("permits of the table do not count, or count for another kind")
	}
	prompts := access.NewTable(access.Rule{Prompt: "t", Permission: device("view")}).Aware()
	if prompts.Of(access.Prompts).Decide(p, "t").Allowed {
		t.Error("permits without prompts count for a prompt")
	}
	literal := access.Table{Rules: []access.Rule{rule}}.Aware()
	if literal.Decide(p, "t").Allowed {
		t.Error("permits of a composed table count on a literal")
	}
	if p.Permits = literal.Permits(all); !literal.Decide(p, "t").Allowed {
		t.Error("a literal's own permits do not count")
	}
	if p.IsZero() || (access.Principal{Permits: p.Permits}).IsZero() {
		t.Error("permits are nothing")
	}
}

func TestPromptsAndResourcesHavePermitsOfTheirOwn(t *testing.T) {
	table, err := access.Compose(access.Part{Package: "p", Table: access.Table{
		Rules:     []access.Rule{{Tool: "x", Permission: device("view")}},
		Prompts:   []access.Rule{{Prompt: "x", Permission: device("view")}},
		Resources: []access.Rule{{Resource: "x", Permission: device("view")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []access.Kind{access.Tools, access.Prompts, access.Resources}
	for _, one := range kinds {
		aware := table.Aware()
		p := access.Principal{Subject: "ada",
			Permits: aware.Permits(func(k access.Kind, _ access.Rule) access.Permit {
				if k == one {
					return access.PermitAll
				}
				return access.PermitNone
			})}
		for _, k := range kinds {
			if may := aware.Of(k).Decide(p, "x").Allowed; may != (k == one) ||
				aware.Of(k).Visible(p).Contains("x") != may {
				t.Errorf("permits for %ss: a %s: %v", one, k, may)
			}
		}
	}
}

func TestExplanationsGoOnAfterTheFirstFailure(t *testing.T) {
	rule := access.Rule{Tool: "t", MinRole: []string{"Manager"}, Scopes: []string{"a", "b"},
		Permission: device("change")}
	table := compose(t, rule, access.Rule{Tool: "open", Public: true}, access.Rule{Tool: "closed"},
		access.Rule{Tool: "free", Authenticated: true, Permission: access.NoPermission()},
		access.Rule{Tool: "mine", Permission: device("change"), Constrained: true},
		access.Rule{Tool: "other", Permission: device("delete")})
	aware := table.Aware()
	held := aware.Permits(host{"dcim.change_device": access.PermitConstrained}.ask)
	for _, test := range []struct {
		name  string
		table access.Table
		p     access.Principal
		tool  string
		want  string
	}{
		{"anonymous", aware, access.Principal{}, "t",
			`authentication fails: needs an authenticated caller, has an anonymous caller
role fails: needs Manager, has nothing
scopes fails: needs a, b, has nothing
permission fails: needs dcim.change_device, has no permissions known from the host`},
		{"some", aware, access.Principal{Subject: "ada", Roles: []string{"Viewer"}, Scopes: []string{"a"},
			Permits: held}, "t", `authentication holds: needs an authenticated caller, has ada
role fails: needs Manager, has Viewer
scopes fails: needs a, b, has a
permission holds: needs dcim.change_device, has it for some objects
constraints fails: needs it for all objects, as the handler is not marked constrained, has it for some objects`},
		{"not aware", table, access.Principal{
			Subject: "ada", Roles: []string{"Admin"}, Scopes: []string{"a", "b"}}, "t",
			`authentication holds: needs an authenticated caller, has ada
role holds: needs Manager, has Admin
scopes holds: needs a, b, has a, b
permission holds: needs dcim.change_device, has not checked: the table does not enforce permissions`},
		{"marked constrained", aware, access.Principal{Subject: "ada", Permits: held}, "mine",
			`authentication holds: needs an authenticated caller, has ada
permission holds: needs dcim.change_device, has it for some objects
constraints holds: needs it for some objects or all, as the handler is marked constrained, has it for some objects`},
		{"none", aware, access.Principal{Subject: "ada", Permits: held}, "other",
			`authentication holds: needs an authenticated caller, has ada
permission fails: needs dcim.delete_device, has none`},
		{"out of reach", access.Table{Rules: []access.Rule{{Tool: "t", MinRole: []string{"Boss"}}}},
			access.Principal{Subject: "ada", Roles: []string{"Admin"}}, "t",
			`authentication holds: needs an authenticated caller, has ada
role fails: needs Boss, has Admin`},
		{"a table without roles", access.Table{Rules: []access.Rule{{Tool: "t",
			MinRole: []string{"Manager"}}}},
			access.Principal{Subject: "ada", Roles: []string{"Manager"}}, "t",
			`authentication holds: needs an authenticated caller, has ada
role holds: needs Manager, has Manager`},
		{"public", aware, access.Principal{}, "open",
			"public holds: needs nothing, has an anonymous caller"},
		{"a rule for nobody", aware, access.Principal{Subject: "ada"}, "closed",
			"rule fails: needs a rule that admits a caller, has an empty one"},
		{"no permission", aware, access.Principal{Subject: "ada", Permits: held}, "free",
			`authentication holds: needs an authenticated caller, has ada
permission holds: needs a user of the host, has one`},
		{"no user", aware, access.Principal{Subject: "ada"}, "free",
			`authentication holds: needs an authenticated caller, has ada
permission fails: needs a user of the host, has no permissions known from the host`},
		{"unknown", aware, access.Principal{Subject: "ada"}, "x",
			"unknown fails: needs a tool that exists, has nothing"},
	} {
		var lines []string
		for _, v := range test.table.Explain(test.p, test.tool) {
			lines = append(lines, v.String())
		}
		if got := strings.Join(lines, "\n"); got != test.want {
			t.Errorf("%s:\n%s", test.name, got)
		}
	}
}

func TestDecisionsCostNoMemory(t *testing.T) {
	rules := everyRule()
	prompts := slices.Clone(rules)
	for i := range prompts {
		prompts[i].Prompt, prompts[i].Tool = prompts[i].Tool, ""
	}
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: access.DefaultRoles(), Rules: rules, Prompts: prompts}})
	if err != nil {
		t.Fatal(err)
	}
	table = table.Aware()
	held := table.Permits(host{"dcim.view_device": access.PermitAll}.ask)
	ada := access.Principal{Subject: "ada", Roles: []string{"Admin"}, Permits: held}
	table.Visible(ada)
	tools, ofPrompts := table.Tools(), table.Of(access.Prompts)
	if n := testing.AllocsPerRun(10, func() {
		for _, tool := range tools {
			table.Decide(ada, tool)
			ofPrompts.Decide(ada, tool)
		}
		table.Visible(ada)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	ada.Scopes = []string{"a", "b"}
	if n := testing.AllocsPerRun(10, func() {
		table.All()
		table.Visible(ada)
	}); n > 2 {
		t.Errorf("%v allocations for two sets", n)
	}
}

func TestABareActionIsAPermission(t *testing.T) {
	bare := access.Permission{Action: "napalm_read"}
	if bare.String() != "napalm_read" || bare.Type() != "" || !bare.Required() {
		t.Errorf("%q of %q, asked %v", bare, bare.Type(), bare.Required())
	}
	table, err := access.Compose(part("p", nil, access.Rule{Tool: "t", Permission: bare}))
	if err != nil {
		t.Fatal(err)
	}
	table = table.Aware()
	p := access.Principal{Subject: "ada"}
	if d := table.Decide(p, "t"); d.Allowed || d.Missing() != "needs permission napalm_read" {
		t.Errorf("%v, %s", d.Allowed, d.Missing())
	}
	p.Permits = table.Permits(func(access.Kind, access.Rule) access.Permit {
		return access.PermitAll
	})
	if !table.Decide(p, "t").Allowed {
		t.Error("a holder is denied")
	}
}

func TestRulesThatCannotBeChallengedAreRefused(t *testing.T) {
	for want, rule := range map[string]access.Rule{
		"has denial=challenge without scopes: write scopes=, or another denial": {Tool: "t",
			Authenticated: true, Denial: access.Challenge},
		"without an app or an action: run go generate": {Tool: "t",
			Permission: access.Permission{App: "dcim"}},
		`the permission ".view_a" without an app or an action: run go generate`: {Tool: "t",
			Permission: access.Permission{Action: "view", Object: "a"}},
		`the permission "dcim.view" without an app or an action: run go generate`: {Tool: "t",
			Permission: access.Permission{Action: "dcim.view"}},
		`has the verb "list" without a permission: run go generate`: {Tool: "t", Authenticated: true,
			Verb: "list", Permission: access.NoPermission()},
		"public excludes other requirements, and this rule has some: remove public " +
			"or the rest": {Tool: "t", Public: true,
			Permission: access.NoPermission()},
	} {
		if _, err := access.Compose(part("p", nil, rule)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func BenchmarkDecideAware(b *testing.B) {
	var rules []access.Rule
	for i := range 1000 {
		rules = append(rules, access.Rule{Tool: fmt.Sprintf("tool_%04d", i), MinRole: []string{"Viewer"},
			Permission: device(fmt.Sprintf("a%d", i%4))})
	}
	table := compose(b, rules...).Aware()
	p := table.Resolve(access.Principal{Subject: "ada", Roles: []string{"Member"},
		Permits: table.Permits(host{"dcim.a1_device": access.PermitAll}.ask)})
	b.ReportAllocs()
	b.Run("decide", func(b *testing.B) {
		for range b.N {
			if !table.Decide(p, "tool_0501").Allowed {
				b.Fatal("denied")
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		for range b.N {
			if table.Visible(p).Len() != 250 {
				b.Fatal("wrong")
			}
		}
	})
}
