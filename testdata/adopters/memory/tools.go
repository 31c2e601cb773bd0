// Package memory serves a knowledge graph: the tools of go-sdk's example server "memory".
//
//mcp:server name=memory
package memory

//go:generate go tool mcpgen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The arguments and the results of the tools.
type (
	entities struct {
		Entities []Entity `json:"entities"`
	}
	relations struct {
		Relations []Relation `json:"relations"`
	}
	observations struct {
		Observations []Observation `json:"observations"`
	}
	deletions struct {
		Deletions []Observation `json:"deletions"`
	}
	entityNames struct {
		EntityNames []string `json:"entityNames"`
	}
	names struct {
		Names []string `json:"names"`
	}
	query struct {
		Query string `json:"query"`
	}
)

// done is a result whose text reports success, as clients of the original expect it.
func done(what string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: what + " successfully"}}}
}

// Create multiple new entities in the knowledge graph
//
//mcp:tool minrole=Member
func (s *Store) CreateEntities(_ context.Context, _ *mcp.CallToolRequest, in entities) (
	*mcp.CallToolResult, entities, error) {
	var added entities
	err := s.change(func(g *Graph) error {
		for _, e := range in.Entities {
			if g.entity(e.Name) == nil {
				g.Entities = append(g.Entities, e)
				added.Entities = append(added.Entities, e)
			}
		}
		return nil
	})
	return done("Entities created"), added, err
}

// Create multiple new relations between entities
//
//mcp:tool minrole=Member
func (s *Store) CreateRelations(_ context.Context, _ *mcp.CallToolRequest, in relations) (
	*mcp.CallToolResult, relations, error) {
	var added relations
	err := s.change(func(g *Graph) error {
		for _, r := range in.Relations {
			if !slices.Contains(g.Relations, r) {
				g.Relations = append(g.Relations, r)
				added.Relations = append(added.Relations, r)
			}
		}
		return nil
	})
	return done("Relations created"), added, err
}

// Add new observations to existing entities
//
//mcp:tool minrole=Member
func (s *Store) AddObservations(_ context.Context, _ *mcp.CallToolRequest, in observations) (
	*mcp.CallToolResult, observations, error) {
	var added observations
	err := s.change(func(g *Graph) error {
		for _, o := range in.Observations {
			e := g.entity(o.EntityName)
			if e == nil {
				return fmt.Errorf("entity with name %s not found", o.EntityName)
			}
			fresh := Observation{EntityName: o.EntityName}
			for _, content := range o.Contents {
				if !slices.Contains(e.Observations, content) {
					e.Observations = append(e.Observations, content)
					fresh.Contents = append(fresh.Contents, content)
				}
			}
			added.Observations = append(added.Observations, fresh)
		}
		return nil
	})
	return done("Observations added"), added, err
}

// Remove entities and their relations
//
//mcp:tool minrole=Manager destructive
func (s *Store) DeleteEntities(_ context.Context, in entityNames) (*mcp.CallToolResult, error) {
	gone := func(name string) bool { return slices.Contains(in.EntityNames, name) }
	return done("Entities deleted"), s.change(func(g *Graph) error {
		g.Entities = slices.DeleteFunc(g.Entities, func(e Entity) bool { return gone(e.Name) })
		g.Relations = slices.DeleteFunc(g.Relations, func(r Relation) bool {
			return gone(r.From) || gone(r.To)
		})
		return nil
	})
}

// Remove specific observations from entities
//
//mcp:tool minrole=Manager destructive
func (s *Store) DeleteObservations(_ context.Context, in deletions) (*mcp.CallToolResult, error) {
	return done("Observations deleted"), s.change(func(g *Graph) error {
		for _, d := range in.Deletions {
			if e := g.entity(d.EntityName); e != nil {
				e.Observations = slices.DeleteFunc(e.Observations, func(known string) bool {
					return slices.Contains(d.Observations, known)
				})
			}
		}
		return nil
	})
}

// Remove specific relations from the graph
//
//mcp:tool minrole=Manager destructive
func (s *Store) DeleteRelations(_ context.Context, _ *mcp.CallToolRequest, in relations) (
	*mcp.CallToolResult, struct{}, error) {
	return done("Relations deleted"), struct{}{}, s.change(func(g *Graph) error {
		g.Relations = slices.DeleteFunc(g.Relations, func(r Relation) bool {
			return slices.Contains(in.Relations, r)
		})
		return nil
	})
}

// Read the entire knowledge graph
//
//mcp:tool minrole=Viewer readonly
func (s *Store) ReadGraph(context.Context, *mcp.CallToolRequest, struct{}) (
	result *mcp.CallToolResult, graph Graph, err error) {
	err = s.view(func(g *Graph) { graph = *g })
	return done("Graph read"), graph, err
}

// Search for nodes based on query
//
//mcp:tool minrole=Viewer readonly
func (s *Store) SearchNodes(_ context.Context, _ *mcp.CallToolRequest,
	in query) (result *mcp.CallToolResult, found Graph, err error) {
	text := strings.ToLower(in.Query)
	err = s.view(func(g *Graph) {
		found = g.part(func(e Entity) bool { return e.matches(text) })
	})
	return done("Nodes searched"), found, err
}

// Retrieve specific nodes by name
//
//mcp:tool minrole=Viewer readonly
func (s *Store) OpenNodes(_ context.Context, _ *mcp.CallToolRequest, in names) (
	result *mcp.CallToolResult, found Graph, err error) {
	err = s.view(func(g *Graph) {
		found = g.part(func(e Entity) bool { return slices.Contains(in.Names, e.Name) })
	})
	return done("Nodes opened"), found, err
}
