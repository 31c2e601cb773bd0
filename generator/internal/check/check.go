// Package check judges the model: what no single declaration shows, within one package and
// among the packages of one run that make up one server.
package check

import (
	"cmp"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ettle/strcase"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
	"github.com/mcpgen/mcpgen/internal/uritemplate"
)

// Services returns every finding about the services of one run, sorted.
func Services(services []model.Service) diag.List {
	list := Servers(services)
	for _, s := range services {
		list = append(list, Service(s)...)
	}
	list.Sort()
	return list
}

// Service returns the findings about one service in which no other service has a part.
func Service(s model.Service) (list diag.List) {
	names(s, &list)
	for _, t := range s.Served() {
		served(t, &list)
	}
	label(s, &list)
	return list
}

// Servers returns the findings about names and hierarchies of whole servers. Packages whose
// //mcp:server has the same name= are one server: their tools and hierarchies must go together.
func Servers(services []model.Service) (list diag.List) {
	for _, server := range servers(services) {
		duplicates(server, &list)
		overlaps(server, &list)
		hierarchies(server, &list)
		inclusions(server, &list)
		foreign(server, &list)
		fields(server, &list)
	}
	return list
}

// served judges one effective access rule and its hints.
func served(t model.Served, list *diag.List) {
	a := t.Access
	verb, _, _ := strings.Cut(strcase.ToSnake(t.Handler.Name), "_") // to suggest
	takesPart := a.Action != "" && a.Action != model.NoAction
	switch {
	case a.Public && (a.Authenticated || len(a.MinRole) > 0 || len(a.Scopes) > 0 || a.Action != "" ||
		a.Object != ""):
		list.Add(diag.Contradiction, t.Pos, "write who may call it on the "+t.Kind+
			", for example authenticated, or remove the rest",
			"%s %s is public by //mcp:default, and has another rule", t.Kind, t.ID)
	case a.Object != "" && a.Action == "":
		list.Add(diag.NoVerb, t.Pos, "write action=, for example action="+verb+", or action=none",
			"%s %s has object=%s%s, and the name %s does not begin with a CRUD verb", t.Kind, t.ID,
			a.Object, from(a.ObjectFrom), t.Handler.Name)
	case a.Action == model.NoAction && !a.Public && !a.Authenticated && len(a.MinRole) == 0 &&
		len(a.Scopes) == 0:
		list.Add(diag.NoAccessRule, t.Pos,
			"write authenticated, minrole= or scopes= beside it, or action= with an action of "+
				"the host",
			"%s %s has no access rule: action=none alone admits no caller", t.Kind, t.ID)
	case !a.Public && !a.Authenticated && len(a.MinRole) == 0 && len(a.Scopes) == 0 && !takesPart:
		list.Add(diag.NoAccessRule, t.Pos,
			"write minrole=, authenticated, scopes=, action= or public, or a //mcp:default",
			"%s %s has no access rule", t.Kind, t.ID)
	}
	if t.Denial == "challenge" && len(a.Scopes) == 0 {
		list.Add(diag.Contradiction, t.Pos, "write scopes=, denial=conceal or denial=forbid",
			"%s %s has denial=challenge without scopes=", t.Kind, t.ID)
	}
	if a.Constrained && a.Permission == "" {
		list.Add(diag.Contradiction, t.Pos,
			"write action= or object= for the permission with the constraints, or remove constrained",
			"%s %s is constrained, but has no permission that could have constraints", t.Kind, t.ID)
	}
	if isTrue(t.Hints.ReadOnly) && isTrue(t.Hints.Destructive) {
		list.Add(diag.Contradiction, t.Pos, "remove one of the two hints",
			"tool %s is readonly and destructive", t.Name)
	}
	if isTrue(t.Lenient) && t.Input.Uncoded != "" {
		list.Add(diag.Contradiction, t.Pos, "write lenient=false",
			"tool %s is lenient, and the schema validator decodes its arguments", t.Name)
	}
	if t.Elicits && t.Limits.Isolate != "" {
		list.Add(diag.Contradiction, t.Pos, "remove one of the two",
			"tool %s has elicits, but its handler runs in a process that cannot reach a client", t.Name)
	}
	if t.Task == "answered" && !t.Elicits && !t.Handler.SDK {
		list.Add(diag.Contradiction, t.Pos, "write elicits as well, or task without =answered",
			"tool %s becomes a task with an answer, and has no elicits", t.Name)
	}
	if a.Public && len(t.Allows) > 0 {
		list.Add(diag.Contradiction, t.Allows[0].Pos,
			"write authenticated instead of public, or remove //mcp:allow",
			"tool %s is public and has //mcp:allow: a caller without an identity has no client, and "+
				"only clients have grants", t.Name)
	}
	for _, a := range t.Allows {
		if isTrue(t.Hints.ReadOnly) && slices.Contains(a.Kinds, "file.write") {
			list.Add(diag.Contradiction, a.Pos, "remove one of the two",
				"tool %s is readonly, and its argument %s is bound to file.write", t.Name,
				a.Argument)
		}
	}
}

// from says of an inherited object where it is from.
func from(place string) string {
	if place == "" {
		return ""
	}
	return " from //mcp:default (" + place + ")"
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// label reports a missing app= beside object=: an object belongs to an app of the host, and a
// guessed label would be another permission. A bare action needs no app.
func label(s model.Service, list *diag.List) {
	all := s.Served()
	i := slices.IndexFunc(all, func(t model.Served) bool {
		return t.Access.Object != "" && t.Access.Permission != ""
	})
	if i < 0 || s.Server.App != "" {
		return
	}
	place := s.Server.Pos
	if place.File == "" {
		place = all[i].Pos
	}
	list.Add(diag.MissingKey, place, "write app=, the label of the package's permissions in the "+
		"host, on //mcp:server of the package doc, or remove object=",
		"package %s has no app=, and %s %s has object=%s", s.Name, all[i].Kind, all[i].ID,
		all[i].Access.Object)
}

// refused are the predeclared names that generated code relies on.
var refused = func() map[string]bool {
	names := map[string]bool{"new": true, "len": true, "append": true, "make": true, "nil": true}
	for _, name := range types.Universe.Names() {
		switch types.Universe.Lookup(name).(type) {
		case *types.TypeName, *types.Const:
			names[name] = true
		}
	}
	return names
}()

// names reports declarations that generated ones would collide with or mistake for others.
func names(s model.Service, list *diag.List) {
	constants := map[string]model.Served{}
	for _, t := range s.Served() {
		constants[t.Const] = t
	}
	tokens := map[string]model.Served{}
	for _, t := range s.Served() {
		token := t.Handler.Token
		if token == "" {
			continue
		}
		other, taken := tokens[token]
		if !taken {
			other, taken = constants[token]
		}
		if taken {
			list.Add(diag.NameTaken, t.Pos, "rename one of the two",
				"mcpgen declares %s for %s and for %s", token, other.Handler, t.Handler)
		}
		tokens[token] = t
	}
	// declares returns the declaration of a name in the generated file, and the end of a cure. The
	// declaration is empty if there is none.
	declares := func(name string) (declaration, instead string) {
		t, taken := constants[name]
		if !taken {
			t, taken = tokens[name]
		}
		switch {
		case name == "Toolset":
			return "mcpgen declares Toolset in package " + s.Name, ""
		case name == model.CheckArguments && s.Server.Client != "":
			return "mcpgen declares " + name + " in package " + s.Name, ", or remove client="
		case taken:
			return "mcpgen declares " + name + " for the " + t.Kind + " " + t.ID, " or the handler"
		}
		return "", ""
	}
	for i, name := range s.Scope {
		place := model.Position{}
		if i < len(s.Declared) {
			place = s.Declared[i]
		}
		declaration, instead := declares(name)
		switch {
		case refused[name]:
			list.Add(diag.Redeclared, place, "rename the declaration",
				"package %s redeclares %s, which generated code uses", s.Name, name)
		case declaration != "":
			list.Add(diag.NameTaken, place, "rename the declaration"+instead, "%s", declaration)
		}
	}
	dots := map[model.Position]bool{} // imports with a finding
	for _, imported := range s.Imports {
		declaration, instead := declares(imported.Name)
		if declaration == "" || dots[imported.Pos] {
			continue
		}
		cure := "rename the import" + instead
		if imported.Dot {
			cure, dots[imported.Pos] = "write the import without the dot", true
		}
		list.Add(diag.NameTaken, imported.Pos, cure,
			"%s, and this import declares the name as well", declaration)
	}
}

// servers groups the services that make up one server: those that write the same name=. A
// package that writes none is a server of its own, whatever its default name.
func servers(services []model.Service) [][]model.Service {
	sorted := slices.Clone(services)
	slices.SortStableFunc(sorted, func(a, b model.Service) int {
		return strings.Compare(a.Package, b.Package)
	})
	var groups [][]model.Service
	byName := map[string]int{}
	for _, s := range sorted {
		i, known := byName[s.Server.Name]
		if !s.Server.Named || !known {
			i = len(groups)
			groups = append(groups, nil)
		}
		if s.Server.Named {
			byName[s.Server.Name] = i
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// owner is something served and the package that serves it.
type owner struct {
	model.Served
	pkg string
}

// where is a place as a message in another package names it.
func (o owner) where(pkg string) string {
	if o.pkg != pkg {
		return "of " + o.pkg + " at " + short(o.Pos)
	}
	return "at " + short(o.Pos)
}

func duplicates(server []model.Service, list *diag.List) {
	first := map[[2]string]owner{}
	for _, s := range server {
		for _, t := range s.Served() {
			key := [2]string{t.Kind, t.ID}
			other, taken := first[key]
			if !taken {
				first[key] = owner{t, s.Package}
				continue
			}
			what, fix := "the "+t.Kind+" name", "write another name= on one of them"
			switch recv := t.Handler.Recv; {
			case t.Kind == "resource":
				what, fix = "the URI", "change one uri="
			case other.pkg != s.Package:
				fix = "write prefix= on //mcp:server of one package, for example prefix=" + s.Name +
					"_, or another name= on one of them"
			case recv != "" && recv != other.Handler.Recv:
				fix += ", for example name=" + strcase.ToSnake(recv) + "_" + t.ID
			case t.Kind == "tool":
				fix += "; for variants of one tool, write one handler, with //mcp:rule on values of an argument"
			}
			list.Add(diag.DuplicateTool, t.Pos, fix, "%s %s is also that of %s %s", what, t.ID,
				other.Handler, other.where(s.Package))
		}
	}
	for _, s := range server {
		for _, t := range s.Tools {
			for _, alias := range t.Aliases {
				key := [2]string{"tool", alias}
				if other, taken := first[key]; taken {
					list.Add(diag.DuplicateTool, t.Pos, "remove the alias",
						"the alias %s is also a name of %s %s", alias, other.Handler,
						other.where(s.Package))
					continue
				}
				first[key] = owner{model.Served{Tool: &t, Kind: "tool", ID: alias}, s.Package}
			}
		}
	}
}

// overlaps reports resources with different rules whose templates match a common URI: go-sdk and
// the readers of the table would have to try them in the same order.
func overlaps(server []model.Service, list *diag.List) {
	type candidate struct {
		owner
		template uritemplate.Template
	}
	var before []candidate
	for _, s := range server {
		for _, r := range s.Resources {
			template, err := uritemplate.Parse(r.URI)
			if err != nil {
				continue // reported where it stands
			}
			kinds := map[string]uritemplate.Kind{}
			for _, v := range r.Variables {
				switch v.Type {
				case "integer":
					kinds[v.Name] = uritemplate.Integer
				case "boolean":
					kinds[v.Name] = uritemplate.Boolean
				}
			}
			c := candidate{owner{model.Served{Tool: &r.Tool, Kind: "resource", ID: r.URI},
				s.Package}, template.Typed(kinds)}
			for _, other := range before {
				if other.ID != c.ID && !other.SameRule(*c.Tool) &&
					uritemplate.Overlap(other.template, c.template) {
					list.Add(diag.Overlap, c.Pos,
						"give both equal rules, or change the URIs so that they do not overlap",
						"%s and %s match the same URI, %s, but have different access", c.ID, other.ID,
						other.where(s.Package))
				}
			}
			before = append(before, c)
		}
	}
}

// hierarchies compares every declared hierarchy of a server with the first. Packages whose
// rules name no role fit any.
func hierarchies(server []model.Service, list *diag.List) {
	var first *model.Service
	for i := range server {
		s := &server[i]
		if !s.Roles.Own || len(s.Roles.Chains) == 0 {
			continue
		}
		if first == nil {
			first = s
			continue
		}
		own, other := s.Roles.Order(), first.Roles.Order()
		if own.Equal(&other) {
			continue
		}
		place := s.Roles.Pos
		if place.File == "" {
			place = s.Server.Pos // of a default hierarchy
		}
		list.Add(diag.UnequalHierarchies, place,
			"write the same //mcp:roles in both, or give them different server names",
			"server %s has %s here and %s in %s", s.Server.Name,
			roleorder.Text(s.Roles.Chains), roleorder.Text(first.Roles.Chains),
			first.Package)
	}
}

// inclusions compares the lines about scopes of the packages of a server.
func inclusions(server []model.Service, list *diag.List) {
	for i, s := range server {
		for _, other := range server[:i] {
			scope, differ := scopeorder.Differ(other.Scopes.Order(), s.Scopes.Order())
			if !differ {
				continue
			}
			list.Add(diag.UnequalHierarchies, s.Scopes.Pos,
				"write the same //mcp:scopes in both, or give them different server names",
				"server %s has different lines about the scope %s: %s here and %s in %s",
				s.Server.Name, scope, scopeorder.Text(s.Scopes.Lines),
				scopeorder.Text(other.Scopes.Lines), other.Package)
			break
		}
	}
}

// foreign reports a field of another module that has a rule in one package of a server, and none in
// a package whose tools have the field.
func foreign(server []model.Service, list *diag.List) {
	guards := map[string]string{} // the packages, by field
	for _, s := range server {
		for field, rule := range s.Foreign {
			if rule && guards[field] == "" {
				guards[field] = s.Package
			}
		}
	}
	for _, s := range server {
		for _, field := range slices.Sorted(maps.Keys(s.Foreign)) {
			if pkg := guards[field]; pkg != "" && !s.Foreign[field] {
				list.Add(diag.GuardedField, cmp.Or(s.Server.Pos, first(s)),
					"write the //mcp:field of that package in the package doc of this one",
					"tools of package %s have the field %s without a rule, and it has one in %s",
					s.Package, field, pkg)
			}
		}
	}
}

// fields compares the rules of a field in the packages of a server.
func fields(server []model.Service, list *diag.List) {
	type rule struct {
		pkg string
		model.Field
	}
	rules := map[string]rule{} // of the first package, by field
	for _, s := range server {
		for _, f := range s.Fields {
			first, known := rules[f.Name]
			if !known {
				rules[f.Name] = rule{s.Package, f}
				continue
			}
			a, b := first.Access, f.Access
			if a.Same(b) && a.Verb == b.Verb {
				continue
			}
			place, cure := f.Pos, "write the same //mcp:field in both"
			if f.Pos == first.Pos { // one directive, whose permission has the app of each package
				place, cure = s.Server.Pos, "write the same app= in both"
			}
			list.Add(diag.GuardedField, place, cure+", or give them different server names",
				"the field %s has one rule in package %s and another in package %s", f.Name,
				first.pkg, s.Package)
		}
	}
}

// first is the place of the first tool of a package.
func first(s model.Service) model.Position {
	if len(s.Tools) == 0 {
		return model.Position{}
	}
	return s.Tools[0].Pos
}

func short(p model.Position) string {
	return filepath.Base(p.File) + ":" + strconv.Itoa(p.Line)
}
