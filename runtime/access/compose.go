package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Part is one package's table on its way into a server's.
type Part struct {
	Package string // for messages: an import path
	Table   Table
}

// index is precomputed for a composed table. A method that reads many rules of another table makes
// one, without levels.
type index struct {
	names  []string
	byName map[string]entry // of the names that have one rule
	// levels holds the visible tools of each level, before permissions: 0 for anonymous callers, 1
	// for known ones without a role, then one for each role. A caller of several roles has the union
	// of their levels.
	levels []level
	values []entry // of the values, by position; of tools alone
}

type level struct {
	free   Set // visible whatever the scopes
	scoped Set // visible to some: those that hold the rule's scopes, or may send a value; often zero
}

// Compose joins tables into one: rules sorted by name, the reserved roles resolved, everything
// indexed. It reports all errors together, each with the package and the cure. Parts may have equal
// rules of one field, of which the table has one.
//
// The parts must have equal roles, orders and main chains, in whatever lines; a part without roles
// of its own fits any, and where no part has any the hierarchy is [DefaultRoles]. Two parts with
// different lines about one scope do not compose.
func Compose(parts ...Part) (Table, error) {
	var errs []error
	t, from := Table{roles: &defaultOrder}, ""
	for _, part := range parts {
		if part.Table.Roles == nil {
			continue
		}
		order, roleErrs := orderOf(part)
		errs = append(errs, roleErrs...)
		if t.Roles == nil {
			t.roles, from = order, part.Package
			t.Roles = Table{Roles: part.Table.Roles}.Clone().Roles
		} else if len(roleErrs) == 0 && !order.Equal(t.roles) {
			errs = append(errs, fmt.Errorf(
				"packages %s and %s have different role hierarchies (%s and %s): write the same "+
					"//mcp:roles in both, or remove it from a package whose rules have no role",
				from, part.Package, roleorder.Text(t.Roles), roleorder.Text(part.Table.Roles)))
		}
	}
	if t.Roles == nil {
		t.Roles = DefaultRoles()
	}
	errs = append(errs, t.composeScopes(parts)...)
	for _, k := range kinds {
		rules, ruleErrs := t.compose(k, parts)
		errs = append(errs, ruleErrs...)
		switch k {
		case Tools:
			t.Rules = rules
		case Prompts:
			t.Prompts = rules
		case Resources:
			t.Resources = rules
		case Values:
			t.Values = rules
			errs = append(errs, t.checkValues()...)
		case Fields:
			t.Fields = rules
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Table{}, err
	}
	t.compile()
	return t, nil
}

// composeScopes joins the lines of scopes, one about each, and reports parts whose lines differ.
func (t *Table) composeScopes(parts []Part) (errs []error) {
	orders := make([]scopeorder.Order, len(parts))
	for i, part := range parts {
		order, problems := scopeorder.New(part.Table.Scopes)
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("package %s: //mcp:scopes: %s: %s",
				part.Package, p.Text, p.Cure))
		}
		orders[i] = order
		for j := range i {
			if scope, differ := scopeorder.Differ(orders[j], order); differ {
				errs = append(errs, fmt.Errorf("packages %s and %s have different lines about the "+
					"scope %s (%s and %s): write the same //mcp:scopes in both",
					parts[j].Package, part.Package, scope, scopeorder.Text(parts[j].Table.Scopes),
					scopeorder.Text(part.Table.Scopes)))
			}
		}
		for _, line := range part.Table.Scopes {
			if len(line) > 0 && !slices.ContainsFunc(t.Scopes, func(o []string) bool {
				return o[0] == line[0]
			}) {
				t.Scopes = append(t.Scopes, slices.Clone(line))
			}
		}
	}
	return errs
}

// compile makes the index of each kind.
func (t *Table) compile() {
	t.index, t.parts = nil, nil
	t.index = newIndex(t)
	values, parts := t.Of(Values), [4]index{}
	for i := range parts {
		part := t.Of(Prompts + Kind(i))
		parts[i] = *newIndex(&part)
	}
	t.parts = &parts
	for i := range values.Rules {
		t.index.values = append(t.index.values, values.entry(i))
	}
}

// compose joins the rules of one kind, sorted by name, and reports their errors. Packages may
// repeat the rule of a field.
func (t *Table) compose(k Kind, parts []Part) (rules []Rule, errs []error) {
	type declared struct {
		by string
		Rule
	}
	known := map[string]declared{}
	for _, part := range parts {
		for _, rule := range part.Table.Of(k).Rules {
			name := rule.Name()
			own := rule.Clone()
			own.MinRole = slices.Clone(t.resolve(rule.MinRole))
			first, twice := known[name]
			switch {
			case !twice:
				errs = append(errs, checkRule(k, part, rule, t.roles)...)
				rules, known[name] = append(rules, own), declared{part.Package, own}
			case k != Fields:
				errs = append(errs, fmt.Errorf(
					"%s %q is declared by package %s and by package %s: %s",
					k, name, first.by, part.Package, apart[k]))
			case !first.Same(own) || first.Verb != own.Verb || first.Facts != own.Facts:
				errs = append(errs, fmt.Errorf("%s %q has one rule in package %s and another in package "+
					"%s: write the same //mcp:field in both", k, name, first.by, part.Package))
			}
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Name(), b.Name()) })
	return rules, errs
}

// apart distinguishes two things with the same name.
var apart = map[Kind]string{
	Tools:     "rename one with name= or give one package a prefix=",
	Prompts:   "rename one with name= or give one package a prefix=",
	Resources: "give one another uri=",
	Values:    "run go generate",
}

// orderOf returns the order of a part's roles, and its errors.
func orderOf(part Part) (*roleorder.Order, []error) {
	order, problems := roleorder.New(part.Table.Roles)
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("package %s: //mcp:roles: %s: %s", part.Package, p.Text, p.Cure))
	}
	if len(part.Table.Roles) == 0 {
		errs = append(errs, fmt.Errorf("package %s declares an empty role hierarchy: "+
			"name at least one role in //mcp:roles", part.Package))
	}
	return &order, errs
}

func checkRule(k Kind, part Part, rule Rule, order *roleorder.Order) []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("package %s: %s %q: "+format,
			append([]any{part.Package, k, rule.Name()}, args...)...))
	}
	switch {
	case rule.Name() == "":
		bad("a rule without the name of its %s admits no caller: remove it, or add the name of its %s",
			k, k)
	case !rule.of(k):
		bad("a rule of another kind among those of %ss: run go generate", k)
	}
	if k == Fields && (rule.Public || rule.Constrained || rule.Denial != DenialDefault ||
		rule.Facts != "") {
		bad("has public, constrained, a denial or facts, which the rule of a field cannot have: " +
			"run go generate")
	}
	if rule.Public && (rule.restricted() || rule.Permission != Permission{} || rule.Constrained) {
		bad("public excludes other requirements, and this rule has some: remove public or the rest")
	}
	for _, role := range rule.MinRole {
		switch {
		case role == Lowest, role == Highest:
		case part.Table.Roles == nil:
			bad("has the role %q, but its package has no role hierarchy: run go generate", role)
		case order.Bit(role) == 0:
			bad("has the role %q, which its hierarchy does not have: run go generate", role)
		}
	}
	if slices.Contains(slices.Concat(rule.Alternatives()...), "") {
		bad("has a scope without a name: remove it from scopes=")
	}
	switch empty := func(scopes []string) bool { return len(scopes) == 0 }; {
	case slices.ContainsFunc(rule.Alternatives(), empty):
		bad("has an alternative without scopes: run go generate")
	case len(rule.Alternatives()) > scopeorder.Most:
		bad("has %d alternatives of scopes, and at most %d are possible: shorten anyscope= or "+
			"//mcp:scopes", len(rule.Alternatives()), scopeorder.Most)
	}
	if rule.Permission.Required() && !rule.Permission.complete() {
		bad("has the permission %q without an app or an action: run go generate",
			rule.Permission)
	}
	if rule.Verb != "" && !rule.Permission.Required() {
		bad("has the verb %q without a permission: run go generate", rule.Verb)
	}
	if !validFacts(rule.Facts) {
		bad("has the facts %q: write some of private,untrusted,egress with commas, or none", rule.Facts)
	}
	switch {
	case rule.Denial < DenialDefault || rule.Denial > Challenge:
		bad("has an unknown denial mode: use conceal, forbid or challenge")
	case rule.Denial == Challenge && !rule.scoped():
		bad("has denial=challenge without scopes: write scopes=, or another denial")
	}
	return errs
}

// indexed returns the index of a table that was composed, and otherwise one without levels.
func (t *Table) indexed() *index {
	if t.index != nil {
		return t.index
	}
	x := &index{byName: make(map[string]entry, len(t.Rules)), names: make([]string, len(t.Rules))}
	ranges, twice := t.ranges(), []string(nil)
	for i := range t.Rules {
		name := t.Rules[i].Name()
		x.names[i] = name
		e := t.entry(i)
		e.from, e.to = ranges[name][0], ranges[name][1]
		if _, has := x.byName[name]; has {
			twice = append(twice, name)
		}
		x.byName[name] = e
	}
	for _, name := range twice {
		delete(x.byName, name)
	}
	return x
}

// find returns the position of a tool's rule, or -1.
func (x *index) find(name string) int {
	if e, known := x.byName[name]; known {
		return int(e.at)
	}
	return -1
}

func newIndex(t *Table) *index {
	x := t.indexed()
	order := t.order()
	for n := range len(order.Names()) + 2 {
		var p Principal
		var held uint64
		if n > 0 {
			p.Subject = "somebody"
		}
		if n > 1 {
			held = order.BelowAt(n - 2)
		}
		l := level{free: newSet(x)}
		for i := range t.Rules {
			e := x.byName[x.names[i]]
			if e.is&enforced == 0 {
				continue
			}
			hasScopes := e.is&scoped != 0
			e.is &^= scoped
			var d Decision
			switch t.decideSelf(e, &p, held, &d); {
			case !d.Allowed:
			case hasScopes, e.from < e.to:
				if l.scoped.of == nil {
					l.scoped = newSet(x)
				}
				l.scoped.add(i)
			default:
				l.free.add(i)
			}
		}
		x.levels = append(x.levels, l)
	}
	return x
}
