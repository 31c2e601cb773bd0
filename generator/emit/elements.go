package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
)

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
			want := "decode" + upperFirst(identifier(typeText(c.Elem.Type)))
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
