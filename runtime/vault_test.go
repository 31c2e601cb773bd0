package runtime_test

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// vault is a toolset with one of everything that everybody may use. With hidden, it has the same
// once more for managers, with "h" in front of each name.
func vault(hidden bool) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/vault",
		Server: toolset.ServerInfo{Name: "vault", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}}
	both := []string{""}
	if hidden {
		both = []string{"", "h"}
	}
	complete := func(ctx context.Context, begun string) ([]string, error) {
		return []string{begun + runtime.CompletionArguments(ctx)["to"]}, nil
	}
	for _, h := range both {
		rule := access.Rule{Public: true}
		if h != "" {
			rule = access.Rule{MinRole: manager, Scopes: []string{"vault:open"}}
		}
		app := "ui://vault/" + h + "app"
		tools := []toolset.Tool{
			{Name: h + "look", Task: toolset.TaskOptional, Elicits: true, UI: app,
				Meta:  `{"ui":{"resourceUri":"` + app + `"}}`,
				Input: `{"type":"object","properties":{"at":{"type":"string","x-mcp-header":"At"}}}`},
			{Name: h + "only", Task: toolset.TaskRequired, Elicits: true, Input: anyInput},
		}
		for _, tool := range tools {
			tool.Returns = toolset.Text
			tool.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := visit(ctx)
				return toolset.Result{Out: text, HasOut: true}, err
			}
			rule := rule
			rule.Tool = tool.Name
			g.Tools, g.Table.Rules = append(g.Tools, tool), append(g.Table.Rules, rule)
		}
		prompt := rule
		prompt.Prompt = h + "meet"
		g.Table.Prompts = append(g.Table.Prompts, prompt)
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: h + "meet", Elicits: true,
			Arguments: []toolset.Argument{{Name: "from", Complete: complete}, {Name: "to"}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(visit(ctx))
			}})
		for _, uri := range []string{app, h + "meet://{from}/{to}"} {
			resource, r := rule, toolset.Resource{URI: uri, Name: uri,
				Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText("a view", nil)
				}}
			if uri != app {
				r.Variables = []toolset.Variable{{Name: "from", Complete: complete}, {Name: "to"}}
				r.Subscribe, r.Elicits = true, true
				r.Read = func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText(visit(ctx))
				}
			}
			resource.Resource = uri
			g.Table.Resources = append(g.Table.Resources, resource)
			g.Resources = append(g.Resources, r)
		}
	}
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int {
		return strings.Compare(a.Resource, b.Resource)
	})
	slices.SortFunc(g.Resources, func(a, b toolset.Resource) int {
		return strings.Compare(a.URI, b.URI)
	})
	return toolset.NewToolset(g)
}
