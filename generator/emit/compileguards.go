package emit

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

// compileGuards returns the guards of the generated test, or of the generated code.
func (p *plan) compileGuards(inTest bool) []model.CompileGuard {
	var guards []model.CompileGuard
	for _, g := range p.CompileGuards {
		if g.InTest == inTest {
			guards = append(guards, g)
		}
	}
	return guards
}

// guardExprs are the expressions in guards.
func guardExprs(guards []model.CompileGuard) []model.Expr {
	var exprs []model.Expr
	for _, g := range guards {
		exprs = append(exprs, g.Subject, g.Want)
	}
	return exprs
}

// writeCompileGuards writes a blank function for each guard; the compiler checks and then drops it.
// The pinned fact has an alias whose name is the remedy, so that the compiler's message contains
// the remedy.
func (p *plan) writeCompileGuards(f file, guards []model.CompileGuard) {
	if len(guards) == 0 {
		return
	}
	f.Comment("What this file was made from. Where the compiler stops at a line below, the source has")
	f.Comment("changed since: run go generate.")
	f.Line()
	var codecs, constants []jen.Code
	for _, g := range guards {
		switch g.Kind {
		case model.StructGuard:
			p.writeCompileGuard(f, expr(g.Want),
				jen.Var().Id("_").Id(p.stale).Op("=").Add(expr(g.Subject)).Values())
		case model.TypeGuard:
			p.writeCompileGuard(f, jen.Op("*").Add(expr(g.Want)),
				jen.Id("_").Op("=").Id(p.stale).Call(jen.Call(jen.Op("*").Add(expr(g.Subject))).Call(jen.Nil())))
		case model.SignatureGuard:
			p.writeCompileGuard(f, expr(g.Want),
				jen.Var().Id("_").Id(p.stale).Op("=").Add(expr(g.Subject)))
		case model.CodecGuard:
			codecs = append(codecs, jen.Id("_").Id(p.stale).Op("=").
				Struct(expr(g.Subject), jen.Id(p.stale)).Values())
		case model.ConstGuard:
			constants = append(constants, p.constGuard(g))
		}
	}
	if len(codecs) > 0 {
		f.Comment("None of these takes its JSON into its own hands: a method that does so is ambiguous here.")
		f.Func().Id("_").Params().Block(
			jen.Type().Id(p.stale).Interface(
				jen.Qual("encoding/json", "Marshaler"), jen.Qual("encoding/json", "Unmarshaler"),
				jen.Qual("encoding", "TextMarshaler"), jen.Qual("encoding", "TextUnmarshaler"),
			),
			jen.Var().Defs(codecs...),
		)
		f.Line()
	}
	if len(constants) > 0 {
		f.Comment("The values of constants, as lengths: that of a clamped string is right for its value alone.")
		f.Func().Id("_").Params().Block(
			jen.Type().Id(p.stale).Struct(),
			jen.Var().Defs(constants...),
		)
		f.Line()
	}
}

func (p *plan) writeCompileGuard(f file, want, check *jen.Statement) {
	f.Func().Id("_").Params().Block(jen.Type().Id(p.stale).Op("=").Add(want), check)
	f.Line()
}

// constGuard compares a constant with its value. Only types can be compared at compile time,
// so the value becomes the length of an array.
//
// A string s equals want exactly when max(min(s, want+"\x00")+"\x00", want) is one byte longer
// than want: want+"\x00" is the next string after want, so a smaller s leaves want itself, and a
// greater one gives want and two bytes. An integer that is no length is compared as a map key:
// two keys that are false do not compile.
func (p *plan) constGuard(g model.CompileGuard) *jen.Statement {
	want := g.Want.String()
	array := func(length string, value jen.Code) *jen.Statement {
		return jen.Id("_").Index(jen.Op(length)).Id(p.stale).Op("=").Index(value).Id(p.stale).Values()
	}
	if text, err := strconv.Unquote(want); err == nil {
		next := strconv.Quote(text + "\x00")
		clamped := jen.Id("max").Call(jen.Id("min").Call(expr(g.Subject), jen.Op(next)).Op("+").Op(`"\x00"`), jen.Op(want))
		return array(strconv.Itoa(len(text)+1), jen.Id("len").Call(clamped))
	}
	if n, err := strconv.ParseInt(want, 10, 64); err == nil && n >= 0 && n <= math.MaxInt32 {
		return array(want, expr(g.Subject))
	}
	return jen.Id("_").Op("=").Map(jen.Bool()).Id(p.stale).Add(inline(
		row("false", jen.Values()), expr(g.Subject).Op("==").Op(want).Op(":").Values()))
}
