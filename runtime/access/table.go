// Package access decides which caller may use which tool. It imports the standard library alone.
//
// mcpgen writes a [Table] of rules beside the handlers of a package. [Compose] joins the tables of
// several packages into the table of a server, which every list and every call reads.
// [Table.Decide] is the one decision function: it takes a [Principal] and a name, and returns a
// [Decision].
//
// All functions are pure functions of their arguments, and no Table changes after it was made. So
// everything here is safe for concurrent use.
package access

import (
	"slices"
	"sort"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Denial is the form of a refusal for the caller.
type Denial int

// The modes of denial.
const (
	// DenialDefault is the mode of the server (runtime.Options.Access.Denial).
	DenialDefault Denial = iota
	// Conceal does not list the tool, and a call gets the response of an unknown tool, byte for
	// byte.
	Conceal
	// Forbid does not list the tool, and a call gets an error with what the caller lacks.
	Forbid
	// Challenge lists the tool to callers who lack scopes and nothing else. Their calls get a
	// challenge with the scopes that are needed. For all others the tool is concealed.
	Challenge
)

// String returns the word that a directive uses, such as "conceal".
func (d Denial) String() string {
	switch d {
	case DenialDefault:
		return "default"
	case Conceal:
		return "conceal"
	case Forbid:
		return "forbid"
	case Challenge:
		return "challenge"
	}
	return "unknown"
}

// Kind is the kind of thing that a rule is about.
type Kind int

// The kinds.
const (
	Tools     Kind = iota // by name
	Prompts               // by name
	Resources             // by URI or URI template
	// Values are values of arguments of tools, as in "manage_team action=delete". No list has them:
	// the schema of a tool contains those that its caller may send.
	Values
	// Fields are fields of Go types, as in "example.com/directory.Person.Salary". No list has them:
	// the schemas and results of a tool contain those that its caller may see.
	Fields
)

// kinds are all kinds.
var kinds = [...]Kind{Tools, Prompts, Resources, Values, Fields}

// String returns the word for messages, in the singular, such as "tool".
func (k Kind) String() string {
	switch k {
	case Tools:
		return "tool"
	case Prompts:
		return "prompt"
	case Resources:
		return "resource"
	case Values:
		return "value"
	case Fields:
		return "field"
	}
	return "unknown"
}

// Rule is the access requirement of one tool, prompt or resource, of one value of an argument of a
// tool, or of one field of a Go type. All parts that are set must hold. A rule with no part set
// denies every caller.
//
// The first six fields name what the rule is about, and the others are the requirement.
type Rule struct {
	// Tool is the name of a tool. Exactly one of Tool, Prompt, Resource and Field is set.
	Tool string
	// Prompt is the name of a prompt.
	Prompt string
	// Resource is a URI, or a URI template as its author wrote it.
	Resource string

	// Argument is an argument of Tool. It is set in the rule of a value only.
	Argument string
	// Value is a value of Argument.
	Value string

	// Field is a field of a Go type, as in "example.com/directory.Person.Salary": import path, type
	// without type arguments, and Go name. Its rule holds in addition to the rule of the tool. It is
	// neither public nor constrained, and has no Denial and no Facts: the field of a caller without
	// the requirement does not exist.
	Field string

	// Public admits everybody, anonymous callers included. No other part may be set with it.
	Public bool
	// Authenticated admits every caller with an identity.
	Authenticated bool
	// MinRole are roles of which the caller needs one, or a role above one. Each is a name of
	// [Table].Roles, [Lowest] or [Highest]. Empty requires no role.
	MinRole []string
	// Scopes are the scopes that the caller needs, all of them. Empty requires none.
	Scopes []string
	// OrScopes are further alternatives: in place of Scopes, the caller may have all scopes of one of
	// them. Scopes is not empty then. A rule has at most 16 alternatives.
	OrScopes [][]string
	// Permission is a permission of the host. An aware table ([Table.Aware]) enforces it. Any other
	// table records it only.
	Permission Permission
	// Verb is the CRUD verb that Permission.Action is mapped from, as in "partial_update". It is
	// empty for any other action. A host's adapter may map verbs otherwise (capability.VerbMapper).
	Verb string
	// Constrained reports that the handler honours object constraints of the host. Without it, a
	// caller whose permission has constraints is denied.
	Constrained bool
	// Denial is how a refusal looks. Zero is the mode of the server.
	Denial Denial
	// Facts are those of "private", "untrusted" and "egress" that hold, separated by commas, or "none"
	// alone. Empty counts as all three. Decisions do not read them: [Table.Reach] does.
	Facts string
}

// Name returns what the rule is about: the tool, the prompt, the URI or URI template, the field, or
// a value with its tool and argument, as in "manage_team action=delete".
func (r Rule) Name() string {
	switch {
	case r.Argument != "":
		return r.Tool + " " + r.Argument + "=" + r.Value
	case r.Tool != "":
		return r.Tool
	case r.Prompt != "":
		return r.Prompt
	case r.Field != "":
		return r.Field
	}
	return r.Resource
}

// Kind returns the kind of what the rule is about: a value, a prompt, a resource or a field if one
// is set, and otherwise a tool.
func (r Rule) Kind() Kind {
	switch {
	case r.Argument != "":
		return Values
	case r.Prompt != "":
		return Prompts
	case r.Resource != "":
		return Resources
	case r.Field != "":
		return Fields
	}
	return Tools
}

// PermissionOnly reports whether the rule requires a permission of the host and nothing else. Only
// an aware table ([Table.Aware]) enforces such a rule; on any other table it admits nobody.
func (r Rule) PermissionOnly() bool {
	return r.Permission.Required() && !r.Public && !r.Authenticated &&
		len(r.MinRole) == 0 && !r.scoped()
}

// Alternatives returns Scopes and OrScopes: the lists of scopes of which the caller needs one whole
// list. They are nil for a rule without scopes. The inner slices are shared.
func (r Rule) Alternatives() [][]string {
	if !r.scoped() {
		return nil
	}
	return append([][]string{r.Scopes}, r.OrScopes...)
}

// Clone returns an equal rule that shares no slice with r. Nil slices stay nil.
func (r Rule) Clone() Rule {
	r.MinRole, r.Scopes = slices.Clone(r.MinRole), slices.Clone(r.Scopes)
	r.OrScopes = cloneLists(r.OrScopes)
	return r
}

func cloneLists(lists [][]string) [][]string {
	lists = slices.Clone(lists)
	for i := range lists {
		lists[i] = slices.Clone(lists[i])
	}
	return lists
}

// Same reports whether two rules have the same requirement, also for different tools.
func (r Rule) Same(other Rule) bool {
	return r.Public == other.Public && r.Authenticated == other.Authenticated &&
		r.Permission == other.Permission && r.Constrained == other.Constrained &&
		r.Denial == other.Denial &&
		sameNames(r.MinRole, other.MinRole) && r.sameScopes(&other)
}

// sameScopes reports whether two rules need the same scopes, in whatever order they are written.
func (r *Rule) sameScopes(other *Rule) bool {
	a, b := r.Alternatives(), other.Alternatives()
	return scopeorder.Implies(a, b) && scopeorder.Implies(b, a)
}

// sameNames reports whether two lists have the same names, in whatever order.
func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// of reports whether the rule names something of a kind, and of no other.
func (r *Rule) of(k Kind) bool {
	return (r.Tool != "") == (k == Tools || k == Values) && (r.Prompt != "") == (k == Prompts) &&
		(r.Resource != "") == (k == Resources) && (r.Argument != "") == (k == Values) &&
		(r.Field != "") == (k == Fields)
}

// restricted reports whether the rule selects callers by their identity, role or scopes.
func (r *Rule) restricted() bool {
	return r.Authenticated || len(r.MinRole) > 0 || r.scoped()
}

// scoped reports whether the rule has scopes.
func (r *Rule) scoped() bool { return len(r.Scopes) > 0 || len(r.OrScopes) > 0 }

// enforced reports whether the rule has a requirement that the table can check. On an aware table a
// rule that is not public and has neither a permission nor [NoPermission] admits nobody.
func (t *Table) enforced(r *Rule) bool {
	switch restricted := r.restricted(); {
	case r.Public:
		return true
	case t.aware && t.exempt(r):
		return restricted
	case t.aware:
		return r.Permission.Required()
	default:
		return restricted
	}
}

// exempt reports whether the rule needs no permission of the host on an aware table. The rule of a
// field does not need [NoPermission] for that: the rule of the tool has the permission.
func (t *Table) exempt(r *Rule) bool {
	return r.Permission == NoPermission() || t.kind == Fields && r.Permission == Permission{}
}

// Table has the rules of a package or a server. [Table.Decide] reads it for each list and call:
//
//	table := access.Table{
//		Roles: access.DefaultRoles(),                      // Viewer, Member, Manager, Admin
//		Rules: []access.Rule{{Tool: "find", MinRole: []string{"Member"}}},
//	}
//	table.Decide(access.Principal{Subject: "mel", Roles: []string{"Admin"}}, "find").Allowed // true
//
// The methods are about the tools of the table. [Table.Of] returns a table about prompts, resources
// values or fields, with the same methods.
//
// A name without a rule is denied, and so is a name with two rules. The zero Table denies
// everything. A literal can be used as it is. [Compose] returns the same table checked and indexed,
// which makes decisions faster. Do not change a table that is in use.
type Table struct {
	// Roles is the hierarchy: chains of names, each lowest first, which are a partial order together.
	// The first is the main chain. It has at most 64 roles. Nil fits any hierarchy.
	Roles [][]string
	// Scopes are the lines of //mcp:scopes: a scope, and then the scopes that a token with it has too.
	// Decisions do not read them: [Rule].OrScopes has all alternatives. [Compose] compares them.
	Scopes [][]string
	// Rules are the rules of tools.
	Rules []Rule
	// Prompts are the rules of prompts.
	Prompts []Rule
	// Resources are the rules of resources.
	Resources []Rule
	// Values are the rules of values of arguments, in addition to the rule of their tool. If an
	// argument has one, its other values are denied to every caller.
	Values []Rule
	// Fields are the rules of fields, in addition to the rule of the tool. A field without one is
	// hidden from every caller.
	Fields []Rule

	roles *roleorder.Order // of Roles; nil in a table that was not composed
	tools []Rule           // of a table about values
	named *index           // of tools; nil in a table that was not composed
	kind  Kind             // of Rules
	aware bool             // permissions are enforced
	index *index
	parts *[4]index // of the other kinds; nil in a table that was not composed
}

// NewTable returns a table of rules of any kind, in their order. [Compose] checks it.
func NewTable(rules ...Rule) Table {
	var t Table
	for _, rule := range rules {
		switch rule.Kind() {
		case Tools:
			t.Rules = append(t.Rules, rule)
		case Prompts:
			t.Prompts = append(t.Prompts, rule)
		case Resources:
			t.Resources = append(t.Resources, rule)
		case Values:
			t.Values = append(t.Values, rule)
		case Fields:
			t.Fields = append(t.Fields, rule)
		}
	}
	return t
}

// Clone returns a table with the same decisions that shares no slice with t, so that a change of
// its rules or roles does not change t. Nil slices stay nil. [Permits] of t do not fit the clone.
func (t Table) Clone() Table {
	t.Roles, t.Scopes = cloneLists(t.Roles), cloneLists(t.Scopes)
	for _, rules := range []*[]Rule{&t.Rules, &t.Prompts, &t.Resources, &t.Values,
		&t.Fields} {
		*rules = slices.Clone(*rules)
		for i := range *rules {
			(*rules)[i] = (*rules)[i].Clone()
		}
	}
	return t
}

// Of returns the part of the table about one kind: a table whose methods are about the prompts, the
// resources, the values or the fields. [Table.Decide] of Of(Prompts) takes the name of a prompt.
// That of Of(Resources) takes a URI or URI template exactly as in its rule, and not a URI that
// matches a template. That of Of(Values) or Of(Fields) takes the [Rule.Name] of the rule.
func (t Table) Of(k Kind) Table {
	switch k {
	case Tools:
		return Table{Roles: t.Roles, Rules: t.Rules, Values: t.Values,
			roles: t.roles, kind: t.kind, aware: t.aware, index: t.index}
	case Prompts:
		return t.part(t.Prompts, k)
	case Resources:
		return t.part(t.Resources, k)
	case Values:
		return t.part(t.Values, k)
	case Fields:
		return t.part(t.Fields, k)
	}
	return Table{Roles: t.Roles, roles: t.roles, aware: t.aware}
}

func (t *Table) part(rules []Rule, k Kind) Table {
	part := Table{Roles: t.Roles, Rules: rules, roles: t.roles, kind: k, aware: t.aware}
	if k == Values {
		part.tools, part.named = t.Rules, t.index
	}
	if t.parts != nil {
		part.index = &t.parts[k-Prompts]
	}
	return part
}

// Tools returns the sorted names of all tools with a rule. The slice is new.
func (t Table) Tools() []string {
	names := make([]string, len(t.Rules))
	for i := range t.Rules {
		names[i] = t.Rules[i].Name()
	}
	sort.Strings(names)
	return names
}

// Tool returns the rule of a tool. Names match exactly, case included.
func (t Table) Tool(name string) (Rule, bool) {
	e, known := t.lookup(name)
	if !known {
		return Rule{}, false
	}
	return t.Rules[e.at], true
}
