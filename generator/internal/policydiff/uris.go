package policydiff

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
)

// uris reports the callers of a resource who may read URIs that they could not read before, since
// its template matches more, or URIs of another resource. a is the same resource before, or nil.
func (c *comparison) uris(a, b *Item) {
	if b.kind != "resource" || a != nil && a.id() == b.id() && a.sameVariables(b) {
		return
	}
	of, ok := b.template()
	if !ok {
		return // the generator refuses the manifest
	}
	for _, old := range items(c.before) {
		if old == a || old.kind != b.kind || old.of.Server.Name != b.of.Server.Name {
			continue
		}
		if t, ok := old.template(); !ok || !uritemplate.Overlap(t, of) {
			continue
		}
		before, after := hierarchies(old.of, b.of, c.before, c.after)
		c.access(b, b.kind, b.id(), old.side(before), b.side(after), nil,
			", for URIs of "+old.id())
	}
	if a == nil || !a.matchesLess(b) {
		return
	}
	before, after := hierarchies(a.of, b.of, c.before, c.after)
	old, current := denied(before), b.side(after)
	old.need = func(caller string) need {
		if !c.beyond(a, b, of, caller) {
			return current.need(caller)
		}
		return nil
	}
	c.access(b, b.kind, b.id(), old, current, nil, ", for more URIs than "+a.id())
}

// beyond reports whether the template of a resource matches a URI that no resource matched before
// which the caller could read.
func (c *comparison) beyond(a, b *Item, of uritemplate.Template, caller string) bool {
	var others []uritemplate.Template
	for _, old := range items(c.before) {
		before, after := hierarchies(old.of, b.of, c.before, c.after)
		if old == a || old.kind == b.kind && old.of.Server.Name == b.of.Server.Name &&
			!b.needs(caller, after).exceeds(old.needs(caller, before)) {
			if t, ok := old.template(); ok {
				others = append(others, t)
			}
		}
	}
	return b.lostValues(a) || uritemplate.Beyond(of, others...)
}

// matchesLess reports whether a resource may have fewer URIs than its successor. A template with
// other literals alone has other URIs, and as many.
func (i *Item) matchesLess(b *Item) bool {
	of, ok := i.template()
	if !ok {
		return true
	}
	if t, _ := b.template(); uritemplate.Overlap(of, t) {
		return true
	}
	old, current := i.ranges(), b.ranges()
	if len(current) > len(old) || b.lostValues(i) {
		return true
	}
	for at, r := range current {
		if uritemplate.Beyond(r, old[at]) {
			return true
		}
	}
	return false
}

// template returns the typed template of a resource.
func (i *Item) template() (uritemplate.Template, bool) {
	t, err := uritemplate.Parse(i.URI)
	return t.Typed(i.kinds()), err == nil
}

func (i *Item) kinds() map[string]uritemplate.Kind {
	kinds := map[string]uritemplate.Kind{}
	for _, v := range i.Variables {
		switch v.Type {
		case "integer":
			kinds[v.Name] = uritemplate.Integer
		case "boolean":
			kinds[v.Name] = uritemplate.Boolean
		}
	}
	return kinds
}

// ranges are templates of each variable alone.
func (i *Item) ranges() (list []uritemplate.Template) {
	whole, _ := i.template()
	for _, name := range whole.Variables() {
		text := "v:{" + name + "}"
		if strings.Contains(i.URI, "{+"+name+"}") {
			text = "v:{+" + name + "}"
		}
		t, _ := uritemplate.Parse(text) // the name is one
		list = append(list, t.Typed(i.kinds()))
	}
	return list
}

// sameVariables reports whether the types and values of all variables are equal.
func (i *Item) sameVariables(b *Item) bool {
	return slices.EqualFunc(i.Variables, b.Variables, func(x, y argument) bool {
		return x.Name == y.Name && x.Type == y.Type && slices.Equal(x.Values, y.Values)
	})
}

// lostValues reports whether a variable takes values that it refused in an older resource.
func (i *Item) lostValues(a *Item) bool {
	for at, old := range a.Variables {
		if len(old.Values) == 0 {
			continue
		}
		same := slices.IndexFunc(i.Variables, func(v argument) bool { return v.Name == old.Name })
		if same < 0 && at < len(i.Variables) {
			same = at // renamed
		}
		if same >= 0 && (len(i.Variables[same].Values) == 0 ||
			!contains(old.Values, i.Variables[same].Values)) {
			return true
		}
	}
	return false
}
