// Package check judges the model: what no single declaration shows, within one package and
// among the packages of one run that make up one server.
package check

import (
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ettle/strcase"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/model"
)

// Services returns every finding about the services of one run, sorted. Packages whose
// //mcp:server has the same name= are one server: their tools and hierarchies must go together.
func Services(services []model.Service) diag.List {
	var list diag.List
	for _, s := range services {
		names(s, &list)
		for _, t := range s.Tools {
			tool(t, &list)
		}
		label(s, &list)
	}
	for _, server := range servers(services) {
		duplicates(server, &list)
		hierarchies(server, &list)
	}
	list.Sort()
	return list
}

// tool judges one effective access rule and its hints.
func tool(t model.Tool, list *diag.List) {
	a := t.Access
	takesPart := a.Action != "" && a.Action != "none"
	switch {
	case a.Public && (a.Authenticated || a.MinRole != "" || len(a.Scopes) > 0 || a.Action != "" || a.Object != ""):
		list.Add(diag.Contradiction, t.Pos, "write who may call it on the tool, as in authenticated, or leave the rest out",
			"tool %s is public by //mcp:default, which stands alone, and has another rule", t.Name)
	case a.Object != "" && a.Action == "":
		list.Add(diag.NoVerb, t.Pos, "write action=, as in action="+verb(t)+", or action=none",
			"tool %s has object=%s, and the name %s begins with no CRUD verb", t.Name, a.Object, t.Handler.Name)
	case !a.Public && !a.Authenticated && a.MinRole == "" && len(a.Scopes) == 0 && !takesPart:
		list.Add(diag.NoAccessRule, t.Pos, "write minrole=, authenticated, scopes= or public, or a //mcp:default",
			"tool %s has no access rule", t.Name)
	}
	if isTrue(t.Hints.ReadOnly) && isTrue(t.Hints.Destructive) {
		list.Add(diag.Contradiction, t.Pos, "remove one of the two hints", "tool %s is readonly and destructive", t.Name)
	}
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// verb is the first word of the handler's name, as an action to suggest.
func verb(t model.Tool) string {
	word, _, _ := strings.Cut(strcase.ToSnake(t.Handler.Name), "_")
	return word
}

// label reports a missing app=: a permission string with a guessed label would be another permission.
func label(s model.Service, list *diag.List) {
	i := slices.IndexFunc(s.Tools, func(t model.Tool) bool { return t.Access.Permission != "" })
	if i < 0 || s.Server.App != "" {
		return
	}
	place := s.Server.Pos
	if place.File == "" {
		place = s.Tools[i].Pos
	}
	list.Add(diag.MissingKey, place, "write app=, the label of the package's permissions in the host, on //mcp:server of the package doc",
		"package %s has no app=, and tool %s has a permission", s.Name, s.Tools[i].Name)
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
	constants := map[string]model.Tool{}
	for _, t := range s.Tools {
		constants[t.Const] = t
	}
	for i, name := range s.Scope {
		place := model.Position{}
		if i < len(s.Declared) {
			place = s.Declared[i]
		}
		t, taken := constants[name]
		switch {
		case refused[name]:
			list.Add(diag.Redeclared, place, "rename the declaration", "package %s redeclares %s, which generated code uses", s.Name, name)
		case name == "Toolset":
			list.Add(diag.NameTaken, place, "rename the declaration", "mcpgen declares Toolset in package %s", s.Name)
		case taken:
			list.Add(diag.NameTaken, place, "rename the declaration or the handler",
				"mcpgen declares %s for the tool %s", name, t.Name)
		}
	}
}

// servers groups the services that make up one server: those that write the same name=. A
// package that writes none is a server of its own, whatever its default name.
func servers(services []model.Service) [][]model.Service {
	sorted := slices.Clone(services)
	slices.SortStableFunc(sorted, func(a, b model.Service) int { return strings.Compare(a.Package, b.Package) })
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

func duplicates(server []model.Service, list *diag.List) {
	type owner struct {
		model.Tool
		pkg string
	}
	first := map[string]owner{}
	for _, s := range server {
		for _, t := range s.Tools {
			other, taken := first[t.Name]
			if !taken {
				first[t.Name] = owner{t, s.Package}
				continue
			}
			where := "at " + short(other.Pos)
			if other.pkg != s.Package {
				where = "of " + other.pkg + " " + where
			}
			list.Add(diag.DuplicateTool, t.Pos, "give one of them a name=, or their packages different prefixes",
				"the tool name %s is also that of %s %s", t.Name, other.Handler, where)
		}
	}
}

// hierarchies compares every declared hierarchy of a server with the first. Packages whose
// rules name no role fit any.
func hierarchies(server []model.Service, list *diag.List) {
	var first *model.Service
	for i := range server {
		s := &server[i]
		if !s.Roles.Own || len(s.Roles.Names) == 0 {
			continue
		}
		if first == nil {
			first = s
			continue
		}
		if slices.Equal(first.Roles.Names, s.Roles.Names) {
			continue
		}
		list.Add(diag.UnequalHierarchies, placeOf(*s), "write the same //mcp:roles in both, or give them different server names",
			"server %s has %s here and %s in %s", s.Server.Name,
			strings.Join(s.Roles.Names, " < "), strings.Join(first.Roles.Names, " < "), first.Package)
	}
}

// placeOf is where the reader mends a service's hierarchy: where it is declared, or where the
// server is named when it is the default one.
func placeOf(s model.Service) model.Position {
	if s.Roles.Pos.File != "" {
		return s.Roles.Pos
	}
	return s.Server.Pos
}

func short(p model.Position) string {
	return filepath.Base(p.File) + ":" + strconv.Itoa(p.Line)
}
