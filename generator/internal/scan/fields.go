package scan

import (
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/scan/secrets"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// fieldRules are the rules of fields that the tools of a package reach.
type fieldRules struct {
	// byPlace are the rules of fields by the places where they are declared: a field of a type that
	// is defined by another one, or of an import, may be another object. A field without a rule has
	// nil.
	byPlace map[fieldPlace]*guard
	byName  map[string]*guard          // by the names of rules
	read    map[string]bool            // packages whose misplaced directives are reported, by path
	structs map[string]map[string]bool // types of packages that fields are written in, by path
	open    map[string]bool            // tools whose results have an interface
}

type fieldPlace struct {
	file string
	line int
	name string
}

// guard is one //mcp:field with its rule.
type guard struct {
	*directive.Directive
	access   model.Access
	field    *types.Var // that the package doc names, and its type
	in       types.Type
	used     bool // a tool has the field
	reported bool // a finding that each place of the field would repeat
}

func (s *scanner) placeOfField(v *types.Var) fieldPlace {
	at := s.prog.Fset.PositionFor(v.Pos(), false)
	return fieldPlace{at.Filename, at.Line, v.Name()}
}

// namedFields reads each //mcp:field of the package doc.
func (s *scanner) namedFields() {
	s.fieldRules = fieldRules{byPlace: map[fieldPlace]*guard{}, byName: map[string]*guard{},
		read: map[string]bool{s.pkg.Path: true}, structs: map[string]map[string]bool{},
		open: map[string]bool{}}
	for _, d := range s.decls {
		if d.Place != directive.PackageDoc {
			continue
		}
		for _, found := range d.Directives {
			if found.Name != "field" || found.Broken {
				continue
			}
			v, in := s.fieldNamed(found)
			if v == nil {
				continue
			}
			at := s.placeOfField(v)
			if s.fieldRules.byPlace[at] != nil {
				s.report(diag.Duplicate, found.Span, "remove one of the two",
					"the package has another //mcp:field %s", found.Subject.Text)
				continue
			}
			g := s.guardBy(found)
			s.fieldRules.byPlace[at], g.field, g.in = g, v, in
			s.elsewhere(v, true)
		}
	}
}

const namesOfField = "write the package, the type and the field, for example payroll.Person.Salary"

// fieldNamed finds the field that a //mcp:field of the package doc names, and its type.
func (s *scanner) fieldNamed(d *directive.Directive) (*types.Var, types.Type) {
	written := d.Subject
	dot := strings.LastIndexByte(written.Text, '.')
	of := written
	of.Text = written.Text[:dot]
	if !strings.Contains(of.Text, ".") {
		s.report(diag.BadValue, written.Span, namesOfField, "%s names no package", written.Text)
		return nil, nil
	}
	name := s.typeNamed(d, of, written.Text[dot:])
	if name == nil {
		return nil, nil
	}
	if s.prog.Local(name.Pkg()) {
		s.report(diag.Misplaced, written.Span, "write //mcp:field above the field",
			"%s is a field of this module, and a name is for fields of other modules", written.Text)
		return nil, nil
	}
	str, ok := name.Type().Underlying().(*types.Struct)
	if !ok {
		s.report(diag.BadValue, written.Span, "name a struct type", "%s is not a struct",
			of.Text)
		return nil, nil
	}
	var known []string
	for v := range str.Fields() {
		if v.Name() == written.Text[dot+1:] {
			return v, name.Type()
		}
		if v.Exported() {
			known = append(known, v.Name())
		}
	}
	found, _, _ := types.LookupFieldOrMethod(name.Type(), true, name.Pkg(), written.Text[dot+1:])
	if _, promoted := found.(*types.Var); promoted {
		s.report(diag.BadValue, written.Span, "name the struct that declares the field",
			"%s has the field by embedding", of.Text)
		return nil, nil
	}
	s.report(diag.BadValue, written.Span, directive.Nearest(of.Text+".", written.Text[dot+1:], known),
		"%s has no field %s", of.Text, written.Text[dot+1:])
	return nil, nil
}

// guardBy reads the rule of a field.
func (s *scanner) guardBy(d *directive.Directive) *guard {
	g := &guard{Directive: d}
	g.access = s.rule(d).access("", s.Service.Server.App)
	switch {
	case d.Broken:
	case g.access.Action == model.NoAction:
		arg, _ := d.Arg("action")
		s.report(diag.Contradiction, arg.Span, "remove it, or write a rule",
			"action=none is no rule for a field")
	case g.access.Object != "" && g.access.Action == "":
		arg, _ := d.Arg("object")
		s.report(diag.NoVerb, arg.Span, "write action=, for example action=view",
			"//mcp:field has object= without action=")
	case g.access.Object != "" && s.Service.Server.App == "":
		arg, _ := d.Arg("object")
		s.report(diag.MissingKey, arg.Span, "write app=, the label of the package's permissions in the "+
			"host, on //mcp:server of the package of the tools, or remove object=",
			"//mcp:field has object=, and package %s has no app=", s.pkg.Name)
	}
	return g
}

// guardOf returns the name of the rule of a field, "" without one: the type that has the field, and
// the field. A field that no rule can guard is reported once.
func (s *scanner) guardOf(v *types.Var, in types.Type) string {
	name := ""
	if n, ok := types.Unalias(in).(*types.Named); ok && n.Obj().Pkg() != nil {
		name = n.Obj().Pkg().Path() + "." + n.Obj().Name()
	}
	return s.guardIn(v, in, name)
}

// guardIn is guardOf for a field of a struct whose type has a name, "" without one.
func (s *scanner) guardIn(v *types.Var, in types.Type, owner string) string {
	g := s.guardAt(v)
	if g == nil {
		if v.Exported() && owner != "" && jsonTagOf(v, in) != "-" && !s.prog.Local(v.Pkg()) {
			s.elsewhere(v, false)
		}
		return ""
	}
	wrong, cure := "", ""
	switch tag := jsonTagOf(v, in); {
	case owner == "":
		wrong, cure = "is a field of a struct without a name", "give the struct a type name"
	case v.Embedded() && tag == "" && isStruct(pointee(v.Type())):
		wrong, cure = "is an embedded struct, which is no property itself",
			"write the rule on its fields, or give the field a name in its json tag"
	case !v.Exported():
		wrong, cure = "is not exported, so JSON does not have it", "remove the rule, or export the field"
	case tag == "-":
		wrong, cure = `has json:"-", so JSON does not have it`,
			"remove the rule, or the json tag"
	}
	if wrong != "" {
		if !g.reported {
			s.report(diag.GuardedField, g.Span, cure, "the field %s with the rule %s", v.Name(), wrong)
		}
		g.reported = true
		return ""
	}
	name := owner + "." + v.Name()
	if other := s.fieldRules.byName[name]; other != nil && !other.access.Same(g.access) {
		if !g.reported { // one of the types is within a func
			s.report(diag.GuardedField, g.Span, "rename one of the types",
				"two types have the name %s, and different rules for the field %s", owner, v.Name())
		}
		g.reported = true
		return name
	}
	s.fieldRules.byName[name] = g
	return name
}

// elsewhere notes a field of another module.
func (s *scanner) elsewhere(v *types.Var, rule bool) {
	if s.Service.Foreign == nil {
		s.Service.Foreign = map[string]bool{}
	}
	if _, within := s.prog.FieldSource(v.Origin()); within != "" {
		s.Service.Foreign[v.Pkg().Path()+"."+within+"."+v.Name()] = rule
	}
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// jsonTagOf is the name in the json tag of a field of a struct; "-" hides the field.
func jsonTagOf(v *types.Var, in types.Type) string {
	str, ok := in.Underlying().(*types.Struct)
	for i := range str.NumFields() {
		if ok && str.Field(i) == v {
			tag := reflect.StructTag(str.Tag(i)).Get("json")
			if name, options, found := strings.Cut(tag, ","); name != "-" || !found && options == "" {
				return name
			}
			return "-," // a property with the name -
		}
	}
	return ""
}

// guardAt returns the //mcp:field of a field, or nil. Its source is read for the first tool that
// reaches the field, also in other packages.
func (s *scanner) guardAt(v *types.Var) *guard {
	at := s.placeOfField(v)
	if g, known := s.fieldRules.byPlace[at]; known {
		return g
	}
	doc, within := s.prog.FieldSource(v.Origin())
	source := s.prog.Package(v.Pkg().Path())
	if source != nil && source.Local && source != s.pkg {
		if f := source.FileOf(s.prog.Fset, v.Pos()); f != nil && f.TypedClient() {
			within = "" // the file may not exist yet, and has no directive
		}
		s.misplacedIn(source)
		s.watches(source, within)
	}
	var found *guard
	if doc != nil {
		for _, comment := range doc.List {
			if !directive.Is(comment) {
				continue
			}
			d, problems := directive.Parse(comment)
			if !s.prog.Local(v.Pkg()) { // nothing else reads this module
				for _, p := range problems {
					s.report(p.Code, p.Span, p.Fix, "%s", p.Message)
				}
			}
			if d.Name == "field" && !d.Broken && d.Subject.Text == "" && found == nil {
				found = s.guardBy(d)
			}
		}
	}
	s.fieldRules.byPlace[at] = found
	return found
}

// misplacedIn reports the misplaced directives of a package whose fields may have rules, once.
func (s *scanner) misplacedIn(pkg *load.Package) {
	if !s.fieldRules.read[pkg.Path] {
		s.fieldRules.read[pkg.Path] = true
		annotated.Fields(s.prog, pkg, &s.Findings)
	}
}

// watches adds a struct to the inputs of the generated test.
func (s *scanner) watches(pkg *load.Package, name string) {
	if s.fieldRules.structs[pkg.Path] == nil {
		s.fieldRules.structs[pkg.Path] = map[string]bool{}
	}
	s.fieldRules.structs[pkg.Path][name] = true
}

// belowInterfaces reads the rules of all fields that a value in an interface may have: those of
// structs of the package and of the packages of the module that it imports, and those that the
// package doc names. A type that is defined by such a struct has the rules too.
func (s *scanner) belowInterfaces() {
	for _, g := range slices.Collect(maps.Values(s.fieldRules.byPlace)) {
		if g != nil && g.field != nil {
			s.guardOf(g.field, g.in)
		}
	}
	for _, pkg := range s.prog.Imports(s.pkg) {
		if !pkg.Local {
			continue
		}
		s.misplacedIn(pkg)
		for _, t := range annotated.Structs(s.prog, pkg) {
			for v := range t.Type.Underlying().(*types.Struct).Fields() {
				if !s.hasRule(v) {
					continue
				}
				n := len(s.Findings)
				if g := s.guardAt(v); len(s.Findings) > n && pkg != s.pkg {
					// A rule of another server, with other roles. Below an interface its name alone counts.
					s.Findings, g.access = s.Findings[:n], model.Access{Authenticated: true}
				}
				owner := ""
				if t.Name != "" {
					owner = pkg.Path + "." + t.Name
				}
				if s.guardIn(v, t.Type, owner) != "" && pkg.Types.Scope().Lookup(t.Name) != nil {
					s.watches(pkg, t.Name)
				}
			}
		}
	}
}

// hasRule reports whether a field has a //mcp:field. Unlike guardAt, it notes nothing.
func (s *scanner) hasRule(v *types.Var) bool {
	if g, known := s.fieldRules.byPlace[s.placeOfField(v)]; known {
		return g != nil
	}
	doc, _ := s.prog.FieldSource(v.Origin())
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//mcp:field ")
	})
}

// guarded notes the guarded fields of a tool, and reports those that the server cannot guard.
func (t *reading) guarded(in, out []*types.Var) {
	bad := func(span directive.Span, cure, format string, args ...any) {
		t.report(diag.GuardedField, span, cure, format, args...)
	}
	const keep = "or use a type without the field"
	for i, v := range slices.Concat(in, out) {
		result := i >= len(in)
		if result && t.walker.Opens(v.Type()) {
			t.fieldRules.open[t.Name] = true
		}
		if isRequest(v.Type()) || isResult(v.Type()) || isContent(v.Type()) ||
			!t.walker.Guards(v.Type()) {
			continue
		}
		of, them, hand, codec := "the arguments", "them", t.hand.input, t.Input.Codec != nil
		if result {
			of, them, hand, codec = "the result", "it", t.hand.output, true
		}
		beyond := t.walker.Unguarded(v.Type(), result)
		if result && beyond == "" && t.Output.Schema == nil {
			var problems []schema.Problem
			if t.Output.Guarded, _, problems = t.walker.Output(v.Type()); len(problems) > 0 {
				beyond = problems[0].Path + ": " + problems[0].Message
			}
		}
		span := placeOf(t.decl, v)
		switch {
		case t.Handler.SDK:
			bad(span, "return the result itself, and take no *mcp.CallToolRequest, "+keep,
				"fields in %s of %s have rules, and the handler has go-sdk's shape", of, t)
		case hand != nil:
			bad(hand.arg.Span, "remove the schema by hand, "+keep,
				"fields in %s of %s have rules, and //mcp:schema describes %s", of, t, them)
		case beyond != "":
			bad(span, "remove the cause, "+keep,
				"mcpgen cannot guard fields within %s of %s: %s", of, t, beyond)
		case !codec && t.Input.Schema != nil:
			bad(span, "use types that mcpgen can decode, "+keep,
				"mcpgen cannot guard fields within %s of %s: %s", of, t, t.Input.Uncoded)
		}
	}
	t.Input.Fields = schema.Fields(t.Input.Schema)
	t.Output.Fields = schema.Fields(cmp.Or(t.Output.Guarded, t.Output.Schema))
	t.bindsField()
}

// byType leaves the schema by hand out of the cures for values with guarded fields.
func (t *reading) byType(problems []schema.Problem, values ...*types.Var) []schema.Problem {
	for i := range problems {
		cure, _, byHand := strings.Cut(problems[i].Cure, ", "+schema.ByHand)
		if byHand && slices.ContainsFunc(values, func(v *types.Var) bool {
			return t.walker.Guards(v.Type())
		}) {
			if last := strings.LastIndex(cure, ", use "); last >= 0 {
				cure = cure[:last] + ", or" + cure[last+1:]
			}
			problems[i].Cure = cure
		}
	}
	return problems
}

// bindsField reports a guarded argument that another directive binds: the server reads such an
// argument for each caller.
func (t *reading) bindsField() {
	if len(t.Input.Fields) == 0 {
		return
	}
	for _, d := range t.decl.Directives {
		var names []directive.Value
		switch d.Name {
		case "rule":
			names = []directive.Value{d.Subject}
		case "allow":
			for _, arg := range d.Args {
				names = append(names, arg.Values[0])
			}
		}
		for _, name := range names {
			if t.guards(name.Text) {
				t.report(diag.GuardedField, name.Span, "remove one of the two",
					"the argument %s of %s has //mcp:%s and //mcp:field", name.Text, t, d.Name)
			}
		}
	}
}

// guards reports whether an argument has a rule of its own.
func (t *reading) guards(argument string) bool {
	if len(t.Input.Fields) == 0 {
		return false
	}
	p, ok := t.Input.Schema.Properties.Get(argument)
	return ok && p.Extras[model.GuardKey] != nil
}

// noFields reports guarded fields in the arguments of a prompt or a resource.
func (t *reading) noFields(in []*types.Var) {
	for _, v := range in {
		if t.walker.Guards(v.Type()) {
			t.report(diag.GuardedField, placeOf(t.decl, v), "use a type without the field",
				"fields in the arguments of %s have rules, and it is a %s", t, t.written.Name)
		}
	}
}

// fields lists the guarded fields of the service, and reports rules without an effect.
func (s *scanner) fields() {
	if len(s.fieldRules.open) > 0 {
		s.belowInterfaces()
	}
	for _, name := range slices.Sorted(maps.Keys(s.fieldRules.byName)) {
		g := s.fieldRules.byName[name]
		f := model.Field{Name: name, Access: g.access, Tools: []string{}, Pos: s.at(g.Span)}
		narrows := false
		for _, t := range s.Service.Tools {
			has := slices.Contains(t.Input.Fields, name) || slices.Contains(t.Output.Fields, name)
			adds := s.adds(t.Access, g.access)
			narrows = narrows || adds && (has || s.fieldRules.open[t.Name])
			if !has {
				continue
			}
			f.Tools = append(f.Tools, t.Name)
			if adds {
				s.namesField(t, f)
			}
			if adds && (t.Hints.ReadOnly == nil || !*t.Hints.ReadOnly) &&
				slices.Contains(schema.InItems(t.Input.Schema), name) {
				s.Warnings.Add(diag.GuardedField, t.Pos, "take one item a call, whose absent field the "+
					"handler can keep. Or give the tool at least the rule of the field, and remove the "+
					"rule of the field if no other tool has it",
					"an argument of %s replaces a list or map whose items have %s: from callers below the "+
						"rule, all items lack the field", t.Name, name)
			}
		}
		if len(f.Tools) == 0 && len(s.fieldRules.open) == 0 {
			continue
		}
		g.used = true
		s.Service.Fields = append(s.Service.Fields, f)
		own := g.field != nil || s.pkg.FileOf(s.prog.Fset, g.Pos) != nil
		if own && !narrows && len(f.Tools) > 0 && len(s.Findings) == 0 {
			s.report(diag.GuardedField, g.Span, "write a stricter rule, or remove it; if tools of other "+
				"packages need the rule, declare the type in a package without tools",
				"the rule of %s adds nothing to the rules of the tools that have the field: %s",
				name, strings.Join(f.Tools, ", "))
		}
	}
	if len(s.Findings) > 0 {
		return // a tool may be missing
	}
	for _, d := range s.decls {
		for _, found := range d.Directives {
			used := func(g *guard) bool { return g != nil && g.used && g.Pos == found.Pos }
			if found.Name != "field" || slices.ContainsFunc(slices.Collect(
				maps.Values(s.fieldRules.byPlace)), used) {
				continue
			}
			if d.Field == nil {
				s.report(diag.GuardedField, found.Subject.Span, "remove it",
					"no tool of the package has the field %s", found.Subject.Text)
				continue
			}
			s.Warnings.Add(diag.GuardedField, s.at(found.Span),
				"remove the rule, unless tools of other packages have the field",
				"no tool of package %s has the field with this rule", s.pkg.Name)
		}
	}
}

// adds reports whether the rule of a field needs more than the rule of a tool.
func (s *scanner) adds(tool, field model.Access) bool {
	known := tool.Authenticated || len(tool.MinRole) > 0 || len(tool.Scopes) > 0 ||
		tool.Permission != ""
	return tool.Public || field.Authenticated && !known ||
		len(field.MinRole) > 0 && !s.implies(tool.MinRole, field.MinRole) ||
		!scopeorder.Implies(tool.Alternatives(), field.Alternatives()) ||
		field.Permission != "" && field.Permission != tool.Permission
}

// namesField reports a text of a tool that has the name of a guarded field in quotes or backquotes.
// The texts of the field itself are hidden with it.
func (s *scanner) namesField(t model.Tool, f model.Field) {
	parts := strings.Split(f.Name[strings.LastIndexByte(f.Name, '/')+1:], ".")
	field, typ := parts[len(parts)-1], parts[len(parts)-2]
	names := []string{field, typ + "." + field}
	texts := [][2]string{{"its title", t.Title}, {"its description", t.Description},
		{"its _meta", t.Meta}}
	var visible []string
	for _, of := range []struct {
		name     string
		document []byte
	}{
		{"its input at ", documentOf("", t.Input.Schema)}, {"its result at ",
			documentOf("", cmp.Or(t.Output.Guarded, t.Output.Schema))},
	} {
		found := secrets.Texts(of.document, model.GuardKey, f.Name)
		names, visible = append(names, found.Hidden...), append(visible, found.Visible...)
		for _, text := range found.Texts {
			texts = append(texts, [2]string{of.name + text[0], text[1]})
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(visible, n) })
	for _, text := range texts {
		i := slices.IndexFunc(names, func(name string) bool {
			return secrets.Mentions(text[1], name)
		})
		if i >= 0 {
			s.Findings.Add(diag.GuardedField, t.Pos, "remove the name from the text",
				"%s shows the name %s of a field with a rule to callers below the rule: in %s",
				t.Name, names[i], text[0])
			return
		}
	}
}
