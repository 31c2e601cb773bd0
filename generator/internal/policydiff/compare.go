package policydiff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Kind is the kind of a change.
type Kind string

// The kinds of changes.
const (
	Widened  Kind = "widened"  // some callers may do or read more
	Narrowed Kind = "narrowed" // some callers may do less
	Added    Kind = "added"    // a tool, prompt, resource or value is new
	Removed  Kind = "removed"  // it no longer exists
	Changed  Kind = "changed"  // all else
	Together Kind = "together" // an agent reaches all three facts, which it did not
)

// Change is a difference between two sets of manifests.
type Change struct {
	Kind Kind `json:"kind"`
	// Subject is "tool", "prompt", "resource", "value", "field", "argument", "role", "scope", "server"
	// or "handler", and of an agent "caller", "roles" or "boundary". The name of a "boundary" is its
	// client or actor, and the package its issuer.
	Subject string `json:"subject"`
	// Name is the name or the URI. For a value, it is the tool with argument=value. For a field, the
	// tool is added if the rule changes there alone, and the field in whose place it is. For a
	// property that may be a field with a rule under another name, it is the tool, the side and the
	// property.
	Name string `json:"name"`
	// Package is the import path.
	Package string `json:"package"`
	Message string `json:"message"`
	// Callers are the callers that gain or lose: "anonymous", "no role", roles, or several roles of
	// one caller, as in "Auditor + Manager".
	Callers []string `json:"callers,omitempty"`
	// Before and After are what these callers need: "denied", "allowed" or "needs scope write".
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Items are what a role gains or loses that only one hierarchy has.
	Items []string `json:"items,omitempty"`
	// Breaks is "callers" if the change may break clients that call, and "readers" if it may break
	// clients that read results.
	Breaks string `json:"breaks,omitempty"`
	// File and Line are the place in the new manifest, or in the old one if it is removed.
	File string `json:"file"`
	Line int    `json:"line"`
}

// String returns the change as one line, as an allow-list has it.
func (c Change) String() string {
	line := fmt.Sprintf("%s %s %s (%s): %s", c.Kind, c.Subject, c.Name, c.Package, c.Message)
	if c.Breaks != "" {
		line += "; breaks " + c.Breaks
	}
	return printable(line)
}

// printable escapes what a terminal or a list of lines would act on.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\ufffd'
		}
		return r
	}, s)
}

type comparison struct {
	before, after []*Manifest
	changes       []Change
	// gone and fresh are what only one set has: items, values and handlers.
	gone, fresh []key
	// roles are what the callers of roles gain or lose that only one hierarchy has.
	roles map[roleKey][]string
}

type roleKey struct {
	kind      Kind
	role, pkg string
	file      string
	line      int
}

// Compare returns the changes from one set of manifests to another, by package, subject and name.
//
// A tool, prompt or resource is the same one if its name is equal. Otherwise it is renamed if an
// alias has the old name, or if the same handler has one name in each set.
func Compare(before, after []*Manifest) []Change {
	c := comparison{before: before, after: after, roles: map[roleKey][]string{}}
	var original *Manifest
	if len(before) == 1 && len(after) == 1 { // the package may have moved
		original = before[0]
		moved := *original
		moved.Package, moved.Server.Name = after[0].Package, after[0].Server.Name
		for _, list := range []*[]Item{&moved.Tools, &moved.Prompts, &moved.Resources} {
			*list = slices.Clone(*list)
			for i := range *list {
				(*list)[i].of = &moved
			}
		}
		c.before = []*Manifest{&moved}
	}
	return c.compare(original)
}

func (c *comparison) compare(original *Manifest) []Change {
	for _, m := range c.after {
		if i := slices.IndexFunc(c.before, func(o *Manifest) bool {
			return o.Package == m.Package
		}); i >= 0 {
			old := c.before[i]
			if original != nil {
				old = original
			}
			c.server(old, m)
		}
	}
	pairs, added, removed := match(items(c.before), items(c.after))
	for _, p := range pairs {
		c.item(p[0], p[1])
		if p[0].Handler != p[1].Handler {
			c.taken(p[1])
			c.newHandler(p[0], p[1])
		}
		c.names(p[0], p[1])
		c.uris(p[0], p[1])
	}
	for _, i := range added {
		c.one(Added, i, c.after)
		c.taken(i)
		c.names(nil, i)
		c.uris(nil, i)
		c.newItem(i)
	}
	for _, i := range removed {
		c.one(Removed, i, c.before)
		c.goneItem(i)
	}
	c.replaced()
	for key, names := range c.roles {
		what := map[Kind]string{Widened: "a new role, which may use ",
			Narrowed: "no role of the hierarchy any more, which could use "}[key.kind]
		names = sorted(names)
		c.changes = append(c.changes, Change{Kind: key.kind, Subject: "role", Name: key.role,
			Package: key.pkg, Message: what + strings.Join(names, ", "),
			Callers: []string{key.role}, Items: names, File: key.file, Line: key.line})
	}
	return ordered(c.changes)
}

// ordered sorts changes, widenings first.
func ordered(changes []Change) []Change {
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)),
			strings.Compare(a.Package, b.Package), strings.Compare(a.Subject, b.Subject),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Message, b.Message))
	})
	return changes
}

func rank(k Kind) int {
	return slices.Index([]Kind{Together, Widened, Added, Narrowed, Removed, Changed}, k)
}

// match pairs the items of both sets.
func match(before, after []*Item) (pairs [][2]*Item, added, removed []*Item) {
	for _, same := range []func(a, b *Item) bool{
		func(a, b *Item) bool { return a.of.Package == b.of.Package && a.id() == b.id() },
		func(a, b *Item) bool { return a.of.Server.Name == b.of.Server.Name && a.id() == b.id() },
		func(a, b *Item) bool {
			return a.of.Server.Name == b.of.Server.Name && slices.Contains(b.Aliases, a.id())
		},
		func(a, b *Item) bool { return a.of.Package == b.of.Package && a.Handler == b.Handler },
	} {
		fits := func(a, b *Item) bool { return a.kind == b.kind && same(a, b) }
		var rest []*Item
		for _, a := range before {
			found := slices.DeleteFunc(slices.Clone(after), func(b *Item) bool {
				return !fits(a, b)
			})
			twins := slices.DeleteFunc(slices.Clone(before), func(o *Item) bool {
				return len(found) == 0 || !fits(o, found[0])
			})
			if len(found) != 1 || len(twins) != 1 {
				rest = append(rest, a)
				continue
			}
			pairs = append(pairs, [2]*Item{a, found[0]})
		}
		before = rest
		after = slices.DeleteFunc(slices.Clone(after), func(b *Item) bool {
			return slices.ContainsFunc(pairs, func(p [2]*Item) bool { return p[1] == b })
		})
	}
	return pairs, after, before
}

func (c *comparison) add(kind Kind, i *Item, breaks, format string, args ...any) {
	c.changes = append(c.changes, Change{Kind: kind, Subject: i.kind, Name: i.id(),
		Package: i.of.Package, Message: fmt.Sprintf(format, args...), Breaks: breaks,
		File: i.of.File, Line: i.line})
}

// server compares what belongs to no tool, prompt or resource.
func (c *comparison) server(old, m *Manifest) {
	change := func(member, subject, name, format string, args ...any) {
		c.changes = append(c.changes, Change{Kind: Changed, Subject: subject, Name: name,
			Package: m.Package, Message: fmt.Sprintf(format, args...), File: m.File,
			Line: memberLine(m.Text, member)})
	}
	for _, part := range []struct{ what, old, new string }{
		{"package", old.Package, m.Package},
		{"name", old.Server.Name, m.Server.Name}, {"title", old.Server.Title, m.Server.Title},
		{"version", old.Server.Version, m.Server.Version}, {"app", old.Server.App, m.Server.App},
		{"website", old.Server.Website, m.Server.Website},
		{"unannotated", old.Server.Unannotated, m.Server.Unannotated},
		{"client", old.Server.Client, m.Server.Client},
		{"roles", roleorder.Text(old.Roles), roleorder.Text(m.Roles)},
		{"scopes", scopeorder.Text(old.Scopes), scopeorder.Text(m.Scopes)},
		{"icons", string(old.Server.Icons), string(m.Server.Icons)},
	} {
		if part.old != part.new {
			member := "server"
			if slices.Contains([]string{"package", "roles", "scopes"}, part.what) {
				member = part.what
			}
			change(member, "server", m.Server.Name, "%s: %s, now %s", part.what,
				cmp.Or(part.old, "none"), cmp.Or(part.new, "none"))
		}
	}
	c.order(old, m)
	c.inclusions(old, m)
	c.fields(old, m)
	for _, name := range sorted(slices.AppendSeq(slices.Collect(maps.Keys(old.Types)),
		maps.Keys(m.Types))) {
		if old.Types[name] != m.Types[name] {
			change("types", "server", m.Server.Name, "type %s: %s, now %s", name,
				cmp.Or(short(old.Types[name]), "none"), cmp.Or(short(m.Types[name]), "none"))
		}
	}
	reasons := func(m *Manifest) map[string]string {
		all := map[string]string{}
		for _, i := range m.Ignored {
			all[i.Handler] = cmp.Or(i.Reason, "no reason")
		}
		return all
	}
	was, is := reasons(old), reasons(m)
	for handler, reason := range is {
		switch old, known := was[handler]; {
		case !known:
			change("ignored", "handler", handler, "now ignored: %s", reason)
		case old != reason:
			change("ignored", "handler", handler, "ignored: %s, now %s", old, reason)
		}
	}
	for handler := range was {
		if _, known := is[handler]; !known {
			change("ignored", "handler", handler, "no longer ignored")
		}
	}
}

// one reports an item that only one set has, with who may use it.
func (c *comparison) one(kind Kind, i *Item, set []*Manifest) {
	order, _ := hierarchies(i.of, i.of, set, set)
	s := i.side(order)
	callers := callersOf(s, s)
	by := map[string][]string{}
	var words []string
	for _, caller := range callers {
		need := s.need(caller).words()
		if need == "denied" || several(caller) &&
			slices.ContainsFunc(by[need], func(o string) bool { return holdsAll(order, caller, o) }) {
			continue
		}
		if by[need] == nil {
			words = append(words, need)
		}
		by[need] = append(by[need], caller)
	}
	var texts []string
	for _, w := range words {
		texts = append(texts, who(by[w], callers)+": "+w)
	}
	breaks := ""
	if kind == Removed {
		breaks = "callers"
	}
	c.add(kind, i, breaks, "%s", cmp.Or(strings.Join(texts, "; "), "no caller may use it"))
}

// who names callers. Sets of roles do not count: their parts do.
func who(callers, all []string) string {
	all = slices.DeleteFunc(slices.Clone(all), several)
	switch {
	case len(callers) == len(all):
		return "every caller"
	case len(callers) == len(all)-1 && !slices.Contains(callers, anonymous):
		return "every authenticated caller"
	}
	return strings.Join(callers, ", ")
}

func (c *comparison) item(a, b *Item) {
	a, b = precise(a, b)
	if a.id() != b.id() {
		breaks := "callers"
		if slices.Contains(b.Aliases, a.id()) {
			breaks = ""
		}
		c.add(Changed, b, breaks, "renamed from %s", a.id())
	}
	before, after := hierarchies(a.of, b.of, c.before, c.after)
	tool := c.access(b, b.kind, b.id(), a.sameGrants(b).side(before), b.side(after), nil, "")
	c.values(a, b, before, after, tool)
	c.guards(a, b, before, after, tool)
	c.contract(a, b)
}

// taken compares an item with the one that had its handler before, under another name or as another
// kind, and with one of another kind that had its name. Models call tools, and people or clients
// choose prompts and resources: a tool that was none before is a widening for all its callers.
func (c *comparison) taken(b *Item) {
	for _, a := range items(c.before) {
		handler := a.of.Package == b.of.Package && a.Handler == b.Handler
		if !handler && (a.kind == b.kind || a.Name != b.Name ||
			a.of.Server.Name != b.of.Server.Name || c.remains(a)) {
			continue
		}
		a, b := precise(a, b)
		before, after := hierarchies(a.of, b.of, c.before, c.after)
		if b.kind == "tool" && a.kind != "tool" {
			c.access(b, b.kind, b.id(), denied(before), b.side(after), nil,
				", as a tool in place of the "+a.kind+" "+a.id())
			continue
		}
		of := a.id()
		if a.kind != b.kind {
			of = "the " + a.kind + " " + of
		}
		c.access(b, b.kind, b.id()+" with the handler of "+of, a.sameGrants(b).side(before),
			b.side(after), nil, "")
	}
}

// remains reports whether the newer set has an item of the same name and kind.
func (c *comparison) remains(a *Item) bool {
	return slices.ContainsFunc(items(c.after), func(i *Item) bool {
		return i.kind == a.kind && i.id() == a.id() && i.of.Server.Name == a.of.Server.Name
	})
}

// sameGrants returns the item with the grants of a renamed argument under its new name: the old
// argument does not exist any more, and the new one has a grant of the same kind.
func (i *Item) sameGrants(b *Item) *Item {
	same := *i
	same.Access.Allow = slices.Clone(i.Access.Allow)
	used := map[string]bool{}
	for at, text := range same.Access.Allow {
		old := cutGrant(text)
		if _, exists := b.Input["/"+escape(old.argument)]; exists {
			continue
		}
		for _, other := range b.Access.Allow {
			now := cutGrant(other)
			had := slices.ContainsFunc(i.Access.Allow, func(text string) bool {
				o := cutGrant(text)
				return o.kind == now.kind && o.argument == now.argument
			})
			if now.kind == old.kind && !had && !used[other] {
				same.Access.Allow[at] = bound{now.kind, now.argument, old.within}.String()
				used[other] = true
				break
			}
		}
	}
	return &same
}

// found is a caller who gains or loses.
type found struct {
	caller string
	group  group
}

// group is a kind of gain or loss.
type group struct {
	kind          Kind
	before, after string
}

// access reports which callers gain or lose, one change for all that gain or lose the same. It
// leaves out what is in seen, and returns what it found. With a condition, it reports only callers
// that gain, and writes the condition after them. It leaves out callers with several roles if a
// caller with fewer rights gains or loses the same.
func (c *comparison) access(
	i *Item, subject, name string, old, current side, seen []found, condition string,
) (all []found) {
	callers := callersOf(old, current)
	unknown := func(caller string) string { // a role that one hierarchy alone has
		for _, role := range rolesOf(caller) {
			if caller != anonymous && caller != noRole && (!slices.Contains(old.roles, role) ||
				!slices.Contains(current.roles, role)) {
				return role
			}
		}
		return ""
	}
	by := map[group][]string{}
	var groups []group
	for _, caller := range callers {
		x, y := old.need(caller), current.need(caller)
		for _, kind := range []Kind{Widened, Narrowed} {
			order := current.order
			if kind == Narrowed {
				order = old.order
			}
			if kind == Widened && !y.exceeds(x) ||
				kind == Narrowed && (condition != "" || !x.exceeds(y)) {
				continue
			}
			g := group{kind, x.words(), y.words()}
			set, role := several(caller), unknown(caller)
			reported := slices.ContainsFunc(slices.Concat(seen, all), func(f found) bool {
				other := unknown(f.caller)
				return f.group == g && (f.caller == caller || set && (other == "" || other == role) &&
					holdsAll(order, caller, f.caller))
			})
			if all = append(all, found{caller, g}); reported {
				continue
			}
			if role != "" {
				item := name
				if set {
					item += " as " + caller
				}
				where := roleKey{kind, role, i.of.Package, i.of.File, memberLine(i.of.Text, "roles")}
				c.roles[where] = append(c.roles[where], item)
				continue
			}
			if by[g] == nil {
				groups = append(groups, g)
			}
			by[g] = append(by[g], caller)
		}
	}
	common := slices.DeleteFunc(callers, func(caller string) bool { return unknown(caller) != "" })
	for _, g := range groups {
		c.changes = append(c.changes, Change{Kind: g.kind, Subject: subject, Name: name,
			Package: i.of.Package, Callers: by[g], Before: g.before, After: g.after,
			Message: fmt.Sprintf("%s: %s, now %s%s", who(by[g], common), g.before, g.after, condition),
			File:    i.of.File, Line: i.line})
	}
	return all
}

// position orders roles by the new hierarchy, and those that it lacks by the old one.
func position(role string, before, after []string) int {
	if i := slices.Index(after, role); i >= 0 {
		return i
	}
	return len(after) + slices.Index(before, role)
}
