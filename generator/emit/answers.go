package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

// answerer is the type of the handlers that take and return the same, with the method that
// answers calls by them. A closure for each tool takes a compiler much longer, see toolset.Answerer.
type answerer struct {
	name string
	read string // the func that reads the arguments
	tool model.Tool
}

// nameAnswers names the types of the handlers of tools that are answered by one.
func (p *plan) nameAnswers() {
	wanted := map[string]bool{}
	for _, tool := range p.Tools {
		key := p.answererKey(tool)
		if !p.shares(tool) || p.answererOf[key] != "" {
			continue
		}
		want := "answer" + upperFirst(inputBase(tool))
		if wanted[want] {
			want += upperFirst(tool.Output.Name)
		}
		wanted[want] = true
		p.answererOf[key] = p.names.pick(want)
		p.answerers = append(p.answerers, answerer{name: p.answererOf[key], read: p.decoders.reads(tool), tool: tool})
	}
}

// answererKey is the same for tools that one type answers: those whose arguments the same func reads for
// handlers of the same type, of the same packages.
func (p *plan) answererKey(tool model.Tool) string {
	return p.decoders.of[tool.Name] + fmt.Sprintf(" %#v", tool.Handler.Signature)
}

// shares reports whether a tool's handler takes a struct that a codec reads and returns an object: the
// usual form. The other forms are closures, and so is other code of a call.
func (p *plan) shares(tool model.Tool) bool {
	return len(tool.Allows) == 0 && tool.Limits.Isolate == "" && tool.Input.Kind == model.StructInput && !tool.Input.Pointer && p.decoders.reads(tool) != "" &&
		result(tool) == "Structured" && p.bindable(tool.Handler)
}

// bindable reports whether a handler can be named before it is known that no receiver is nil, which
// runtime.New sees to: a method of a nil interface, or of a value behind a nil pointer, cannot.
func (p *plan) bindable(h model.Handler) bool {
	for _, r := range p.Receivers {
		if r.Type == h.Recv {
			return !r.Interface && r.Pointer == h.PointerRecv
		}
	}
	return true
}

// answer is the row of a tool that says what answers its calls.
func (p *plan) answer(tool model.Tool) *jen.Statement {
	if p.shares(tool) {
		return row("Answer", jen.Id(p.answererOf[p.answererKey(tool)]).Call(p.handler(tool.Handler)))
	}
	return row("Call", p.answering(tool, "Result", result(tool)))
}

// writeAnswers writes the types of handlers.
func (p *plan) writeAnswers(f file) {
	if len(p.answerers) > 0 {
		f.Comment("The types of the handlers, each of which answers calls by its handler.")
		f.Line()
	}
	r := p.decoders.locals.r
	for _, a := range p.answerers {
		f.Type().Id(a.name).Add(expr(a.tool.Handler.Signature))
		f.Line()
		f.Func().Params(jen.Id(p.do).Id(a.name)).Id("Answer").Params(
			jen.Id(p.ctx).Qual("context", "Context"), jen.Id(p.call).Qual(toolsetPath, "Call"),
		).Params(jen.Qual(toolsetPath, "Result"), jen.Error()).Block(
			jen.Var().Id(p.in).Add(expr(a.tool.Input.Type)),
			jen.Id(r).Op(":=").Qual(decodePath, "Begin").Call(jen.Id(p.call).Dot("Arguments")),
			jen.Id(a.read).Call(jen.Id(r), jen.Op("&").Id(p.in)),
			jen.If(jen.Id(p.err).Op(":=").Id(r).Dot("Finish").Call(), jen.Id(p.err).Op("!=").Nil()).Block(
				jen.Return(jen.Qual(toolsetPath, "Result").Values(), jen.Id(p.err)),
			),
			jen.Return(jen.Qual(toolsetPath, "Structured").Call(jen.Id(p.do).Call(jen.Id(p.ctx), jen.Id(p.in)))),
		)
		f.Line()
	}
}
