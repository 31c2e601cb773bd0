package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// Entry is a tool's name in a catalog.
type Entry struct {
	ID      string     `json:"id,omitempty"`
	Tool    string     `json:"tool_name"`
	Module  string     `json:"module_id,omitempty" doc:"The origin of the tool, for readers"`
	Created *time.Time `json:"created_at,omitempty"`
}

func entryOf(e store.Entry) Entry {
	return Entry{ID: textOf(e.ID), Tool: e.Tool, Module: e.Module, Created: &e.Created}
}

// newEntry is what an entry is made of. Whether there is such a tool is not looked at: who manages
// a catalog may not be let see all tools, and would learn from the answer which there are.
type newEntry struct {
	Tool   string   `json:"tool_name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a tool's name" doc:"The response is the same for tools that do not exist"`
	Module ModuleID `json:"module_id,omitempty"`
}

// EntryName selects an entry of a catalog by the tool's name.
type EntryName struct {
	ID
	Tool string `path:"tool_name" maxLength:"128" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a tool's name"`
}

// entries registers the operations on the entries of the catalogs in a home.
func (a *API) entries(in home) {
	const path = toolCatalogs + "/{id}/entries"

	type listed struct {
		ID
		Paging
	}
	register(a, in.operation(http.MethodGet, "list-*-tool-catalog-entries", path,
		"List the tools in a catalog, by name", http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *listed) (*pageOutput[Entry], error) {
			page, err := i.names()
			if err != nil {
				return nil, err
			}
			next := func(e Entry) string { return cursorOf(byName, e.Tool) }
			same := func(e Entry) Entry { return e }
			if c, ok := a.declared(r.scope, i.ID.ID); ok {
				var all []Entry
				for _, tool := range c.Tools {
					all = append(all, Entry{Tool: tool})
				}
				all, more := cut(all, func(e Entry) string { return e.Tool }, page)
				return paged(r, all, more, same, next), nil
			}
			all, more, err := a.store.Entries(ctx, r.scope, idOf(i.ID.ID), page)
			if err != nil {
				return nil, err
			}
			return paged(r, all, more, entryOf,
				func(e store.Entry) string { return cursorOf(byName, e.Tool) }), nil
		})

	type posted struct {
		ID
		Body newEntry
	}
	register(a, in.operation(http.MethodPost, "create-*-tool-catalog-entry", path,
		"Add a tool to a catalog", http.StatusNotFound, http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *posted) (*made[Entry], error) {
			if _, ok := a.declared(r.scope, i.ID.ID); ok {
				return nil, errDeclared
			}
			e, err := a.store.AddEntry(ctx, r.scope, idOf(i.ID.ID), i.Body.Tool,
				string(i.Body.Module), r.by())
			return created(r, e.Tool, entryOf(e), 0),
				taken(err, "body.tool_name", "%q is already in the catalog", i.Body.Tool)
		})

	remove := in.operation(http.MethodDelete, "delete-*-tool-catalog-entry", path+"/{tool_name}",
		"Remove a tool from a catalog", http.StatusNotFound)
	if in.part == "" { // where catalogs of code are
		remove.Errors = append(remove.Errors, http.StatusConflict)
	}
	register(a, remove, in.gate,
		func(ctx context.Context, r *request, i *EntryName) (*nothing, error) {
			if _, ok := a.declared(r.scope, i.ID.ID); ok {
				return nil, errDeclared
			}
			return nil, a.store.RemoveEntry(ctx, r.scope, idOf(i.ID.ID), i.Tool, r.by())
		})
}
