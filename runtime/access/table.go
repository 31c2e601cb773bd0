// Package access decides who may use which tool. It is compiled data and integer operations,
// and imports the standard library alone.
//
// A [Table] is written by mcpgen beside the handlers it speaks of. [Compose] joins the tables
// of several packages into the one that a server reads for every list and every call.
// Everything here is a pure function of its arguments; a Table is never changed after it was
// made, so all of it may be used from many goroutines at once.
package access

import (
	"slices"
	"sort"
)

// Denial is how a refusal looks to the caller.
type Denial int

const (
	DenialDefault Denial = iota // what the server says
	Conceal                     // byte for byte what an unknown tool gets
	Forbid                      // not listed, but a call is told what is missing
	// Challenge lists a tool to callers who lack nothing but scopes, and tells their calls which
	// ones would do; from all others it is concealed.
	Challenge
)

// String is the word that a directive uses.
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

// Kind is what a rule is about.
type Kind int

const (
	Tools     Kind = iota
	Prompts        // by name
	Resources      // by URI or URI template
	// Values are of arguments of tools, as in "manage_team action=delete". A server lists none by
	// themselves: the schema of a tool contains those that its caller may send.
	Values
)

// String is the kind's word for messages, in the singular.
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
	}
	return "unknown"
}

// Rule is what a caller must have to use one tool, prompt or resource, or to send one value of an
// argument of a tool. All that is set must hold; a rule with nothing set denies everybody.
type Rule struct {
	// One of these is set, as the list of the rule requires. The rule of a value has its tool.
	Tool     string
	Prompt   string
	Resource string // the URI, or the URI template as it is written

	Argument string // of the tool; set in the rule of a value, and empty in all others
	Value    string // of the argument

	Public        bool // everybody, anonymous callers included; stands alone
	Authenticated bool
	MinRole       Role
	Scopes        []string   // all of them
	Permission    Permission // of the host; enforced by an aware table, and recorded by any other
	// Verb is the CRUD verb that Permission.Action is mapped from, as in "partial_update". It is
	// empty for any other action. A host's adapter may map verbs otherwise (capability.VerbMapper).
	Verb        string
	Constrained bool // the handler honours object constraints
	Denial      Denial
}

// Name is what the rule is about: the tool, the prompt, the URI or URI template, or a value with
// its tool and argument, as in "manage_team action=delete".
func (r Rule) Name() string {
	switch {
	case r.Argument != "":
		return r.Tool + " " + r.Argument + "=" + r.Value
	case r.Tool != "":
		return r.Tool
	case r.Prompt != "":
		return r.Prompt
	}
	return r.Resource
}

// Kind returns the kind of what the rule is about: a value, a prompt or a resource if one is set,
// and otherwise a tool.
func (r Rule) Kind() Kind {
	switch {
	case r.Argument != "":
		return Values
	case r.Prompt != "":
		return Prompts
	case r.Resource != "":
		return Resources
	}
	return Tools
}

// PermissionOnly reports whether the rule requires a permission of the host and nothing else. Only
// an aware table ([Table.Aware]) enforces such a rule; on any other table it admits nobody.
func (r Rule) PermissionOnly() bool {
	return r.Permission.Asked() && !r.Public && !r.Authenticated && r.MinRole == 0 &&
		len(r.Scopes) == 0
}

// Same reports whether two rules ask for the same, whatever they are about.
func (r Rule) Same(other Rule) bool {
	return r.Public == other.Public && r.Authenticated == other.Authenticated &&
		r.MinRole == other.MinRole &&
		r.Permission == other.Permission && r.Constrained == other.Constrained &&
		r.Denial == other.Denial &&
		slices.Equal(slices.Sorted(slices.Values(r.Scopes)),
			slices.Sorted(slices.Values(other.Scopes)))
}

// of reports whether the rule names something of a kind, and of no other.
func (r *Rule) of(k Kind) bool {
	return (r.Tool != "") == (k == Tools || k == Values) && (r.Prompt != "") == (k == Prompts) &&
		(r.Resource != "") == (k == Resources) && (r.Argument != "") == (k == Values)
}

// enforced reports whether the rule says anything that the table can check. On an aware table a
// rule that is not public and does not say what it asks the host for admits nobody.
func (t *Table) enforced(r *Rule) bool {
	switch asks := r.Authenticated || r.MinRole != 0 || len(r.Scopes) > 0; {
	case r.Public:
		return true
	case t.aware && r.Permission == NoPermission():
		return asks
	case t.aware:
		return r.Permission.Asked()
	default:
		return asks
	}
}

// Table is the compiled authority of a package or a server: roles lowest first, rules by the
// names of tools, prompts and resources. Its methods speak of tools; those of [Table.Of] speak
// of another kind, by the same decision function.
//
// A literal is complete as it stands, and so is its zero value, which denies everything.
// [Compose] returns the same table checked and indexed.
type Table struct {
	Roles []string // nil fits any hierarchy
	Rules []Rule   // of tools

	Prompts   []Rule
	Resources []Rule

	// Values are the rules of all values of those arguments of tools whose values have rules of
	// their own. Each needs at least what its tool needs: it narrows the tool's rule. A value of
	// such an argument that is not among them is nobody's.
	Values []Rule

	kind  Kind // of Rules
	aware bool // permissions are enforced
	index *index
	parts *[3]index // of the other kinds; nil in a table that was not composed
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
		}
	}
	return t
}

// Clone returns a table that decides the same and shares no slice with t, so that a change of its
// rules or roles does not change t. It keeps the difference between nil and empty. [Permits] of t
// do not fit the clone.
func (t Table) Clone() Table {
	t.Roles = slices.Clone(t.Roles)
	for _, rules := range []*[]Rule{&t.Rules, &t.Prompts, &t.Resources, &t.Values} {
		*rules = slices.Clone(*rules)
		for i := range *rules {
			(*rules)[i].Scopes = slices.Clone((*rules)[i].Scopes)
		}
	}
	return t
}

// Of returns the part of the table that speaks of one kind: a table whose "tools" are the
// prompts, the resources or the values. [Table.Decide] of Of(Prompts) takes the name of a prompt,
// that of Of(Resources) a URI or a URI template as its rule has it, not one that matches it, and
// that of Of(Values) the [Rule.Name] of a value's rule.
func (t Table) Of(k Kind) Table {
	switch k {
	case Tools:
		return Table{Roles: t.Roles, Rules: t.Rules, Values: t.Values,
			kind: t.kind, aware: t.aware, index: t.index}
	case Prompts:
		return t.part(t.Prompts, k)
	case Resources:
		return t.part(t.Resources, k)
	case Values:
		return t.part(t.Values, k)
	}
	return Table{Roles: t.Roles, aware: t.aware}
}

func (t *Table) part(rules []Rule, k Kind) Table {
	part := Table{Roles: t.Roles, Rules: rules, kind: k, aware: t.aware}
	if t.parts != nil {
		part.index = &t.parts[k-Prompts]
	}
	return part
}

// Tools returns the names of all tools that the table has a rule for, sorted. The slice is
// the caller's own.
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
	i := t.find(name)
	if i < 0 {
		return Rule{}, false
	}
	return t.Rules[i], true
}

// find returns the position of a tool's rule, or -1. In a table that was not composed a name
// that stands twice is nobody's: which of the two rules was meant cannot be known.
func (t *Table) find(name string) int {
	if t.index != nil {
		if e, ok := t.index.byName[name]; ok {
			return int(e.at)
		}
		return -1
	}
	found := -1
	for i := range t.Rules {
		if t.Rules[i].Name() != name {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}
