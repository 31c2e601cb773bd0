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
	roles         []string // of its set
	need          func(caller string) need
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
	roles, _ := hierarchies(a.of, nil, c.before, c.after)
	c.gone = append(c.gone, key{item: a, name: a.kind + " " + a.id(), roles: roles,
		need: func(caller string) need { return a.needs(caller, roles) }})
	for _, v := range a.Values {
		c.gone = append(c.gone, key{item: a, name: a.id() + " " + v.Argument + "=" + v.Value,
			roles: roles, argument: v.Argument, value: v.Value,
			need: func(caller string) need { return a.valueNeed(v.Argument, v.Value, caller, roles) }})
	}
}

// newItem collects an item that is new.
func (c *comparison) newItem(b *Item) {
	if hasHandler(c.before, b) {
		return // taken compares it
	}
	_, roles := hierarchies(nil, b.of, c.before, c.after)
	c.fresh = append(c.fresh, key{item: b, subject: b.kind, name: b.id(), roles: roles,
		need: func(caller string) need { return b.needs(caller, roles) }})
}

// newHandler collects an item whose handlers exist in one set each.
func (c *comparison) newHandler(a, b *Item) {
	before, after := hierarchies(a.of, b.of, c.before, c.after)
	if !hasHandler(c.after, a) {
		c.gone = append(c.gone, key{item: a, handler: true, roles: before,
			name: "the handler " + a.Handler + " of " + a.id(),
			need: func(caller string) need { return a.needs(caller, before) }})
	}
	if !hasHandler(c.before, b) {
		c.fresh = append(c.fresh, key{item: b, handler: true, roles: after, subject: b.kind,
			name: b.id(), need: func(caller string) need { return b.needs(caller, after) }})
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
					same := key{item: k.item, subject: "value", roles: k.roles,
						name: k.item.id() + " " + old.argument + "=" + old.value,
						need: func(caller string) need {
							return k.item.valueNeed(old.argument, old.value, caller, k.roles)
						}}
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
	callers := slices.Concat([]string{anonymous, noRole}, old.roles, k.roles)
	return slices.ContainsFunc(callers, func(caller string) bool {
		return k.need(caller).exceeds(old.need(caller))
	})
}

// possible reports the callers who may use a key and could not use all of some older keys.
func (c *comparison) possible(k key, older ...key) {
	var names, before []string
	for _, old := range older {
		names = append(names, old.name)
		for _, role := range old.roles {
			if !slices.Contains(before, role) {
				before = append(before, role)
			}
		}
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d others", more))
	}
	all := func(caller string) need {
		every := need{{}}
		for _, old := range older {
			every = every.and(old.need(caller))
		}
		return every
	}
	c.access(k.item, k.subject, k.name, before, k.roles, all, k.need, nil,
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
			c.access(b, b.kind, b.id()+" with the name "+name+" of "+old.id(), before, after,
				func(caller string) need { return x.sameGrants(y).needs(caller, before) },
				func(caller string) need { return y.needs(caller, after) }, nil, "")
		}
	}
}
