package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// Markdown returns the documentation of services as one Markdown text: the diagram of the role
// hierarchy of each, for Mermaid, and the generated part of its MCP.md.
func Markdown(services []model.Service) string {
	var parts []string
	for _, s := range services {
		if s.Roles.Own {
			parts = append(parts, mermaid(s.Roles.Order()))
		}
		parts = append(parts, body(s))
	}
	return strings.Join(parts, "\n")
}

// mermaid is a diagram of a hierarchy: an arrow goes from a role to each next higher one.
func mermaid(order roleorder.Order) string {
	roles := order.Names()
	above := func(lower, higher string) bool {
		return lower != higher && order.Below(higher)&order.Bit(lower) != 0
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart LR\n")
	for i, role := range roles {
		fmt.Fprintf(&b, "  role%d[\"%s\"]\n", i, strings.ReplaceAll(role, `"`, "#quot;"))
	}
	for i, lower := range roles {
		for j, higher := range roles {
			if above(lower, higher) && !slices.ContainsFunc(roles, func(between string) bool {
				return above(lower, between) && above(between, higher)
			}) {
				fmt.Fprintf(&b, "  role%d --> role%d\n", i, j)
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}
