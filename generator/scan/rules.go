package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

// values reads //mcp:rule: the rules of single values of an argument.
func (s *scanner) values(d *decl, t *model.Tool) {
	if t.Input.Schema == nil && t.Input.Written == "" {
		return // the input could not be read, which is reported
	}
	var arguments []string
	for _, found := range d.directives {
		if found.Name != "rule" || found.Subject.Text == "" {
			continue
		}
		argument := found.Subject.Text
		if !slices.Contains(arguments, argument) {
			arguments = append(arguments, argument)
			t.Values = append(t.Values, s.enumOf(d, t, found)...)
		}
		s.ruleOfValues(d, t, found)
	}
}

// ruleOfValues applies one //mcp:rule to the values of its argument.
func (s *scanner) ruleOfValues(d *decl, t *model.Tool, found *directive.Directive) {
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
		if s.role(found, arg); found.Broken {
			return
		}
	}
	for _, value := range found.Chain {
		i := slices.IndexFunc(t.Values, func(v model.Value) bool {
			return v.Argument == found.Subject.Text && v.Value == value.Text
		})
		switch {
		case i < 0:
			s.report(diag.BadValue, value.Pos, value.End, directive.Nearest("", value.Text, known),
				"%q is not a value of the argument %s of %s", value.Text, found.Subject.Text,
				handlerName(d))
			continue
		case t.Values[i].Ruled:
			s.report(diag.Duplicate, value.Pos, value.End, "remove one of the two",
				"the value %q of %s has two rules", value.Text, found.Subject.Text)
			continue
		}
		v := &t.Values[i]
		if v.Ruled = s.narrow(&v.Access, found); !v.Ruled {
			s.report(diag.Contradiction, found.Pos, found.End,
				"write a stricter rule than that of //mcp:tool, or remove it",
				"the rule of %s is not stricter than the rule of %s", v.Name(), handlerName(d))
		}
	}
}

// narrow adds a rule to an access rule, and reports whether that needs more then.
func (s *scanner) narrow(a *model.Access, rule *directive.Directive) (narrows bool) {
	known := a.Authenticated || a.MinRole != "" || len(a.Scopes) > 0
	narrows = a.Public || rule.Has("authenticated") && !known
	a.Public = false
	if rule.Has("authenticated") && !known {
		a.Authenticated = true
	}
	if role := rule.Text("minrole"); role != "" && s.rank(role) > s.rank(a.MinRole) {
		a.MinRole, narrows = role, true
	}
	scopes := slices.Concat(a.Scopes, rule.List("scopes"))
	slices.Sort(scopes)
	if scopes = slices.Compact(scopes); len(scopes) > len(a.Scopes) {
		a.Scopes, narrows = scopes, true
	}
	return narrows
}

// rank is the position of a role in the hierarchy, from 1, and 0 without a role.
func (s *scanner) rank(role string) int {
	names := s.service.Roles.Names
	if i := slices.Index(names, role); i >= 0 {
		return i + 1
	}
	return map[string]int{model.Lowest: 1, model.Highest: len(names)}[role]
}

// enumOf returns the values of the argument that a //mcp:rule names, each with the rule of the
// tool, or reports why its values cannot have rules.
func (s *scanner) enumOf(d *decl, t *model.Tool, found *directive.Directive) []model.Value {
	at := found.Subject
	bad := func(fix, format string, args ...any) []model.Value {
		s.report(diag.Unbindable, at.Pos, at.End, fix, format, args...)
		return nil
	}
	name := handlerName(d)
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
	case slices.ContainsFunc(t.Allows, func(a model.Allow) bool { return a.Argument == at.Text }):
		return bad("remove //mcp:allow or //mcp:rule",
			"the argument %s of %s has both //mcp:allow and //mcp:rule",
			at.Text, name)
	}
	var fields []model.ObjectField
	for _, object := range s.codecs.Objects() {
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
			access.Scopes = slices.Clone(access.Scopes)
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
