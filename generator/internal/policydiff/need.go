package policydiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	grants "github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// The callers below every role.
const (
	anonymous = "anonymous"
	noRole    = "no role" // authenticated, without a role of the hierarchy
)

// unconstrained ends a permission that counts only if the host gives it without constraints.
const unconstrained = " without constraints"

// need is what a caller with certain roles needs for an item beside the roles: one of the terms,
// and of a term everything, as in "scope write". No term denies, and an empty term allows. No term
// contains another one.
type need [][]string

// exceeds reports whether n admits a caller that the other need refuses.
func (n need) exceeds(other need) bool {
	return slices.ContainsFunc(n, func(held []string) bool {
		return !slices.ContainsFunc(other, func(term []string) bool { return contains(held, term) })
	})
}

// and returns the terms that satisfy both.
func (n need) and(other need) need {
	var all need
	for _, a := range n {
		for _, b := range other {
			all = append(all, sorted(slices.Concat(a, b)))
		}
	}
	return all.least()
}

// least removes the terms that contain another one.
func (n need) least() need {
	var least need
	for i, term := range n {
		if !slices.ContainsFunc(n[:i], func(o []string) bool { return contains(term, o) }) &&
			!slices.ContainsFunc(n[i+1:], func(o []string) bool {
				return contains(term, o) && len(o) < len(term)
			}) {
			least = append(least, term)
		}
	}
	return least
}

// contains reports whether a list has each element of part, or one that requires more.
func contains(list, part []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool {
		return !slices.ContainsFunc(list, func(t string) bool { return t == s || withinBound(t, s) })
	})
}

// withinBound reports whether two elements are bounds of grants on one argument, of which outer
// holds all resources that inner does.
func withinBound(inner, outer string) bool {
	inner, isGrant := strings.CutPrefix(inner, "grant ")
	outer, areGrants := strings.CutPrefix(outer, "grant ")
	i, o := cutGrant(inner), cutGrant(outer)
	if !isGrant || !areGrants || i.kind != o.kind || i.argument != o.argument ||
		i.within == "" || o.within == "" {
		return false
	}
	less, err1 := grants.Parse(i.kind, i.within)
	more, err2 := grants.Parse(o.kind, o.within)
	return err1 == nil && err2 == nil && more.Covers(less)
}

// bound is a binding of //mcp:allow in a manifest.
type bound struct{ kind, argument, within string }

func cutGrant(text string) bound {
	kind, rest, _ := strings.Cut(text, "={")
	argument, within, _ := strings.Cut(rest, "}")
	return bound{kind, argument, strings.TrimPrefix(within, ":")}
}

func (b bound) String() string {
	text := b.kind + "={" + b.argument + "}"
	if b.within != "" {
		text += ":" + b.within
	}
	return text
}

// words describe a need.
func (n need) words() string {
	if len(n) == 0 {
		return "denied"
	}
	var terms []string
	for _, term := range n {
		if len(term) == 0 {
			return "allowed"
		}
		shown := slices.DeleteFunc(slices.Clone(term), func(part string) bool {
			return slices.Contains(term, part+unconstrained) || slices.ContainsFunc(term,
				func(other string) bool { return strings.HasPrefix(other, part+":") })
		})
		terms = append(terms, strings.Join(shown, " and "))
	}
	slices.Sort(terms)
	return "needs " + strings.Join(terms, ", or ")
}

// of returns what a caller needs by a rule. The caller has roles of any hierarchy, or is one of
// those below every role.
func (a Access) of(caller string, order roleorder.Order) need {
	switch {
	case a.Public:
		return need{{}}
	case caller == anonymous, !a.Authenticated && len(a.MinRole) == 0 && len(a.Scopes) == 0 &&
		!a.requiresPermission():
		return nil
	case len(a.MinRole) > 0 &&
		order.Held(rolesOf(caller))&order.Bits(order.Resolve(a.MinRole)) == 0:
		return nil
	}
	var term []string
	if a.requiresPermission() {
		term = append(term, "permission "+a.Permission)
		if !a.Constrained {
			term = append(term, "permission "+a.Permission+unconstrained)
		}
	}
	for _, text := range a.Allow {
		b := cutGrant(text)
		term = append(term, "grant "+bound{b.kind, b.argument, ""}.String())
		if b.within != "" {
			term = append(term, "grant "+b.String())
		}
	}
	var scopes need
	for _, alternative := range append([][]string{a.Scopes}, a.OrScopes...) {
		var parts []string
		for _, scope := range alternative {
			parts = append(parts, "scope "+scope)
		}
		scopes = append(scopes, sorted(parts))
	}
	return scopes.and(need{term})
}

func (a Access) requiresPermission() bool { return a.Permission != "" && a.Permission != "none" }

// needs returns what a caller needs for an item: the rule, and a value of each argument all of
// whose values have rules.
func (i *Item) needs(caller string, order roleorder.Order) need {
	all := i.Access.of(caller, order)
	for _, argument := range i.ruled() {
		if !i.closed(argument) {
			continue // a value without a rule needs no more than the tool
		}
		var one need
		for _, v := range i.Values {
			if v.Argument == argument {
				one = slices.Concat(one, v.Access.of(caller, order)).least()
			}
		}
		all = all.and(one)
	}
	return all
}

// ruled are the arguments that have values with rules.
func (i *Item) ruled() []string {
	var names []string
	for _, v := range i.Values {
		names = append(names, v.Argument)
	}
	return sorted(names)
}

// closed reports whether all values of an argument have rules.
func (i *Item) closed(argument string) bool {
	values := i.Input.values(argument)
	return len(values) > 0 && !slices.ContainsFunc(values, func(value string) bool {
		return i.value(argument, value) == nil
	})
}

func (i *Item) value(argument, value string) *Value {
	for at := range i.Values {
		if v := &i.Values[at]; v.Argument == argument && v.Value == value {
			return v
		}
	}
	return nil
}

// maxDepth bounds the parts of a schema within each other.
const maxDepth = 10

// values are the strings that an argument names as its values, and none for any other argument.
func (s schema) values(argument string) []string {
	values, _ := s.strings(s["/"+escape(argument)], maxDepth)
	return values
}

// strings returns the strings that a line names as values of an argument or of its items, and
// whether any other string is accepted too. Beyond a depth, it accepts any.
func (s schema) strings(line keywords, depth int) (values []string, open bool) {
	if depth == 0 {
		return nil, true
	}
	var ref string
	if json.Unmarshal(line["$ref"], &ref) == nil {
		line = s[strings.TrimPrefix(ref, "#/")]
	}
	var enum []any
	if value := line["const"]; value != nil {
		enum = []any{nil}
		_ = json.Unmarshal(value, &enum[0]) // a manifest is JSON
	}
	if line["enum"] != nil {
		_ = json.Unmarshal(line["enum"], &enum) // no list: no values
	}
	if line == nil || enum != nil {
		for _, value := range enum {
			if text, ok := value.(string); ok {
				values = append(values, text)
			}
		}
		return values, false
	}
	var parts []keywords
	for _, key := range []string{"anyOf", "oneOf"} {
		var some []keywords
		_ = json.Unmarshal(line[key], &some) // none, or a list
		parts = append(parts, some...)
	}
	if len(parts) == 0 {
		kinds := types(line["type"])
		open = slices.Contains(kinds, "string")
		if slices.Contains(kinds, "array") && line["type"] != nil {
			var items keywords
			if json.Unmarshal(line["items"], &items) != nil {
				items = keywords{}
			}
			parts = append(parts, items)
		}
	}
	for _, part := range parts {
		more, any := s.strings(part, depth-1)
		values, open = append(values, more...), open || any
	}
	return values, open
}

// escape writes a name as a token of a JSON Pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// open reports whether an argument accepts any string.
func (s schema) open(argument string) bool {
	line, known := s["/"+escape(argument)]
	_, open := s.strings(line, maxDepth)
	return known && open
}

// accepts reports whether an argument may have a value.
func (i *Item) accepts(argument, value string) bool {
	return i.value(argument, value) != nil || i.Input.open(argument) ||
		slices.Contains(i.Input.values(argument), value)
}

// follows returns the argument of the later item that has a value of this one: the same one, or a
// new one if that no longer exists.
func (i *Item) follows(b *Item, argument, value string) string {
	if _, exists := b.Input["/"+escape(argument)]; exists {
		return argument
	}
	for _, pointer := range slices.Sorted(maps.Keys(b.Input)) {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/"))
		if _, had := i.Input[pointer]; !had && "/"+escape(name) == pointer && b.accepts(name, value) {
			return name
		}
	}
	return argument
}
