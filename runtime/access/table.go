// Package access decides who may use which tool. It is compiled data and integer operations,
// and imports the standard library alone.
package access

// Role is a position in a hierarchy, lowest first, from 1. Zero is nobody: an empty rule denies.
type Role int

// The reserved roles of toolsets that fit anybody's hierarchy.
const (
	Lowest  Role = -1 // the lowest role of the server's hierarchy
	Highest Role = -2 // the highest
)

// Denial is how a refusal looks to the caller.
type Denial int

const (
	DenialDefault Denial = iota // what the server says
	Conceal                     // byte for byte what an unknown tool gets
	Forbid                      // not listed, but a call is told what is missing
)

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

// Table is the compiled authority of a package or a server: roles lowest first, rules by tool name.
type Table struct {
	Roles []string // nil fits any hierarchy
	Rules []Rule
}
