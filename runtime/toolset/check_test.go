package toolset

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// sound is a package in which each rule has its tool, prompt or resource.
func sound() Generated {
	return Generated{
		Package: "example.org/a", Server: ServerInfo{Name: "a"},
		Tools: []Tool{{Name: "t"}}, Prompts: []Prompt{{Name: "p"}},
		Resources: []Resource{{URI: "x:{a}"}},
		Table: access.Table{
			Rules:     []access.Rule{{Tool: "t", Public: true}},
			Prompts:   []access.Rule{{Prompt: "p", Public: true}},
			Resources: []access.Rule{{Resource: "x:{a}", Public: true}},
		},
	}
}

// guard adds guarded fields to the tool.
func (g *Generated) guard() {
	t := &g.Tools[0]
	t.Input = `{"properties":{"in":{"x-mcpgen-field":"p.T.In"},"both":{"x-mcpgen-field":"p.T.Both"}}}`
	t.Output = `{"properties":{"out":{"x-mcpgen-field":"p.T.Out"},` +
		`"both":{"x-mcpgen-field":"p.T.Both"}}}`
	for _, field := range []string{"p.T.Both", "p.T.In", "p.T.Out"} {
		g.Table.Fields = append(g.Table.Fields, access.Rule{Field: field, Authenticated: true})
	}
}

func TestGeneratedIsCheckedAgainstItsRules(t *testing.T) {
	alone := access.Permission{App: "dcim", Action: "view", Object: "device"}
	const enforced = ", which only permission-aware discovery enforces: " +
		"add authenticated, minrole= or scopes= to its //mcp:"
	for name, tc := range map[string]struct {
		aware  bool
		change func(*Generated)
		want   string
	}{
		"sound": {false, func(*Generated) {}, ""},
		"a tool without a rule": {false, func(g *Generated) { g.Table.Rules = nil },
			`tool "t" has no rule in Generated.Table: run go generate`},
		"a prompt without a rule": {false, func(g *Generated) { g.Table.Prompts = nil },
			`prompt "p" has no rule in Generated.Table: run go generate`},
		"a resource without a rule": {false, func(g *Generated) { g.Table.Resources = nil },
			`resource "x:{a}" has no rule in Generated.Table: run go generate`},
		"a rule without a tool": {false, func(g *Generated) { g.Tools = nil },
			`the rule of "t" has no tool: run go generate`},
		"a rule without a prompt": {false, func(g *Generated) { g.Prompts = nil },
			`the rule of "p" has no prompt: run go generate`},
		"a rule without a resource": {false, func(g *Generated) { g.Resources = nil },
			`the rule of "x:{a}" has no resource: run go generate`},
		"a tool twice": {false, func(g *Generated) { g.Tools = append(g.Tools, Tool{Name: "t"}) },
			`tool "t" is there twice: run go generate`},
		"an app that is not there": {false, func(g *Generated) { g.Tools[0].UI = "ui:none" },
			`the resource "ui:none" of tool "t" has not the tool's rule: run go generate`},
		"an app with another rule": {false, func(g *Generated) {
			g.Tools[0].UI, g.Table.Rules[0].Public = "x:{a}", false
			g.Table.Rules[0].Authenticated = true
		}, `the resource "x:{a}" of tool "t" has not the tool's rule: run go generate`},
		"an app": {false, func(g *Generated) { g.Tools[0].UI = "x:{a}" }, ""},
		"no name": {false, func(g *Generated) { g.Server.Name = "" },
			"the server has no name: write //mcp:server name= and run go generate"},
		"a permission alone": {false, func(g *Generated) {
			g.Table.Rules[0] = access.Rule{Tool: "t", Permission: alone}
		}, `tool "t" has only the rule dcim.view_device` + enforced + "tool, and run go generate"},
		"a permission of a prompt alone": {false, func(g *Generated) {
			g.Table.Prompts[0] = access.Rule{Prompt: "p", Permission: alone}
		}, `prompt "p" has only the rule dcim.view_device` + enforced + "prompt, and run go generate"},
		"a permission alone that the server enforces": {true, func(g *Generated) {
			g.Table.Rules[0] = access.Rule{Tool: "t", Permission: alone}
		}, ""},
		"guarded fields": {false, func(g *Generated) { g.guard() }, ""},
		"a field without a rule": {false, func(g *Generated) {
			g.guard()
			g.Table.Fields = g.Table.Fields[:2]
		}, `field "p.T.Out" has no rule in Generated.Table: run go generate`},
		"a guarded result without a rule": {false, func(g *Generated) {
			g.Tools[0].Guarded = `{"items":{"properties":{"a":{"x-mcpgen-field":"p.T.F"}}}}`
		}, `field "p.T.F" has no rule in Generated.Table: run go generate`},
		"a rule of a field that no schema has": {false, func(g *Generated) {
			g.guard()
			g.Tools[0].Input = "{}"
		}, ""},
		"a keyword that belongs to no property": {false, func(g *Generated) {
			g.Tools[0].Input = `{"items":{"x-mcpgen-field":"p.T.F"}}`
			g.Table.Fields = []access.Rule{{Field: "p.T.F", Authenticated: true}}
		}, `the guarded fields of tool "t" cannot be read (output schema: x-mcpgen-field "p.T.F" ` +
			"belongs to a property, not to an item or a whole value): run go generate"},
		"a permission of a field alone": {false, func(g *Generated) {
			g.guard()
			g.Table.Fields[0] = access.Rule{Field: "p.T.Both", Permission: alone}
		}, `field "p.T.Both" has only the rule dcim.view_device` + enforced +
			"field, and run go generate"},
		"a permission of a field alone that the server enforces": {true, func(g *Generated) {
			g.guard()
			g.Table.Fields[0] = access.Rule{Field: "p.T.Both", Permission: alone}
		}, ""},
		"two problems": {false, func(g *Generated) { g.Tools, g.Server.Name = nil, "" },
			`the rule of "t" has no tool: run go generate` + "\npackage example.org/a: " +
				"the server has no name: write //mcp:server name= and run go generate"},
	} {
		t.Run(name, func(t *testing.T) {
			g := sound()
			tc.change(&g)
			got := ""
			if err := g.Check(tc.aware); err != nil {
				got = err.Error()
			}
			if want := tc.want; want == "" && got != "" ||
				want != "" && got != "package example.org/a: "+want {
				t.Errorf("Check reports %q, want %q", got, want)
			}
		})
	}
}

// A narrowed Toolset has the rules of all fields: a tool that is left may return a type below an
// interface that only the schemas of removed tools have.
func TestNarrowedToolsetKeepsTheRulesOfFields(t *testing.T) {
	g := sound()
	g.guard()
	g.Tools = append(g.Tools, Tool{Name: "u",
		Guarded: `{"items":{"properties":{"both":{"x-mcpgen-field":"p.T.Both"}}}}`}, Tool{Name: "v"})
	g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: "u", Public: true},
		access.Rule{Tool: "v", Public: true})
	whole := NewToolset(g)
	const want = "p.T.Both p.T.In p.T.Out"
	for _, of := range []Toolset{whole, whole.Without("u"), whole.Without("t"), whole.Only("v"),
		whole.ReadOnly()} {
		narrowed, got := of.Generated(), []string{}
		for _, rule := range narrowed.Table.Fields {
			got = append(got, rule.Field)
		}
		if err := narrowed.Check(false); strings.Join(got, " ") != want || err != nil {
			t.Errorf("%q, want %s: %v", got, want, err)
		}
	}
}
