package policydiff

import (
	"cmp"
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
				c.value(Added, "value", b, name, now)
				c.fresh = append(c.fresh, key{item: b, subject: "value", name: name,
					side: now, like: a.valueKeys(b, earlier, before)})
			case was:
				c.value(Removed, "value", b, name, old)
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

// value reports a value, or the rule of a field, that only one set has.
func (c *comparison) value(kind Kind, subject string, i *Item, name string, s side) {
	callers := callersOf(s, s)
	var may []string
	for _, caller := range callers {
		if len(s.need(caller)) > 0 && !(several(caller) &&
			slices.ContainsFunc(may, func(o string) bool { return holdsAll(s.order, caller, o) })) {
			may = append(may, caller)
		}
	}
	text := "no caller may use it"
	if len(may) > 0 {
		text = who(may, callers) + ": " + s.need(may[len(may)-1]).words()
	}
	if subject == "field" {
		text, kind = "rule "+string(kind)+": "+text, Changed
	}
	c.changes = append(c.changes, Change{Kind: kind, Subject: subject, Name: name,
		Package: i.of.Package, Message: text, File: i.of.File, Line: i.line})
}

// field returns a field with a rule, or nil.
func (m *Manifest) field(name string) *Field {
	i := slices.IndexFunc(m.Fields, func(f Field) bool { return f.Field == name })
	if i < 0 {
		return nil
	}
	return &m.Fields[i]
}

// fields compares the rules of fields of a package, apart from the tools that have them.
func (c *comparison) fields(old, m *Manifest) {
	before, after := hierarchies(old, m, c.before, c.after)
	rule := func(f *Field, order roleorder.Order) side {
		s := denied(order)
		s.need = func(caller string) need { return f.Access.of(caller, order) }
		s.needs(f.Access)
		return s
	}
	var names []string
	for _, f := range slices.Concat(old.Fields, m.Fields) {
		names = append(names, f.Field)
	}
	for _, name := range sorted(names) {
		a, b := old.field(name), m.field(name)
		i := &Item{kind: "field", Name: name, of: m, line: lineOf(m.Text, "field", name)}
		switch {
		case a == nil:
			c.value(Added, "field", i, name, rule(b, after))
		case b == nil:
			i.of, i.line = old, lineOf(old.Text, "field", name)
			c.value(Removed, "field", i, name, rule(a, before))
		default:
			c.access(i, "field", name, rule(a, before), rule(b, after), nil, "")
			if x, y := strings.Join(a.Tools, ", "), strings.Join(b.Tools, ", "); x != y {
				c.add(Changed, i, "", "tools: %s, now %s", x, y)
			}
		}
	}
}

// guards compares the properties of a tool whose fields have rules, where the field of a property
// is another one. A caller needs the rule of the tool too.
func (c *comparison) guards(a, b *Item, before, after roleorder.Order, tool []found) {
	seen := map[[2]string]bool{}
	for _, result := range []bool{false, true} {
		was, is, wasAny, isAny := a.Input.properties(), b.Input.properties(), false, false
		of := " input "
		if result { // without a schema, a result may have any property
			of, was, is = " output ", a.results().properties(), b.results().properties()
			wasAny = a.results() == nil && a.Returns != ""
			isAny = b.results() == nil && b.Returns != ""
		}
		lost := false
		for _, pointer := range sorted(slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))) {
			old, had := was[pointer]
			now, has := is[pointer]
			pair := [2]string{old, now}
			had, has = had || wasAny, has || isAny
			switch {
			case had && !has && old != "":
				c.gone = append(c.gone, key{item: a, name: a.id() + of + pointer,
					side: a.sameGrants(b).fieldSide(old, before)})
				lost = true
			case !had, !has, old == now, seen[pair]:
			default:
				seen[pair] = true
				name := cmp.Or(now, old) + " in " + b.id()
				if old != "" && now != "" {
					name += " in place of " + old
				}
				c.access(b, "field", name,
					a.sameGrants(b).fieldSide(old, before), b.fieldSide(now, after), tool, "")
			}
		}
		for _, pointer := range slices.Sorted(maps.Keys(is)) {
			if _, had := was[pointer]; lost && !had && is[pointer] == "" {
				c.fresh = append(c.fresh, key{item: b, of: a, subject: "field",
					name: b.id() + of + pointer, side: b.side(after)})
			}
		}
	}
}

// results is the schema of the result, also if clients do not get it.
func (i *Item) results() schema {
	if i.Guarded != nil {
		return i.Guarded
	}
	return i.Output
}

// fieldSide returns what callers need for a property whose field has a rule. Without one, they need
// what the tool needs.
func (i *Item) fieldSide(field string, order roleorder.Order) side {
	s := i.side(order)
	if field == "" {
		return s
	}
	tool, f := s.need, i.of.field(field)
	s.need = func(caller string) need {
		if f == nil {
			return nil // the server hides a field without a rule
		}
		return tool(caller).and(f.Access.of(caller, order))
	}
	if f != nil {
		s.needs(f.Access)
	}
	return s
}
