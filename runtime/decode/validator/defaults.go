package validator

import "github.com/santhosh-tekuri/jsonschema/v6"

// fillDefaults adds the defaults of absent properties to a document that the schema has accepted,
// and reports whether it added any. If several describe one property, the first in this order
// counts: the schema itself, its $ref, allOf, the branch of anyOf, oneOf or if that accepts the
// value.
//
// It adds them after reading the whole document. So a default does not change which branch accepts
// a value, and gets no defaults itself, which would never end in a recursive schema.
func (c *contract) fillDefaults(doc any) bool {
	f := filler{reach: c.defaults}
	f.visit(c.root, doc)
	for _, a := range f.absent {
		if _, present := a.object[a.name]; !present {
			a.object[a.name] = clone(a.value)
		}
	}
	return len(f.absent) > 0
}

// filler finds the absent properties of one document that have a default.
type filler struct {
	reach  map[*jsonschema.Schema]bool
	absent []absent
}

type absent struct {
	object map[string]any
	name   string
	value  any
}

func (f *filler) visit(s *jsonschema.Schema, v any) {
	if !f.reach[s] {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		f.visitObject(s, v)
	case []any:
		for i, item := range v {
			if i < len(s.PrefixItems) {
				f.visit(s.PrefixItems[i], item)
			} else if s.Items2020 != nil {
				f.visit(s.Items2020, item)
			}
		}
	}
	if s.Ref != nil {
		f.visit(s.Ref, v)
	}
	for _, part := range s.AllOf {
		f.visit(part, v)
	}
	f.visitAccepting(s.AnyOf, v)
	f.visitAccepting(s.OneOf, v)
	f.visitCondition(s, v)
}

func (f *filler) visitObject(s *jsonschema.Schema, object map[string]any) {
	for name, property := range s.Properties {
		if value, present := object[name]; present {
			f.visit(property, value)
		} else if value, ok := defaultOf(property); ok {
			f.absent = append(f.absent, absent{object, name, value})
		}
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	if additional == nil && len(s.PatternProperties) == 0 {
		return
	}
	for name, value := range object {
		described := s.Properties[name] != nil
		for pattern, property := range s.PatternProperties {
			if pattern.MatchString(name) {
				described = true
				f.visit(property, value)
			}
		}
		if additional != nil && !described {
			f.visit(additional, value)
		}
	}
}

// visitAccepting visits the branch that accepts the value.
func (f *filler) visitAccepting(branches []*jsonschema.Schema, v any) {
	if !f.reachesAny(branches...) {
		return
	}
	for _, branch := range branches {
		if branch.Validate(v) == nil {
			f.visit(branch, v)
			return
		}
	}
}

func (f *filler) visitCondition(s *jsonschema.Schema, v any) {
	if s.If == nil || !f.reachesAny(s.Then, s.Else) {
		return
	}
	if s.If.Validate(v) == nil {
		f.visit(s.Then, v)
	} else {
		f.visit(s.Else, v)
	}
}

func (f *filler) reachesAny(schemas ...*jsonschema.Schema) bool {
	for _, s := range schemas {
		if f.reach[s] {
			return true
		}
	}
	return false
}

// defaultOf returns the default of a property's schema, its own or by reference.
func defaultOf(s *jsonschema.Schema) (any, bool) {
	for seen := map[*jsonschema.Schema]bool{}; s != nil && !seen[s]; s = s.Ref {
		if s.Default != nil {
			return *s.Default, true
		}
		seen[s] = true
	}
	return nil, false
}

// clone copies a tree, so that changes to a document do not reach the schema.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, value := range v {
			c[name] = clone(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, item := range v {
			c[i] = clone(item)
		}
		return c
	}
	return v
}
