package generator

import (
	"encoding/json"

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
