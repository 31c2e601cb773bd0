package schema

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/tools/go/types/typeutil"
)

// typeIndex gives identical types the same key.
type typeIndex struct{ m typeutil.Map }

func (x *typeIndex) key(t types.Type) string {
	if key := x.m.At(t); key != nil {
		return key.(string)
	}
	key := fmt.Sprintf("t%d", x.m.Len())
	x.m.Set(t, key)
	return key
}

// reflectName is what reflect.Type.Name returns for a type.
func reflectName(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return t.Obj().Name() + typeArguments(t, reflectTypeText)
	case *types.Basic:
		return t.Name()
	}
	return ""
}

func typeArguments(n *types.Named, text func(types.Type) string) string {
	if n.TypeArgs().Len() == 0 {
		return ""
	}
	args := make([]string, n.TypeArgs().Len())
	for i := range args {
		args[i] = text(n.TypeArgs().At(i))
	}
	return "[" + strings.Join(args, ",") + "]"
}

// reflectTypeText writes a type argument as the compiler names it in the instance: with the
// import paths of packages, predeclared types by the types that they alias.
func reflectTypeText(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := t.Obj().Name() + typeArguments(t, reflectTypeText)
		if t.Obj().Pkg() == nil {
			return name
		}
		return symbolPath(t.Obj().Pkg().Path()) + "." + name
	case *types.Basic:
		return types.Typ[t.Kind()].Name() // byte is uint8, rune is int32
	case *types.Pointer:
		return "*" + reflectTypeText(t.Elem())
	case *types.Slice:
		return "[]" + reflectTypeText(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), reflectTypeText(t.Elem()))
	case *types.Map:
		return "map[" + reflectTypeText(t.Key()) + "]" + reflectTypeText(t.Elem())
	case *types.Interface:
		if t.Empty() {
			return "interface {}"
		}
	case *types.Struct:
		return reflectStruct(t)
	}
	return types.TypeString(t, nil)
}

// symbolPath writes an import path as symbols of the linker do: dots of the last element, and
// bytes that a symbol cannot hold, as %xx.
func symbolPath(path string) string {
	last := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c == '.' && i > last || c <= ' ' || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func reflectStruct(u *types.Struct) string {
	if u.NumFields() == 0 {
		return "struct {}"
	}
	fields := make([]string, u.NumFields())
	for i := range fields {
		v := u.Field(i)
		if !v.Embedded() {
			fields[i] = v.Name() + " "
		}
		fields[i] += reflectTypeText(v.Type())
		if tag := u.Tag(i); tag != "" {
			fields[i] += fmt.Sprintf(" %q", tag)
		}
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}

// definitions is the $defs of a walk without unique names.
func (p *pass) definitions() jsonschema.Definitions {
	list := jsonschema.Definitions{}
	for key, d := range p.defs {
		list[key] = d.schema
	}
	return list
}

// finish turns the schema of a root into a document.
func (p *pass) finish(s *jsonschema.Schema) *jsonschema.Schema {
	if p.on.has(objectRoot) {
		s = p.inPlace(s)
	}
	if p.on.has(rootWithoutDoc) {
		s.Description = ""
	}
	if p.on.has(uniqueNames) {
		p.rename()
	}
	if defs := p.definitions(); len(defs) > 0 {
		s.Definitions = defs
	}
	if !p.on.has(noIdentity) {
		s.Version = jsonschema.Version
	}
	return s
}

// inPlace writes the definition that a root refers to in the root itself.
func (p *pass) inPlace(s *jsonschema.Schema) *jsonschema.Schema {
	if d := p.defs[strings.TrimPrefix(s.Ref, "#/$defs/")]; d != nil && s.Ref != "" {
		root := *d.schema
		if len(d.refs) == 1 {
			delete(p.defs, d.key) // nothing but the root referred to it
		}
		s = &root
	}
	if s.Properties == nil && s.Type == "object" {
		s.Properties = jsonschema.NewProperties()
	}
	return s
}

// rename gives every definition its final name: the bare name of its type where one
// definition has it, with the package's name before it where several do, with the whole import path
// where that is not enough. Types of the walker's own package keep the bare name.
func (p *pass) rename() {
	all := slices.SortedFunc(maps.Values(p.defs), func(a, b *definition) int {
		return strings.Compare(types.TypeString(a.typ, nil), types.TypeString(b.typ, nil))
	})
	namings := []func(*types.Named) string{p.bareName, byPackage, byPath}
	names := map[*definition]string{}
	pending := all
	taken := map[string]bool{}
	for _, naming := range namings {
		holders := map[string][]*definition{}
		for _, d := range pending {
			name := naming(d.typ.(*types.Named))
			holders[name] = append(holders[name], d)
		}
		var left []*definition
		for _, d := range pending {
			name := naming(d.typ.(*types.Named))
			rivals := slices.ContainsFunc(holders[name], func(o *definition) bool {
				return o != d && (!p.isOwn(d) || p.isOwn(o))
			})
			if rivals || taken[name] {
				left = append(left, d)
				continue
			}
			names[d], taken[name] = name, true
		}
		pending = left
	}
	for i, d := range pending {
		names[d] = fmt.Sprintf("%s_%d", byPath(d.typ.(*types.Named)), i+2)
	}
	p.defs = map[string]*definition{}
	for _, d := range all {
		d.key = names[d]
		p.defs[d.key] = d
		for _, ref := range d.refs {
			if ref.Ref != "" {
				ref.Ref = "#/$defs/" + d.key
			}
		}
	}
}

// isOwn reports a type of the package that the tools belong to.
func (p *pass) isOwn(d *definition) bool {
	return d.typ.(*types.Named).Obj().Pkg().Path() == p.w.in
}

func (p *pass) bareName(n *types.Named) string {
	return legal(n.Obj().Name() + typeArguments(n, func(t types.Type) string {
		return types.TypeString(t, func(*types.Package) string { return "" })
	}))
}

func byPackage(n *types.Named) string {
	return legal(types.TypeString(n, func(p *types.Package) string { return p.Name() }))
}

func byPath(n *types.Named) string { return legal(types.TypeString(n, nil)) }

// legal makes a name that needs no escapes in a $ref: letters, digits, dots, dashes and
// underscores. Page[Item] becomes Page_Item.
func legal(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-':
			b.WriteRune(c)
		case c == '/':
			b.WriteByte('.')
		default:
			if s := b.String(); s != "" && !strings.HasSuffix(s, "_") {
				b.WriteByte('_')
			}
		}
	}
	return strings.TrimRight(b.String(), "_")
}
