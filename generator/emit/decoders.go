package emit

import (
	"fmt"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

// decoders are the funcs that turn a call's arguments into a handler's input, one a type.
// This file is the one place that knows how they are made.
type decoders struct {
	names *names
	made  []decoder
	of    map[string]string // decoder by tool name
}

type decoder struct {
	name   string
	schema string // constant
	typ    model.Expr
	fields []model.Param // of a generated input struct
	answer string        // the handler whose parameters they are
}

func newDecoders(n *names) *decoders {
	return &decoders{names: n, of: map[string]string{}}
}

// add gives a tool its decoder: that of its input type where another tool has the same.
func (d *decoders) add(tool model.Tool, schema string) {
	next := decoder{schema: schema}
	switch tool.Input.Kind {
	case model.NoInput:
		next.typ = model.Expr{{Text: "struct{}"}}
	case model.StructInput:
		next.typ = tool.Input.Type
	case model.PlainInput:
		next.typ = model.Expr{{Text: d.names.pick(inputBase(tool))}}
		next.fields, next.answer = tool.Input.Params, tool.Handler.String()
	}
	for _, made := range d.made {
		if made.schema == schema && made.typ.String() == next.typ.String() {
			d.of[tool.Name] = made.name
			return
		}
	}
	next.name = d.names.pick("decode" + upperFirst(inputBase(tool)))
	d.made = append(d.made, next)
	d.of[tool.Name] = next.name
}

func (d *decoders) write(f file) {
	var defs []jen.Code
	for _, made := range d.made {
		if made.answer != "" {
			writeInput(f, made)
		}
		defs = append(defs, jen.Id(made.name).Op("=").Qual(validatorPath, "Decoder").
			Index(expr(made.typ)).Call(jen.Id(made.schema)))
	}
	if len(defs) == 0 {
		return
	}
	f.Comment("The decoders take what the schemas accept and nothing else.")
	f.Var().Defs(defs...)
	f.Line()
}

// writeInput writes the struct that holds plain parameters.
func writeInput(f file, d decoder) {
	var fields []jen.Code
	for _, param := range d.fields {
		tag := "`json:" + strconv.Quote(param.Name) + "`"
		fields = append(fields, jen.Id(param.Field).Add(expr(param.Type)).Op(tag))
	}
	f.Comment(fmt.Sprintf("%s is what %s takes.", d.typ, d.answer))
	f.Type().Add(expr(d.typ)).Struct(fields...)
	f.Line()
}
