package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// table writes the permission table: the compiled authority. It is a literal within the function
// Toolset, because any function of the package could change a variable.
func (p *plan) table() *jen.Statement {
	rules := map[string][]jen.Code{}
	for _, served := range p.Served() {
		of := row(naming.UpperFirst(served.Kind), jen.Id(served.Const))
		rules[served.Kind] = append(rules[served.Kind], p.rule(*served.Tool, of))
		for _, v := range served.Values {
			rules["value"] = append(rules["value"], p.rule(model.Tool{Access: v.Access}, of,
				row("Argument", jen.Lit(v.Argument)), row("Value", jen.Lit(v.Value))))
		}
	}
	for _, f := range p.Fields {
		rules["field"] = append(rules["field"],
			p.rule(model.Tool{Access: f.Access}, row("Field", jen.Lit(f.Name))))
	}
	list := func(field, kind string, always bool) *jen.Statement {
		return when(always || len(rules[kind]) > 0, field,
			jen.Index().Qual(accessPath, "Rule").Add(rows(rules[kind]...)))
	}
	return jen.Qual(accessPath, "Table").Add(rows(
		when(p.Roles.Own, "Roles", lists(p.Roles.Chains)),
		when(len(p.Scopes.Lines) > 0, "Scopes", lists(p.Scopes.Lines)),
		list("Rules", "tool", len(p.Prompts)+len(p.Resources) == 0),
		list("Prompts", "prompt", false), list("Resources", "resource", false),
		list("Values", "value", false), list("Fields", "field", false)))
}

// rule writes one row of the table, which begins with fields. What is not set is not written.
func (p *plan) rule(tool model.Tool, fields ...jen.Code) *jen.Statement {
	a := tool.Access
	return inline(append(fields,
		whenTrue("Public", a.Public), whenTrue("Authenticated", a.Authenticated),
		texts("MinRole", a.MinRole), texts("Scopes", a.Scopes),
		when(len(a.OrScopes) > 0, "OrScopes", lists(a.OrScopes)),
		p.permission(a), text("Verb", a.Verb), whenTrue("Constrained", a.Constrained),
		when(tool.Denial != "", "Denial", jen.Qual(accessPath, naming.UpperFirst(tool.Denial))),
		text("Facts", countedFacts(tool)))...)
}

// countedFacts returns the facts that count for a tool. It is empty if none are stated and all
// count.
func countedFacts(tool model.Tool) string {
	counted := slices.DeleteFunc(model.Facts(), func(fact string) bool { return !tool.HasFact(fact) })
	switch {
	case tool.Facts == nil && len(counted) == len(model.Facts()):
		return ""
	case len(counted) == 0:
		return "none"
	}
	return strings.Join(counted, ",")
}

// permission writes the row of a permission of the host, or of none.
func (p *plan) permission(a model.Access) *jen.Statement {
	if a.Action == "none" {
		return row("Permission", jen.Qual(accessPath, "NoPermission").Call())
	}
	return when(a.Permission != "", "Permission", jen.Qual(accessPath, "Permission").Add(inline(
		text("App", p.Server.App), text("Action", a.Action), text("Object", a.Object))))
}

// lists writes lists of texts: the role hierarchy, lines of scopes, or alternatives.
func lists(lines [][]string) *jen.Statement {
	var all []jen.Code
	for _, line := range lines {
		all = append(all, inline(quotes(line)...))
	}
	return jen.Index().Index().String().Add(inline(all...))
}
