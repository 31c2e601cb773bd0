package emit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// locals are the names of parameters and variables in decoders.
type locals struct{ r, v, o, k, name string }

// writeObject writes the func that reads one struct.
func (d *decoders) writeObject(f file, o model.Object) {
	name := d.funcs[o.Name]
	typ := o.Type
	for _, made := range d.made {
		if made.codec != nil && made.name == name {
			typ = made.typ
		}
	}
	f.Func().Id(name).Add(d.parameters("*", typ)).BlockFunc(func(g *jen.Group) {
		for _, field := range o.Fields {
			switch {
			case field.Default == "":
			case hasLiteral(field.Codec):
				g.Add(d.place(field)).Op("=").Add(defaultValue(field.Codec, field.Default))
			default:
				c := field.Codec
				c.Nullable = false
				g.Qual(decodePath, "Default").Call(jen.Id(d.locals.r), jen.Lit(field.Name),
					raw(field.Default), jen.Op("&").Add(d.place(field)), d.element(c))
			}
		}
		fields := slices.Clone(o.Fields)
		slices.SortStableFunc(fields, func(a, b model.ObjectField) int {
			return cmp.Compare(rank(a), rank(b))
		})
		object := jen.Id(d.locals.o).Op(":=").Id(d.locals.r).Dot("Object").Call(
			jen.Op(propertyList(fields)))
		next := jen.Id(d.locals.o).Dot("Next").Call()
		if len(fields) == 0 {
			g.For(object, next, jen.Empty()).Block()
			return
		}
		g.Add(object)
		d.writeGroups(g, "OneOf", o.OneOf)
		d.writeGroups(g, "AnyOf", o.AnyOf)
		for i, field := range fields {
			if field.Guard != "" {
				g.Id(d.locals.o).Dot("Guard").Call(jen.Lit(i), jen.Lit(field.Guard))
			}
		}
		g.For(next).Block(
			jen.Switch(jen.Id(d.locals.o).Dot("Property")).BlockFunc(func(g *jen.Group) {
				for i, field := range fields {
					name := strconv.Quote(field.Name)
					g.Op(fmt.Sprintf("case %d: // %s\n", i, name[1:len(name)-1])).Add(d.field(field))
				}
			}),
		)
	})
	f.Line()
}

// rank is lower for required fields.
func rank(f model.ObjectField) int {
	if f.Required {
		return 0
	}
	return 1
}

// propertyList writes the arguments of Object: the number of required properties, and all names.
func propertyList(fields []model.ObjectField) string {
	required := 0
	var names []string
	for _, f := range fields {
		required += 1 - rank(f)
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return "0"
	}
	return strconv.Itoa(required) + ", " + wrapped(names, maxProperties)
}

// maxProperties is the length of the names in a line, which begins with a call.
const maxProperties = 74

// writeGroups sets the groups of properties of which an object must have one.
func (d *decoders) writeGroups(g *jen.Group, name string, groups [][]string) {
	if len(groups) == 0 {
		return
	}
	var rows []jen.Code
	for _, group := range groups {
		rows = append(rows, inline(quotes(group)...))
	}
	g.Id(d.locals.o).Dot(name).Op("=").Index().Index().String().Add(inline(rows...))
}

// writeRoot writes the func that reads arguments which are no struct.
func (d *decoders) writeRoot(f file, made decoder) {
	f.Func().Id(made.name).Add(d.parameters("*", made.typ)).Block(
		d.value(*made.codec, jen.Id(d.locals.v)),
	)
	f.Line()
}

// parameters are those of a func that reads a value. gofumpt requires the closing parenthesis on a
// line of its own where the type, an anonymous struct, has several lines.
func (d *decoders) parameters(pointers string, typ model.Expr) *jen.Statement {
	end := ")"
	if slices.ContainsFunc(typ, func(t model.Token) bool { return strings.Contains(t.Text, "\n") }) {
		end = ",\n)"
	}
	return jen.Custom(jen.Options{Open: "(", Close: end, Separator: ", "},
		d.reader(), jen.Id(d.locals.v).Op(pointers).Add(expr(typ)))
}

func (d *decoders) reader() *jen.Statement {
	return jen.Id(d.locals.r).Op("*").Qual(decodePath, "Reader")
}

// place is the field itself: v.Base.ID, with what is embedded by pointer made first.
func (d *decoders) place(f model.ObjectField) *jen.Statement {
	at := jen.Id(d.locals.v)
	for i, step := range f.Path {
		at = at.Dot(step.Name)
		if step.Pointer && i < len(f.Path)-1 {
			at = jen.Qual(decodePath, "Within").Call(jen.Op("&").Add(at))
		}
	}
	return at
}

// field reads the value of a property into its field.
func (d *decoders) field(f model.ObjectField) jen.Code {
	var read func(c model.Codec) jen.Code
	read = func(c model.Codec) jen.Code {
		code := d.value(c, jen.Op("&").Add(d.place(f)))
		if f.Default == "" || c.Kind != model.TextCodec || c.Pointers > 0 {
			return code
		}
		if c.Nullable {
			c.Nullable = false
			return jen.If(jen.Op("!").Id(d.locals.r).Dot("Null").Call()).Block(read(c))
		}
		// UnmarshalText may keep what it does not set, and is to find no default there.
		return d.place(f).Op("=").Op("*").New(expr(c.Type)).Line().Add(code)
	}
	if !f.Codec.Nullable || f.Default == "" || f.NullAbsent {
		return read(f.Codec)
	}
	// Null is not absent: the default gives way to it.
	c := f.Codec
	c.Nullable = false
	zero := jen.Nil()
	if c.Pointers == 0 {
		zero = jen.Op("*").New(expr(c.Type))
	}
	return jen.If(jen.Id(d.locals.r).Dot("Null").Call()).Block(d.place(f).Op("=").Add(zero)).
		Else().Block(read(c))
}

// value reads a value to where to points.
func (d *decoders) value(c model.Codec, to *jen.Statement) jen.Code {
	if c.Nullable {
		c.Nullable = false
		return jen.If(jen.Op("!").Id(d.locals.r).Dot("Null").Call()).Block(d.value(c, to))
	}
	for range c.Pointers {
		to = jen.Qual(decodePath, "New").Call(to)
	}
	r := jen.Id(d.locals.r)
	call := func(name string, args ...jen.Code) *jen.Statement {
		return jen.Qual(decodePath, name).Call(append([]jen.Code{r, to}, args...)...)
	}
	if c.Quoted {
		return d.quoted(c, call)
	}
	var read *jen.Statement
	switch c.Kind {
	case model.ObjectCodec:
		return jen.Id(d.funcs[c.Name]).Call(r, to)
	case model.ListCodec:
		read = call("Slice", d.element(*c.Elem))
	case model.ArrayCodec:
		whole := jen.Parens(to).Index(jen.Empty(), jen.Empty()) // v.Sides[:] of &v.Sides
		read = jen.Qual(decodePath, "Array").Call(r, whole, d.element(*c.Elem))
	case model.MapCodec:
		return call("Map", d.key(c), d.element(*c.Elem))
	case model.OptionalCodec:
		return jen.Qual(toolsetPath, "ReadOptional").Call(r, to, d.element(*c.Elem))
	case model.StringCodec, model.BoolCodec, model.FloatCodec, model.BytesCodec,
		model.NamedBytesCodec:
		read = call(scalars[c.Kind])
	case model.IntCodec, model.UintCodec:
		read = call(scalars[c.Kind], integer(c.Least), integer(c.Most))
	case model.TimeCodec, model.TextCodec, model.NumeralCodec, model.BigIntCodec:
		read = r.Clone().Dot(scalars[c.Kind]).Call(to)
	case model.AnyCodec:
		if text := c.Type.String(); text != "any" && text != "interface{}" {
			to = jen.Parens(jen.Op("*").Any()).Parens(to)
		}
		return r.Clone().Dot("Any").Call(append([]jen.Code{to}, typeNames(c)...)...)
	default:
		return r.Clone().Dot("Raw").Call(append([]jen.Code{to}, typeNames(c)...)...)
	}
	return d.checks(c, read)
}

// scalars are the funcs and methods of decode by the kind that they read.
var scalars = map[model.CodecKind]string{
	model.StringCodec: "String", model.BoolCodec: "Bool", model.IntCodec: "Int",
	model.UintCodec: "Uint", model.FloatCodec: "Float", model.BytesCodec: "Bytes",
	model.NamedBytesCodec: "BytesOf", model.TimeCodec: "Time", model.TextCodec: "Unmarshal",
	model.NumeralCodec: "Numeral", model.BigIntCodec: "BigInt",
}

// typeNames are the types that a value of any kind may have.
func typeNames(c model.Codec) []jen.Code {
	for _, check := range c.Checks {
		if check.Keyword == "type" {
			return quotes(check.Values)
		}
	}
	return nil
}

// quoted reads a number or a boolean within a string.
func (d *decoders) quoted(c model.Codec, call func(string, ...jen.Code) *jen.Statement) jen.Code {
	if c.Kind == model.BoolCodec {
		return d.checks(c, call("QuotedBool"))
	}
	form := raw(c.Checks[0].Values[0])
	c.Checks = c.Checks[1:]
	return d.checks(c, call("Quoted"+scalars[c.Kind], form))
}

// hasLiteral reports whether Go writes values of a codec as literals, which defaults become. The
// others are read from their JSON text.
func hasLiteral(c model.Codec) bool {
	switch c.Kind {
	case model.StringCodec, model.BoolCodec, model.IntCodec, model.UintCodec, model.FloatCodec:
		return !c.Quoted
	case model.ListCodec:
		return c.Pointers == 0 && hasLiteral(*c.Elem)
	}
	return false
}

// key is the func that reads the keys of a map.
func (d *decoders) key(c model.Codec) jen.Code {
	switch c.Key {
	case "int":
		return jen.Qual(decodePath, "IntKey")
	case "uint":
		return jen.Qual(decodePath, "UintKey")
	case "text":
		return jen.Qual(decodePath, "TextKey")
	case "enum":
		args := []jen.Code{jen.Id(d.locals.r), jen.Id(d.locals.name), jen.Id(d.locals.k)}
		return jen.Func().Params(
			d.reader(), jen.Id(d.locals.name).Index().Byte(),
			jen.Id(d.locals.k).Op("*").Add(expr(c.KeyType)),
		).Bool().Block(jen.Return(
			jen.Qual(decodePath, "EnumKey").Call(append(args, quotes(c.Keys)...)...)))
	}
	return jen.Qual(decodePath, "StringKey")
}

func quotes(values []string) []jen.Code {
	list := make([]jen.Code, len(values))
	for i, v := range values {
		list[i] = jen.Lit(v)
	}
	return list
}

// integers are the limits that have a name.
var integers = map[string]string{
	"-128": "MinInt8", "127": "MaxInt8", "-32768": "MinInt16", "32767": "MaxInt16",
	strconv.FormatInt(math.MinInt32, 10): "MinInt32", strconv.FormatInt(math.MaxInt32, 10): "MaxInt32",
	strconv.FormatInt(math.MinInt64, 10): "MinInt64", strconv.FormatInt(math.MaxInt64, 10): "MaxInt64",
	"255": "MaxUint8", "65535": "MaxUint16",
	strconv.FormatUint(math.MaxUint32, 10): "MaxUint32",
	strconv.FormatUint(math.MaxUint64, 10): "MaxUint64",
}

// integer writes a limit.
func integer(text string) jen.Code {
	if name := integers[text]; name != "" {
		return jen.Qual("math", name)
	}
	return jen.Op(text)
}

// methods are the methods of decode's Text, Number and List by keyword.
var methods = map[string]string{
	"enum": "OneOf", "format": "Format", "minLength": "MinLength", "maxLength": "MaxLength",
	"pattern": "Match", "minimum": "Minimum", "maximum": "Maximum", "exclusiveMinimum": "Above",
	"exclusiveMaximum": "Below", "multipleOf": "MultipleOf",
	"minItems": "MinItems", "maxItems": "MaxItems", "uniqueItems": "Unique",
}

// checks asks for the limits of what has been read.
func (d *decoders) checks(c model.Codec, read *jen.Statement) jen.Code {
	for _, check := range c.Checks {
		var args []jen.Code
		switch check.Keyword {
		case "minLength", "maxLength", "minItems", "maxItems":
			args = append(args, count(check.Values[0]))
		case "pattern":
			args = append(args, raw(check.Values[0]))
		default:
			args = quotes(check.Values)
		}
		read = read.Dot(methods[check.Keyword]).Call(args...)
	}
	return read
}

// count writes a limit on a length. Beyond what any machine's int holds it is as good as that.
func count(text string) jen.Code {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return jen.Lit(int(n))
	}
	return jen.Qual("math", "MaxInt32")
}

// defaultValue writes what stands for an absent property.
func defaultValue(c model.Codec, text string) *jen.Statement {
	value := plainDefault(c, text)
	if c.Pointers == 0 {
		return value
	}
	value = expr(c.Type).Call(value)
	for range c.Pointers {
		value = jen.New(value)
	}
	return value
}

func plainDefault(c model.Codec, text string) *jen.Statement {
	switch c.Kind {
	case model.StringCodec:
		var s string
		if json.Unmarshal([]byte(text), &s) == nil {
			return jen.Lit(s)
		}
	case model.ListCodec, model.ArrayCodec:
		var items []json.RawMessage
		if json.Unmarshal([]byte(text), &items) == nil {
			var list []jen.Code
			for _, item := range items {
				list = append(list, defaultValue(*c.Elem, string(item)))
			}
			return expr(c.Type).Add(inline(list...))
		}
	}
	return jen.Op(text)
}
