package corpus

import (
	"go/types"
	"hash/fnv"
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// keyword is that of a property whose field has a rule.
const keyword = "x-mcpgen-field"

// conceal deletes the properties of fields with rules from a schema, and returns their number.
func conceal(node any) (deleted int) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			deleted += conceal(one)
		}
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		for name, of := range properties {
			property, _ := of.(map[string]any)
			if property[keyword] == nil {
				continue
			}
			deleted++
			delete(properties, name)
			required, _ := node["required"].([]any)
			required = slices.DeleteFunc(required, func(v any) bool { return v == name })
			if node["required"] = required; len(required) == 0 {
				delete(node, "required")
			}
		}
		for _, member := range node {
			deleted += conceal(member)
		}
	}
	return deleted
}

// prune deletes the definitions that nothing refers to, and returns the number of others.
func prune(doc map[string]any) int {
	defs, _ := doc["$defs"].(map[string]any)
	delete(doc, "$defs")
	used := map[string]any{}
	var follow func(node any)
	follow = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, one := range node {
				follow(one)
			}
		case map[string]any:
			ref, _ := node["$ref"].(string)
			if key := path.Base(ref); ref != "" && used[key] == nil {
				used[key] = defs[key]
				follow(defs[key])
			}
			for _, member := range node {
				follow(member)
			}
		}
	}
	if follow(doc); len(used) > 0 {
		doc["$defs"] = used
	}
	return len(used)
}

func levels(s *jsonschema.Schema) (most int) {
	if s == nil {
		return 0
	}
	parts := slices.Concat(s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Items, s.AdditionalProperties})
	for _, part := range s.PatternProperties {
		parts = append(parts, part)
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		parts = append(parts, pair.Value)
	}
	for _, part := range parts {
		most = max(most, levels(part))
	}
	return most + 1
}

// TestSchemasWithoutGuardedFieldsAreThoseOfOmittedFields gives a rule to a part of all fields. A
// schema without the properties with rules is the one that the walker makes if the fields are
// omitted, and each field in the schema is one of these.
func TestSchemasWithoutGuardedFieldsAreThoseOfOmittedFields(t *testing.T) {
	src := read(t)
	compared, deleted, defined := 0, 0, 0
	for i, p := range src.pairs() {
		if p.name == "Walker/TextTags" || p.name == "Walker/Hides" {
			continue // a tag hides fields: a result without omitted fields is closed nevertheless
		}
		edits, names := map[*types.Var]schema.Edit{}, map[string]bool{}
		w := schema.New(src.pkg, src)
		w.Guard = func(field *types.Var, in types.Type) string {
			n, ok := types.Unalias(in).(*types.Named)
			if !ok || field.Embedded() || n.Obj().Pkg() == nil {
				return ""
			}
			name := n.Obj().Pkg().Path() + "." + n.Obj().Name() + "." + field.Name()
			h := fnv.New32()
			h.Write([]byte(name))
			if h.Sum32()%3 != uint32(i%3) {
				return ""
			}
			edits[field.Origin()], names[name] = schema.Edit{Omit: true}, true
			return name
		}
		s, _, problems := w.Output(p.static)
		if len(problems) > 0 || w.Unguarded(p.static, true) != "" {
			continue
		}
		fields := schema.Fields(s)
		if len(fields) == 0 {
			continue
		}
		if slices.ContainsFunc(fields, func(name string) bool { return !names[name] }) {
			t.Errorf("%s: the schema has other fields: %v", p.name, fields)
		}
		other := schema.New(src.pkg, src)
		other.Edit(edits)
		want, _, problems := other.Output(p.static)
		if len(problems) > 0 || levels(s) > 12 {
			continue // many levels take minutes to encode
		}
		got := values(t, s)
		deleted += conceal(got)
		if prune(got.(map[string]any)) > 0 {
			defined++
		}
		if want := values(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", p.name, got, want)
		}
		compared++
	}
	t.Logf("%d schemas compared, without %d properties, %d with definitions", compared, deleted,
		defined)
	if compared < 50 || deleted < least || defined < 5 {
		t.Errorf("%d schemas compared, without %d properties", compared, deleted)
	}
}
