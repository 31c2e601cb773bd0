package emit

import (
	"cmp"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

// offers writes the rows of Prompts and Resources, where there are any.
func (p *plan) offers() []jen.Code {
	var prompts, resources, fields []jen.Code
	for _, prompt := range p.Prompts {
		prompts = append(prompts, p.prompt(prompt))
	}
	for _, r := range p.Resources {
		resources = append(resources, p.resource(r))
	}
	if len(prompts) > 0 {
		fields = append(fields, row("Prompts", jen.Index().Qual(toolsetPath, "Prompt").Add(rows(prompts...))))
	}
	if len(resources) > 0 {
		fields = append(fields, row("Resources", jen.Index().Qual(toolsetPath, "Resource").Add(rows(resources...))))
	}
	return fields
}

// texts writes the rows of texts that are not empty.
func texts(pairs ...string) []jen.Code {
	var fields []jen.Code
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fields = append(fields, row(pairs[i], quoted(pairs[i+1])))
		}
	}
	return fields
}

// prompt writes one element of Prompts.
func (p *plan) prompt(prompt model.Prompt) *jen.Statement {
	fields := []jen.Code{row("Name", jen.Id(prompt.Const))}
	fields = append(fields, texts("Title", prompt.Title, "Description", prompt.Description)...)
	var arguments []jen.Code
	for _, a := range prompt.Arguments {
		argument := append([]jen.Code{row("Name", jen.Lit(a.Name))}, texts("Title", a.Title, "Description", a.Description)...)
		if a.Required {
			argument = append(argument, row("Required", jen.True()))
		}
		arguments = append(arguments, inline(append(argument, p.completed(a)...)...))
	}
	if len(arguments) > 0 {
		fields = append(fields, row("Arguments", jen.Index().Qual(toolsetPath, "Argument").Add(rows(arguments...))))
	}
	makes := "PromptText"
	if prompt.Returns == model.ReturnsResult {
		makes = "PromptResult"
	}
	fields = append(fields, p.timeoutRow(prompt.Limits)...)
	return rows(append(fields,
		row("Get", p.answering(keyed(prompt.Tool), "PromptAnswer", makes)),
	)...)
}

// resource writes one element of Resources.
func (p *plan) resource(r model.Resource) *jen.Statement {
	fields := []jen.Code{row("URI", jen.Id(r.Const)), row("Name", jen.Lit(cmp.Or(r.Name, r.URI)))}
	fields = append(fields, texts("Title", r.Title, "Description", r.Description, "MIMEType", r.MIMEType)...)
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
	if len(variables) > 0 {
		fields = append(fields, row("Variables", jen.Index().Qual(toolsetPath, "Variable").Add(rows(variables...))))
	}
	makes := map[model.Returns]string{
		model.ReturnsText: "ResourceText", model.ReturnsBytes: "ResourceBytes", model.ReturnsResult: "ResourceResult",
	}[r.Returns]
	fields = append(fields, p.timeoutRow(r.Limits)...)
	return rows(append(fields,
		row("Read", p.answering(keyed(r.Tool), "ResourceAnswer", makes)),
	)...)
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
