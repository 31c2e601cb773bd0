package policydiff

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// values compares the values of each argument that has rules in either set. A value without a rule
// needs what its tool needs.
func (c *comparison) values(a, b *Item, before, after roleorder.Order, tool []found) {
	type slot struct{ earlier, later, value string }
	seen := map[slot]bool{}
	lost := false
	for _, argument := range sorted(slices.Concat(a.ruled(), b.ruled())) {
		for _, value := range sorted(slices.Concat(a.listed(argument), b.listed(argument))) {
			name := b.id() + " " + argument + "=" + value
			later, earlier := a.follows(b, argument, value), b.follows(a, argument, value)
			at := slot{earlier, later, value}
			if seen[at] {
				continue
			}
			seen[at] = true
			old := a.withGrants(b).valueSide(earlier, value, before)
			now := b.valueSide(later, value, after)
			switch was, is := a.accepts(earlier, value), b.accepts(later, value); {
			case was && is:
				c.access(b, "value", name, old, now, tool, "")
			case is:
				c.value(Added, b, name, now)
				c.fresh = append(c.fresh, key{item: b, subject: "value", name: name,
					side: now, like: a.valueKeys(b, earlier, before)})
			case was:
				c.value(Removed, b, name, old)
				c.gone = append(c.gone, key{item: a, name: name, side: old})
				lost = true
			}
		}
	}
	if lost {
		c.newArguments(a, b, after)
	}
}

// newArguments collects the arguments of a tool that lost values with rules: another argument may
// do what a value did.
func (c *comparison) newArguments(a, b *Item, after roleorder.Order) {
	for _, pointer := range slices.Sorted(maps.Keys(b.Input)) {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/"))
		if _, had := a.Input[pointer]; had || pointer == "" || slices.Contains(b.ruled(), name) {
			continue
		}
		c.fresh = append(c.fresh, key{item: b, of: a, subject: "argument",
			name: b.id() + " " + name, side: b.side(after)})
	}
}

// withGrants returns the item with the grants of another one: grants are compared for the tool.
func (i *Item) withGrants(b *Item) *Item {
	same := *i
	same.Access.Allow = b.Access.Allow
	return &same
}

// valueNeed returns what a caller needs to send a value: a role of the tool's rule, and all that
// the rule of the value needs.
func (i *Item) valueNeed(argument, value, caller string, order roleorder.Order) need {
	access, tool := i.Access, i.Access.of(caller, order)
	if v := i.value(argument, value); v != nil {
		access = v.Access
	}
	access.Allow = i.Access.Allow
	if len(tool) == 0 {
		return nil
	}
	return access.of(caller, order)
}

// listed are the values of an argument that a schema or a rule names.
func (i *Item) listed(argument string) []string {
	values := i.Input.values(argument)
	for _, v := range i.Values {
		if v.Argument == argument {
			values = append(values, v.Value)
		}
	}
	return values
}

// valueKeys are the values that an argument of the older item names.
func (i *Item) valueKeys(b *Item, argument string, order roleorder.Order) (keys []key) {
	for _, value := range sorted(i.listed(argument)) {
		keys = append(keys, key{item: i, name: i.id() + " " + argument + "=" + value,
			side: i.withGrants(b).valueSide(argument, value, order)})
	}
	return keys
}

// value reports a value that only one set has.
func (c *comparison) value(kind Kind, i *Item, name string, s side) {
	callers := callersOf(s, s)
	var may []string
	for _, caller := range callers {
		if len(s.need(caller)) > 0 && !(several(caller) &&
			slices.ContainsFunc(may, func(o string) bool { return holdsAll(s.order, caller, o) })) {
			may = append(may, caller)
		}
	}
	text := "no caller may send it"
	if len(may) > 0 {
		text = who(may, callers) + ": " + s.need(may[len(may)-1]).words()
	}
	c.changes = append(c.changes, Change{Kind: kind, Subject: "value", Name: name,
		Package: i.of.Package, Message: text, File: i.of.File, Line: i.line})
}
