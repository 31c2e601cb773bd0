package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// fullText is all fields of a decision.
func fullText(d access.Decision) string {
	return fmt.Sprint(d.Allowed, d.Axis, d.Denial, d.Missing(), d.LacksScopesOnly(),
		d.ScopesThatWouldDo(true))
}

// A rule means the same whatever it is about.
func TestPromptsAndResourcesAreDecidedAsTools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := access.Rule{
			Authenticated: rapid.Bool().Draw(t, "authenticated"), MinRole: anyRoles(t,
				append(access.DefaultRoles()[0], access.Lowest, access.Highest)),
			Scopes: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b"}), func(s string) string { return s }).Draw(t, "scopes"),
			Denial: access.Denial(rapid.IntRange(0, 2).Draw(t, "denial")),
		}
		tool, prompt, resource := rule, rule, rule
		tool.Tool, prompt.Prompt, resource.Resource = "x", "x", "x"
		literal := access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{tool}, Prompts: []access.Rule{prompt}, Resources: []access.Rule{resource},
		}
		composed, err := access.Compose(access.Part{Package: "p", Table: literal})
		if err != nil {
			t.Fatal(err)
		}
		p := access.Principal{
			Subject: rapid.SampledFrom([]string{"", "ada"}).Draw(t, "subject"),
			Roles:   anyRoles(t, []string{"", "Viewer", "Manager", "Admin", "admin"}),
			Scopes:  rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c"})).Draw(t, "held"),
		}
		want := fullText(literal.Decide(p, "x"))
		if scopes := literal.Decide(p, "x").ScopesThatWouldDo(true); !slices.IsSorted(scopes) {
			t.Fatalf("the scopes %q are not sorted", scopes)
		}
		for _, table := range []access.Table{literal, composed} {
			for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
				part := table.Of(k)
				if got := fullText(part.Decide(p, "x")); got != want {
					t.Fatalf("%v: %s, want %s", k, got, want)
				}
				if visible := part.Visible(p).Contains("x"); visible != part.Decide(p, "x").Allowed {
					t.Fatalf("%v: visible %v", k, visible)
				}
			}
		}
	})
}

func TestRulesOfOneKindAreUnknownToTheOthers(t *testing.T) {
	table, err := access.Compose(access.Part{Package: "p", Table: access.Table{
		Rules: []access.Rule{{Tool: "t", Public: true}}, Prompts: []access.Rule{{Prompt: "p", Public: true}}, Resources: []access.Rule{{Resource: "r:x", Public: true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for k, own := range map[access.Kind]string{access.Tools: "t", access.Prompts: "p", access.Resources: "r:x", 9: ""} {
		for _, name := range []string{"t", "p", "r:x", ""} {
			if got := table.Of(k).Decide(access.Principal{}, name); got.Allowed != (name == own && name != "") {
				t.Errorf("%v %q: %+v", k, name, got)
			}
		}
	}
	if got := table.Tools(); !slices.Equal(got, []string{"t"}) {
		t.Errorf("%v", got)
	}
}

func TestRulesNameWhatTheirListIsAbout(t *testing.T) {
	for want, table := range map[string]access.Table{
		`tool "p": a rule of another kind among those of tools`: {Rules: []access.Rule{
			{Prompt: "p", Public: true}}},
		`prompt "t": a rule of another kind among those of prompts`: {Prompts: []access.Rule{
			{Tool: "t", Prompt: "p", Public: true}}},
		`resource "": a rule without the name of its resource`: {Resources: []access.Rule{
			{Public: true}}},
		`prompt "p" is declared by package p and`: {Prompts: []access.Rule{
			{Prompt: "p", Public: true}, {Prompt: "p", Public: true}}},
		`resource "r:x" is declared by package p and by`: {Resources: []access.Rule{
			{Resource: "r:x", Public: true}, {Resource: "r:x", Public: true}}},
	} {
		if _, err := access.Compose(access.Part{Package: "p", Table: table}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
