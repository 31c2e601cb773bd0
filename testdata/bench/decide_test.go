package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// policy is what the deciders are given, each in its own form: for each tool a lowest role and,
// where it asks the host, a permission. All of that must hold.
type policy struct {
	tools []policyTool // sorted by name
	roles []string     // lowest first
	held  map[string]map[string]bool
}

type policyTool struct {
	name       string
	rank       int // in roles, from 1
	permission access.Permission
}

// asker is who asks. Its role may be one that there is not.
type asker struct{ role, user string }

// decider is one way to decide by a policy, by roles alone or with permissions of the host as well.
// What it can prepare for an asker it may: a server decides many times for one.
type decider struct {
	name string
	new  func(t testing.TB, p policy, permissions bool) func(asker) decisions
}

// decisions are those for one asker.
type decisions struct {
	call func(tool string) bool
	// list decides about all tools, and returns how many may be used.
	list func() int
	// first is list where nothing is kept from before, or nil where list keeps nothing.
	first func() int
	// names are what list has counted, sorted.
	names func() []string
}

// newPolicy is a policy of so many tools over four roles and 25 permissions of five types of
// objects.
func newPolicy(tools int) policy {
	p := policy{roles: access.Table{}.Hierarchy(), held: map[string]map[string]bool{"ada": {},
		"bob": {}, "root": {}}}
	for i := range tools {
		n := i / 4 % 25
		permission := access.Permission{App: "dcim", Action: fmt.Sprintf("action%d", n%5), Object: fmt.Sprintf("object%d", n/5)}
		p.tools = append(p.tools, policyTool{manyName(i), 1 + i%4, permission})
		p.held["root"][permission.String()] = true
		if n%2 == 0 {
			p.held["ada"][permission.String()] = true
		}
	}
	return p
}

// mapDecider is what one would write by hand: what each tool needs in one map, and the roles' order
// and the user's permissions in others.
var mapDecider = decider{"map", func(_ testing.TB, p policy, permissions bool) func(asker) decisions {
	type rule struct {
		rank       int
		permission string
	}
	rules, ranks := map[string]rule{}, map[string]int{}
	for _, t := range p.tools {
		rules[t.name] = rule{t.rank, t.permission.String()}
	}
	for i, role := range p.roles {
		ranks[role] = i + 1
	}
	return func(a asker) decisions {
		held := p.held[a.user]
		may := func(tool string) bool {
			rule, known := rules[tool]
			return known && ranks[a.role] >= rule.rank
		}
		if permissions {
			may = func(tool string) bool {
				rule, known := rules[tool]
				return known && ranks[a.role] >= rule.rank && held[rule.permission]
			}
		}
		return oneByOne(p, may)
	}
}}

// oneByOne lists by deciding about each tool.
func oneByOne(p policy, may func(tool string) bool) decisions {
	return decisions{
		call: may,
		list: func() int {
			n := 0
			for i := range p.tools {
				if may(p.tools[i].name) {
					n++
				}
			}
			return n
		},
		names: func() (names []string) {
			for _, t := range p.tools {
				if may(t.name) {
					names = append(names, t.name)
				}
			}
			return names
		},
	}
}

var mcpgenDecider = decider{"mcpgen", func(t testing.TB, p policy, permissions bool) func(asker) decisions {
	rules := access.Table{Roles: [][]string{p.roles}}
	for _, tool := range p.tools {
		rules.Rules = append(rules.Rules, access.Rule{Tool: tool.name,
			MinRole: []string{p.roles[tool.rank-1]}, Permission: tool.permission})
	}
	table, err := access.Compose(access.Part{Package: "example.com/many", Table: rules})
	if err != nil {
		t.Fatal(err)
	}
	if permissions {
		table = table.Aware()
	}
	texts := map[access.Permission]string{} // as a server keeps it
	for _, tool := range p.tools {
		texts[tool.permission] = tool.permission.String()
	}
	return func(a asker) decisions {
		caller := table.Resolve(access.Principal{Issuer: "bench", Subject: "sub-" + a.user,
			User: a.user, Roles: []string{a.role}})
		permits := func() *access.Permits {
			if !permissions {
				return nil
			}
			return table.Permits(func(_ access.Kind, rule access.Rule) access.Permit {
				if p.held[a.user][texts[rule.Permission]] {
					return access.PermitAll
				}
				return access.PermitNone
			})
		}
		caller.Permits = permits()
		return decisions{
			first: func() int {
				caller := caller
				caller.Permits = permits()
				return table.Visible(caller).Len()
			},
			call:  func(tool string) bool { return table.Decide(caller, tool).Allowed },
			list:  func() int { return table.Visible(caller).Len() },
			names: func() []string { return table.Visible(caller).Names() },
		}
	}
}}

func deciders() []decider {
	return []decider{mcpgenDecider, mapDecider, casbinDecider, casbinCachedDecider, cedarDecider, opaDecider}
}

// by are the two forms of the policy.
var by = []struct {
	name        string
	permissions bool
}{{"role", false}, {"capability", true}}

// may is what the policy says, for all deciders to agree with.
func (p policy) may(a asker, tool policyTool, permissions bool) bool {
	return slices.Index(p.roles, a.role)+1 >= tool.rank && (!permissions || p.held[a.user][tool.permission.String()])
}

// TestAllDecidersAgree asks all of them all there is to ask: what is measured is one and the same
// policy. Its tools are fewer, because casbin reads all lines of its policy for each decision;
// which are visible of all is asked where it is measured.
func TestAllDecidersAgree(t *testing.T) {
	const tools = 200
	p := newPolicy(tools)
	for _, form := range by {
		for _, d := range deciders() {
			t.Run(form.name+"/"+d.name, func(t *testing.T) {
				ask := d.new(t, p, form.permissions)
				allowed := 0
				for _, role := range append(slices.Clone(p.roles), "", "Root") {
					for _, user := range []string{"ada", "bob", "root"} {
						a, want := asker{role, user}, []string(nil)
						got := ask(a)
						for _, tool := range p.tools {
							may := p.may(a, tool, form.permissions)
							if may {
								want = append(want, tool.name)
							}
							if got.call(tool.name) != may {
								t.Fatalf("%s as %+v: %v", tool.name, a, !may)
							}
						}
						if got.call("no_such_tool") || got.call("") {
							t.Errorf("a tool that there is not may be used by %+v", a)
						}
						if names := got.names(); !slices.Equal(names, want) || got.list() != len(want) {
							t.Fatalf("%+v: %d of %d tools listed, counted as %d", a, len(names), len(want), got.list())
						}
						allowed += len(want)
					}
				}
				if allowed == 0 || allowed == 18*tools {
					t.Errorf("%d allowed: there was nothing to decide", allowed)
				}
			})
		}
	}
}

// BenchmarkDecide is one decision about a call, of another tool each time, and the decision about a
// list of 1,000 tools. By role mcpgen has made the list when it started, and with permissions once
// for each answer of the host, which is measured by itself; the others decide each time.
func BenchmarkDecide(b *testing.B) {
	p := newPolicy(many)
	// A stride without a common divisor visits all tools, neighbours far apart.
	names := make([]string, many)
	for i := range names {
		names[i] = p.tools[i*617%many].name
	}
	mel := asker{"Member", "ada"}
	for _, form := range by {
		b.Run("of=call/by="+form.name, func(b *testing.B) {
			for _, d := range deciders() {
				b.Run("peer="+d.name, func(b *testing.B) {
					call := d.new(b, p, form.permissions)(mel).call
					b.ReportAllocs()
					allowed, i := 0, 0
					for b.Loop() {
						if call(names[i]) {
							allowed++
						}
						if i++; i == many {
							i = 0
						}
					}
				})
			}
		})
		want := 0
		for _, tool := range p.tools {
			if p.may(mel, tool, form.permissions) {
				want++
			}
		}
		lists := func(b *testing.B, list func() int) {
			b.ReportAllocs()
			for b.Loop() {
				if list() != want {
					b.Fatalf("not %d tools", want)
				}
			}
		}
		b.Run("of=list/by="+form.name, func(b *testing.B) {
			for _, d := range deciders() {
				b.Run("peer="+d.name, func(b *testing.B) { lists(b, d.new(b, p, form.permissions)(mel).list) })
			}
		})
		if !form.permissions {
			continue
		}
		b.Run("of=first-list/by="+form.name, func(b *testing.B) {
			for _, d := range []decider{mcpgenDecider, mapDecider} {
				b.Run("peer="+d.name, func(b *testing.B) {
					asked := d.new(b, p, form.permissions)(mel)
					if asked.first == nil {
						asked.first = asked.list
					}
					lists(b, asked.first)
				})
			}
		})
	}
}
