package policydiff

import (
	"fmt"
	"slices"
	"strings"
)

// key is something that only one set has: an item, a value or an argument of a tool, or an item
// with a handler.
type key struct {
	item          *Item
	subject, name string
	side          side
	// handler means that both sets have the item, and only one has the handler.
	handler bool
	// of is the older item that an argument is new in.
	of *Item
	// argument and value are those of a value with a rule, of an item that only one set has.
	argument, value string
	// like are keys of the older set that it may do the same as, beside those that are gone.
	like []key
}

// hasHandler reports whether a set has the handler of an item.
func hasHandler(set []*Manifest, of *Item) bool {
	return slices.ContainsFunc(items(set), func(i *Item) bool {
		return i.Handler == of.Handler && i.of.Package == of.of.Package
	})
}

// goneItem collects an item that no longer exists, and its values with rules.
func (c *comparison) goneItem(a *Item) {
	if hasHandler(c.after, a) {
		return // taken compares it
	}
	order, _ := hierarchies(a.of, nil, c.before, c.after)
	c.gone = append(c.gone, key{item: a, name: a.kind + " " + a.id(), side: a.side(order)})
	for _, v := range a.Values {
		c.gone = append(c.gone, key{item: a, name: a.id() + " " + v.Argument + "=" + v.Value,
			argument: v.Argument, value: v.Value, side: a.valueSide(v.Argument, v.Value, order)})
	}
}

// newItem collects an item that is new.
func (c *comparison) newItem(b *Item) {
	if hasHandler(c.before, b) {
		return // taken compares it
	}
	_, order := hierarchies(nil, b.of, c.before, c.after)
	c.fresh = append(c.fresh, key{item: b, subject: b.kind, name: b.id(), side: b.side(order)})
}

// newHandler collects an item whose handlers exist in one set each.
func (c *comparison) newHandler(a, b *Item) {
	before, after := hierarchies(a.of, b.of, c.before, c.after)
	if !hasHandler(c.after, a) {
		c.gone = append(c.gone, key{item: a, handler: true,
			name: "the handler " + a.Handler + " of " + a.id(), side: a.side(before)})
	}
	if !hasHandler(c.before, b) {
		c.fresh = append(c.fresh, key{item: b, handler: true, subject: b.kind, name: b.id(),
			side: b.side(after)})
	}
}

// replaced reports new keys beside keys that are gone: a new one that a caller may use may do the
// same as one that the caller could not use.
func (c *comparison) replaced() {
	for _, k := range c.fresh {
		var denied []key
		for _, old := range slices.Concat(k.like, c.gone) {
			switch {
			case k.handler && old.handler, !c.related(old.item, k.item),
				k.of != nil && k.of != old.item,
				slices.ContainsFunc(denied, func(d key) bool { return d.name == old.name }):
			case old.value != "" && k.item.accepts(old.argument, old.value):
				if k.subject == k.item.kind { // the same value of a new item
					same := key{item: k.item, subject: "value",
						name: k.item.id() + " " + old.argument + "=" + old.value,
						side: k.item.valueSide(old.argument, old.value, k.side.order)}
					c.possible(same, old)
				}
			case k.exceeds(old):
				denied = append(denied, old)
			}
		}
		c.possible(k, denied...)
	}
}

// exceeds reports whether a caller may use the key that may not use an older one.
func (k key) exceeds(old key) bool {
	return slices.ContainsFunc(callersOf(old.side, k.side), func(caller string) bool {
		return k.side.need(caller).exceeds(old.side.need(caller))
	})
}

// possible reports the callers who may use a key and could not use all of some older keys.
func (c *comparison) possible(k key, older ...key) {
	var names []string
	all := side{need: func(caller string) need {
		every := need{{}}
		for _, old := range older {
			every = every.and(old.side.need(caller))
		}
		return every
	}}
	for _, old := range older {
		names = append(names, old.name)
		all.lists, all.most = append(all.lists, old.side.lists...), all.most+old.side.most
		all.roles = append(all.roles, old.side.roles...)
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d others", more))
	}
	c.access(k.item, k.subject, k.name, all, k.side, nil,
		", if it does the same as "+strings.Join(names, " or "))
}

// related reports whether an item may be another one under a new name: both are of one package or
// server, have a name or handler in common, or one package may have replaced the other.
func (c *comparison) related(a, b *Item) bool {
	has := func(set []*Manifest, of *Item) bool {
		return slices.ContainsFunc(set, func(m *Manifest) bool {
			return m.Package == of.of.Package
		})
	}
	return a.of.Package == b.of.Package || a.of.Server.Name == b.of.Server.Name ||
		a.id() == b.id() || a.Handler == b.Handler || !has(c.after, a) && !has(c.before, b)
}

// names compares an item with another one that had one of its names before. a is the same item
// before, or nil.
func (c *comparison) names(a, b *Item) {
	for _, old := range items(c.before) {
		if old == a || old.kind != b.kind || old.of.Server.Name != b.of.Server.Name {
			continue
		}
		had := append([]string{old.id()}, old.Aliases...)
		for _, name := range append([]string{b.id()}, b.Aliases...) {
			if !slices.Contains(had, name) {
				continue
			}
			x, y := precise(old, b)
			before, after := hierarchies(old.of, b.of, c.before, c.after)
			c.access(b, b.kind, b.id()+" with the name "+name+" of "+old.id(),
				x.sameGrants(y).side(before), y.side(after), nil, "")
		}
	}
}
