package emit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// code writes mcp_gen.go: what a reader looks for first stands first.
func (p *plan) code() ([]byte, error) {
	f := p.file
	f.Const().Id("_").Op("=").Qual(toolsetPath, "Contract9_RunGoGenerate")
	f.Line()
	p.writeTools(f)
	p.writeTokens(f)
	p.writeToolset(f)
	p.writeIsolated(f)
	p.writeCheck(f)
	p.decoders.write(f)
	p.schemas.write(f)
	p.writeCompileGuards(f, p.compileGuards(false))
	return f.source()
}

// writeTools writes the constants of the names of tools and prompts and of the URIs of resources.
func (p *plan) writeTools(f file) {
	constants := func(comment string, defs []jen.Code) {
		if len(defs) > 0 {
			f.Comment(comment)
			f.Const().Defs(defs...)
			f.Line()
		}
	}
	defs := map[string][]jen.Code{}
	for _, served := range p.Served() {
		defs[served.Kind] = append(defs[served.Kind], jen.Id(served.Const).Op("=").Lit(served.ID))
	}
	constants("The tools of this package.", defs["tool"])
	constants("The prompts of this package.", defs["prompt"])
	constants("The resources of this package, templates included.", defs["resource"])
}

// tokens returns the names of the token types of a service.
func tokens(s model.Service) (names []string) {
	for _, served := range s.Served() {
		if served.Handler.Token != "" {
			names = append(names, served.Handler.Token)
		}
	}
	return names
}

// writeTokens declares the types of the tokens. Without its directive, a handler with a token has
// no type for the parameter, and does not compile.
func (p *plan) writeTokens(f file) {
	var defs []jen.Code
	for _, name := range tokens(p.Service) {
		defs = append(defs, jen.Id(name).Struct())
	}
	if len(defs) > 0 {
		f.Comment("The tokens of the handlers. Only a handler that mcpgen has generated has one.")
		f.Type().Defs(defs...)
		f.Line()
	}
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
	var tools, prompts, resources []jen.Code
	for _, tool := range p.Tools {
		tools = append(tools, p.tool(tool))
	}
	for _, prompt := range p.Prompts {
		prompts = append(prompts, p.prompt(prompt))
	}
	for _, r := range p.Resources {
		resources = append(resources, p.resource(r))
	}
	generated := []jen.Code{
		row("Package", jen.Lit(p.Package)),
		row("Manifest", jen.Lit(p.manifest)),
		row("Server", p.serverInfo()),
		row("Table", p.table()),
		when(len(receivers) > 0, "Receivers", jen.Index().Any().Add(inline(receivers...))),
		whenTrue("Quiet", p.Quiet),
		when(p.timeout > 0, "Timeout", duration(p.timeout)),
		when(len(tools) > 0 || len(p.Prompts)+len(p.Resources) == 0, "Tools",
			jen.Index().Qual(toolsetPath, "Tool").Add(rows(tools...))),
		list("Prompts", "Prompt", prompts),
		list("Resources", "Resource", resources),
	}

	f.Comment(fmt.Sprintf("Toolset returns the tools, prompts and resources of package %s%s.", p.Name,
		receiversText(answers)))
	f.Func().Id("Toolset").Params(params...).Qual(toolsetPath, "Toolset").Block(
		jen.Return(jen.Qual(toolsetPath, "NewToolset").Call(
			jen.Qual(toolsetPath, "Generated").Add(rows(generated...)),
		)),
	)
	f.Line()
}

// receiversText names in Toolset's comment the parameters that handle the calls.
func receiversText(params []string) string {
	switch n := len(params); n {
	case 0:
		return ""
	case 1:
		return "; " + params[0] + " handles the calls"
	default:
		return "; " + strings.Join(params[:n-1], ", ") + " and " + params[n-1] + " handle the calls"
	}
}

func (p *plan) serverInfo() *jen.Statement {
	braces := inline
	if len(p.Server.Icons) > 0 {
		braces = rows
	}
	return jen.Qual(toolsetPath, "ServerInfo").Add(braces(row("Name", jen.Lit(p.Server.Name)),
		text("Title", p.Server.Title), text("Version", p.Server.Version),
		text("WebsiteURL", p.Server.Website), icons(p.Server.Icons)))
}

// icons writes the row of icons, one a line.
func icons(of []model.Icon) *jen.Statement {
	var all []jen.Code
	for _, i := range of {
		all = append(all, inline(text("Source", i.Source), text("MIMEType", i.MIMEType),
			texts("Sizes", i.Sizes), text("Theme", i.Theme)))
	}
	return list("Icons", "Icon", all)
}

// tool writes one element of Tools.
func (p *plan) tool(tool model.Tool) *jen.Statement {
	strict := tool.Input.Uncoded != "" || tool.Lenient != nil && !*tool.Lenient
	output, guarded := p.schemas.outputs[tool.Name], p.schemas.guarded[tool.Name]
	return rows(append([]jen.Code{
		row("Name", jen.Id(tool.Const)),
		text("Title", tool.Title),
		text("Description", tool.Description),
		row("Input", jen.Id(p.schemas.inputs[tool.Name])),
		when(output != "", "Output", jen.Id(output)),
		when(guarded != "", "Guarded", jen.Id(guarded)),
		whenTrue("Omits", len(tool.Omits) > 0),
		when(tool.Hints != (model.Hints{}), "Annotations", annotations(tool.Hints)),
		icons(tool.Icons),
		text("Meta", tool.Meta),
		text("UI", tool.UI),
		texts("Aliases", tool.Aliases),
		whenTrue("Strict", strict),
		whenTrue("Lenient", !strict && tool.Lenient != nil),
		whenTrue("Elicits", tool.Elicits),
		text("Task", tool.Task),
		p.timeoutRow(tool.Limits),
		texts("Catalogs", tool.Catalogs),
		allow(tool.Allows),
		limits(tool.Limits),
		when(tool.Limits.Isolate != "", "Isolate", p.isolated(tool)),
		whenTrue("SDK", tool.Handler.SDK),
	}, p.handlerRows(tool)...)...)
}

// timeoutRow writes the time limit of a tool, a prompt or a resource, unless it is the package's,
// or that it needs none.
func (p *plan) timeoutRow(l model.Limits) *jen.Statement {
	if l.NonBlocking || l.Timeout == p.timeout {
		return whenTrue("NonBlocking", l.NonBlocking)
	}
	return row("Timeout", duration(l.Timeout))
}

// handlerRows writes the rows of a tool's handler. The usual handlers are called by small
// functions, which compile fast. Those that need more than their arguments are
// called with a toolset.Call.
func (p *plan) handlerRows(tool model.Tool) []jen.Code {
	r, handler := jen.Id(p.decoders.locals.r), p.handler(tool.Handler).Call(p.arguments(tool)...)
	var finish *jen.Statement
	var body []jen.Code
	switch read := p.decoders.reads(tool); {
	case len(tool.Allows) > 0, tool.Limits.Isolate != "", tool.Handler.SDK:
	case tool.Input.Kind == model.NoInput:
		finish = r.Clone().Dot("Nothing").Call()
	case read != "":
		finish = r.Clone().Dot("Finish").Call()
		body = append(body,
			jen.Var().Id(p.in).Add(expr(p.decoders.of[tool.Name].typ)),
			jen.Id(read).Call(r, jen.Op("&").Id(p.in)))
	}
	if finish == nil {
		var fields []jen.Code
		if tool.Output.Kind != model.NoOutput && !tool.Output.Kind.Structured() {
			fields = returns(tool.Output)
		}
		return append(fields, row("Call", p.callFunc(tool, "Result", result(tool))))
	}
	body = append(body, p.onError(jen.Id(p.err).Op(":=").Add(finish), jen.Nil()))
	if tool.Output.Kind == model.NoOutput {
		body = append(body, jen.Return(jen.Nil(), handler))
	} else {
		body = append(body, jen.Return(handler))
	}
	return append(returns(tool.Output), row("Handle", jen.Func().Params(
		jen.Id(p.ctx).Qual("context", "Context"), r.Clone().Op("*").Qual(decodePath, "Reader"),
	).Params(jen.Any(), jen.Error()).Block(body...)))
}

// returns writes the rows of the form of a result, unless it is an object.
func returns(o model.Output) []jen.Code {
	form := map[model.OutputKind]string{
		model.NoOutput: "Nothing", model.ValueOutput: "Value", model.TextOutput: "Text",
		model.JSONOutput: "JSON", model.BytesOutput: "Bytes", model.ContentOutput: "Contents",
		model.SDKOutput: "SDKResult",
	}[o.Kind]
	return []jen.Code{when(form != "", "Returns", jen.Qual(toolsetPath, form)),
		text("MIMEType", o.MIMEType)}
}

// annotations writes the hints that the author wrote.
func annotations(h model.Hints) *jen.Statement {
	hint := func(key string, value *bool, pointer bool) jen.Code {
		switch {
		case value == nil:
			return nil
		case pointer:
			return row(key, jen.New(jen.Lit(*value)))
		}
		return row(key, jen.Lit(*value))
	}
	return jen.Qual(toolsetPath, "Annotations").Add(inline(
		hint("ReadOnlyHint", h.ReadOnly, false), hint("DestructiveHint", h.Destructive, true),
		hint("IdempotentHint", h.Idempotent, false), hint("OpenWorldHint", h.OpenWorld, true)))
}

// callFunc is a closure that decodes, has the runtime decide on what the arguments name, calls and
// hands what the handler returns to a func of the runtime, which makes a result of it. Where the
// call runs in a process of its own, that is called in place of the handler.
func (p *plan) callFunc(tool model.Tool, typ, makes string) *jen.Statement {
	empty := jen.Qual(toolsetPath, typ).Values()
	fails := p.onError(nil, empty)
	arguments := jen.Id(p.call).Dot("Arguments")
	choices := jen.Id(p.call).Dot("Choices").Call()
	used := tool.Limits.Isolate == "" || len(tool.Allows) > 0
	body := append(p.decoding(tool, arguments, choices, empty, used), p.allowing(tool, fails)...)
	var results jen.Code
	switch {
	case tool.Limits.Isolate == "":
		results = p.handler(tool.Handler).Call(p.arguments(tool)...)
	case tool.Output.Kind == model.NoOutput:
		declare := ":="
		if len(tool.Allows) > 0 {
			declare = "="
		}
		body = append(body, jen.List(jen.Id("_"), jen.Id(p.err)).Op(declare).Id(p.call).Dot(
			"Isolated").Call(jen.Id(p.ctx)))
		results = jen.Id(p.err)
	default:
		results = jen.Id(p.call).Dot("Isolated").Call(jen.Id(p.ctx))
	}
	body = append(body, jen.Return(jen.Qual(toolsetPath, makes).Call(results)))
	return jen.Func().Params(
		jen.Id(p.ctx).Qual("context", "Context"), jen.Id(p.call).Qual(toolsetPath, "Call"),
	).Params(jen.Qual(toolsetPath, typ), jen.Error()).Block(body...)
}

// decoding is the statements that read the arguments of a call, or check those that are not used.
func (p *plan) decoding(tool model.Tool, arguments, choices, empty jen.Code, used bool) []jen.Code {
	if tool.Input.Kind == model.NoInput {
		return []jen.Code{p.onError(
			jen.Id(p.err).Op(":=").Qual(decodePath, "Nothing").Call(arguments), empty)}
	}
	read := jen.Id(p.err).Op(":=").Add(p.decoders.call(tool, arguments, choices))
	if !used {
		return []jen.Code{p.onError(jen.List(jen.Id("_"), read), empty)}
	}
	return []jen.Code{jen.List(jen.Id(p.in), read), p.onError(nil, empty)}
}

// onError writes the if statement that returns a result and the error, with a statement before its
// condition or nil.
func (p *plan) onError(before, result jen.Code) *jen.Statement {
	failed := jen.Id(p.err).Op("!=").Nil()
	head := jen.If(failed)
	if before != nil {
		head = jen.If(before, failed)
	}
	return head.Block(jen.Return(result, jen.Id(p.err)))
}

// handler is the func or method of a tool, prompt or resource.
func (p *plan) handler(h model.Handler) *jen.Statement {
	if h.Recv != "" {
		return jen.Id(p.params[h.Recv]).Dot(h.Name)
	}
	return jen.Id(h.Name)
}

// arguments are what a handler is called with.
func (p *plan) arguments(tool model.Tool) []jen.Code {
	args := []jen.Code{jen.Id(p.ctx)}
	if tool.Handler.SDK {
		args = append(args, jen.Qual(toolsetPath, "Request").Index(
			jen.Qual(mcpPath, "CallToolRequest")).Call(jen.Id(p.call)))
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
	if tool.Handler.Token != "" {
		args = append(args, jen.Id(tool.Handler.Token).Values())
	}
	return args
}

// result is the runtime's func that takes what the handler returns.
func result(tool model.Tool) string {
	switch {
	case tool.Handler.SDK:
		return "Native"
	case tool.Output.Kind == model.NoOutput:
		return "Done"
	case tool.Output.Kind.Structured():
		return "Structured"
	}
	return "Unstructured"
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
