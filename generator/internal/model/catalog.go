package model

import (
	"maps"
	"slices"
)

// Catalog is a named group of tools that a client may request, declared by catalog= of
// //mcp:tool. It shortens a list and changes nobody's permissions.
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
