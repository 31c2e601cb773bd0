// Package scopeorder has the scopes that include others, and the alternatives of a rule. Both sides
// read it: the generator compiles the alternatives, and the runtime compares the lines of packages.
//
// An Order is built from lines as //mcp:scopes has them: a scope, and then the scopes that a token
// with it has too. An alternative is a list of scopes, all of which are needed.
package scopeorder

import (
	"fmt"
	"slices"
	"strings"
)

// Most is the greatest number of alternatives of a rule.
const Most = 16

// most bounds the alternatives while they are computed. A further scope may leave fewer.
const most = 4 * Most

// Order is the relation of scopes. In the zero Order no scope includes another. It is immutable.
type Order struct {
	names []string            // in the order of the lines
	below map[string][]string // all scopes that a scope includes, by scope
	lines [][]string
}

// Problem is an error of the lines. Line and At are the place of a scope, or of the whole line
// where At is -1.
type Problem struct {
	Line, At   int
	Text, Cure string
}

// New returns the order of the lines, with all their problems. An order with problems is the zero
// Order.
func New(lines [][]string) (Order, []Problem) {
	o := Order{lines: lines}
	var problems []Problem
	bad := func(line, at int, cure, format string, args ...any) {
		problems = append(problems, Problem{line, at, fmt.Sprintf(format, args...), cure})
	}
	for n, line := range lines {
		if len(line) < 2 {
			bad(n, -1, "write the scopes that it includes, for example repo > public_repo",
				"a line includes no scope")
		}
		for at, name := range line {
			switch {
			case name == "":
				bad(n, at, "write a name, or remove it", "a scope has no name")
			case at > 0 && name == line[0]:
				bad(n, at, "remove it from the list", "the scope %s includes itself", name)
			case slices.Contains(line[:at], name):
				bad(n, at, "write each scope once", "the scope %s stands twice in the line", name)
			case at == 0 && slices.ContainsFunc(lines[:n], func(other []string) bool {
				return len(other) > 0 && other[0] == name
			}):
				bad(n, at, "write all that it includes in one line",
					"the scope %s has two lines", name)
			case !slices.Contains(o.names, name):
				o.names = append(o.names, name)
			}
		}
	}
	if len(problems) > 0 {
		return Order{}, problems
	}
	o.below = closure(lines)
	for n, line := range lines {
		for at, name := range line[1:] {
			if o.Includes(name, line[0]) {
				bad(n, at+1, "remove one of the two",
					"%s includes %s here, and is included by other lines: the order has a cycle",
					line[0], name)
				return Order{}, problems
			}
		}
	}
	return o, nil
}

// closure returns all scopes that the lines give to a token with a scope.
func closure(lines [][]string) map[string][]string {
	below := map[string][]string{}
	for changed := true; changed; {
		changed = false
		for _, line := range lines {
			all := below[line[0]]
			for _, name := range line[1:] {
				all = append(append(all, name), below[name]...)
			}
			slices.Sort(all)
			all = slices.Compact(all)
			changed = changed || len(all) > len(below[line[0]])
			below[line[0]] = all
		}
	}
	return below
}

// Includes reports whether a token with a scope has another one too, which is not the same scope.
func (o Order) Includes(scope, other string) bool {
	return slices.Contains(o.below[scope], other)
}

// Below returns all scopes that a token with a scope has too, sorted. The slice is shared.
func (o Order) Below(scope string) []string { return o.below[scope] }

// Names returns all scopes of the lines, in their order. The slice is shared.
func (o Order) Names() []string { return o.names }

// above returns scopes, and then those that include one of them, in the order of the lines.
func (o Order) above(scopes []string) []string {
	all := slices.Clone(scopes)
	for _, name := range o.names {
		if !slices.Contains(all, name) && slices.ContainsFunc(scopes, func(scope string) bool {
			return o.Includes(name, scope)
		}) {
			all = append(all, name)
		}
	}
	return all
}

// Alternatives compiles a rule that needs all scopes of one list, and one scope of another list
// unless that is empty. The alternatives are the minimal sets of scopes that satisfy it, as written
// first. There are none for two empty lists. It reports false for more alternatives than Most.
func (o Order) Alternatives(all, one []string) ([][]string, bool) {
	var alternatives [][]string
	for _, scope := range all {
		alternatives = Both(alternatives, singles(o.above([]string{scope})))
		if len(alternatives) > most {
			return nil, false
		}
	}
	if len(one) > 0 {
		alternatives = Both(alternatives, singles(o.above(one)))
	}
	if len(alternatives) > Most {
		return nil, false
	}
	return alternatives, true
}

func singles(scopes []string) (alternatives [][]string) {
	for _, scope := range scopes {
		alternatives = append(alternatives, []string{scope})
	}
	return alternatives
}

// Both returns the minimal alternatives that satisfy two rules, with sorted scopes. A rule without
// alternatives needs nothing.
func Both(some, others [][]string) [][]string {
	switch {
	case len(some) == 0:
		some = [][]string{nil}
	case len(others) == 0:
		others = [][]string{nil}
	}
	var all [][]string
	for _, a := range some {
		for _, b := range others {
			scopes := slices.Concat(a, b)
			slices.Sort(scopes)
			all = append(all, slices.Compact(scopes))
		}
	}
	var minimal [][]string
	for i, a := range all {
		within := func(b []string) bool { return contains(a, b) }
		if len(a) > 0 && !slices.ContainsFunc(all[:i], within) &&
			!slices.ContainsFunc(all[i+1:], func(b []string) bool {
				return len(b) < len(a) && within(b)
			}) {
			minimal = append(minimal, a)
		}
	}
	return minimal
}

// Implies reports whether each alternative of a rule has all scopes of one of another rule. A rule
// without alternatives needs nothing.
func Implies(some, others [][]string) bool {
	if len(others) == 0 {
		return true
	}
	return len(some) > 0 && !slices.ContainsFunc(some, func(a []string) bool {
		return !slices.ContainsFunc(others, func(b []string) bool { return contains(a, b) })
	})
}

// contains reports whether a list has all scopes of another one.
func contains(list, part []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(list, s) })
}

// Differ returns a scope that includes other scopes by the lines of both orders than by the lines
// of the order that has a line about it. It reports false if there is none.
func Differ(a, b Order) (scope string, differ bool) {
	joined := closure(slices.Concat(a.lines, b.lines))
	for _, o := range []Order{a, b} {
		for _, line := range o.lines {
			if !slices.Equal(joined[line[0]], o.below[line[0]]) {
				return line[0], true
			}
		}
	}
	return "", false
}

// Text returns lines in one line, as in "repo > public_repo, repo:status; admin > repo".
func Text(lines [][]string) string {
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line[0] + " > " + strings.Join(line[1:], ", ")
	}
	return strings.Join(texts, "; ")
}

// Words describes alternatives: each scope of a single one, and otherwise all in one text, as in
// "(scopes a and b, or scope c)". quote writes the name of a scope.
func Words(alternatives [][]string, quote func(scope string) string) (list []string) {
	if len(alternatives) == 1 {
		for _, scope := range alternatives[0] {
			list = append(list, "scope "+quote(scope))
		}
		return list
	}
	either := Either(alternatives, func(scopes []string) string {
		quoted := make([]string, len(scopes))
		for i, scope := range scopes {
			quoted[i] = quote(scope)
		}
		word := "scope "
		if len(scopes) > 1 {
			word = "scopes "
		}
		return word + strings.Join(quoted, " and ")
	})
	if either == "" {
		return nil
	}
	return []string{"(" + either + ")"}
}

// Either joins the words of alternatives, as in "a and b, or c".
func Either(alternatives [][]string, words func(scopes []string) string) string {
	separator, texts := " or ", make([]string, len(alternatives))
	for i, scopes := range alternatives {
		if texts[i] = words(scopes); len(scopes) > 1 {
			separator = ", or "
		}
	}
	return strings.Join(texts, separator)
}
