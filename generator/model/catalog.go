package model

import (
	"maps"
	"slices"
)

// Catalog is a named group of tools that a client may ask for, as catalog= of //mcp:tool declares
// it. It shortens a list and says nothing about who may use what.
type Catalog struct {
	Name  string
	Tools []string // names
}

// Catalogs returns the catalogs that the tools of the service are in, by name.
func (s Service) Catalogs() []Catalog {
	tools := map[string][]string{}
	for _, t := range s.Tools {
		for _, name := range t.Catalogs {
			tools[name] = append(tools[name], t.Name)
		}
	}
	var list []Catalog
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		list = append(list, Catalog{Name: name, Tools: tools[name]})
	}
	return list
}
