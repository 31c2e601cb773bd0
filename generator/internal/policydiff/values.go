package policydiff

import (
	"maps"
	"slices"
	"strings"
)

// values compares the values of each argument that has rules in either set. A value without a rule
// needs what its tool needs.
func (c *comparison) values(a, b *Item, before, after []string, tool map[string]bool) {
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
			old := func(caller string) need {
				return a.withGrants(b).valueNeed(earlier, value, caller, before)
			}
			now := func(caller string) need { return b.valueNeed(later, value, caller, after) }
			switch was, is := a.accepts(earlier, value), b.accepts(later, value); {
			case was && is:
				c.access(b, "value", name, before, after, old, now, tool, "")
			case is:
				c.value(Added, b, name, now, after)
				c.fresh = append(c.fresh, key{item: b, subject: "value", name: name, roles: after,
					need: now, like: a.valueKeys(b, earlier, before)})
			case was:
				c.value(Removed, b, name, old, before)
				c.gone = append(c.gone, key{item: a, name: name, roles: before, need: old})
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
func (c *comparison) newArguments(a, b *Item, after []string) {
	for _, pointer := range slices.Sorted(maps.Keys(b.Input)) {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/"))
		if _, had := a.Input[pointer]; had || pointer == "" || slices.Contains(b.ruled(), name) {
			continue
		}
		c.fresh = append(c.fresh, key{item: b, of: a, subject: "argument",
			name: b.id() + " " + name, roles: after,
			need: func(caller string) need { return b.needs(caller, after) }})
	}
}

// withGrants returns the item with the grants of another one: grants are compared for the tool.
func (i *Item) withGrants(b *Item) *Item {
	same := *i
	same.Access.Allow = b.Access.Allow
	return &same
}

// valueNeed returns what a caller needs to send a value.
func (i *Item) valueNeed(argument, value, caller string, roles []string) need {
	access := i.Access
	if v := i.value(argument, value); v != nil {
		access = v.Access
	}
	access.Allow = i.Access.Allow
	return access.of(caller, roles)
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
func (i *Item) valueKeys(b *Item, argument string, roles []string) (keys []key) {
	for _, value := range sorted(i.listed(argument)) {
		keys = append(keys, key{item: i, name: i.id() + " " + argument + "=" + value, roles: roles,
			need: func(caller string) need {
				return i.withGrants(b).valueNeed(argument, value, caller, roles)
			}})
	}
	return keys
}

// value reports a value that only one set has.
func (c *comparison) value(
	kind Kind, i *Item, name string, needs func(string) need, roles []string,
) {
	callers := append([]string{anonymous, noRole}, roles...)
	may := slices.DeleteFunc(slices.Clone(callers), func(caller string) bool {
		return len(needs(caller)) == 0
	})
	text := "no caller may send it"
	if len(may) > 0 {
		text = who(may, callers) + ": " + needs(may[len(may)-1]).words()
	}
	c.changes = append(c.changes, Change{Kind: kind, Subject: "value", Name: name,
		Package: i.of.Package, Message: text, File: i.of.File, Line: i.line})
}
