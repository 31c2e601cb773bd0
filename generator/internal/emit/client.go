package emit

import (
	"fmt"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Client is the name of the file of a typed client, in the directory that client= names. It is not
// Code: mcpgen takes that file for one of a package with directives.
const Client = model.ClientFile

const toolclientPath = "github.com/mcpgen/mcpgen/runtime/toolclient"

// writeCheck writes the func by which a typed client refuses arguments before it sends them.
func (p *plan) writeCheck(f file) {
	if p.Server.Client == "" {
		return
	}
	tool, arguments := "tool", "arguments"
	if p.names.taken[tool] || p.names.taken[arguments] {
		tool, arguments = p.names.pick("tool"), p.names.pick("arguments")
	}
	var cases []jen.Code
	for _, t := range p.Tools {
		read := jen.Id(p.err).Op("=").Qual(decodePath, "Nothing").Call(jen.Id(arguments))
		if t.Input.Kind != model.NoInput {
			read = jen.List(jen.Id("_"), jen.Id(p.err)).Op("=").Add(
				p.decoders.call(t, jen.Id(arguments), nil))
		}
		cases = append(cases, jen.Case(jen.Id(t.Const)).Block(read))
	}
	f.Comment(model.CheckArguments + " returns an error if arguments do not fit the schema of a " +
		"tool.")
	f.Comment("Typed clients call it before they send a call. It returns nil for any other name.")
	f.Func().Id(model.CheckArguments).Params(jen.Id(tool).String(), jen.Id(arguments).Index().Byte()).
		Params(jen.Id(p.err).Error()).Block(
		jen.Switch(jen.Id(tool)).Block(cases...), jen.Return(jen.Id(p.err)))
	f.Line()
}

// client writes the package of the typed client.
func client(s model.Service) ([]byte, error) {
	name := path.Base(s.Server.Client)
	n := newNames(nil)
	n.reserve("Client", "New", "c", "ctx", "in", "session")
	for _, t := range s.Tools {
		if t.Input.Kind == model.PlainInput {
			n.reserve(method(t) + "Input")
		}
	}
	service := model.Expr{{Text: "Toolset", Path: s.Package, Package: s.Name}}
	exprs := []model.Expr{service,
		{{Text: "New", Path: toolclientPath, Package: path.Base(toolclientPath)}}}
	for _, t := range s.Tools {
		exprs = append(exprs, t.Input.Outside, t.Output.Outside)
		for _, param := range t.Input.Params {
			exprs = append(exprs, param.Outside)
		}
	}
	f := newFile(name, n, exprs...)
	f.PackageComment("Package " + name + " calls the tools of package " + s.Name + ".")
	f.Comment("Client calls the tools of package " + s.Name + ".")
	f.Comment("Its methods check their arguments first, and send nothing if these do not fit.")
	f.Comment("Their errors are those of package toolclient and of the session.")
	f.Type().Id("Client").Struct(jen.Id("client").Qual(toolclientPath, "Client"))
	f.Line()
	f.Comment("New returns a Client. A *mcp.ClientSession of go-sdk is a session.")
	f.Func().Id("New").Params(jen.Id("session").Qual(toolclientPath, "Session")).Op("*").Id("Client").
		Block(jen.Return(jen.Op("&").Id("Client").Values(jen.Qual(toolclientPath, "New").Call(
			jen.Id("session"), jen.Qual(s.Package, model.CheckArguments)))))
	for _, t := range s.Tools {
		f.Line()
		writeMethod(f, s, t)
	}
	return f.source()
}

// method is the name of a tool's method: constants of tools are unique, handlers are not.
func method(t model.Tool) string { return strings.TrimPrefix(t.Const, "Tool") }

// writeMethod writes the method of a tool, after the type of its input if its parameters are plain.
func writeMethod(f file, s model.Service, t model.Tool) {
	name := method(t)
	params := []jen.Code{jen.Id("ctx").Qual("context", "Context")}
	in := jen.Nil()
	switch t.Input.Kind {
	case model.StructInput:
		params, in = append(params, jen.Id("in").Add(expr(t.Input.Outside))), jen.Id("in")
	case model.PlainInput:
		var fields []jen.Code
		optional := ""
		for _, param := range t.Input.Params {
			field := jen.Id(param.Field)
			tag := param.Name
			if !param.Required {
				tag, optional = tag+",omitzero", " Optional fields are absent if they are zero."
				if !param.Nil {
					field.Op("*")
				}
			}
			fields = append(fields, field.Add(expr(param.Outside)).Op(fmt.Sprintf("`json:%q`", tag)))
		}
		f.Comment(fmt.Sprintf("%sInput has the arguments of %s.%s", name, name, optional))
		f.Type().Id(name + "Input").Struct(fields...)
		f.Line()
		params, in = append(params, jen.Id("in").Id(name+"Input")), jen.Id("in")
	}
	f.Comment(name + " calls the tool " + t.Name + ".")
	if t.Description != "" {
		f.Comment("//")
		for line := range strings.Lines(t.Description) {
			f.Comment(strings.TrimRight("// "+line, " \r\n"))
		}
	}
	outside := expr(t.Output.Outside)
	result := map[model.OutputKind]struct {
		call string
		typ  *jen.Statement
	}{
		model.NoOutput: {"Nothing", nil}, model.ObjectOutput: {"Object", outside},
		model.ValueOutput: {"Value", outside}, model.JSONOutput: {"JSON", outside},
		model.TextOutput: {"Text", jen.String()}, model.BytesOutput: {"Bytes", jen.Index().Byte()},
		model.ContentOutput: {"Contents", jen.Index().Qual(mcpPath, "Content")},
		model.SDKOutput:     {"Result", jen.Op("*").Qual(mcpPath, "CallToolResult")},
	}[t.Output.Kind]
	call := jen.Qual(toolclientPath, result.call)
	if result.typ == outside {
		call.Index(outside)
	}
	f.Func().Params(jen.Id("c").Op("*").Id("Client")).Id(name).Params(params...).
		Params(result.typ, jen.Error()).Block(jen.Return(call.Call(jen.Id("ctx"),
		jen.Id("c").Dot("client"), jen.Qual(s.Package, t.Const), in)))
}
