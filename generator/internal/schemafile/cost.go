package schemafile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// maxApplied bounds how often schemas are applied to one value and its parts. A schema that refers
// twice to one that refers twice to the next doubles the number with each level.
const maxApplied = 100_000

// bounded reports a schema that is applied too often to one value, or to its default. Call it only
// if no schema applies itself.
func (c *checker) bounded(doc []byte, tree any) error {
	const cure = "refer to a schema once instead of several times, or describe the value by one schema"
	n := counter{checker: c, known: map[application]int{}}
	for _, at := range slices.Sorted(maps.Keys(c.applied)) {
		if n.count(at, "", nil) > maxApplied {
			path := c.paths[at]
			return &Error{offsetOf(doc, path), fmt.Sprintf(
				"the schema at %s applies more than %d schemas to one value", pointerTo(path), maxApplied),
				cure}
		}
	}
	for _, path := range c.defaults {
		n := counter{checker: c, known: map[application]int{}}
		path = slices.Clip(path)
		if n.count(pointer(path), "", valueAt(tree, append(path, "default"))) > maxApplied {
			return &Error{offsetOf(doc, append(path, "default")), fmt.Sprintf(
				"the default at %s needs more than %d applied schemas", pointerTo(path), maxApplied),
				cure}
		}
	}
	return nil
}

// application is a schema and a part of the value, by their JSON Pointers.
type application struct{ schema, part string }

// counter counts applications. It visits each schema with each part of the value at most once.
type counter struct {
	*checker
	known map[application]int
}

// count returns how often schemas are applied if the schema at a pointer is applied to a value,
// or a number above maxApplied.
func (n counter) count(at, part string, value any) int {
	key := application{at, part}
	if known, ok := n.known[key]; ok {
		return known
	}
	if len(n.known) > maxApplied {
		return maxApplied + 1
	}
	total := 1
	add := func(at, part string, value any) {
		total = min(total+n.count(at, part, value), maxApplied+1)
	}
	for _, next := range n.applied[at] {
		add(next, part, value)
	}
	object := n.objects[at]
	below := func(keyword, step string, value any) {
		if _, ok := object[keyword]; ok {
			add(at+pointer([]string{keyword}), part+pointer([]string{step}), value)
		}
	}
	each := func(keyword, step string, value any) {
		list, _ := object[keyword].(map[string]any)
		for name := range list {
			if keyword == "patternProperties" || name == step {
				add(at+pointer([]string{keyword, name}), part+pointer([]string{step}), value)
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for step, v := range value {
			each("properties", step, v)
			each("patternProperties", step, v)
			below("additionalProperties", step, v)
			below("unevaluatedProperties", step, v)
			below("propertyNames", step, nil)
		}
	case []any:
		prefix, _ := object["prefixItems"].([]any)
		for i, v := range value {
			step := strconv.Itoa(i)
			if i < len(prefix) {
				add(at+pointer([]string{"prefixItems", step}), part+pointer([]string{step}), v)
			}
			below("items", step, v)
			below("contains", step, v)
			below("unevaluatedItems", step, v)
		}
	}
	n.known[key] = total
	return total
}
