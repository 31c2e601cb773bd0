package scan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/scan/secrets"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// verbs maps CRUD verbs to Django's four actions. An adapter may map them otherwise
// (capability.VerbMapper). No verb is another one with an underscore and more behind it.
var verbs = map[string]string{
	"list": "view", "retrieve": "view", "get": "view",
	"create": "add", "add": "add",
	"update": "change", "partial_update": "change", "set": "change",
	"delete": "delete", "remove": "delete", "destroy": "delete",
}

// rule is an access rule as one directive writes it.
type rule struct {
	public        bool
	authenticated bool
	minRole       []string
	scopes        [][]string // alternatives
	action        string     // empty where nothing is written
	object        string
	stands        string // the directive's file and line
	objectFrom    string // those of another one that the object is from
}

// over lays a rule over the default that it inherits from. public stands alone and inherits
// nothing; authenticated, minrole=, scopes= and anyscope= replace the default's together; action=
// and object= are inherited singly.
func (r rule) over(base rule) rule {
	if r.public {
		return r
	}
	if !r.authenticated && len(r.minRole) == 0 && len(r.scopes) == 0 { // it selects no callers itself
		r.public, r.authenticated, r.minRole, r.scopes = base.public, base.authenticated,
			base.minRole, base.scopes
	}
	r.action = cmp.Or(r.action, base.action)
	if r.object == "" {
		r.object, r.objectFrom = base.object, cmp.Or(base.objectFrom, base.stands)
	}
	return r
}

// access computes the effective rule of a handler.
func (r rule) access(goName, app string) model.Access {
	a := model.Access{
		Public: r.public, Authenticated: r.authenticated, MinRole: r.minRole,
		Object: r.object, Action: r.action,
	}
	a.SetAlternatives(r.scopes)
	verb := r.action
	if verb == "" && a.Object != "" {
		verb = verbOf(goName)
	}
	if action, ok := verbs[verb]; ok {
		a.Verb, a.Action = verb, action
	}
	if a.Object != "" {
		a.ObjectFrom = r.objectFrom
	}
	if a.Action != "" && a.Action != model.NoAction {
		a.Permission = a.Action
		if app != "" || a.Object != "" { // an object without an app is a finding
			a.Permission = app + "." + a.Permission
		}
		if a.Object != "" {
			a.Permission += "_" + a.Object
		}
	}
	return a
}

// verbOf returns the CRUD verb that a handler's name begins with, or "".
func verbOf(goName string) string {
	name := naming.Snake(goName)
	for verb := range verbs {
		if name == verb || strings.HasPrefix(name, verb+"_") {
			return verb
		}
	}
	return ""
}

// rule reads the access keys of //mcp:tool or //mcp:default.
func (s *scanner) rule(d *directive.Directive) rule {
	r := rule{
		public: d.Has("public"), authenticated: d.Has("authenticated"),
		minRole: d.List("minrole"), action: d.Text("action"), object: d.Text("object"),
	}
	place := s.at(d.Span)
	r.stands = fmt.Sprintf("%s:%d", filepath.Base(place.File), place.Line)
	if r.public {
		for _, key := range []string{"authenticated", "minrole", "scopes", "anyscope", "action",
			"object"} {
			if arg, ok := d.Arg(key); ok {
				s.report(diag.Contradiction, arg.Span, "write only public, or remove it",
					"public excludes other rules, but has %s beside it", key)
				d.Broken = true
			}
		}
		return rule{public: true}
	}
	if arg, ok := d.Arg("object"); ok && r.action == model.NoAction {
		s.report(diag.Contradiction, arg.Span, "remove one of the two",
			"action=none is beside object=")
		d.Broken = true
	}
	if arg, ok := d.Arg("minrole"); ok {
		s.role(d, arg)
	}
	r.scopes = s.alternatives(d)
	s.selects(d)
	return r
}

// selects reports authenticated beside a key that only callers with an identity satisfy.
func (s *scanner) selects(d *directive.Directive) {
	arg, ok := d.Arg("authenticated")
	for _, key := range []string{"minrole", "scopes", "anyscope"} {
		if ok && d.Has(key) && !d.Broken {
			d.Broken = true
			s.report(diag.Contradiction, arg.Span, "remove authenticated",
				"authenticated adds nothing to %s=", key)
		}
	}
}

// defaults is a //mcp:default.
type defaults struct {
	rule    rule
	output  string
	lenient *bool
	facts   []string // sorted
}

// readDefaults reads //mcp:default of the package and of its types.
func (s *scanner) readDefaults() {
	read := func(name string, d *directive.Directive) {
		if d != nil {
			s.defaults[name] = defaults{s.rule(d), d.Text("output"), d.Hint("lenient"),
				slices.Sorted(slices.Values(d.List("facts")))}
		}
	}
	s.defaults, s.inherits = map[string]defaults{}, map[string]bool{}
	read("", s.single("default"))
	for _, d := range s.decls {
		if d.Place == directive.TypeDoc {
			read(d.Name.Name, d.Find("default"))
		}
	}
}

// defaultsOf returns the //mcp:default of a handler's receiver type, and that of the package for a
// func.
func (t *reading) defaultsOf() defaults {
	if t.decl.Recv == nil {
		return t.defaults[""]
	}
	return t.defaults[t.decl.Recv.Name()]
}

// inherited is the rule that a handler's own is laid over.
func (t *reading) inherited() rule {
	if t.decl.Recv == nil {
		return t.defaults[""].rule
	}
	t.inherits[t.decl.Recv.Name()] = true
	return t.defaultsOf().rule.over(t.defaults[""].rule)
}

// unused reports the defaults of types without tools. Such a default, on an alias or on an embedded
// type, looks effective and is not.
func (s *scanner) unused() {
	for _, d := range s.decls {
		if d.Place != directive.TypeDoc || s.inherits[d.Name.Name] {
			continue
		}
		if found := d.Find("default"); found != nil {
			s.report(diag.Misplaced, found.Span,
				"write it on the receiver type of the tools, or remove it",
				"//mcp:default has no effect: type %s has no tools", d.Name.Name)
		}
	}
}

// values reads //mcp:rule: the rules of single values of an argument.
func (t *reading) values() {
	if t.Input.Schema == nil && t.Input.Written == "" {
		return // the input could not be read, which is reported
	}
	var arguments []string
	for _, found := range t.decl.Directives {
		if found.Name != "rule" || found.Subject.Text == "" {
			continue
		}
		argument := found.Subject.Text
		if !slices.Contains(arguments, argument) {
			arguments = append(arguments, argument)
			t.Values = append(t.Values, t.enumOf(found)...)
		}
		t.ruleOfValues(found)
	}
}

// ruleOfValues applies one //mcp:rule to the values of its argument.
func (t *reading) ruleOfValues(found *directive.Directive) {
	var known []string
	for _, v := range t.Values {
		if v.Argument == found.Subject.Text {
			known = append(known, v.Value)
		}
	}
	if known == nil || found.Broken {
		return
	}
	if arg, ok := found.Arg("minrole"); ok {
		t.role(found, arg)
	}
	scopes := t.alternatives(found)
	if n := len(scopeorder.Both(t.Access.Alternatives(), scopes)); n > scopeorder.Most {
		t.tooMany(found)
	}
	if t.selects(found); found.Broken {
		return
	}
	t.idle(found)
	for _, value := range found.Chain {
		i := slices.IndexFunc(t.Values, func(v model.Value) bool {
			return v.Argument == found.Subject.Text && v.Value == value.Text
		})
		switch {
		case i < 0:
			t.report(diag.BadValue, value.Span, directive.Nearest("", value.Text, known),
				"%q is not a value of the argument %s of %s", value.Text, found.Subject.Text, t)
			continue
		case t.Values[i].Ruled:
			t.report(diag.Duplicate, value.Span, "remove one of the two",
				"the value %q of %s has two rules", value.Text, found.Subject.Text)
			continue
		}
		v := &t.Values[i]
		if v.Ruled = t.narrow(&v.Access, found, scopes); !v.Ruled {
			t.report(diag.Contradiction, found.Span,
				"write a stricter rule than that of //mcp:tool, or remove it",
				"the rule of %s is not stricter than the rule of %s", v.Name(), t)
		}
	}
}

// idle reports the keys of a //mcp:rule that add nothing to the rule of the tool, beside others
// that do.
func (t *reading) idle(found *directive.Directive) {
	var idle []directive.Arg
	for _, arg := range found.Args {
		alone := &directive.Directive{Args: []directive.Arg{arg}}
		scopes, _ := t.scopes.Alternatives(alone.List("scopes"), alone.List("anyscope"))
		if access := t.Access; !t.narrow(&access, alone, scopes) {
			idle = append(idle, arg)
		}
	}
	if len(idle) == len(found.Args) {
		return // reported with each value
	}
	for _, arg := range idle {
		t.report(diag.Contradiction, arg.Span, "write a stricter one, or remove it",
			"%s in the rule of %s adds nothing to the rule of %s", arg.Key, found.Subject.Text, t)
	}
}

// narrow adds a rule with alternatives of scopes to an access rule, and reports whether that needs
// more then.
func (s *scanner) narrow(
	a *model.Access, rule *directive.Directive, scopes [][]string,
) (narrows bool) {
	known := a.Authenticated || len(a.MinRole) > 0 || len(a.Scopes) > 0
	narrows = a.Public || rule.Has("authenticated") && !known
	a.Public = false
	if rule.Has("authenticated") && !known {
		a.Authenticated = true
	}
	if roles := rule.List("minrole"); roles != nil && !s.implies(a.MinRole, roles) {
		a.MinRole, narrows = roles, true
	}
	if own := a.Alternatives(); !scopeorder.Implies(own, scopes) {
		a.SetAlternatives(scopeorder.Both(own, scopes))
		narrows = true
	}
	return narrows
}

// enumOf returns the values of the argument that a //mcp:rule names, each with the rule of the
// tool, or reports why its values cannot have rules.
func (t *reading) enumOf(found *directive.Directive) []model.Value {
	at := found.Subject
	bad := func(fix, format string, args ...any) []model.Value {
		t.report(diag.Unbindable, at.Span, fix, format, args...)
		return nil
	}
	name := t.String()
	switch {
	case t.Input.Kind == model.NoInput:
		return bad("give the handler a parameter "+at.Text+", an enum",
			"%s has no arguments with values", name)
	case t.Input.Codec == nil:
		reason := t.Input.Uncoded
		if t.Input.Written != "" {
			reason = "it has a schema by hand"
		}
		return bad("take plain parameters, or a struct whose fields mcpgen can read",
			"the values of arguments of %s cannot have rules: %s", name, reason)
	case t.guards(at.Text):
		return nil // reported
	case slices.ContainsFunc(t.Allows, func(a model.Allow) bool { return a.Argument == at.Text }):
		return bad("remove //mcp:allow or //mcp:rule",
			"the argument %s of %s has both //mcp:allow and //mcp:rule",
			at.Text, name)
	}
	var fields []model.ObjectField
	for _, object := range t.codecs.Objects() {
		if object.Name == t.Input.Codec.Name {
			fields = object.Fields
		}
	}
	var known []string
	for _, f := range fields {
		known = append(known, f.Name)
		if f.Name != at.Text {
			continue
		}
		enum := slices.IndexFunc(f.Codec.Checks, func(c model.Check) bool {
			return c.Keyword == "enum"
		})
		switch {
		case f.Codec.Kind != model.StringCodec || enum < 0:
			return bad("give it a string type with constants, or enum=",
				"the argument %s of %s is not an enum of strings", at.Text, name)
		case f.Codec.Nullable:
			return bad("remove nullable: a rule cannot cover null",
				"the argument %s of %s may be null", at.Text, name)
		case !f.Required && f.Default == "":
			return bad("make it required, or give it a default",
				"the argument %s of %s may be absent, and a rule cannot cover that", at.Text, name)
		}
		var values []model.Value
		for _, value := range f.Codec.Checks[enum].Values {
			access := t.Access
			values = append(values, model.Value{Argument: at.Text, Value: value, Access: access})
		}
		return values
	}
	fix := "name an argument of the handler"
	if len(known) > 0 {
		fix = directive.Nearest("", at.Text, known)
	}
	if i := strings.IndexAny(at.Text, ".[/"); i >= 0 {
		fix = fmt.Sprintf("write the name of an argument: values within %s cannot have rules",
			at.Text[:i])
	}
	return bad(fix, "%s has no argument %s", name, at.Text)
}

// shown is a handler with the named string types of its schemas.
type shown struct {
	decl  *annotated.Decl
	tool  model.Tool
	types []*types.TypeName
}

// shows notes a handler whose schemas have named string types.
func (t *reading) shows() {
	if met := t.walker.Met(); len(met) > 0 {
		t.shown = append(t.shown, shown{t.decl, t.Tool, met})
	}
}

// secrets reports each handler that shows a value with a rule to callers below the rule. A rule is
// at an argument, and its value is one of a type: the rules of this package count, and those of the
// packages that it imports, which declare its types.
func (s *scanner) secrets() {
	if len(s.Service.Roles.Chains) == 0 {
		return // a finding: no role can be judged
	}
	own := slices.DeleteFunc(secrets.Of(s.decls, s.walker), func(v secrets.Value) bool {
		return !slices.ContainsFunc(s.Service.Tools, func(t model.Tool) bool { // it has a finding
			return t.Handler.String() == v.Handler && slices.ContainsFunc(t.Ruled(),
				func(o model.Value) bool { return o.Argument == v.Argument && o.Value == v.Text })
		})
	})
	var imported []secrets.Value
	if slices.ContainsFunc(s.shown, func(h shown) bool {
		return slices.ContainsFunc(h.types, func(t *types.TypeName) bool {
			return t.Pkg() != s.pkg.Types && s.prog.Local(t.Pkg())
		})
	}) {
		for _, pkg := range s.prog.Imports(s.pkg)[1:] {
			imported = append(imported, secrets.In(s.prog, pkg, s.walker)...)
		}
	}
	all := slices.Concat(own, imported)
	known := func(v secrets.Value) bool {
		return v.Type.Pkg() == s.pkg.Types || !s.prog.Local(v.Type.Pkg()) ||
			slices.ContainsFunc(imported, func(o secrets.Value) bool {
				return secrets.Same(o.Type, v.Type) && o.Text == v.Text
			})
	}
	for _, v := range own {
		if !known(v) {
			at := v.Directive.Subject
			s.report(diag.ShownValue, at.Span, "declare the type in this package, or write the "+
				"rule on a tool of the package of the type too",
				"the value %q of %s has a rule, but its type %s is of package %s, which may show it",
				v.Text, v.Argument, v.Type.Name(), v.Type.Pkg().Path())
		}
	}
	for len(all) > 0 {
		var rules, others []secrets.Value // the rules of the first value, in several tools
		for _, v := range all {
			if v.Text == all[0].Text && secrets.Same(v.Type, all[0].Type) {
				rules = append(rules, v)
			} else {
				others = append(others, v)
			}
		}
		all = others
		for _, h := range s.shown {
			if slices.ContainsFunc(h.types, func(t *types.TypeName) bool {
				return secrets.Same(t, rules[0].Type)
			}) {
				s.showsValue(h, rules)
			}
		}
	}
}

// showsValue reports a handler that shows a value to callers who meet none of its rules.
func (s *scanner) showsValue(h shown, rules []secrets.Value) {
	t, v := h.tool, rules[0]
	covers := func(a model.Access) bool {
		return slices.ContainsFunc(rules, func(v secrets.Value) bool { return s.covers(a, v) })
	}
	if covers(t.Access) {
		return
	}
	narrowed := func(argument string) bool { // the server leaves the value out for such callers
		return slices.ContainsFunc(t.Values, func(o model.Value) bool {
			return (o.Argument == argument || argument == "") && o.Value == v.Text &&
				covers(o.Access)
		})
	}
	report := func(where, cure string) {
		cure += fmt.Sprintf(", or give %s the rule %s", h.decl, v.Written())
		s.Findings.Add(diag.ShownValue, t.Pos, cure,
			"%s shows the value %q of %s, which has the rule %s at %s, to callers below it: in %s",
			h.decl, v.Text, v.Type.Name(), v.Written(), v.Handler, where)
	}
	const another, reword = "use a type without the value", "remove the value from the text"
	for _, p := range secrets.Places(documentOf(t.Input.Written, t.Input.Schema), v.Text) {
		where := "its input at " + p.Pointer
		switch argument := p.Argument; {
		case p.Text:
			report(where, reword)
			return
		case argument == "" || h.decl.Find("tool") == nil:
			report(where, another)
			return
		case !narrowed(argument):
			report(where, fmt.Sprintf("write //mcp:rule %s=%s %s", argument, v.Word(), v.Written()))
			return
		}
	}
	for _, p := range secrets.Places(documentOf(t.Output.Written, t.Output.Schema), v.Text) {
		if where := "its result at " + p.Pointer; p.Text {
			report(where, reword)
			return
		} else if !narrowed("") {
			report(where, another)
			return
		}
	}
	for _, text := range [...][2]string{{"its title", t.Title}, {"its description", t.Description},
		{"its _meta", t.Meta}} {
		if secrets.Mentions(text[1], v.Text) {
			report(text[0], reword)
			return
		}
	}
}

// covers reports whether a rule needs all that the rule of a value needs.
func (s *scanner) covers(a model.Access, value secrets.Value) bool {
	need := value.Need
	scopes, few := s.scopes.Alternatives(value.Scopes, value.AnyScope)
	known := a.Authenticated || len(a.MinRole) > 0 || len(a.Scopes) > 0 || a.Permission != ""
	return !a.Public && known &&
		(len(need.MinRole) == 0 || s.implies(a.MinRole, need.MinRole)) &&
		few && scopeorder.Implies(a.Alternatives(), scopes)
}

// documentOf returns the JSON of a schema: the one by hand, if there is one.
func documentOf(written string, schema *jsonschema.Schema) []byte {
	if written != "" || schema == nil {
		return []byte(written)
	}
	text, _ := json.Marshal(schema) // a schema always encodes
	return text
}
