package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// Entity is a node of the graph.
type Entity struct {
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// Observation is about an entity: contents to add, or observations to remove.
type Observation struct {
	EntityName   string   `json:"entityName"`
	Contents     []string `json:"contents"`
	Observations []string `json:"observations,omitempty"`
}

// Relation is an edge between two entities, by their names.
type Relation struct {
	From         string `json:"from"`
	To           string `json:"to"`
	RelationType string `json:"relationType"`
}

// Graph is entities and the relations between them.
type Graph struct {
	Entities  []Entity   `json:"entities"`
	Relations []Relation `json:"relations"`
}

// entity returns the entity with a name, or nil.
func (g *Graph) entity(name string) *Entity {
	i := slices.IndexFunc(g.Entities, func(e Entity) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &g.Entities[i]
}

// part returns the entities that keep accepts, and the relations between them.
func (g *Graph) part(keep func(Entity) bool) Graph {
	var part Graph
	for _, e := range g.Entities {
		if keep(e) {
			part.Entities = append(part.Entities, e)
		}
	}
	for _, r := range g.Relations {
		if part.entity(r.From) != nil && part.entity(r.To) != nil {
			part.Relations = append(part.Relations, r)
		}
	}
	return part
}

// matches reports whether the lower-case query occurs in one of the entity's texts.
func (e Entity) matches(query string) bool {
	texts := append([]string{e.Name, e.EntityType}, e.Observations...)
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), query)
	})
}

// Store keeps a graph in a file, in the format of go-sdk's memory server.
type Store struct {
	path string
	mu   sync.Mutex
}

// Open returns the store of a file, which need not exist.
func Open(path string) *Store { return &Store{path: path} }

// record is an element of the file: an entity or a relation.
type record struct {
	Type         string   `json:"type"`
	Name         string   `json:"name,omitempty"`
	EntityType   string   `json:"entityType,omitempty"`
	Observations []string `json:"observations,omitempty"`
	From         string   `json:"from,omitempty"`
	To           string   `json:"to,omitempty"`
	RelationType string   `json:"relationType,omitempty"`
}

func (s *Store) read() (g Graph, err error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return g, nil
	}
	var records []record
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	if err != nil {
		return g, fmt.Errorf("the graph cannot be read: %w", err)
	}
	for _, r := range records {
		switch r.Type {
		case "entity":
			g.Entities = append(g.Entities, Entity{r.Name, r.EntityType, r.Observations})
		case "relation":
			g.Relations = append(g.Relations, Relation{r.From, r.To, r.RelationType})
		}
	}
	return g, nil
}

// view calls use with the graph.
func (s *Store) view(use func(*Graph)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.read()
	if err == nil {
		use(&g)
	}
	return err
}

// change calls edit with the graph, and writes the graph unless edit fails.
func (s *Store) change(edit func(*Graph) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.read()
	if err != nil {
		return err
	}
	if err := edit(&g); err != nil {
		return err
	}
	records := []record{}
	for _, e := range g.Entities {
		records = append(records, record{Type: "entity", Name: e.Name, EntityType: e.EntityType,
			Observations: e.Observations})
	}
	for _, r := range g.Relations {
		records = append(records, record{Type: "relation", From: r.From, To: r.To,
			RelationType: r.RelationType})
	}
	text, err := json.Marshal(records)
	if err == nil {
		err = os.WriteFile(s.path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the graph cannot be written: %w", err)
	}
	return nil
}
