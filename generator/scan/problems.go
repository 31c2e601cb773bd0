package scan

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/schema"
)

var problemCodes = map[schema.ProblemKind]diag.Code{
	schema.UnsupportedType: diag.UnsupportedType, schema.BadTag: diag.BadTag,
	schema.HookedType: diag.HookedType, schema.HiddenText: diag.HiddenText,
}

// problems reports what has no schema. A field of this module is reported where it is declared. A
// type that has no schema wherever it stands is reported once a run. The rest is reported where the
// handler has it.
func (s *scanner) problems(list []schema.Problem, place func(path string) (pos, end token.Pos)) {
	for _, p := range list {
		found := diag.Diagnostic{
			Code: problemCodes[p.Kind], Pos: s.at(place(p.Path)),
			Message: p.Path + ": " + p.Message, Suggestion: p.Cure,
		}
		own := p.Obj != nil && s.prog.Local(p.Obj.Pkg()) && p.Obj.Pos().IsValid()
		switch {
		case p.Type != nil && !s.prog.Local(p.Type.Pkg()):
			if p.Own != nil {
				found.Pos = s.declared(p.Own)
			}
			f := s.faults.add("", p.Type, found)
			if p.Field {
				f.fields[p.Obj.Name()] = true
			}
		case p.Type != nil && !p.Field:
			if own && p.Obj != types.Object(p.Type) {
				found.Pos = s.declared(p.Obj)
			}
			s.faults.add(found.Code, p.Type, found).declared = s.declared(p.Type)
		default:
			if own {
				// At a handler only the path tells two fields apart.
				found.Pos, found.Cause = s.declared(p.Obj), p.Message
				if p.InTag {
					if tag := s.prog.FieldTag(p.Obj); tag != nil {
						found.Pos = s.at(within(tag, p.Offset))
					}
				}
			}
			*s.out = append(*s.out, found)
		}
	}
}

// types reads //mcp:type.
func (s *scanner) types() {
	seen := map[string]bool{}
	for _, d := range s.decls {
		for _, found := range d.directives {
			if found.Name != "type" || found.Broken {
				continue
			}
			name := s.typeNamed(found)
			if name == nil {
				continue
			}
			full := name.Pkg().Path() + "." + name.Name()
			if seen[full] {
				s.report(diag.Duplicate, found.Pos, found.End, "remove one of the two",
					"the package has another //mcp:type %s", found.Subject.Text)
				continue
			}
			seen[full] = true
			var tags []schema.Tag
			written, _ := found.Arg("schema")
			var texts []string
			for i, v := range written.Values {
				key, value, assigned := strings.Cut(v.Text, "=")
				if i == 0 && !assigned {
					key, value = "type", v.Text
				}
				tags = append(tags, schema.Tag{Key: key, Value: value})
				texts = append(texts, v.Text)
			}
			for _, p := range s.walker.Declare(name, tags) {
				s.report(diag.BadTag, written.Pos, written.End, p.Cure, "%s", p.Message)
			}
			s.service.Types = append(s.service.Types, model.DeclaredType{
				Name: full, Schema: strings.Join(texts, ","),
			})
		}
	}
	slices.SortFunc(s.service.Types, func(a, b model.DeclaredType) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// typeNamed finds the type that a //mcp:type names: by the name or the path of a package that this
// one imports, directly or not.
func (s *scanner) typeNamed(d *directive.Directive) *types.TypeName {
	written := d.Subject
	dot := strings.LastIndexByte(written.Text, '.')
	of, name := written.Text[:max(dot, 0)], written.Text[dot+1:]
	found := map[string]*types.TypeName{}
	seen := map[*types.Package]bool{}
	var visit func(pkg *types.Package)
	visit = func(pkg *types.Package) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		if pkg.Name() == of || pkg.Path() == of || of == "" && pkg == s.pkg.Types {
			if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
				found[pkg.Path()] = t
			}
		}
		for _, i := range pkg.Imports() {
			visit(i)
		}
	}
	visit(s.pkg.Types)
	paths := slices.Sorted(maps.Keys(found))
	switch len(paths) {
	case 1:
		return found[paths[0]]
	case 0:
		s.report(diag.BadValue, written.Pos, written.End,
			"write the package and the type, for example "+d.Spec.Example,
			"%s is not a type of this package or of an imported one", written.Text)
	default:
		s.report(diag.BadValue, written.Pos, written.End,
			"write the import path, for example "+paths[0]+"."+name,
			"%s is a type of several packages: %s", written.Text, strings.Join(paths, ", "))
	}
	return nil
}

// declared is where a field or a type of this module is declared.
func (s *scanner) declared(obj types.Object) model.Position {
	return s.at(obj.Pos(), obj.Pos()+token.Pos(len(obj.Name())))
}

// faults are the root causes of a run that may have several places, by name and code.
type faults map[[2]string]*fault

// fault is a type without a schema, or a package without types.
type fault struct {
	name     string
	declared model.Position  // zero in another module, which the author of the handlers cannot edit
	fields   map[string]bool // of the type that have the fault, by name
	found    diag.List       // in the places that use the type
}

// add notes a finding about a type. In another module a type has one fault, whatever its code.
func (f faults) add(code diag.Code, typ *types.TypeName, found diag.Diagnostic) *fault {
	key := [2]string{typ.Pkg().Path() + "." + typ.Name(), string(code)}
	return f.note(key, typ.Pkg().Name()+"."+typ.Name(), found)
}

func (f faults) note(key [2]string, name string, found diag.Diagnostic) *fault {
	if f[key] == nil {
		f[key] = &fault{name: name, fields: map[string]bool{}}
	}
	f[key].found = append(f[key].found, found)
	return f[key]
}

// merge adds the faults of a package.
func (f faults) merge(of faults) {
	for key, other := range of {
		for _, found := range other.found {
			fault := f.note(key, other.name, found)
			fault.declared = other.declared
			maps.Copy(fault.fields, other.fields)
		}
	}
}

// list returns one finding a fault, with the number of places and the first of them.
func (f faults) list() diag.List {
	var list diag.List
	for _, fault := range f {
		list = append(list, fault.finding())
	}
	return list // the run sorts its findings
}

// finding stands where the type is declared, or else in the first place that uses it.
func (f *fault) finding() diag.Diagnostic {
	slices.SortFunc(f.found, func(a, b diag.Diagnostic) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), strings.Compare(string(a.Code), string(b.Code)),
			cmp.Compare(len(a.Message), len(b.Message)), strings.Compare(a.Message, b.Message))
	})
	d := f.found[0]
	if f.declared.File != "" {
		d.Pos = f.declared
	}
	if n := len(f.fields); n > 1 {
		d.Message += fmt.Sprintf("; fields of %s with a fault: %d", f.name, n)
	}
	var places []string
	count := 0
	for i, other := range f.found {
		if i == 0 || other.Pos != f.found[i-1].Pos {
			count++
		}
		const most = 3
		switch place := from(d.Pos, other.Pos); {
		case len(places) > most || slices.Contains(places, place):
		case len(places) == most:
			places = append(places, "…")
		default:
			places = append(places, place)
		}
	}
	if count > 1 || d.Pos == f.declared {
		d.Message += fmt.Sprintf("; places with %s: %d (%s)",
			f.name, count, strings.Join(places, ", "))
	}
	i := slices.IndexFunc(f.found, func(other diag.Diagnostic) bool {
		return !strings.HasSuffix(d.Suggestion, other.Suggestion)
	})
	if i > 0 {
		d.Suggestion = strings.TrimSuffix(d.Suggestion, ", "+schema.ByHand) +
			"; elsewhere " + f.found[i].Suggestion
	}
	return d
}

// from is a place as a finding in another place names it: file and line, with the directory if it
// is another one.
func from(here, place model.Position) string {
	name := filepath.Base(place.File)
	if dir := filepath.Dir(place.File); dir != filepath.Dir(here.File) {
		name = filepath.Base(dir) + "/" + name
	}
	return fmt.Sprintf("%s:%d", name, place.Line)
}
