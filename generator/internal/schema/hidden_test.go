package schema

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// drawnType is a type of a drawn program. Its kind is struct, list, map or generic.
type drawnType struct {
	pkg        int // of drawnPackages
	name, kind string
	fields     []drawnField // of a struct; a list or map has the type of the first
}

type drawnField struct {
	name, typ, tag string
	embedded       bool
	guard          string // the name of its rule; empty without one
}

// drawnPackages import those before them. Two have the same name.
var drawnPackages = []string{"example.com/a/q", "example.com/b/q", "example.com/p"}

// program is a drawn program with types that have guarded fields, and its root type.
type program struct {
	types []drawnType
	root  string
}

// drawProgram draws types that refer to themselves and each other, in any form.
func drawProgram(t *rapid.T) (p program) {
	taken := map[string]bool{}
	for range rapid.IntRange(2, 12).Draw(t, "types") {
		d := drawnType{pkg: rapid.SampledFrom([]int{0, 1, 2, 2, 2}).Draw(t, "package"),
			name: rapid.SampledFrom([]string{"T", "U", "V", "W"}).Draw(t, "name"),
			kind: rapid.SampledFrom([]string{"struct", "struct", "struct", "list", "map",
				"generic"}).Draw(t, "kind")}
		if key := fmt.Sprint(d.pkg, d.name); !taken[key] {
			taken[key] = true
			p.types = append(p.types, d)
		}
	}
	slices.SortStableFunc(p.types, func(a, b drawnType) int { return a.pkg - b.pkg })
	for i := range p.types {
		d := &p.types[i]
		for range rapid.IntRange(2, 4).Draw(t, "fields") {
			d.fields = append(d.fields, p.drawField(t, i))
		}
		if d.kind == "list" || d.kind == "map" {
			d.fields = d.fields[:1]
			d.fields[0].embedded, d.fields[0].guard = false, ""
		}
	}
	last := p.types[len(p.types)-1]
	p.root = p.nameIn(2, len(p.types)-1)
	if last.kind == "list" || last.kind == "map" {
		p.root = "struct { Last " + p.root + " }"
	}
	return p
}

// nameIn is the name of a type in a package.
func (p program) nameIn(pkg, i int) string {
	name := p.types[i].name
	if of := p.types[i].pkg; of != pkg {
		name = string(rune('a'+of)) + "." + name
	}
	if p.types[i].kind == "generic" {
		name += "[string]"
	}
	return name
}

func (p program) drawField(t *rapid.T, of int) drawnField {
	d := p.types[of]
	f := drawnField{name: fmt.Sprintf("F%d%s%d", d.pkg, d.name, len(d.fields)), typ: "string"}
	i := rapid.IntRange(-1, len(p.types)-1).Draw(t, "type")
	form := "%s"
	if i >= 0 && p.types[i].pkg <= d.pkg {
		f.typ = p.nameIn(d.pkg, i)
		form = rapid.SampledFrom([]string{"*%s", "[]%s", "[]*%s", "map[string]%s", "[2]*%s",
			"**%s", "struct{ In *%s `json:\",omitempty\"` }", "%s", "embedded"}).Draw(t, "form")
		plain := i < of // a struct by value, without a cycle
		embeds := plain && p.types[i].kind == "struct" && !slices.ContainsFunc(d.fields,
			func(f drawnField) bool {
				return f.embedded && strings.HasSuffix(f.typ, p.types[i].name)
			})
		if form == "embedded" && embeds {
			f.embedded, form = true, "%s"
		}
		value := form == "%s" || d.kind == "list" || d.kind == "map"
		if form == "embedded" || !plain && value {
			form = "*%s"
		}
	}
	name := ""
	omit := rapid.Bool().Draw(t, "omitempty")
	if !f.embedded && rapid.IntRange(0, 2).Draw(t, "guarded") == 0 {
		f.guard, form, omit = path.Base(drawnPackages[d.pkg])+"."+d.name+"."+f.name, "*"+form, true
	}
	if f.typ = fmt.Sprintf(form, f.typ); f.embedded {
		return f
	}
	if omit {
		name = ",omitempty"
	}
	f.tag = fmt.Sprintf(`json:"%s"`, name)
	other := rapid.SampledFrom(p.types).Draw(t, "other")
	tag := rapid.SampledFrom([]string{"", "", "", "", "description=A text.", "nullable",
		"title=A title", "oneof_ref=#/$defs/" + other.name}).Draw(t, "tag")
	refers := strings.Contains(tag, "_ref")
	if refers && (other.pkg != d.pkg || other.kind == "generic" || f.guard != "") {
		tag = ""
	}
	f.tag += ` jsonschema:"` + tag + `"`
	return f
}

// source is the text of a package without hidden fields.
func (p program) source(pkg int, hidden []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", path.Base(drawnPackages[pkg]))
	for of := range pkg {
		fmt.Fprintf(&b, "import %c %q\n", rune('a'+of), drawnPackages[of])
	}
	for of := range pkg { // each import is used
		fmt.Fprintf(&b, "type _ = %c.Used\n", rune('a'+of))
	}
	b.WriteString("type Used int\n")
	for _, d := range p.types {
		if d.pkg != pkg {
			continue
		}
		switch d.kind {
		case "list":
			fmt.Fprintf(&b, "type %s []%s\n", d.name, d.fields[0].typ)
			continue
		case "map":
			fmt.Fprintf(&b, "type %s map[string]%s\n", d.name, d.fields[0].typ)
			continue
		case "generic":
			fmt.Fprintf(&b, "type %s[X any] struct {\n\tX X\n", d.name)
		default:
			fmt.Fprintf(&b, "type %s struct {\n", d.name)
		}
		for _, f := range d.fields {
			switch {
			case f.embedded:
				fmt.Fprintf(&b, "\t%s\n", f.typ)
			case !slices.Contains(hidden, f.guard):
				fmt.Fprintf(&b, "\t%s %s `%s`\n", f.name, f.typ, f.tag)
			}
		}
		b.WriteString("}\n")
	}
	if pkg == 2 {
		fmt.Fprintf(&b, "type Root struct { Of *%s }\n", p.root)
	}
	return b.String()
}

// commented is the source of types with comments.
type commented struct{ Source }

func (commented) TypeDoc(n *types.TypeName) string    { return "Values of " + n.Name() + "." }
func (commented) FieldDoc(*types.Var) string          { return "" }
func (commented) Enum(*types.TypeName) []*types.Const { return nil }
func (commented) Local(*types.Package) bool           { return true }
func (commented) ConditionalMethod(*types.Func) bool  { return false }

// imported has the packages before the one that is checked.
type imported map[string]*types.Package

func (all imported) Import(path string) (*types.Package, error) { return all[path], nil }

// schemas are those of the root without hidden fields: of its arguments and its result. A schema
// with a problem is empty.
func (p program) schemas(t *rapid.T, hidden []string) (texts [2]string) {
	all, guards := imported{}, map[string]string{}
	for _, d := range p.types {
		for _, f := range d.fields {
			guards[f.name] = f.guard
		}
	}
	for i, at := range drawnPackages {
		src := p.source(i, hidden)
		file, err := parser.ParseFile(files, "source.go", src, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		config := types.Config{Importer: all}
		if all[at], err = config.Check(at, files, []*ast.File{file}, nil); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
	}
	own := all[drawnPackages[2]]
	for i := range texts {
		w := New(own, commented{})
		w.Guard = func(field *types.Var, _ types.Type) string { return guards[field.Name()] }
		root := own.Scope().Lookup("Root").Type()
		s, problems := w.Input(root)
		if i == 1 {
			s, _, problems = w.Output(root)
		}
		if len(problems) > 0 {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts
}

// object is a JSON object in its order.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, m := range o {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if b = fmt.Appendf(b, "%q:%s", m.name, value); i < len(o)-1 {
			b = append(b, ',')
		}
	}
	return append(b, '}'), nil
}

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// ordered reads a value, with the members of objects in their order.
func ordered(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, _ := d.Token()
			o = append(o, member{name.(string), ordered(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, ordered(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// narrowed is the schema that the server lists for a caller without some fields, as
// runtime/internal/discovery makes it.
func narrowed(t *rapid.T, schema string, hidden []string) string {
	removed := false
	var cut func(v any) any
	cut = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = cut(v[i])
			}
			return v
		case object:
			var gone []string
			properties, _ := v.get("properties").(object)
			properties = slices.DeleteFunc(properties, func(m member) bool {
				field, _ := m.value.(object).get(model.GuardKey).(string)
				is := slices.Contains(hidden, field)
				if is {
					gone, removed = append(gone, m.name), true
				}
				return is
			})
			var rest object
			for _, m := range v {
				switch list, isList := m.value.([]any); {
				case m.name == model.GuardKey:
					continue
				case m.name == "properties":
					m.value = properties
				case m.name == "required" && isList && len(gone) > 0:
					list = slices.DeleteFunc(list, func(name any) bool {
						return slices.Contains(gone, name.(string))
					})
					if m.value = list; len(list) == 0 {
						continue
					}
				}
				rest = append(rest, member{m.name, cut(m.value)})
			}
			return rest
		}
		return v
	}
	d := json.NewDecoder(strings.NewReader(schema))
	d.UseNumber()
	doc := cut(ordered(d)).(object)
	if defs, has := doc.get("$defs").(object); has && removed {
		used := map[string]bool{}
		var follow func(v any)
		follow = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, item := range v {
					follow(item)
				}
			case object:
				for _, m := range v {
					follow(m.value)
					if ref, _ := m.value.(string); m.name == "$ref" && !used[ref] {
						used[ref] = true
						follow(defs.get(path.Base(ref)))
					}
				}
			}
		}
		at := slices.IndexFunc(doc, func(m member) bool { return m.name == "$defs" })
		follow(slices.Delete(slices.Clone(doc), at, at+1))
		defs = slices.DeleteFunc(defs, func(m member) bool { return !used["#/$defs/"+m.name] })
		if doc[at].value = defs; len(defs) == 0 {
			doc = slices.Delete(doc, at, at+1)
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSchemaWithoutHiddenFieldsIsThatOfTypesWithoutThem draws programs and the hidden ones of their
// guarded fields. The schema of a caller is, byte for byte, that of a program without the fields:
// which types are definitions, and their names, depends on no hidden field.
func TestSchemaWithoutHiddenFieldsIsThatOfTypesWithoutThem(t *testing.T) {
	cuts, defined := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		whole := p.schemas(t, nil)
		var hidden []string
		for _, d := range p.types {
			for _, f := range d.fields {
				if f.guard != "" && rapid.Bool().Draw(t, "hidden") {
					hidden = append(hidden, f.guard)
				}
			}
		}
		without := p.schemas(t, hidden)
		for i, schema := range whole {
			if schema == "" || without[i] == "" {
				continue
			}
			got, want := narrowed(t, schema, hidden), narrowed(t, without[i], nil)
			if narrowed(t, schema, nil) != got {
				cuts++
			}
			if strings.Contains(want, "$ref") {
				defined++
			}
			if got != want {
				t.Fatalf("without %q\n%s\n%s\n%s\nis listed as\n%s\nwant\n%s", hidden,
					p.source(0, nil), p.source(1, nil), p.source(2, nil), got, want)
			}
		}
	})
	if cuts == 0 || defined == 0 {
		t.Errorf("%d schemas have hidden fields, and %d have definitions", cuts, defined)
	}
}
