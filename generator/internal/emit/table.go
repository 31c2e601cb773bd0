package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// writeRoles writes the constants of the roles.
func (p *plan) writeRoles(f file) {
	if p.Roles.Own {
		var defs []jen.Code
		for i, role := range p.Roles.Names {
			def := jen.Id(p.roles[role])
			if i == 0 {
				def = def.Qual(accessPath, "Role").Op("=").Iota().Op("+").Lit(1).
					Comment("zero admits no caller")
			}
			defs = append(defs, def)
		}
		f.Comment("The roles, lowest first.")
		f.Const().Defs(defs...)
		f.Line()
	}
}

// table writes the permission table: the compiled authority. It is a literal within the function
// Toolset, because any function of the package could change a variable.
func (p *plan) table() *jen.Statement {
	var fields []jen.Code
	if p.Roles.Own {
		fields = append(fields, row("Roles", strs(p.Roles.Names)))
	}
	list := func(field string, rules []jen.Code) {
		fields = append(fields, row(field, jen.Index().Qual(accessPath, "Rule").Add(
			rows(rules...))))
	}
	var tools, prompts, resources []jen.Code
	var values []jen.Code
	for _, tool := range p.Tools {
		tools = append(tools, p.rule(tool, row("Tool", jen.Id(tool.Const))))
		for _, v := range tool.Values {
			value := model.Tool{Access: v.Access}
			values = append(values, p.rule(value, row("Tool", jen.Id(tool.Const)),
				row("Argument", jen.Lit(v.Argument)), row("Value", jen.Lit(v.Value))))
		}
	}
	for _, prompt := range p.Prompts {
		prompts = append(prompts, p.rule(prompt.Tool, row("Prompt", jen.Id(prompt.Const))))
	}
	for _, r := range p.Resources {
		resources = append(resources, p.rule(r.Tool, row("Resource", jen.Id(r.Const))))
	}
	if len(tools) > 0 || len(prompts)+len(resources) == 0 {
		list("Rules", tools)
	}
	if len(prompts) > 0 {
		list("Prompts", prompts)
	}
	if len(resources) > 0 {
		list("Resources", resources)
	}
	if len(values) > 0 {
		list("Values", values)
	}
	return jen.Qual(accessPath, "Table").Add(rows(fields...))
}

// rule writes one row of the table, which begins with fields. What is not set is not written.
func (p *plan) rule(tool model.Tool, fields ...jen.Code) *jen.Statement {
	a := tool.Access
	fields = append(fields, whenTrue("Public", a.Public)...)
	fields = append(fields, whenTrue("Authenticated", a.Authenticated)...)
	if a.MinRole != "" {
		fields = append(fields, row("MinRole", p.role(a.MinRole)))
	}
	if len(a.Scopes) > 0 {
		fields = append(fields, row("Scopes", strs(a.Scopes)))
	}
	if permission := p.permission(a); permission != nil {
		fields = append(fields, row("Permission", permission))
	}
	fields = append(fields, texts("Verb", a.Verb)...)
	fields = append(fields, whenTrue("Constrained", a.Constrained)...)
	if tool.Denial != "" {
		fields = append(fields, row("Denial", jen.Qual(accessPath, naming.UpperFirst(tool.Denial))))
	}
	return inline(fields...)
}

// permission writes what a rule asks the host for, nil where it says nothing about that.
func (p *plan) permission(a model.Access) *jen.Statement {
	switch {
	case a.Action == "none":
		return jen.Qual(accessPath, "NoPermission").Call()
	case a.Permission == "":
		return nil
	}
	return jen.Qual(accessPath, "Permission").Add(inline(
		texts("App", p.Server.App, "Action", a.Action, "Object", a.Object)...))
}

// role writes a role of the hierarchy, or one of the two reserved ones where the hierarchy has
// none of that name.
func (p *plan) role(name string) *jen.Statement {
	if constant, own := p.roles[name]; own {
		return jen.Id(constant)
	}
	if name == model.Lowest {
		return jen.Qual(accessPath, "Lowest")
	}
	return jen.Qual(accessPath, "Highest")
}
