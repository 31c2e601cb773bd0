package validator

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// mayBeAbsent reports whether a place in a document is an optional property.
func (c *contract) mayBeAbsent(path []string) bool {
	at := partsOf(c.root)
	named, needed := false, false
	for _, name := range path {
		named, needed = false, false
		var next []part
		for _, p := range at {
			property, patterned := p.Properties[name], false
			if slices.Contains(p.Required, name) && (property != nil || !p.chosen) {
				needed = true
			}
			for pattern, s := range p.PatternProperties {
				if pattern.MatchString(name) {
					next, patterned = append(next, partsOf(s)...), true
				}
			}
			additional, _ := p.AdditionalProperties.(*jsonschema.Schema)
			switch {
			case property != nil:
				named = true
				next = append(next, partsOf(property)...)
			case patterned:
			case additional != nil:
				next = append(next, partsOf(additional)...)
			case p.Items2020 != nil:
				next = append(next, partsOf(p.Items2020)...)
			}
		}
		at = next
	}
	return named && !needed
}

// part is one of the schemas that describe a value together.
type part struct {
	*jsonschema.Schema
	chosen bool // one of several, by anyOf or oneOf
}

// partsOf returns a schema and the schemas that it refers to for the same value.
func partsOf(s *jsonschema.Schema) []part {
	var parts []part
	seen := map[*jsonschema.Schema]bool{}
	var add func(s *jsonschema.Schema, chosen bool)
	add = func(s *jsonschema.Schema, chosen bool) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		parts = append(parts, part{s, chosen})
		add(s.Ref, chosen)
		for _, all := range s.AllOf {
			add(all, chosen)
		}
		for _, one := range slices.Concat(s.AnyOf, s.OneOf) {
			add(one, true)
		}
	}
	add(s, false)
	return parts
}
