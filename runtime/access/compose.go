package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Part is one package's table on its way into a server's.
type Part struct {
	Package string // for messages: an import path
	Table   Table
}

// index is what a composed table knows beforehand.
type index struct {
	names  []string
	byName map[string]int
	// levels holds what is visible at each level: 0 for anonymous callers, 1 for known ones
	// without a role, then one for each role.
	levels []level
}

type level struct {
	free   Set   // visible whatever the scopes
	scoped []int // visible to those that hold the rule's scopes
}

// Compose joins tables into one: rules sorted by tool name, the reserved roles resolved,
// everything indexed. All that is wrong is reported together, each error naming the package
// and the cure.
//
// The parts must have equal hierarchies; a part without roles of its own fits any, and where
// no part has any the hierarchy is [DefaultRoles].
func Compose(parts ...Part) (Table, error) {
	var errs []error
	roles, from := []string(nil), ""
	for _, part := range parts {
		if part.Table.Roles == nil {
			continue
		}
		if roles == nil {
			roles, from = part.Table.Roles, part.Package
			errs = append(errs, checkRoles(part)...)
		} else if !slices.Equal(roles, part.Table.Roles) {
			errs = append(errs, fmt.Errorf(
				"packages %s and %s have different role hierarchies (%s; %s): write the same //mcp:roles in both, or leave it out of one whose rules name no role",
				from, part.Package, strings.Join(roles, " < "), strings.Join(part.Table.Roles, " < ")))
		}
	}
	if roles == nil {
		roles = DefaultRoles()
	}
	t := Table{Roles: slices.Clone(roles)}
	owner := map[string]string{}
	for _, part := range parts {
		for _, rule := range part.Table.Rules {
			if first, ok := owner[rule.Tool]; ok {
				errs = append(errs, fmt.Errorf(
					"tool %q is declared by package %s and by package %s: rename one with name= or give one package a prefix=",
					rule.Tool, first, part.Package))
				continue
			}
			owner[rule.Tool] = part.Package
			errs = append(errs, checkRule(part, rule, len(roles))...)
			rule.MinRole = t.resolve(rule.MinRole)
			rule.Scopes = slices.Clone(rule.Scopes)
			t.Rules = append(t.Rules, rule)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Table{}, err
	}
	slices.SortFunc(t.Rules, func(a, b Rule) int { return cmp.Compare(a.Tool, b.Tool) })
	t.index = newIndex(&t)
	return t, nil
}

func checkRoles(part Part) []error {
	var errs []error
	if len(part.Table.Roles) == 0 {
		errs = append(errs, fmt.Errorf("package %s declares an empty role hierarchy: name at least one role in //mcp:roles", part.Package))
	}
	seen := map[string]bool{}
	for _, role := range part.Table.Roles {
		if role == "" {
			errs = append(errs, fmt.Errorf("package %s declares a role without a name in //mcp:roles", part.Package))
		} else if seen[role] {
			errs = append(errs, fmt.Errorf("package %s declares role %s twice in //mcp:roles", part.Package, role))
		}
		seen[role] = true
	}
	return errs
}

func checkRule(part Part, rule Rule, roles int) []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("package %s: tool %q: "+format, append([]any{part.Package, rule.Tool}, args...)...))
	}
	if rule.Tool == "" {
		bad("a rule without a tool's name admits nobody: remove it or name its tool")
	}
	if rule.Public && (rule.Authenticated || rule.MinRole != 0 || len(rule.Scopes) > 0 || rule.Permission != "" || rule.Constrained) {
		bad("public stands alone, and this rule asks for more: remove public or the rest")
	}
	switch {
	case rule.MinRole > 0 && part.Table.Roles == nil:
		bad("asks for role number %d, and its package has no role hierarchy: run go generate", int(rule.MinRole))
	case rule.MinRole > Role(roles):
		bad("asks for role number %d of a hierarchy of %d: run go generate", int(rule.MinRole), roles)
	case rule.MinRole < Highest:
		bad("asks for role number %d, which no hierarchy has: run go generate", int(rule.MinRole))
	}
	if slices.Contains(rule.Scopes, "") {
		bad("asks for a scope without a name: remove it from scopes=")
	}
	if rule.Denial < DenialDefault || rule.Denial > Forbid {
		bad("has a denial that this version does not know: use conceal or forbid")
	}
	return errs
}

func newIndex(t *Table) *index {
	x := &index{byName: make(map[string]int, len(t.Rules)), names: make([]string, len(t.Rules))}
	for i := range t.Rules {
		x.names[i] = t.Rules[i].Tool
		x.byName[t.Rules[i].Tool] = i
	}
	for n := 0; n <= len(t.Roles)+1; n++ {
		var p Principal
		rank := Role(0)
		if n > 0 {
			p.Subject = "somebody"
			rank = Role(n - 1)
		}
		l := level{free: newSet(x.names)}
		for i := range t.Rules {
			rule := t.Rules[i]
			if scopes := rule.Scopes; len(scopes) > 0 {
				if rule.Scopes = nil; n > 0 && (!rule.enforced() || t.decide(&rule, &p, rank).Allowed) {
					l.scoped = append(l.scoped, i)
				}
				continue
			}
			if t.decide(&rule, &p, rank).Allowed {
				l.free.add(i)
			}
		}
		x.levels = append(x.levels, l)
	}
	return x
}
