package policydiff

import (
	"slices"
	"strings"
)

// parts are the verb, action and object of a permission, or empty in a manifest without them.
func (a Access) parts() string {
	var words []string
	for _, part := range []struct{ name, value string }{
		{"verb", a.Verb}, {"action", a.Action}, {"object", a.Object},
	} {
		if part.value != "" {
			words = append(words, part.name+" "+part.value)
		}
	}
	return strings.Join(words, ", ")
}

// precise returns copies of two items in which a permission's text has its parts, if different
// permissions of the items have the same text. An item of a manifest without parts has the text
// alone, and so has the other.
func precise(a, b *Item) (*Item, *Item) {
	parts := map[string][]string{} // by text
	for _, i := range []*Item{a, b} {
		for _, access := range i.accesses() {
			switch p := access.parts(); {
			case !access.requiresPermission():
			case p == "":
				return a, b
			default:
				parts[access.Permission] = append(parts[access.Permission], p)
			}
		}
	}
	copied := func(i *Item) *Item {
		same := *i
		same.Values = slices.Clone(i.Values)
		for _, access := range same.accesses() {
			if p := access.parts(); p != "" && len(sorted(parts[access.Permission])) > 1 {
				access.Permission += " (" + p + ")"
			}
		}
		return &same
	}
	return copied(a), copied(b)
}

// accesses are the rules of an item and of its values.
func (i *Item) accesses() []*Access {
	list := []*Access{&i.Access}
	for at := range i.Values {
		list = append(list, &i.Values[at].Access)
	}
	return list
}
