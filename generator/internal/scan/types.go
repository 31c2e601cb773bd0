package scan

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

var problemCodes = map[schema.ProblemKind]diag.Code{
	schema.UnsupportedType: diag.UnsupportedType, schema.BadTag: diag.BadTag,
	schema.HookedType: diag.HookedType, schema.HiddenText: diag.HiddenText,
	schema.GuardedField: diag.GuardedField,
}

// problems reports types without a schema. A field of this module is reported where it is declared.
// A type without a schema in any place is reported once a run. The rest is reported at the handler.
func (s *scanner) problems(list []schema.Problem, place func(path string) directive.Span) {
	for _, p := range list {
		found := diag.Diagnostic{
			Code: problemCodes[p.Kind], Pos: s.at(place(p.Path)),
			Message: p.Path + ": " + p.Message, Suggestion: p.Cure,
		}
		own := p.Obj != nil && s.prog.Local(p.Obj.Pkg()) && p.Obj.Pos().IsValid()
		field, _ := p.Obj.(*types.Var)
		edit, edited := s.edited[field]
		switch {
		case edited && p.Kind == schema.BadTag:
			found.Pos = s.at(edit)
			s.Findings = append(s.Findings, found)
		case p.Type != nil && !s.prog.Local(p.Type.Pkg()):
			if p.Own != nil {
				found.Pos = s.declared(p.Own)
			}
			fault := s.faults.Add("", p.Type, found)
			if p.Field {
				fault.Fields[p.Obj.Name()] = true
			}
		case p.Type != nil && !p.Field:
			if own && p.Obj != types.Object(p.Type) {
				found.Pos = s.declared(p.Obj)
			}
			s.faults.Add(found.Code, p.Type, found).Declared = s.declared(p.Type)
		default:
			if own {
				// At a handler only the path distinguishes two fields.
				found.Pos, found.Cause = s.declared(p.Obj), p.Message
				if p.InTag {
					if tag := s.prog.FieldTag(p.Obj); tag != nil {
						found.Pos = s.at(within(tag, p.Offset))
					}
				}
			}
			s.Findings = append(s.Findings, found)
		}
	}
}

// named is the name of an object in the source.
func named(obj types.Object) directive.Span {
	return directive.Span{Pos: obj.Pos(), End: obj.Pos() + token.Pos(len(obj.Name()))}
}

// declared is where a field or a type of this module is declared.
func (s *scanner) declared(obj types.Object) model.Position {
	return s.at(named(obj))
}

// conditional reports what a schema reads of a type and not every build has.
func (s *scanner) conditional(n *types.TypeName) {
	report := func(at token.Pos, what, read string) {
		if at.IsValid() && !s.reported(diag.BuildConstraint, s.at(directive.Span{Pos: at})) {
			s.report(diag.BuildConstraint, directive.Span{Pos: at},
				"move the "+what+" into a file that every build has",
				"the schema of a tool reads %s, whose file is not part of every build", read)
		}
	}
	found := s.prog.Conditional(n)
	report(found.Type, "type", n.Name())
	report(found.Constants, "constants", "the constants of "+n.Name())
	report(found.Method, "method", "a method of "+n.Name())
	s.lacking(s.prog.ConditionalType(n), "the schema of a tool")
}

// lacking reports names that a reader needs and not every build has, each once.
func (s *scanner) lacking(names []*ast.Ident, reader string) {
	for _, id := range names {
		s.lacks[id.Name] = true
		span := directive.Span{Pos: id.Pos()}
		if s.reported(diag.BuildConstraint, s.at(span)) {
			continue
		}
		s.report(diag.BuildConstraint, span,
			"declare "+id.Name+" in a file without a build constraint and without cgo",
			"%s reads %s, whose file is not part of every build", reader, id.Name)
	}
}

// strays reports constants that an enum lacks because they are in another const block.
func (s *scanner) strays() {
	var last *types.TypeName
	for _, c := range s.walker.Enums() {
		typ := types.Unalias(c.Type()).(*types.Named).Obj()
		if typ == last {
			continue
		}
		last = typ // the constants are sorted by type, and c is the first one of its block
		line := "//mcp:type " + typ.Name()
		if typ.Pkg() != s.pkg.Types {
			line = "//mcp:type " + typ.Pkg().Name() + "." + typ.Name()
		}
		open := "; if any text is valid, write " + line + " schema=string in the package doc"
		if c.Val().Kind() == constant.Int {
			open = "; if any number is valid, remove " + line
		}
		for _, block := range s.prog.Stray(typ) {
			names := make([]string, len(block))
			for i, stray := range block {
				names[i] = stray.Name()
			}
			s.Findings.Add(diag.StrayConstant, s.declared(block[0]),
				"move it into that block, or declare it without the type "+typ.Name()+open,
				"the enum %s lacks %s: the enum is the const block at %s",
				typ.Name(), strings.Join(names, ", "), s.short(c.Pos()))
		}
	}
}

// enums reports hidden characters in the values of enums.
func (s *scanner) enums() {
	for _, c := range s.walker.Enums() {
		if c.Val().Kind() != constant.String {
			continue
		}
		if at, name := model.Hidden(constant.StringVal(c.Val())); at >= 0 {
			s.hidden(s.declared(c), "the value of the enum has %s", name)
		}
	}
}

// types reads //mcp:type.
func (s *scanner) types() {
	seen := map[string]bool{}
	for _, d := range s.decls {
		for _, found := range d.Directives {
			if found.Name != "type" || found.Broken {
				continue
			}
			name := s.typeNamed(found, found.Subject, "")
			if name == nil {
				continue
			}
			full := name.Pkg().Path() + "." + name.Name()
			if seen[full] {
				s.report(diag.Duplicate, found.Span, "remove one of the two",
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
				s.report(diag.BadTag, written.Span, p.Cure, "%s", p.Message)
			}
			s.Service.Types = append(s.Service.Types, model.DeclaredType{
				Name: full, Schema: strings.Join(texts, ","),
			})
		}
	}
	sortBy(s.Service.Types, func(t model.DeclaredType) string { return t.Name })
}

// typeNamed finds the type that a directive names: by the name or the path of a package that this
// one imports, directly or not. field is a field of the type with its dot, or empty.
func (s *scanner) typeNamed(
	d *directive.Directive, written directive.Value, field string,
) *types.TypeName {
	dot := strings.LastIndexByte(written.Text, '.')
	of, name := written.Text[:max(dot, 0)], written.Text[dot+1:]
	found := map[string]*types.TypeName{}
	near := "" // another type of the package, or a type of the name in another package
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
			if other := editdistance.Nearest(name, pkg.Scope().Names(), 2); other != "" {
				near = strings.TrimPrefix(of+"."+other, ".")
			}
		} else if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && t.Exported() &&
			editdistance.Between(pkg.Name(), of) <= 2 {
			near = pkg.Name() + "." + name
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
		cure := "write the package and the type, for example " + d.Spec.Example
		switch {
		case near != "":
			cure = diag.DidYouMean(near + field)
		case field != "":
			cure = namesOfField
		}
		s.report(diag.BadValue, written.Span, cure,
			"%s is not a type of this package or of an imported one", written.Text)
	default:
		s.report(diag.BadValue, written.Span,
			"write the import path, for example "+paths[0]+"."+name,
			"%s is a type of several packages: %s", written.Text, strings.Join(paths, ", "))
	}
	return nil
}
