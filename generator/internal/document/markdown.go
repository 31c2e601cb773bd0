package document

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Markdown returns the documentation of services as one Markdown text: the diagram of the role
// hierarchy of each, for Mermaid, and the generated part of its MCP.md.
func Markdown(services []model.Service) string {
	var parts []string
	for _, s := range services {
		if s.Roles.Own {
			parts = append(parts, mermaid(s.Roles.Names))
		}
		parts = append(parts, body(s))
	}
	return strings.Join(parts, "\n")
}

// mermaid is a diagram of a hierarchy: an arrow goes from a role to the next higher one.
func mermaid(roles []string) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart LR\n")
	for i, role := range roles {
		fmt.Fprintf(&b, "  role%d[\"%s\"]\n", i, strings.ReplaceAll(role, `"`, "#quot;"))
	}
	for i := range roles[1:] {
		fmt.Fprintf(&b, "  role%d --> role%d\n", i, i+1)
	}
	b.WriteString("```\n")
	return b.String()
}
