// Package people has the excerpts of the page.
//
//mcp:server name=people
//mcp:field mcp.Implementation.WebsiteURL minrole=Manager
package people

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Person is one entry of the directory.
type Person struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	// Salary is the yearly pay, in euros.
	//
	//mcp:field minrole=Manager
	Salary *int `json:"salary,omitempty"`
}

// Directory has the people by their numbers.
type Directory struct {
	mu     sync.Mutex
	people map[int]Person
	badges map[int]string
}

// GetPerson returns a person.
//
//mcp:tool minrole=Viewer readonly
func (d *Directory) GetPerson(ctx context.Context, id int) (Person, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.people[id], nil
}

// SavePerson replaces an entry. An absent argument that is optional stays as it is.
//
//mcp:tool minrole=Member idempotent
func (d *Directory) SavePerson(ctx context.Context, in Person) (Person, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stored, ok := d.people[in.ID]
	if !ok {
		return Person{}, errors.New("no such person")
	}
	if in.Salary == nil { // absent: keep it
		in.Salary = stored.Salary
	}
	d.people[in.ID] = in
	return in, nil
}

// Badge changes the badge of a person.
type Badge struct {
	ID int `json:"id"`
	// Door is the badge for the safe. Null takes it away.
	//
	//mcp:field minrole=Admin
	Door toolset.Optional[string] `json:"door,omitzero"`
}

// SetBadge changes a badge.
//
//mcp:tool minrole=Member idempotent
func (d *Directory) SetBadge(ctx context.Context, in Badge) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.Door.Present { // absent: keep it
		d.badges[in.ID] = in.Door.Value // null: empty
	}
	return nil
}

// Program returns the program of the directory.
//
//mcp:tool minrole=Viewer readonly
func (d *Directory) Program(ctx context.Context) (*mcp.Implementation, error) {
	return &mcp.Implementation{Name: "people", Version: "1", WebsiteURL: "https://people.example"}, nil
}

// Note is a type that no tool has by itself.
type Note struct {
	//mcp:field minrole=Admin
	Author string `json:"author"`
}

// Latest returns the latest entry of a kind.
//
//mcp:tool minrole=Viewer readonly
func (d *Directory) Latest(ctx context.Context, kind string) (map[string]any, error) {
	type memo Note
	type letter struct {
		*memo
		Pages int `json:"pages"`
	}
	note := Note{Author: "eve 4711"}
	switch kind {
	case "note":
		return map[string]any{"note": note}, nil
	case "memo":
		return map[string]any{"memos": []any{memo(note)}}, nil
	case "letter":
		return map[string]any{"letter": letter{(*memo)(&note), 2}}, nil
	}
	return map[string]any{"kind": kind}, nil
}
