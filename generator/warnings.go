package generator

import (
	"encoding/json"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/providers"
)

// Warning is a tool that the APIs of model providers refuse. They refuse each request with such a
// tool, and a client offers all tools of its servers in each request.
type Warning struct {
	providers.Warning
	Tool string
	Pos  model.Position
}

// warnings are those of a service with its schemas.
func warnings(s model.Service) (list []Warning, err error) {
	for _, tool := range s.Tools {
		schema := []byte(tool.Input.Written)
		if tool.Input.Written == "" {
			if !mayWarn(tool.Input.Schema, true) {
				continue
			}
			if schema, err = json.Marshal(tool.Input.Schema); err != nil {
				return nil, err
			}
		}
		found, err := providers.Warnings(schema)
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			list = append(list, Warning{w, tool.Name, tool.Pos})
		}
	}
	return list, nil
}

// mayWarn reports a schema from types for which there may be warnings. Without it, the schemas of
// all tools would be encoded once more, which takes a fifth of the time of a run.
func mayWarn(s *jsonschema.Schema, root bool) bool {
	if s == nil {
		return false
	}
	if root && (s.Not != nil || len(s.AnyOf)+len(s.OneOf)+len(s.AllOf)+len(s.Enum) > 0) {
		return true
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if !providers.TakesProperty(pair.Key) || mayWarn(pair.Value, false) {
			return true
		}
	}
	for _, parts := range []map[string]*jsonschema.Schema{s.Definitions, s.PatternProperties,
		s.DependentSchemas} {
		for _, part := range parts {
			if mayWarn(part, false) {
				return true
			}
		}
	}
	inside := func(part *jsonschema.Schema) bool { return mayWarn(part, false) }
	return slices.ContainsFunc([]*jsonschema.Schema{s.Items, s.AdditionalProperties, s.Not, s.If,
		s.Then, s.Else, s.Contains, s.PropertyNames, s.ContentSchema}, inside) ||
		slices.ContainsFunc(s.AnyOf, inside) || slices.ContainsFunc(s.OneOf, inside) ||
		slices.ContainsFunc(s.AllOf, inside) || slices.ContainsFunc(s.PrefixItems, inside)
}
