package scan

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

// defaultRoles is the hierarchy of packages that declare none.
var defaultRoles = []string{"Viewer", "Member", "Manager", "Admin"}

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
	minRole       string
	scopes        []string
	action        string // empty where nothing is written
	object        string
	stands        string // the directive's file and line
	objectFrom    string // those of another one that the object is from
}

// replaces reports whether the rule says who may call, so that the default's answer does not count.
func (r rule) replaces() bool {
	return r.public || r.authenticated || r.minRole != "" || len(r.scopes) > 0
}

// over lays a rule over the default that it inherits from. public stands alone and inherits
// nothing; authenticated, minrole= and scopes= replace the default's together; action= and
// object= are inherited singly.
func (r rule) over(base rule) rule {
	if r.public {
		return r
	}
	if !r.replaces() {
		r.public, r.authenticated, r.minRole, r.scopes = base.public, base.authenticated,
			base.minRole, base.scopes
	}
	if r.action == "" {
		r.action = base.action
	}
	if r.object == "" {
		r.object, r.objectFrom = base.object, cmp.Or(base.objectFrom, base.stands)
	}
	return r
}

// access computes the effective rule of a handler.
func (r rule) access(goName, app string) model.Access {
	a := model.Access{
		Public: r.public, Authenticated: r.authenticated, MinRole: r.minRole,
		Scopes: slices.Sorted(slices.Values(r.scopes)), Object: r.object, Action: r.action,
	}
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
	name := snake(goName)
	for verb := range verbs {
		if name == verb || strings.HasPrefix(name, verb+"_") {
			return verb
		}
	}
	return ""
}

// rule reads the access keys of //mcp:tool or //mcp:default.
func (s *scanner) rule(d *directive.Directive) rule {
	if d == nil {
		return rule{}
	}
	r := rule{
		public: d.Has("public"), authenticated: d.Has("authenticated"),
		minRole: d.Text("minrole"), scopes: d.List("scopes"), action: d.Text("action"),
		object: d.Text("object"),
	}
	place := s.at(d.Pos, d.End)
	r.stands = fmt.Sprintf("%s:%d", filepath.Base(place.File), place.Line)
	if r.public {
		for _, key := range []string{"authenticated", "minrole", "scopes", "action", "object"} {
			if arg, ok := d.Arg(key); ok {
				s.report(diag.Contradiction, arg.Pos, arg.End,
					"write only public, or remove it",
					"public excludes other rules, but has %s beside it", key)
				d.Broken = true
			}
		}
		return rule{public: true}
	}
	if arg, ok := d.Arg("object"); ok && r.action == model.NoAction {
		s.report(diag.Contradiction, arg.Pos, arg.End, "remove one of the two",
			"action=none is beside object=")
		d.Broken = true
	}
	if arg, ok := d.Arg("minrole"); ok {
		s.role(d, arg)
	}
	return r
}

// role reports a role that the hierarchy does not have.
func (s *scanner) role(d *directive.Directive, arg directive.Arg) {
	name := arg.Values[0].Text
	if name == model.Lowest || name == model.Highest {
		return
	}
	roles := &s.service.Roles
	roles.Own = true
	if slices.Contains(roles.Names, name) || len(roles.Names) == 0 {
		return
	}
	d.Broken = true
	s.report(diag.UnknownRole, arg.Values[0].Pos, arg.Values[0].End,
		directive.Nearest("", name, roles.Names),
		"unknown role %s in %s", name, strings.Join(roles.Names, " < "))
}

// defaults reads //mcp:default of the package and of its types.
func (s *scanner) defaults() {
	found := s.single("default")
	s.packageRule = s.rule(found)
	s.typeRules, s.inherits = map[string]rule{}, map[string]bool{}
	s.outputs, s.lenient = map[string]string{}, map[string]*bool{}
	if found != nil {
		s.outputs[""], s.lenient[""] = found.Text("output"), found.Hint("lenient")
	}
	for _, d := range s.decls {
		if d.place == directive.TypeDoc {
			if found := d.find("default"); found != nil {
				s.typeRules[d.name.Name] = s.rule(found)
				s.outputs[d.name.Name] = found.Text("output")
				s.lenient[d.name.Name] = found.Hint("lenient")
			}
		}
	}
}

// inherited is the rule that a handler's own is laid over.
func (s *scanner) inherited(d *decl) rule {
	if d.recv == nil {
		return s.packageRule
	}
	s.inherits[d.recv.Name()] = true
	return s.typeRules[d.recv.Name()].over(s.packageRule)
}

// unused reports the defaults of types that no tool stands below. Such a default looks as if
// it ruled: on an alias, or on a type that is embedded where the tools are, it does not.
func (s *scanner) unused() {
	for _, d := range s.decls {
		if d.place != directive.TypeDoc || s.inherits[d.name.Name] {
			continue
		}
		if found := d.find("default"); found != nil {
			s.report(diag.Misplaced, found.Pos, found.End,
				"write it on the receiver type of the tools, or remove it",
				"//mcp:default has no effect: type %s has no tools", d.name.Name)
		}
	}
}

// hierarchy reads //mcp:roles.
func (s *scanner) hierarchy() {
	roles := &s.service.Roles
	roles.Names = slices.Clone(defaultRoles)
	d := s.single("roles")
	if d == nil {
		return
	}
	roles.Own = true
	roles.Pos = s.at(d.Pos, d.End)
	if d.Broken {
		roles.Names = nil // unknown: no role can be judged
		return
	}
	var stands *decl
	for _, candidate := range s.decls {
		if candidate.find("roles") == d {
			stands = candidate
		}
	}
	switch {
	case stands.place == directive.PackageDoc && len(d.Chain) == 0:
		roles.Names = nil
		s.report(diag.BadHierarchy, d.Pos, d.End, "write the roles lowest first, for example "+
			d.Spec.Example, "//mcp:roles has no role")
	case stands.place == directive.PackageDoc:
		roles.Names = nil
		for _, v := range d.Chain {
			roles.Names = append(roles.Names, v.Text)
		}
	case len(d.Chain) > 0:
		roles.Names = nil
		s.report(diag.BadHierarchy, d.Pos, d.End,
			"write //mcp:roles without names: the constants are the roles",
			"//mcp:roles on a const block has names of roles")
	default:
		s.constants(stands, d)
	}
}

// constants reads the hierarchy from a const block of one named integer type.
func (s *scanner) constants(block *decl, d *directive.Directive) {
	s.service.Roles.Names = nil
	bad := func(pos token.Pos, fix, format string, args ...any) {
		s.report(diag.BadHierarchy, pos, token.NoPos, fix, format, args...)
	}
	list, typ := s.integers(block.block)
	if typ == nil {
		bad(d.Pos, "give every constant of the block one named integer type of this package",
			"//mcp:roles is on constants without a common named integer type")
		return
	}
	if len(list) == 0 {
		bad(d.Pos, "declare the roles as constants", "//mcp:roles is on a block without constants")
		return
	}
	slices.SortStableFunc(list, byValue)
	for i, c := range list {
		if i > 0 && byValue(list[i-1], c) == 0 {
			bad(c.Pos(), "give every role a different value", "the roles %s and %s have the same value",
				list[i-1].Name(), c.Name())
			return
		}
		if c.Name() == model.Lowest || c.Name() == model.Highest {
			bad(c.Pos(), "rename the role", "the role name %s is reserved", c.Name())
			return
		}
	}
	for _, c := range list {
		s.service.Roles.Names = append(s.service.Roles.Names, c.Name())
	}
	s.roleType, s.roleVals = typ, list
}
