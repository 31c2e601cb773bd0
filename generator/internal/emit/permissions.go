package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

const sandboxPath = "github.com/mcpgen/mcpgen/runtime/sandbox"

// allow writes the row of the permissions of a tool.
func allow(allows []model.Allow) *jen.Statement {
	var all []jen.Code
	for _, a := range allows {
		for _, kind := range a.Kinds {
			all = append(all, inline(row("Kind", jen.Lit(kind)), row("Argument", jen.Lit(a.Argument)),
				when(a.Within[kind] != "", "Within", jen.Lit(a.Within[kind]))))
		}
	}
	return when(len(all) > 0, "Allow", jen.Index().Qual(toolsetPath, "Allow").Add(inline(all...)))
}

// limits writes the row of the limits of a tool, apart from its time.
func limits(l model.Limits) *jen.Statement {
	any := l.Memory+l.Output > 0 || l.Concurrency+l.Rate.Calls+len(l.Capabilities) > 0
	rate := inline(row("Calls", jen.Lit(l.Rate.Calls)), row("Per", duration(l.Rate.Per)))
	return when(any, "Limits", jen.Qual(toolsetPath, "Limits").Add(inline(
		when(l.Memory > 0, "Memory", size(l.Memory)), when(l.Output > 0, "Output", size(l.Output)),
		when(l.Concurrency > 0, "Concurrency", jen.Lit(l.Concurrency)),
		when(l.Rate.Calls > 0, "Rate", jen.Qual(toolsetPath, "Rate").Add(rate)),
		texts("Capabilities", l.Capabilities))))
}

// size writes bytes as a shifted number, as people count them.
func size(s model.Size) *jen.Statement {
	for _, unit := range []struct {
		is    model.Size
		shift int
	}{{model.GiB, 30}, {model.MiB, 20}} {
		if s%unit.is == 0 {
			return jen.Lit(int(s / unit.is)).Op("<<").Lit(unit.shift)
		}
	}
	return jen.Lit(int(s / model.KiB)).Op("<<").Lit(10)
}

// allowing is the call that decides on what the arguments name, with what it comes to. It stands
// after decoding.
func (p *plan) allowing(tool model.Tool, fails jen.Code) []jen.Code {
	if len(tool.Allows) == 0 {
		return nil
	}
	args := []jen.Code{jen.Id(p.ctx)}
	for _, a := range tool.Allows {
		value := jen.Id(p.in)
		for _, step := range a.Path {
			value.Dot(step.Name)
		}
		switch {
		case !a.List && a.Plain:
			value = jen.Index().String().Add(inline(value))
		case !a.List:
			value = jen.Index().String().Add(inline(jen.String().Call(value)))
		}
		args = append(args, jen.Qual(toolsetPath, "Named").Add(inline(
			row("Argument", jen.Lit(a.Argument)), row("Kinds", strs(a.Kinds)), row("Values", value))))
	}
	call := jen.Id(p.call).Dot("Allow").Call(args...)
	if len(args) > 2 {
		call = jen.Id(p.call).Dot("Allow").Custom(
			jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, args...)
	}
	return []jen.Code{jen.List(jen.Id(p.ctx), jen.Id(p.err)).Op("=").Add(call), fails}
}

// isolates reports whether a call of some tool runs in a process of its own.
func isolates(s model.Service) bool {
	return slices.ContainsFunc(s.Tools, func(t model.Tool) bool { return t.Limits.Isolate != "" })
}

// isolated is the name by which the process of a call knows what to run.
func (p *plan) isolated(tool model.Tool) jen.Code { return jen.Lit(p.Package + "." + tool.Name) }

// writeIsolated registers what runs in a process of its own.
func (p *plan) writeIsolated(f file) {
	if !isolates(p.Service) {
		return
	}
	var body []jen.Code
	for _, tool := range p.Tools {
		if tool.Limits.Isolate != "" {
			body = append(body, jen.Qual(sandboxPath, "Register").Call(p.isolated(tool), p.helped(tool)))
		}
	}
	f.Comment("The handlers of tools with isolate=process, for the process of a call.")
	f.Func().Id("init").Params().Block(body...)
	f.Line()
}

// helped is the func that decodes, calls and encodes what the handler returns, in a process of its
// own.
func (p *plan) helped(tool model.Tool) *jen.Statement {
	arguments := jen.Id(p.job).Dot("Arguments")
	body := p.decoding(tool, arguments, nil, jen.Nil(), true)
	handler := jen.Id(tool.Handler.Name)
	if w := tool.Worker; w != nil {
		receiver := p.receivers[tool.Handler.Recv]
		made := jen.Id(w.Name).Call()
		if w.Context {
			made = jen.Id(w.Name).Call(jen.Id(p.ctx))
		}
		if w.Error {
			body = append(body, jen.List(jen.Id(receiver), jen.Id(p.err)).Op(":=").Add(made),
				p.onError(nil, jen.Nil()))
		} else {
			body = append(body, jen.Id(receiver).Op(":=").Add(made))
		}
		handler = jen.Id(receiver).Dot(tool.Handler.Name)
	}
	answer := handler.Call(p.arguments(tool)...)
	if tool.Output.Kind == model.NoOutput {
		body = append(body, jen.Return(jen.Nil(), jen.Qual(isolatePath, "Refused").Call(answer)))
	} else {
		body = append(body, jen.Return(jen.Qual(isolatePath, "Encoded").Call(answer)))
	}
	return jen.Func().Params(
		jen.Id(p.ctx).Qual("context", "Context"), jen.Id(p.job).Qual(sandboxPath, "Job"),
	).Params(jen.Index().Byte(), jen.Error()).Block(body...)
}
