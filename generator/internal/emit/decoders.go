package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// decoders are the funcs that turn a call's arguments into a handler's input, one a type. What
// has a codec is decoded by code of its own, the rest by the schema validator.
type decoders struct {
	names    *names
	objects  map[string]model.Object // of the service, by name
	made     []decoder
	of       map[string]decoder // by tool name; tools without input need none
	funcs    map[string]string  // of objects
	order    []string           // of objects, as their funcs are written
	elements elements
	locals   locals
}

type decoder struct {
	name    string
	schema  string // constant
	typ     model.Expr
	fields  []model.Param // of a generated input struct
	handler string        // the handler whose parameters they are
	codec   *model.Codec  // nil for the schema validator
}

func newDecoders(n *names, objects []model.Object) *decoders {
	d := &decoders{names: n, of: map[string]decoder{}, objects: map[string]model.Object{},
		funcs: map[string]string{}}
	for _, o := range objects {
		d.objects[o.Name] = o
	}
	d.locals = locals{r: n.pick("r"), v: n.pick("v"), o: n.pick("o"), k: n.pick("k"),
		name: n.pick("name")}
	return d
}

// add gives a tool its decoder: that of its input type where another tool has the same.
func (d *decoders) add(tool model.Tool, schema string) {
	next := decoder{schema: schema, codec: tool.Input.Codec}
	switch tool.Input.Kind {
	case model.NoInput:
		return
	case model.StructInput:
		next.typ = tool.Input.Type
	case model.PlainInput:
		next.typ = model.Expr{{Text: d.names.pick(inputBase(tool))}}
		next.fields, next.handler = tool.Input.Params, tool.Handler.String()
	}
	for _, made := range d.made {
		if made.schema == schema && made.typ.String() == next.typ.String() {
			d.of[tool.Name] = made
			return
		}
	}
	want := "decode" + naming.UpperFirst(inputBase(tool))
	if next.codec != nil && next.codec.Kind == model.ObjectCodec {
		next.name = d.function(next.codec.Name, want)
	} else {
		next.name = d.names.pick(want)
	}
	d.made = append(d.made, next)
	d.of[tool.Name] = next
}

// call decodes a tool's arguments. choices are the values and fields that the caller may send; nil
// in the process of an isolated call, where the server has decoded the same arguments before.
func (d *decoders) call(tool model.Tool, arguments, choices jen.Code) *jen.Statement {
	if read := d.reads(tool); read != "" {
		if len(tool.Values)+len(tool.Input.Fields) > 0 && choices != nil {
			return jen.Qual(decodePath, "ArgumentsOf").Call(arguments, choices, jen.Id(read))
		}
		return jen.Qual(decodePath, "Arguments").Call(arguments, jen.Id(read))
	}
	return jen.Id(d.of[tool.Name].name).Call(arguments)
}

// reads names the func that reads a tool's arguments by a codec, if one does.
func (d *decoders) reads(tool model.Tool) string {
	if made := d.of[tool.Name]; made.codec != nil {
		return made.name
	}
	return ""
}

// function names the func of an object.
func (d *decoders) function(object, want string) string {
	if name, known := d.funcs[object]; known {
		return name
	}
	d.funcs[object] = d.names.pick(want)
	d.order = append(d.order, object)
	return d.funcs[object]
}

// nameObjects names the funcs of everything that the decoders reach.
func (d *decoders) nameObjects() {
	for i := 0; i < len(d.order); i++ {
		for _, f := range d.objects[d.order[i]].Fields {
			d.nameWithin(f.Codec, d.funcs[d.order[i]]+naming.UpperFirst(f.Path[len(f.Path)-1].Name))
		}
	}
	for _, made := range d.made {
		if made.codec != nil && made.codec.Kind != model.ObjectCodec {
			d.nameWithin(*made.codec, made.name)
		}
	}
	d.nameElements()
}

// nameWithin names the func of the object in a codec. anonymous is for a type without a name.
func (d *decoders) nameWithin(c model.Codec, anonymous string) {
	for ; c.Elem != nil; c = *c.Elem {
	}
	if c.Kind != model.ObjectCodec {
		return
	}
	want := anonymous
	if text := typeText(d.objects[c.Name].Type); !strings.HasPrefix(text, "struct") {
		want = "decode" + naming.UpperFirst(identifier(text))
	}
	d.function(c.Name, want)
}

// typeText is the Go type text without the packages of its names.
func typeText(e model.Expr) string {
	var b strings.Builder
	for _, t := range e {
		b.WriteString(t.Text)
	}
	return b.String()
}

func (d *decoders) write(f file) {
	for _, made := range d.made {
		if made.handler != "" {
			writeInput(f, made)
		}
		if made.codec == nil {
			f.Comment(made.name +
				" accepts exactly what its schema accepts; it reads the schema.")
			f.Func().Id(made.name).Params(jen.Id(d.locals.v).Index().Byte()).
				Params(expr(made.typ), jen.Error()).Block(jen.Return(
				jen.Qual(validatorPath, "Decode").Index(expr(made.typ)).
					Call(jen.Id(d.locals.v), jen.Id(made.schema))))
			f.Line()
		}
	}
	if len(d.order) > 0 {
		f.Comment("The decoders accept exactly what the schemas accept. The argument of Object is " +
			"the number of")
		f.Comment("required properties, which come first.")
		f.Line()
	}
	for _, name := range d.order {
		d.writeObject(f, d.objects[name])
	}
	for _, made := range d.made {
		if made.codec != nil && made.codec.Kind != model.ObjectCodec {
			d.writeRoot(f, made)
		}
	}
	d.writeElements(f)
}

// writeInput writes the struct that holds plain parameters.
func writeInput(f file, d decoder) {
	var fields []jen.Code
	for _, param := range d.fields {
		tag := "`json:" + strconv.Quote(param.Name) + "`"
		fields = append(fields, jen.Id(param.Field).Add(expr(param.Type)).Op(tag))
	}
	f.Comment(fmt.Sprintf("%s has the arguments of %s.", d.typ, d.handler))
	f.Type().Add(expr(d.typ)).Struct(fields...)
	f.Line()
}

// elements are what lists and maps hold, scalars of one kind and limits, by how Go writes them.
// What stands twice or more gets a func of its own: a large package of []string everywhere would
// have hundreds of the same.
type elements struct {
	count map[string]int
	funcs map[string]string
	named []model.Codec // in the order of their funcs
}

// nameElements names the funcs of elements that stand more than once.
func (d *decoders) nameElements() {
	d.elements = elements{count: map[string]int{}, funcs: map[string]string{}}
	for _, object := range d.order {
		for _, f := range d.objects[object].Fields {
			d.countElements(f.Codec)
		}
	}
	for _, made := range d.made {
		if made.codec != nil && made.codec.Kind != model.ObjectCodec {
			d.countElements(*made.codec)
		}
	}
}

// countElements names an element's func as soon as it is there a second time.
func (d *decoders) countElements(c model.Codec) {
	if c.Elem == nil {
		return
	}
	e := &d.elements
	if key := elementKey(*c.Elem); key != "" {
		if e.count[key]++; e.count[key] == 2 {
			want := "decode" + naming.UpperFirst(identifier(typeText(c.Elem.Type)))
			name := want
			for i := 2; d.names.clashes(name); i++ {
				name = want + strconv.Itoa(i)
			}
			e.funcs[key] = d.names.pick(name)
			e.named = append(e.named, *c.Elem)
		}
	}
	d.countElements(*c.Elem)
}

// elementKey is the same for elements that the same code reads. It is empty for those that are no
// scalars.
func elementKey(c model.Codec) string {
	if c.Elem != nil || c.Kind == model.ObjectCodec {
		return ""
	}
	return fmt.Sprintf("%#v", c)
}

// element is the func that reads an element of a list or a map.
func (d *decoders) element(c model.Codec) jen.Code {
	if c.Kind == model.ObjectCodec && c.Pointers == 0 && !c.Nullable {
		return jen.Id(d.funcs[c.Name])
	}
	if name := d.elements.funcs[elementKey(c)]; name != "" {
		return jen.Id(name)
	}
	return jen.Func().Add(d.reading(c))
}

// reading is a func that reads an element, from its parameters on.
func (d *decoders) reading(c model.Codec) *jen.Statement {
	pointers := strings.Repeat("*", c.Pointers+1)
	return d.parameters(pointers, c.Type).Block(
		d.value(c, jen.Id(d.locals.v)),
	)
}

// writeElements writes the funcs of elements.
func (d *decoders) writeElements(f file) {
	for _, c := range d.elements.named {
		f.Func().Id(d.elements.funcs[elementKey(c)]).Add(d.reading(c))
		f.Line()
	}
}
