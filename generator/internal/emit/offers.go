package emit

import (
	"cmp"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// offers writes the rows of Prompts and Resources, where there are any.
func (p *plan) offers() []jen.Code {
	var prompts, resources []jen.Code
	for _, prompt := range p.Prompts {
		prompts = append(prompts, p.prompt(prompt))
	}
	for _, r := range p.Resources {
		resources = append(resources, p.resource(r))
	}
	return append(list("Prompts", "Prompt", prompts), list("Resources", "Resource", resources)...)
}

// prompt writes one element of Prompts.
func (p *plan) prompt(prompt model.Prompt) *jen.Statement {
	fields := []jen.Code{row("Name", jen.Id(prompt.Const))}
	fields = append(fields, texts("Title", prompt.Title, "Description", prompt.Description)...)
	var arguments []jen.Code
	for _, a := range prompt.Arguments {
		argument := append([]jen.Code{row("Name", jen.Lit(a.Name))},
			texts("Title", a.Title, "Description", a.Description)...)
		argument = append(argument, whenTrue("Required", a.Required)...)
		arguments = append(arguments, inline(append(argument, p.completed(a)...)...))
	}
	fields = append(fields, list("Arguments", "Argument", arguments)...)
	makes := "PromptText"
	if prompt.Returns == model.ReturnsResult {
		makes = "PromptNative"
	}
	fields = append(fields, p.elicitRows(prompt.Tool)...)
	return rows(append(fields,
		row("Get", p.callFunc(keyed(prompt.Tool), "PromptResult", makes)),
	)...)
}

// resource writes one element of Resources.
func (p *plan) resource(r model.Resource) *jen.Statement {
	fields := []jen.Code{row("URI", jen.Id(r.Const)), row("Name", jen.Lit(cmp.Or(r.Name, r.URI)))}
	fields = append(fields,
		texts("Title", r.Title, "Description", r.Description, "MIMEType", r.MIMEType)...)
	var variables []jen.Code
	for _, v := range r.Variables {
		variable := []jen.Code{row("Name", jen.Lit(v.Name))}
		switch v.Type {
		case "integer":
			variable = append(variable, row("Type", jen.Qual(toolsetPath, "IntegerVariable")))
		case "boolean":
			variable = append(variable, row("Type", jen.Qual(toolsetPath, "BooleanVariable")))
		}
		variables = append(variables, inline(append(variable, p.completed(v)...)...))
	}
	fields = append(fields, list("Variables", "Variable", variables)...)
	fields = append(fields, whenTrue("Subscribe", r.Subscribe)...)
	makes := map[model.Returns]string{
		model.ReturnsText: "ResourceText", model.ReturnsBytes: "ResourceBytes",
		model.ReturnsResult: "ResourceNative",
	}[r.Returns]
	fields = append(fields, p.elicitRows(r.Tool)...)
	return rows(append(fields,
		row("Read", p.callFunc(keyed(r.Tool), "ResourceResult", makes)),
	)...)
}

// elicitRows writes the rows of the time limit, and of a handler that may ask its client.
func (p *plan) elicitRows(served model.Tool) []jen.Code {
	return append(p.timeoutRow(served.Limits), whenTrue("Elicits", served.Elicits)...)
}

// completed writes what completes an argument: the author's func, or the known values.
func (p *plan) completed(a model.Argument) []jen.Code {
	switch {
	case a.Complete != nil:
		return []jen.Code{row("Complete", p.handler(*a.Complete))}
	case len(a.Values) > 0:
		return []jen.Code{row("Values", strs(a.Values))}
	}
	return nil
}
