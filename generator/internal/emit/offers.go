package emit

import (
	"cmp"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// prompt writes one element of Prompts.
func (p *plan) prompt(prompt model.Prompt) *jen.Statement {
	var arguments []jen.Code
	for _, a := range prompt.Arguments {
		arguments = append(arguments, inline(row("Name", jen.Lit(a.Name)), text("Title", a.Title),
			text("Description", a.Description), whenTrue("Required", a.Required), p.completed(a)))
	}
	makes := "PromptText"
	if prompt.Returns == model.ReturnsResult {
		makes = "PromptNative"
	}
	return rows(
		row("Name", jen.Id(prompt.Const)),
		text("Title", prompt.Title),
		text("Description", prompt.Description),
		list("Arguments", "Argument", arguments),
		p.timeoutRow(prompt.Limits),
		whenTrue("Elicits", prompt.Elicits),
		row("Get", p.callFunc(keyed(prompt.Tool), "PromptResult", makes)),
	)
}

// resource writes one element of Resources.
func (p *plan) resource(r model.Resource) *jen.Statement {
	var variables []jen.Code
	for _, v := range r.Variables {
		typ := map[string]string{"integer": "IntegerVariable", "boolean": "BooleanVariable"}[v.Type]
		variables = append(variables, inline(row("Name", jen.Lit(v.Name)),
			when(typ != "", "Type", jen.Qual(toolsetPath, typ)), p.completed(v)))
	}
	makes := map[model.Returns]string{
		model.ReturnsText: "ResourceText", model.ReturnsBytes: "ResourceBytes",
		model.ReturnsResult: "ResourceNative",
	}[r.Returns]
	return rows(
		row("URI", jen.Id(r.Const)),
		row("Name", jen.Lit(cmp.Or(r.Name, r.URI))),
		text("Title", r.Title),
		text("Description", r.Description),
		text("MIMEType", r.MIMEType),
		list("Variables", "Variable", variables),
		whenTrue("Subscribe", r.Subscribe),
		p.timeoutRow(r.Limits),
		whenTrue("Elicits", r.Elicits),
		row("Read", p.callFunc(keyed(r.Tool), "ResourceResult", makes)),
	)
}

// completed writes what completes an argument: the author's func, or the known values.
func (p *plan) completed(a model.Argument) *jen.Statement {
	if a.Complete != nil {
		return row("Complete", p.handler(*a.Complete))
	}
	return texts("Values", a.Values)
}
