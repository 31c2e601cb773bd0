package systemtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// radiusSide is one side of a comparison, with facts of its tools.
type radiusSide struct {
	manifest *policydiff.Manifest
	table    access.Table
	facts    map[string][]string // those that count, by tool
	readOnly map[string]bool
	catalog  []string // the tools of the catalog c
}

func drawRadiusSide(t *rapid.T) radiusSide {
	s := radiusSide{facts: map[string][]string{}, readOnly: map[string]bool{}}
	s.manifest, s.table = drawSide(t)
	for i := range s.manifest.Tools {
		tool := &s.manifest.Tools[i]
		all := []string{"private", "untrusted", "egress"}
		s.facts[tool.Name] = slices.Clone(all)
		if rapid.Bool().Draw(t, "stated") {
			tool.Facts = []string{rapid.SampledFrom(append(all, "none")).Draw(t, "fact")}
			s.facts[tool.Name] = slices.Clone(tool.Facts)
		}
		if rapid.Bool().Draw(t, "open world is written") {
			open := rapid.Bool().Draw(t, "open world")
			if tool.Hints.OpenWorld = &open; !open {
				s.facts[tool.Name] = slices.DeleteFunc(s.facts[tool.Name],
					func(fact string) bool { return fact == "egress" })
			}
		}
		tool.Hints.ReadOnly = rapid.Bool().Draw(t, "read only")
		s.readOnly[tool.Name] = tool.Hints.ReadOnly
		if rapid.Bool().Draw(t, "in the catalog") {
			tool.Catalogs = []string{"c"}
			s.catalog = append(s.catalog, tool.Name)
		}
		at := slices.IndexFunc(s.table.Rules, func(r access.Rule) bool { return r.Tool == tool.Name })
		s.table.Rules[at].Facts = cmp.Or(strings.Join(s.facts[tool.Name], ","), "none")
	}
	return s
}

// drawnParties are parties with several specificities, and further clients.
func drawnParties() []boundaryfile.Party {
	list := []boundaryfile.Party{{Issuer: "i", Client: "a"},
		{Issuer: "i", Client: "a", Subject: "ada"}, {Issuer: "i", Client: "*"},
		{Issuer: "i", Actor: "a"}}
	for client := range 6 {
		list = append(list, boundaryfile.Party{Issuer: "i", Client: fmt.Sprint(client)})
	}
	return list
}

// drawBoundaries draws entries of several parties, which name roles of a server.
func drawBoundaries(t *rapid.T, roles []string) (list []boundaryfile.Entry) {
	values := []string{"tool:x a/b=on", "tool:x a/b=off", "tool:y a/b=on", "tool:y a/b=off",
		"tool:z a/b=on", "tool:z a/b=off"}
	choices := [][]string{values,
		append([]string{"tool:x", "tool:y", "tool:z", "catalog:c", "tool:gone", "prompt:x"}, values...)}
	for _, party := range drawnParties() {
		if rapid.Bool().Draw(t, "no entry") {
			continue
		}
		b := boundaryfile.Boundary{Where: "b.yaml:1", ReadOnly: rapid.Bool().Draw(t, "readonly")}
		if b.Items = []string{"*"}; rapid.IntRange(0, 3).Draw(t, "items") > 0 {
			b.Items = nil
			for _, item := range rapid.SampledFrom(choices).Draw(t, "kind of items") {
				if rapid.Bool().Draw(t, item) {
					b.Items = append(b.Items, item)
				}
			}
		}
		if b.Roles = []string{"*"}; rapid.IntRange(0, 3).Draw(t, "some roles") > 0 {
			b.Roles = nil
			for _, role := range roles {
				if rapid.IntRange(0, 3).Draw(t, role) == 0 {
					b.Roles = append(b.Roles, role)
				}
			}
		}
		list = append(list, boundaryfile.Entry{Party: party, Boundary: b})
	}
	return list
}

// bounds compiles a boundary as the server does.
func (s radiusSide) bounds(b boundaryfile.Boundary) *access.Bounds {
	has := func(item string) bool {
		return slices.Contains(b.Items, "*") || slices.Contains(b.Items, item)
	}
	var roles []string
	for _, role := range s.table.Hierarchy() {
		holder := access.Principal{Subject: "ada", Roles: b.Roles}
		if slices.Contains(b.Roles, "*") || s.table.Holds(holder, role) {
			roles = append(roles, role)
		}
	}
	return s.table.Bounds(roles, func(_ access.Kind, rule access.Rule) bool {
		whole := has("tool:"+rule.Tool) || has("catalog:c") && slices.Contains(s.catalog, rule.Tool)
		some := isRuled(s.table)(rule.Tool, "a/b") &&
			(has("tool:"+rule.Tool+" a/b=on") || has("tool:"+rule.Tool+" a/b=off"))
		return (!b.ReadOnly || s.readOnly[rule.Tool]) &&
			(whole || some && rule.Argument == "" || has("tool:"+rule.Name()))
	})
}

// reached returns the tools of each fact that some of the principals may call.
func (s radiusSide) reached(principals ...access.Principal) map[string][]string {
	found := map[string][]string{}
	for _, tool := range drawnTools {
		if slices.ContainsFunc(principals, func(p access.Principal) bool {
			return s.table.Decide(p, tool).Allowed
		}) {
			for _, fact := range s.facts[tool] {
				found[fact] = append(found[fact], "tool:"+tool)
			}
		}
	}
	return found
}

func allThree(reached map[string][]string) bool {
	return reached["private"] != nil && reached["untrusted"] != nil && reached["egress"] != nil
}

func callerOf(roles ...string) access.Principal {
	return access.Principal{Subject: "ada", Roles: roles, Scopes: drawnScopes}
}

// within are callers of a client with a boundary, with each set of roles, and the client without
// its token.
func (s radiusSide) within(b boundaryfile.Boundary) []access.Principal {
	list := []access.Principal{{}}
	for _, roles := range setsOf(drawnRoles) {
		p := callerOf(roles...)
		p.Bounds = s.bounds(b)
		list = append(list, p)
	}
	return list
}

// expected is what each agent reaches by the decisions of the runtime, by its name.
func (s radiusSide) expected(agents policydiff.Agents) map[string]map[string][]string {
	all := map[string]map[string][]string{
		"anonymous": s.reached(access.Principal{}), "no role": s.reached(callerOf())}
	for _, role := range s.table.Hierarchy() {
		all[role] = s.reached(callerOf(role))
	}
	for _, set := range agents.Sets {
		all[strings.Join(set, " + ")] = s.reached(callerOf(set...))
	}
	for _, e := range agents.Boundaries {
		all[fmt.Sprint(e.Party)] = s.reached(s.within(e.Boundary)...)
	}
	return all
}

// partyOf returns the name by which expected has an agent.
func partyOf(name string) string {
	for _, party := range drawnParties() {
		if name == map[bool]string{true: "actor ", false: "client "}[party.Actor != ""]+
			party.Client+party.Actor+map[bool]string{true: " for ada"}[party.Subject != ""]+" of i" {
			return fmt.Sprint(party)
		}
	}
	return name
}

func drawAgents(t *rapid.T, roles []string) policydiff.Agents {
	return policydiff.Agents{Boundaries: drawBoundaries(t, roles), Sets: [][]string{
		rapid.SliceOfNDistinct(rapid.SampledFrom(roles), 1, 3, rapid.ID[string]).Draw(t, "set")}}
}

// TestRadiusIsWhatDecisionsAllow holds the blast radius of each agent against the decisions of the
// runtime about all callers that the agent may act for, and against the page of the console.
func TestRadiusIsWhatDecisionsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRadiusSide(t)
		agents := drawAgents(t, s.table.Hierarchy())
		got, _, err := policydiff.RadiusOf([]*policydiff.Manifest{s.manifest}, agents)
		if err != nil {
			t.Fatal(err)
		}
		want := s.expected(agents)
		for _, a := range got[0].Agents {
			w := want[partyOf(a.Name)]
			if !slices.Equal(a.Private, w["private"]) || !slices.Equal(a.Untrusted, w["untrusted"]) ||
				!slices.Equal(a.Egress, w["egress"]) || a.AllThree != allThree(w) {
				t.Errorf("%+v, want %v", a, w)
			}
		}
		for i, e := range agents.Boundaries {
			a := got[0].Agents[len(got[0].Agents)-len(agents.Boundaries)+i]
			private, untrusted, egress := s.table.Reach(s.bounds(e.Boundary))
			if !slices.Equal(a.Private, private) || !slices.Equal(a.Untrusted, untrusted) ||
				!slices.Equal(a.Egress, egress) {
				t.Errorf("%+v, and the server has %q, %q, %q", a, private, untrusted, egress)
			}
		}
		if n := 2 + len(s.table.Hierarchy()) + 1 + len(agents.Boundaries); len(got[0].Agents) != n {
			t.Errorf("%d agents, want %d", len(got[0].Agents), n)
		}
	})
}

// TestNoAgentReachesAllThreeUnreported compares two sides. An agent is reported exactly if it
// reaches the three facts in the later side alone, by the decisions of the runtime. In a side
// without an entry for a client, its public items count, and for an actor everything now and public
// items before.
func TestNoAgentReachesAllThreeUnreported(t *testing.T) {
	reports := 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawRadiusSide(t), drawRadiusSide(t)
		old := policydiff.Agents{Boundaries: drawBoundaries(t, before.table.Hierarchy())}
		current := drawAgents(t, after.table.Hierarchy())
		old.Sets = current.Sets
		changes, err := policydiff.CompareRadius([]*policydiff.Manifest{before.manifest},
			[]*policydiff.Manifest{after.manifest}, old, current)
		if err != nil {
			t.Fatal(err)
		}
		reported := map[string]bool{}
		for _, c := range changes {
			reported[partyOf(c.Name)] = true
		}
		reports += len(changes)
		had, has := before.expected(old), after.expected(current)
		client := func(p boundaryfile.Party, of map[string]map[string][]string) map[string][]string {
			for _, client := range []string{p.Client, "*"} {
				reach, ok := of[fmt.Sprint(boundaryfile.Party{Issuer: "i", Client: client})]
				if ok {
					return reach
				}
			}
			return of["anonymous"]
		}
		for _, e := range slices.Concat(old.Boundaries, current.Boundaries) {
			name := fmt.Sprint(e.Party)
			for side, of := range []map[string]map[string][]string{had, has} {
				if _, ok := of[name]; ok {
					continue
				}
				switch {
				case e.Party.Actor != "" && side == 1:
					of[name] = after.reached(callerOf(drawnRoles...))
				case e.Party.Actor != "":
					of[name] = of["anonymous"]
				default:
					of[name] = client(e.Party, of)
				}
			}
		}
		for name, reach := range has {
			was, known := had[name]
			if !known { // a role of the later side alone
				was = before.reached(callerOf(name))
			}
			if want := allThree(reach) && !allThree(was); want != reported[name] {
				t.Errorf("%s: reported %v, want %v: %v, now %v", name, reported[name], want, was, reach)
			}
		}
	})
	if reports == 0 {
		t.Error("no change was reported: the test is about none")
	}
}
