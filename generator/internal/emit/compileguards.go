package emit

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
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

// writeCompileGuards writes blank functions with the guards; the compiler checks and then drops
// them. The compiler's message contains the remedy, as the name of a function or of a type.
func (p *plan) writeCompileGuards(f file, guards []model.CompileGuard) {
	if len(guards) == 0 {
		return
	}
	f.Comment("These lines check that the source is unchanged. If one does not compile, run " +
		"go generate.")
	var calls, types, codecs, constants []jen.Code
	var groups []*codecGroup
	for _, g := range guards {
		switch g.Kind {
		case model.StructGuard:
			calls = append(calls, p.guardCall(g, expr(g.Subject).Values()))
		case model.SignatureGuard:
			calls = append(calls, p.guardCall(g, expr(g.Subject)))
		case model.TypeGuard:
			types = append(types, jen.Block(
				jen.Type().Id(p.stale).Op("=").Op("*").Add(expr(g.Want)),
				jen.Id("_").Op("=").Id(p.stale).Call(
					jen.Call(jen.Op("*").Add(expr(g.Subject))).Call(jen.Nil())),
			))
		case model.CodecGuard:
			groups = addCodec(groups, g.Subject, g.Want.String())
		case model.ConstGuard:
			constants = append(constants, p.constGuard(g))
		}
	}
	if calls = append(calls, types...); len(calls) > 0 {
		f.Func().Id("_").Params().Block(calls...)
		f.Line()
	}
	lacking := map[string][]jen.Code{}
	for _, group := range groups {
		if group.lacking != "" {
			lacking[group.lacking] = append(lacking[group.lacking], group.guard(p.stale))
			continue
		}
		codecs = append(codecs, group.guard(p.stale))
	}
	if len(codecs) > 0 {
		f.Comment("None of these types has JSON methods of its own: a new one is ambiguous here.")
		f.Func().Id("_").Params().Block(
			append([]jen.Code{jen.Type().Id(p.stale).Op("=").Qual(toolsetPath, "Codec")},
				codecs...)...,
		)
		f.Line()
	}
	for _, names := range slices.Sorted(maps.Keys(lacking)) {
		var methods []jen.Code
		for name := range strings.FieldsSeq(names) {
			methods = append(methods, codecMethod(name))
		}
		f.Comment("None of these types has these methods: a new one would change its JSON.")
		f.Func().Id("_").Params().Block(
			append([]jen.Code{jen.Type().Id(p.stale).Interface(methods...)}, lacking[names]...)...,
		)
		f.Line()
	}
	if len(constants) > 0 {
		f.Comment("The values of constants, as lengths: only the right value has the length of the " +
			"clamped string.")
		f.Func().Id("_").Params().Block(
			append([]jen.Code{jen.Type().Id(p.stale).Struct()}, constants...)...,
		)
		f.Line()
	}
}

// guardCall compares the type of a value with the type that mcpgen read.
func (p *plan) guardCall(g model.CompileGuard, value jen.Code) jen.Code {
	return jen.Qual(toolsetPath, "RunGoGenerate").Index(expr(g.Want)).Call(value)
}

// codecGroup is the types of one guard. Their names differ, because they become embedded fields.
type codecGroup struct {
	lacking string // the methods that the types do not have, if they have another one
	names   []string
	types   []jen.Code
}

// maxCodecs bounds the types of a group, all of which the compiler's message contains.
const maxCodecs = 16

// guard embeds the types beside the methods.
func (g *codecGroup) guard(stale string) jen.Code {
	return jen.Var().Id("_").Id(stale).Op("=").
		Struct(append(g.types, jen.Id(stale))...).Values()
}

// codecMethod is a JSON or text method in an interface.
func codecMethod(name string) jen.Code {
	if strings.HasPrefix(name, "Marshal") {
		return jen.Id(name).Params().Params(jen.Index().Byte(), jen.Error())
	}
	return jen.Id(name).Params(jen.Index().Byte()).Error()
}

// addCodec adds a type to the first group that has room for it, lacks the same methods and has no
// type of its name.
func addCodec(groups []*codecGroup, subject model.Expr, lacking string) []*codecGroup {
	name := ""
	for _, t := range subject {
		name += t.Text
	}
	name, _, _ = strings.Cut(name, "[") // of an instance, its generic type
	for _, g := range groups {
		if g.lacking == lacking && len(g.types) < maxCodecs && !slices.Contains(g.names, name) {
			g.names, g.types = append(g.names, name),
				append(g.types, jen.Op("*").Add(expr(subject)))
			return groups
		}
	}
	return append(groups, &codecGroup{
		lacking: lacking, names: []string{name}, types: []jen.Code{jen.Op("*").Add(expr(subject))},
	})
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
		return jen.Var().Id("_").Index(jen.Op(length)).Id(p.stale).Op("=").
			Index(value).Id(p.stale).Values()
	}
	if text, err := strconv.Unquote(want); err == nil {
		next := strconv.Quote(text + "\x00")
		clamped := jen.Id("max").Call(jen.Id("min").Call(expr(g.Subject),
			jen.Op(next)).Op("+").Op(`"\x00"`), jen.Op(want))
		return array(strconv.Itoa(len(text)+1), jen.Id("len").Call(clamped))
	}
	if n, err := strconv.ParseInt(want, 10, 64); err == nil && n >= 0 && n <= math.MaxInt32 {
		return array(want, expr(g.Subject))
	}
	return jen.Var().Id("_").Op("=").Map(jen.Bool()).Id(p.stale).Add(inline(
		row("false", jen.Values()), expr(g.Subject).Op("==").Op(want).Op(":").Values()))
}
