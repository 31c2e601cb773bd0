package policydiff

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// contract compares all that is no access rule.
func (c *comparison) contract(a, b *Item) {
	if a.of.Package != b.of.Package {
		c.add(Changed, b, "", "moved from package %s", a.of.Package)
	}
	list := func(names []string) string { return strings.Join(names, ", ") }
	for _, part := range []struct{ what, breaks, old, new string }{
		{"handler", "", a.Handler, b.Handler},
		{"title", "", a.Title, b.Title},
		{"description", "", oneLine(a.Description), oneLine(b.Description)},
		{"denial", "", a.Denial, b.Denial},
		{"catalogs", "", list(a.Catalogs), list(b.Catalogs)},
		{"returns", "readers", a.Returns, b.Returns},
		{"media type", "readers", a.MIMEType, b.MIMEType},
	} {
		if part.old != part.new {
			c.add(Changed, b, part.breaks, "%s: %s, now %s", part.what,
				cmp.Or(part.old, "none"), cmp.Or(part.new, "none"))
		}
	}
	if a.Description != b.Description && oneLine(a.Description) == oneLine(b.Description) {
		c.add(Changed, b, "", "description: different after 80 characters, or in white space")
	}
	for _, key := range []string{"timeout", "nonblocking", "memory", "output", "concurrency", "rate",
		"isolate", "capabilities"} {
		if old, value := a.Limits[key], b.Limits[key]; !equal(old, value) {
			c.add(Changed, b, "", "%s: %s, now %s", key, text(old), text(value))
		}
	}
	for _, key := range otherFields(a, b) {
		c.add(Changed, b, "", "%s: %s, now %s", key, text(a.rest[key]), text(b.rest[key]))
	}
	for _, alias := range b.Aliases {
		if !slices.Contains(a.Aliases, alias) && alias != a.id() {
			c.add(Changed, b, "", "alias %s added", alias)
		}
	}
	for _, alias := range a.Aliases {
		if !slices.Contains(b.Aliases, alias) && alias != b.id() {
			c.add(Changed, b, "callers", "alias %s removed", alias)
		}
	}
	if a.kind == "tool" {
		for _, name := range a.Omits {
			if !slices.Contains(b.Omits, name) {
				c.add(Widened, b, "", "results: %s no longer omitted", name)
			}
		}
		for _, name := range b.Omits {
			if !slices.Contains(a.Omits, name) {
				c.add(Narrowed, b, "", "results: %s now omitted", name)
			}
		}
		c.schemas(a, b)
	}
	c.arguments(b, "argument", a.Arguments, b.Arguments)
	c.arguments(b, "variable", a.Variables, b.Variables)
}

// judged are the fields that have a comparison of their own.
var judged = []string{"access", "aliases", "arguments", "catalogs", "denial", "description",
	"guarded", "handler", "input", "limits", "mimeType", "omits", "output", "returns", "title",
	"uri", "values",
	"variables"}

// otherFields are all other fields that differ, hints and icons for example.
func otherFields(a, b *Item) (keys []string) {
	for _, item := range []*Item{a, b} {
		for key := range item.rest {
			known := slices.Contains(judged, key) || key == "name" && a.kind != "resource"
			if !known && !equal(a.rest[key], b.rest[key]) {
				keys = append(keys, key)
			}
		}
	}
	return sorted(keys)
}

// oneLine is the start of a text of several lines.
func oneLine(s string) string { return short(strings.Join(strings.Fields(s), " ")) }

func (c *comparison) schemas(a, b *Item) {
	for _, e := range edits(a.Input, b.Input) {
		breaks := ""
		if e.stricter {
			breaks = "callers"
		}
		c.add(Changed, b, breaks, "input %s", e.text)
	}
	switch {
	case a.Guarded != nil && b.Guarded != nil:
		c.results("result", b, a.Guarded, b.Guarded)
	case a.Output == nil && b.Output == nil:
	case a.Output == nil:
		c.add(Changed, b, "", "output schema added")
	case b.Output == nil:
		c.add(Changed, b, "readers", "output schema removed")
	default:
		c.results("output", b, a.Output, b.Output)
	}
}

// results compares the schemas of results.
func (c *comparison) results(what string, b *Item, before, after schema) {
	for _, e := range edits(before, after) {
		breaks := ""
		if e.absent || e.looser {
			breaks = "readers"
		}
		c.add(Changed, b, breaks, "%s %s", what, e.text)
	}
}

// arguments compares those of a prompt, or the variables of a resource.
func (c *comparison) arguments(b *Item, what string, before, after []argument) {
	find := func(list []argument, name string) int {
		return slices.IndexFunc(list, func(a argument) bool { return a.Name == name })
	}
	for _, a := range after {
		i := find(before, a.Name)
		if i < 0 {
			if a.Required {
				c.add(Changed, b, "callers", "%s %s added, required", what, a.Name)
			} else {
				c.add(Changed, b, "", "%s %s added", what, a.Name)
			}
			continue
		}
		if old := before[i]; !reflect.DeepEqual(old, a) {
			breaks := ""
			fewer := len(a.Values) > 0 && (len(old.Values) == 0 ||
				slices.ContainsFunc(old.Values, func(v string) bool {
					return !slices.Contains(a.Values, v)
				}))
			if a.Required && !old.Required || old.Type != a.Type || fewer {
				breaks = "callers"
			}
			x, _ := json.Marshal(old) // no func and no channel
			y, _ := json.Marshal(a)
			c.add(Changed, b, breaks, "%s %s: %s, now %s", what, a.Name, x, y)
		}
	}
	for _, old := range before {
		if find(after, old.Name) < 0 {
			c.add(Changed, b, "callers", "%s %s removed", what, old.Name)
		}
	}
}
