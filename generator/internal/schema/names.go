package schema

import (
	"crypto/sha256"
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

// finish turns the schema of a root into a document.
func (p *pass) finish(s *jsonschema.Schema) *jsonschema.Schema {
	s = p.inPlace(s)
	if p.limits {
		s.Description = "" // the tool has one of its own
	}
	p.rename()
	all := jsonschema.Definitions{}
	var add func(*jsonschema.Schema)
	add = func(of *jsonschema.Schema) {
		key := strings.TrimPrefix(of.Ref, "#/$defs/")
		if d := p.defs[key]; d != nil && all[key] == nil {
			all[key] = d.schema
			add(d.schema)
		}
		for _, part := range parts(of) {
			add(part)
		}
	}
	if add(s); len(all) > 0 { // a tag may have replaced each reference to one
		s.Definitions = all
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
// where that is not enough. Types of the walker's own package keep the bare name. Within guarded
// fields the bare name has a checksum of the import path: it depends on no other definition.
func (p *pass) rename() {
	all := slices.SortedFunc(maps.Values(p.defs), func(a, b *definition) int {
		return strings.Compare(types.TypeString(a.typ, nil), types.TypeString(b.typ, nil))
	})
	namings := []func(*types.Named) string{bareName, byPackage, byPath}
	names := map[*definition]string{}
	var pending []*definition
	taken := map[string]bool{}
	for _, d := range all {
		if !d.guarded {
			pending = append(pending, d)
			continue
		}
		sum := sha256.Sum256([]byte(types.TypeString(d.typ, nil)))
		names[d] = fmt.Sprintf("%s_%x", bareName(d.typ.(*types.Named)), sum[:4])
	}
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

func bare(*types.Package) string { return "" }

func bareName(n *types.Named) string { return legal(types.TypeString(n, bare)) }

func byPackage(n *types.Named) string { return legal(types.TypeString(n, (*types.Package).Name)) }

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
