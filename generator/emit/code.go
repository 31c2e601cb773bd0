package emit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

// code writes mcp_gen.go: what a reader looks for first stands first.
func (p *plan) code() ([]byte, error) {
	f := p.file
	f.Const().Id("_").Op("=").Qual(runtimePath, "Contract1_RunGoGenerate")
	f.Line()
	p.writeTools(f)
	p.writeTable(f)
	p.writeToolset(f)
	p.decoders.write(f)
	p.schemas.write(f)
	p.writeGuards(f, p.guards(false))
	return f.source()
}

// writeTools writes the constants of the tools' names.
func (p *plan) writeTools(f file) {
	if len(p.Tools) == 0 {
		return
	}
	var defs []jen.Code
	for _, tool := range p.Tools {
		defs = append(defs, jen.Id(tool.Const).Op("=").Lit(tool.Name))
	}
	f.Comment("The tools of this package.")
	f.Const().Defs(defs...)
	f.Line()
}

// writeToolset writes the one function that a service author calls.
func (p *plan) writeToolset(f file) {
	var params, receivers []jen.Code
	var answers []string
	for _, r := range p.Receivers {
		param := p.params[r.Type]
		typ := jen.Id(r.Type)
		if r.Pointer {
			typ = jen.Op("*").Id(r.Type)
		}
		params = append(params, jen.Id(param).Add(typ))
		receivers = append(receivers, jen.Id(param))
		answers = append(answers, param)
	}
	generated := []jen.Code{
		row("Package", jen.Lit(p.Package)),
		row("Server", p.serverInfo()),
		row("Table", jen.Id(p.table)),
	}
	if len(receivers) > 0 {
		generated = append(generated, row("Receivers", jen.Index().Any().Add(inline(receivers...))))
	}
	var tools []jen.Code
	for _, tool := range p.Tools {
		tools = append(tools, p.tool(tool))
	}
	generated = append(generated, row("Tools", jen.Index().Qual(runtimePath, "Tool").Add(rows(tools...))))

	f.Comment(fmt.Sprintf("Toolset is what package %s serves%s.", p.Name, answering(answers)))
	f.Func().Id("Toolset").Params(params...).Qual(runtimePath, "Toolset").Block(
		jen.Return(jen.Qual(runtimePath, "NewToolset").Call(
			jen.Qual(runtimePath, "Generated").Add(rows(generated...)),
		)),
	)
	f.Line()
}

// answering says in Toolset's comment who answers the calls.
func answering(params []string) string {
	switch n := len(params); n {
	case 0:
		return ""
	case 1:
		return "; " + params[0] + " answers the calls"
	default:
		return "; " + strings.Join(params[:n-1], ", ") + " and " + params[n-1] + " answer the calls"
	}
}

func (p *plan) serverInfo() *jen.Statement {
	fields := []jen.Code{row("Name", jen.Lit(p.Server.Name))}
	if p.Server.Title != "" {
		fields = append(fields, row("Title", jen.Lit(p.Server.Title)))
	}
	if p.Server.Version != "" {
		fields = append(fields, row("Version", jen.Lit(p.Server.Version)))
	}
	return jen.Qual(runtimePath, "ServerInfo").Add(inline(fields...))
}

// tool writes one element of Tools.
func (p *plan) tool(tool model.Tool) *jen.Statement {
	fields := []jen.Code{row("Name", jen.Id(tool.Const))}
	if tool.Title != "" {
		fields = append(fields, row("Title", quoted(tool.Title)))
	}
	if tool.Description != "" {
		fields = append(fields, row("Description", quoted(tool.Description)))
	}
	fields = append(fields, row("Input", jen.Id(p.schemas.inputs[tool.Name])))
	if schema := p.schemas.outputs[tool.Name]; schema != "" {
		fields = append(fields, row("Output", jen.Id(schema)))
	}
	if tool.Hints != (model.Hints{}) {
		fields = append(fields, row("Annotations", annotations(tool.Hints)))
	}
	fields = append(fields, row("Timeout", duration(tool.Limits.Timeout)), row("Call", p.closure(tool)))
	return rows(fields...)
}

// annotations writes the hints that the author wrote.
func annotations(h model.Hints) *jen.Statement {
	var fields []jen.Code
	value := func(key string, hint *bool) {
		if hint != nil {
			fields = append(fields, row(key, jen.Lit(*hint)))
		}
	}
	pointer := func(key string, hint *bool) {
		if hint != nil {
			fields = append(fields, row(key, jen.New(jen.Lit(*hint))))
		}
	}
	value("ReadOnlyHint", h.ReadOnly)
	pointer("DestructiveHint", h.Destructive)
	value("IdempotentHint", h.Idempotent)
	pointer("OpenWorldHint", h.OpenWorld)
	return jen.Op("&").Qual(mcpPath, "ToolAnnotations").Add(inline(fields...))
}

// closure decodes, calls and returns.
func (p *plan) closure(tool model.Tool) *jen.Statement {
	fails := jen.If(jen.Id(p.err).Op("!=").Nil()).Block(
		jen.Return(jen.Qual(runtimePath, "Result").Values(), jen.Id(p.err)),
	)
	arguments := jen.Id(p.call).Dot("Arguments")
	var body []jen.Code
	if tool.Input.Kind == model.NoInput {
		body = append(body, jen.If(jen.Id(p.err).Op(":=").Qual(decodePath, "Nothing").Call(arguments), jen.Id(p.err).Op("!=").Nil()).Block(
			jen.Return(jen.Qual(runtimePath, "Result").Values(), jen.Id(p.err)),
		))
	} else {
		decoded := p.decoders.call(tool, arguments)
		body = append(body, jen.List(jen.Id(p.in), jen.Id(p.err)).Op(":=").Add(decoded), fails)
	}
	answer := jen.Id(tool.Handler.Name)
	if tool.Handler.Recv != "" {
		answer = jen.Id(p.params[tool.Handler.Recv]).Dot(tool.Handler.Name)
	}
	body = append(body, jen.Return(jen.Qual(runtimePath, result(tool)).Call(answer.Call(p.arguments(tool)...))))
	return jen.Func().Params(
		jen.Id(p.ctx).Qual("context", "Context"), jen.Id(p.call).Qual(runtimePath, "Call"),
	).Params(jen.Qual(runtimePath, "Result"), jen.Error()).Block(body...)
}

// arguments are what a handler is called with.
func (p *plan) arguments(tool model.Tool) []jen.Code {
	args := []jen.Code{jen.Id(p.ctx)}
	if tool.Handler.SDK {
		args = append(args, jen.Id(p.call).Dot("Request"))
	}
	switch tool.Input.Kind {
	case model.StructInput:
		in := jen.Id(p.in)
		if tool.Input.Pointer {
			in = jen.Op("&").Id(p.in)
		}
		args = append(args, in)
	case model.PlainInput:
		for _, param := range tool.Input.Params {
			args = append(args, jen.Id(p.in).Dot(param.Field))
		}
	}
	return args
}

// result is the runtime's func that takes what the handler returns.
func result(tool model.Tool) string {
	switch {
	case tool.Handler.SDK && tool.Output.Kind == model.WrappedOutput:
		return "NativeWrapped"
	case tool.Handler.SDK:
		return "Native"
	case tool.Output.Kind == model.NoOutput:
		return "Done"
	case tool.Output.Kind == model.WrappedOutput:
		return "Wrapped"
	}
	return "Structured"
}

// duration writes a duration in the largest unit that holds it without a fraction.
func duration(d time.Duration) *jen.Statement {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{
		{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second},
		{"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond},
	} {
		if n := d / unit.is; d%unit.is == 0 && n != 0 {
			if n == 1 {
				return jen.Qual("time", unit.name)
			}
			return jen.Op(strconv.FormatInt(int64(n), 10)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Op(strconv.FormatInt(int64(d), 10)).Op("*").Qual("time", "Nanosecond")
}
