package access_test

import (
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

func TestExplanationHasALineForEachVerdict(t *testing.T) {
	e := access.Explanation{
		Name: "report", Off: true, Host: "the host does not answer",
		Verdicts: []access.Verdict{
			{Axis: access.AxisAuthentication, Holds: true, Needs: "an authenticated caller", Has: "ada"},
			{Axis: access.AxisRole, Needs: "Manager", Has: "Viewer"},
			{Axis: access.AxisScopes, Needs: "a, b", Has: "a"},
		},
	}
	if got, want := e.String(), `tool "report": denied
  the tool is switched off
  `+e.Verdicts[0].String()+`
  `+e.Verdicts[1].String()+`
  `+e.Verdicts[2].String()+`
  the host does not answer
`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := e.Failing(), e.Verdicts[1].String()+"; "+e.Verdicts[2].String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	e = access.Explanation{Kind: access.Prompts, Name: "p", Allowed: true}
	if got := e.String() + e.Failing(); got != "prompt \"p\": allowed\n" {
		t.Errorf("%q", got)
	}
}

func TestTableOfRulesOfAnyKind(t *testing.T) {
	rules := []access.Rule{{Tool: "b"}, {Prompt: "p"}, {Tool: "a"}, {Resource: "x:"}, {},
		{Tool: "b", Argument: "k", Value: "v"}, {Field: "p.T.F"}}
	table := access.NewTable(rules...)
	var got []string
	for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources, access.Values,
		access.Fields} {
		for _, rule := range table.Of(k).Rules {
			got = append(got, k.String()+" "+rule.Name())
			if rule.Kind() != k {
				t.Errorf("%v has the kind %v", rule, rule.Kind())
			}
		}
	}
	want := []string{"tool b", "tool a", "tool ", "prompt p", "resource x:", "value b k=v",
		"field p.T.F"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRulesAreTheSameByTheirRequirement(t *testing.T) {
	requirements := []access.Rule{{}, {Public: true}, {Authenticated: true},
		{MinRole: []string{"Viewer"}},
		{MinRole: []string{"Member"}}, {MinRole: []string{"Member", "Viewer"}},
		{Scopes: []string{"a"}}, {Scopes: []string{"a", "b"}},
		{Scopes: []string{"a", "b"}, OrScopes: [][]string{{"c"}}},
		{Permission: access.NoPermission()}, {Constrained: true}, {Denial: access.Forbid}}
	for i, a := range requirements {
		a.Tool = "a"
		for j, b := range requirements {
			b.Tool = "b"
			b = b.Clone()
			slices.Reverse(b.Scopes)
			slices.Reverse(b.MinRole)
			if a.Same(b) != (i == j) {
				t.Errorf("%+v and %+v", a, b)
			}
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	table := access.NewTable(access.Rule{Tool: "t", MinRole: []string{"R"}, Scopes: []string{"s"},
		OrScopes: [][]string{{"o"}}},
		access.Rule{Prompt: "t", MinRole: []string{"R"}, Scopes: []string{"s"}},
		access.Rule{Resource: "t", MinRole: []string{"R"}, Scopes: []string{"s"}},
		access.Rule{Tool: "t", Argument: "k", Value: "v", MinRole: []string{"R"}, Scopes: []string{"s"}},
		access.Rule{Field: "t", MinRole: []string{"R"}, Scopes: []string{"s"}})
	table.Roles, table.Scopes = [][]string{{"R"}}, [][]string{{"s", "o"}}
	clone := table.Clone()
	clone.Roles[0][0], clone.Scopes[0][0], clone.Rules[0].OrScopes[0][0] = "other", "other", "other"
	for _, rules := range [][]access.Rule{clone.Rules, clone.Prompts, clone.Resources,
		clone.Values, clone.Fields} {
		rules[0].Scopes[0], rules[0].MinRole[0], rules[0].Public = "other", "other", true
	}
	if table.Roles[0][0] != "R" || table.Scopes[0][0] != "s" ||
		table.Rules[0].OrScopes[0][0] != "o" {
		t.Error("the roles, lines of scopes or alternatives are shared")
	}
	for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources, access.Values,
		access.Fields} {
		if rule := table.Of(k).Rules[0]; rule.Public || rule.Scopes[0] != "s" || rule.MinRole[0] != "R" {
			t.Errorf("the rules of %ss are shared", k)
		}
	}
	if clone := (access.Table{}).Clone(); clone.Roles != nil || clone.Rules != nil {
		t.Errorf("the clone of the zero Table: %+v", clone)
	}
}

func TestRulesOfAPermissionAlone(t *testing.T) {
	view := access.Permission{App: "dcim", Action: "view", Object: "device"}
	for _, tc := range []struct {
		rule access.Rule
		want bool
	}{
		{access.Rule{}, false},
		{access.Rule{Permission: view}, true},
		{access.Rule{Permission: view, Constrained: true, Denial: access.Forbid}, true},
		{access.Rule{Permission: access.NoPermission()}, false},
		{access.Rule{Permission: view, Public: true}, false},
		{access.Rule{Permission: view, Authenticated: true}, false},
		{access.Rule{Permission: view, MinRole: []string{access.Lowest}}, false},
		{access.Rule{Permission: view, Scopes: []string{"a"}}, false},
	} {
		if got := tc.rule.PermissionOnly(); got != tc.want {
			t.Errorf("%+v: %v", tc.rule, got)
		}
	}
}

func TestPrincipalsAreOrderedBySubjectFirst(t *testing.T) {
	in := []access.Principal{
		{Subject: "a"}, {Subject: "a", Scopes: []string{"x"}}, {Subject: "a", Roles: []string{"Viewer"}},
		{Subject: "a", User: "u"}, {Subject: "a", Client: "c"}, {Subject: "a", Issuer: "i"},
		{Subject: "b"},
	}
	for i, a := range in {
		for j, b := range in {
			if got, want := a.Compare(b), min(max(i-j, -1), 1); got != want {
				t.Errorf("%+v and %+v: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestPermissionsAreRecordedByTablesThatDoNotEnforceThem(t *testing.T) {
	view := access.Permission{App: "dcim", Action: "view", Object: "device"}
	table := access.NewTable(
		access.Rule{Tool: "t", Permission: view, Authenticated: true}, access.Rule{Tool: "u", Public: true},
		access.Rule{Tool: "v", Permission: access.NoPermission(), Authenticated: true},
		access.Rule{Resource: "r:", Permission: view}, access.Rule{Prompt: "p", Permission: view},
		access.Rule{Tool: "u", Argument: "a", Value: "x", Permission: view},
		access.Rule{Field: "p.T.F", Permission: view})
	if got := table.RecordedPermissions(); !slices.Equal(got,
		[]string{"t", "p", "r:", "u a=x", "p.T.F"}) {
		t.Errorf("%q", got)
	}
	if got := table.Aware().RecordedPermissions(); got != nil {
		t.Errorf("an aware table: %q", got)
	}
}
