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
	f.Const().Id("_").Op("=").Qual(toolsetPath, "Contract7_RunGoGenerate")
	f.Line()
	p.writeTools(f)
	p.writeTokens(f)
	p.writeRoles(f)
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
	generated := []jen.Code{
		row("Package", jen.Lit(p.Package)),
		row("Manifest", jen.Lit(p.manifest)),
		row("Server", p.serverInfo()),
		row("Table", p.table()),
	}
	if len(receivers) > 0 {
		generated = append(generated, row("Receivers", jen.Index().Any().Add(inline(receivers...))))
	}
	if p.Quiet {
		generated = append(generated, row("Quiet", jen.True()))
	}
	if p.timeout > 0 {
		generated = append(generated, row("Timeout", duration(p.timeout)))
	}
	var tools []jen.Code
	for _, tool := range p.Tools {
		tools = append(tools, p.tool(tool))
	}
	if len(tools) > 0 || len(p.Prompts)+len(p.Resources) == 0 {
		generated = append(generated, row("Tools",
			jen.Index().Qual(toolsetPath, "Tool").Add(rows(tools...))))
	}
	generated = append(generated, p.offers()...)

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
	fields := append([]jen.Code{row("Name", jen.Lit(p.Server.Name))}, texts("Title", p.Server.Title,
		"Version", p.Server.Version, "WebsiteURL", p.Server.Website)...)
	if len(p.Server.Icons) == 0 {
		return jen.Qual(toolsetPath, "ServerInfo").Add(inline(fields...))
	}
	fields = append(fields, row("Icons", icons(p.Server.Icons)))
	return jen.Qual(toolsetPath, "ServerInfo").Add(rows(fields...))
}

// icons writes icons, one a line.
func icons(list []model.Icon) *jen.Statement {
	var all []jen.Code
	for _, i := range list {
		fields := texts("Source", i.Source, "MIMEType", i.MIMEType)
		if len(i.Sizes) > 0 {
			fields = append(fields, row("Sizes", strs(i.Sizes)))
		}
		all = append(all, inline(append(fields, texts("Theme", i.Theme)...)...))
	}
	return jen.Index().Qual(toolsetPath, "Icon").Add(rows(all...))
}

// tool writes one element of Tools.
func (p *plan) tool(tool model.Tool) *jen.Statement {
	fields := append([]jen.Code{row("Name", jen.Id(tool.Const))},
		texts("Title", tool.Title, "Description", tool.Description)...)
	fields = append(fields, row("Input", jen.Id(p.schemas.inputs[tool.Name])))
	if schema := p.schemas.outputs[tool.Name]; schema != "" {
		fields = append(fields, row("Output", jen.Id(schema)))
	}
	if tool.Hints != (model.Hints{}) {
		fields = append(fields, row("Annotations", annotations(tool)))
	}
	if len(tool.Icons) > 0 {
		fields = append(fields, row("Icons", icons(tool.Icons)))
	}
	fields = append(fields, texts("Meta", tool.Meta, "UI", tool.UI)...)
	if len(tool.Aliases) > 0 {
		fields = append(fields, row("Aliases", strs(tool.Aliases)))
	}
	switch {
	case tool.Input.Uncoded != "" || tool.Lenient != nil && !*tool.Lenient:
		fields = append(fields, row("Strict", jen.True()))
	case tool.Lenient != nil:
		fields = append(fields, row("Lenient", jen.True()))
	}
	fields = append(fields, whenTrue("Elicits", tool.Elicits)...)
	fields = append(fields, texts("Task", tool.Task)...)
	fields = append(fields, p.timeoutRow(tool.Limits)...)
	if len(tool.Catalogs) > 0 {
		fields = append(fields, row("Catalogs", strs(tool.Catalogs)))
	}
	fields = append(fields, p.permissionsAndLimits(tool)...)
	fields = append(fields, whenTrue("SDK", tool.Handler.SDK)...)
	return rows(append(fields, p.handlerRows(tool)...)...)
}

// timeoutRow writes the time limit of a tool, a prompt or a resource, unless it is the package's,
// or that it needs none.
func (p *plan) timeoutRow(l model.Limits) []jen.Code {
	if l.NonBlocking || l.Timeout == p.timeout {
		return whenTrue("NonBlocking", l.NonBlocking)
	}
	return []jen.Code{row("Timeout", duration(l.Timeout))}
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
			jen.Var().Id(p.in).Add(p.decoders.inputType(tool)),
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
func returns(o model.Output) (fields []jen.Code) {
	form := map[model.OutputKind]string{
		model.NoOutput: "Nothing", model.ValueOutput: "Value", model.TextOutput: "Text",
		model.JSONOutput: "JSON", model.BytesOutput: "Bytes", model.ContentOutput: "Contents",
		model.SDKOutput: "SDKResult",
	}[o.Kind]
	if form != "" {
		fields = append(fields, row("Returns", jen.Qual(toolsetPath, form)))
	}
	return append(fields, texts("MIMEType", o.MIMEType)...)
}

// annotations writes the hints that the author wrote.
func annotations(tool model.Tool) *jen.Statement {
	h := tool.Hints
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
	return jen.Qual(toolsetPath, "Annotations").Add(inline(fields...))
}

// callFunc is a closure that decodes, has the runtime decide on what the arguments name, calls and
// hands what the handler returns to a func of the runtime, which makes a result of it. Where the
// call runs in a process of its own, that is called in place of the handler.
func (p *plan) callFunc(tool model.Tool, typ, makes string) *jen.Statement {
	empty := jen.Qual(toolsetPath, typ).Values()
	fails := p.onError(nil, empty)
	arguments := jen.Id(p.call).Dot("Arguments")
	choices := jen.Id(p.call).Dot("Choices").Call()
	var decoded *jen.Statement // only for its error
	switch {
	case tool.Input.Kind == model.NoInput:
		decoded = jen.Id(p.err).Op(":=").Qual(decodePath, "Nothing").Call(arguments)
	case tool.Limits.Isolate != "" && len(tool.Allows) == 0:
		decoded = jen.List(jen.Id("_"), jen.Id(p.err)).Op(":=").Add(
			p.decoders.call(tool, arguments, choices))
	}
	var body []jen.Code
	if decoded != nil {
		body = append(body, p.onError(decoded, empty))
	} else {
		body = append(body, jen.List(jen.Id(p.in), jen.Id(p.err)).Op(":=").Add(
			p.decoders.call(tool, arguments, choices)), fails)
	}
	body = append(body, p.allowing(tool, fails)...)
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
