// Package access decides who may use which tool. It is compiled data and integer operations,
// and imports the standard library alone.
//
// A [Table] is written by mcpgen beside the handlers it speaks of. [Compose] joins the tables
// of several packages into the one that a server reads for every list and every call.
// Everything here is a pure function of its arguments; a Table is never changed after it was
// made, so all of it may be used from many goroutines at once.
package access

import "sort"

// Denial is how a refusal looks to the caller.
type Denial int

const (
	DenialDefault Denial = iota // what the server says
	Conceal                     // byte for byte what an unknown tool gets
	Forbid                      // not listed, but a call is told what is missing
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
	}
	return "unknown"
}

// Rule is what a caller must have to use one tool. All that is set must hold; a rule with
// nothing set denies everybody.
type Rule struct {
	Tool          string
	Public        bool // everybody, anonymous callers included; stands alone
	Authenticated bool
	MinRole       Role
	Scopes        []string // all of them
	Permission    string   // <app>.<action>_<object>, enforced with permission-aware discovery
	Constrained   bool     // the handler honours object constraints
	Denial        Denial
}

// enforced reports whether the rule says anything that this table can check by itself.
func (r *Rule) enforced() bool {
	return r.Public || r.Authenticated || r.MinRole != 0 || len(r.Scopes) > 0
}

// Table is the compiled authority of a package or a server: roles lowest first, rules by tool name.
//
// A literal is complete as it stands, and so is its zero value, which denies everything.
// [Compose] returns the same table checked and indexed.
type Table struct {
	Roles []string // nil fits any hierarchy
	Rules []Rule

	index *index
}

// Tools returns the names of all tools that the table has a rule for, sorted. The slice is
// the caller's own.
func (t Table) Tools() []string {
	names := make([]string, len(t.Rules))
	for i := range t.Rules {
		names[i] = t.Rules[i].Tool
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
		if i, ok := t.index.byName[name]; ok {
			return i
		}
		return -1
	}
	found := -1
	for i := range t.Rules {
		if t.Rules[i].Tool != name {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}
