package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Catalog is a tool catalog in the API.
type Catalog struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	OrgID       string     `json:"org_id,omitempty" doc:"The organization that it belongs to; without it and team_id it is global"`
	TeamID      string     `json:"team_id,omitempty" doc:"The team that it belongs to"`
	Active      bool       `json:"is_active" doc:"Clients can request active catalogs only"`
	Source      string     `json:"source" enum:"store,code" doc:"code: it is declared in the source of the server (//mcp:tool catalog=)"`
	ReadOnly    bool       `json:"read_only" doc:"It cannot be changed here"`
	Version     int64      `json:"version,omitempty" doc:"The value of its ETag; entries do not change it"`
	Created     *time.Time `json:"created_at,omitempty"`
	Updated     *time.Time `json:"updated_at,omitempty"`
}

func catalogOf(c store.Catalog) Catalog {
	shown := Catalog{
		ID: ids.Text(c.ID), Name: c.Name, Description: c.Description, Active: c.Active,
		Source:  "store",
		Version: c.Version, Created: &c.Created, Updated: &c.Updated,
	}
	if org := c.Scope.Org(); org != 0 {
		shown.OrgID = ids.Text(org)
	}
	if team := c.Scope.Team(); team != 0 {
		shown.TeamID = ids.Text(team)
	}
	return shown
}

func declaredOf(c catalog.Found) Catalog {
	return Catalog{ID: c.ID, Name: c.Name, Active: true, Source: "code", ReadOnly: true}
}

var errDeclared = problem.New(http.StatusConflict,
	"it is declared in the source of the server (//mcp:tool catalog=): change it there")

// NewCatalog contains the fields of a new catalog.
type NewCatalog struct {
	Name        string `json:"name" minLength:"1" maxLength:"256" doc:"Unique in its scope"`
	Description string `json:"description,omitempty" maxLength:"4096"`
	Active      *bool  `json:"is_active,omitempty" doc:"Default: true"`
}

func (c NewCatalog) active() bool { return c.Active == nil || *c.Active }

// CatalogPatch is a change of a catalog. Absent members stay. An empty description clears it.
type CatalogPatch struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"256"`
	Description *string `json:"description,omitempty" maxLength:"4096"`
	Active      *bool   `json:"is_active,omitempty"`
}

// NewCatalogAnywhere is a catalog that an admin creates.
type NewCatalogAnywhere struct {
	NewCatalog
	OrgID  Reference `json:"org_id,omitempty" doc:"Without it and team_id the catalog is global"`
	TeamID Reference `json:"team_id,omitempty"`
}

// Place narrows a list to the items of an organisation or a team.
type Place struct {
	OrgID  Reference `query:"org_id" doc:"Of this organization itself, without its teams"`
	TeamID Reference `query:"team_id" doc:"Of this team"`
}

// scope is the place, or otherwise without one.
//
// in is the part of the request that it was read from: "query" or "body".
func (p Place) scope(in string, otherwise store.Scope) (store.Scope, error) {
	switch {
	case p.OrgID != "" && p.TeamID != "":
		return store.Scope{}, problem.At(http.StatusUnprocessableEntity, in+".team_id",
			"send org_id or team_id, not both")
	case p.OrgID != "":
		return store.InOrg(ids.Of(string(p.OrgID))), nil
	case p.TeamID != "":
		return store.InTeam(ids.Of(string(p.TeamID))), nil
	}
	return otherwise, nil
}

// missing turns the store's error for a missing place into the fault of the body that named it.
//
// p is the place in the body.
func missing(err error, p Place) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if p.TeamID != "" {
		return problem.At(http.StatusUnprocessableEntity, "body.team_id",
			"unknown team id: GET %s lists the teams", everywhere.path+"/teams")
	}
	return problem.At(http.StatusUnprocessableEntity, "body.org_id",
		"unknown organization id: GET %s lists the organizations", everywhere.path+"/orgs")
}

// Conflicts with existing names.
const (
	catalogTaken = "a catalog %q already exists there: use another name, or change that catalog"
	teamTaken    = "the organization already has a team %q: use another name"
	orgTaken     = "an organization %q already exists: use another name"
)

const toolCatalogs = "/mcp/tool_catalogs"

// catalogs registers the operations on catalogs in a home.
func (a *API) catalogs(in home) {
	list := in.operation(http.MethodGet, "list-*-tool-catalogs", toolCatalogs, "List tool catalogs")
	create := in.operation(http.MethodPost, "create-*-tool-catalog", toolCatalogs,
		"Create a tool catalog", http.StatusConflict)
	if in.part == "" {
		type listed struct {
			Paging
			Place
		}
		register(a, list, in.gate, func(ctx context.Context, r *request, i *listed) (
			*pageOutput[Catalog], error) {
			scope, err := i.scope("query", r.scope)
			if err != nil {
				return nil, err
			}
			return a.listCatalogs(ctx, r, scope, i.Paging)
		})
		register(a, create, in.gate, func(ctx context.Context, r *request,
			i *struct{ Body NewCatalogAnywhere }) (*made[Catalog], error) {
			p := Place{i.Body.OrgID, i.Body.TeamID}
			scope, err := p.scope("body", store.Global)
			if err != nil {
				return nil, err
			}
			out, err := a.createCatalog(ctx, r, scope, i.Body.NewCatalog)
			return out, missing(err, p)
		})
	} else {
		register(a, list, in.gate, func(ctx context.Context, r *request, i *Paging) (
			*pageOutput[Catalog], error) {
			return a.listCatalogs(ctx, r, r.scope, *i)
		})
		register(a, create, in.gate, func(ctx context.Context, r *request,
			i *struct{ Body NewCatalog }) (*made[Catalog], error) {
			return a.createCatalog(ctx, r, r.scope, i.Body)
		})
	}

	i := items[store.Catalog, Catalog]{a: a, in: in, path: toolCatalogs, name: "*-tool-catalog",
		show: catalogOf,
		key:  func(c store.Catalog) (id, version int64) { return c.ID, c.Version },
		read: a.store.Catalog, remove: a.store.DeleteCatalog, before: a.beforeCatalog}
	register(a, in.operation(http.MethodGet, "get-*-tool-catalog", toolCatalogs+"/{id}",
		"Read a tool catalog", http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, id *ID) (*one[Catalog], error) {
			if c, ok := a.declared(r.scope, id.ID); ok {
				return found(declaredOf(c), 0), nil
			}
			return i.found(a.store.Catalog(ctx, r.scope, ids.Of(id.ID)))
		})
	update(i, "Change a tool catalog", func(ctx context.Context, r *request, id, version int64,
		p *CatalogPatch) (store.Catalog, error) {
		c, err := a.store.UpdateCatalog(ctx, r.scope, id, version, store.CatalogPatch(*p), r.by())
		if p.Name != nil {
			err = taken(err, "body.name", catalogTaken, *p.Name)
		}
		return c, err
	})
	i.delete("Delete a tool catalog with its entries")
}

// declared finds a catalog that code declares, by its id. Only admins of the server are shown them.
func (a *API) declared(in store.Scope, id string) (catalog.Found, bool) {
	if in != store.Anywhere || !strings.HasPrefix(id, discovery.DeclaredID("")) {
		return catalog.Found{}, false
	}
	all := a.server.DeclaredCatalogs()
	i := slices.IndexFunc(all, func(c catalog.Found) bool { return c.ID == id })
	if i < 0 {
		return catalog.Found{}, false
	}
	return all[i], true
}

// checkDeclared refuses a global catalog with a name that code declares: clients would never get
// it.
func (a *API) checkDeclared(in store.Scope, name string) error {
	if err := front.Shadowed(a.server.DeclaredCatalogs(), in, name); err != nil {
		return problem.At(http.StatusConflict, "body.name", "%s", err)
	}
	return nil
}

func (a *API) listCatalogs(ctx context.Context, r *request, in store.Scope, p Paging) (
	*pageOutput[Catalog], error) {
	kind, key, err := keyOf(p.After, byID, byDeclared)
	if err != nil {
		return nil, err
	}
	var all []Catalog
	if in == store.Anywhere && kind != byID {
		declared, more := cut(a.server.DeclaredCatalogs(),
			func(c catalog.Found) string { return c.Name },
			store.Page[string]{After: key, Limit: p.Limit})
		for _, c := range declared {
			all = append(all, declaredOf(c))
		}
		if more {
			return a.pageOfCatalogs(r, all, true), nil
		}
		key = ""
	}
	// At least one is read, since it shows whether there is a next page.
	room := p.Limit - len(all)
	some, more, err := a.store.Catalogs(ctx, in,
		store.Page[int64]{After: ids.Of(key), Limit: max(1, room)})
	if err != nil {
		return nil, err
	}
	if room == 0 {
		return a.pageOfCatalogs(r, all, len(some) > 0), nil
	}
	for _, c := range some {
		all = append(all, catalogOf(c))
	}
	return a.pageOfCatalogs(r, all, more), nil
}

func (a *API) pageOfCatalogs(r *request, all []Catalog, more bool) *pageOutput[Catalog] {
	return paged(r, all, more, func(c Catalog) Catalog { return c }, func(c Catalog) string {
		if c.ReadOnly {
			return cursorOf(byDeclared, c.Name)
		}
		return cursorOf(byID, c.ID)
	})
}

func (a *API) createCatalog(ctx context.Context, r *request, in store.Scope, n NewCatalog) (
	*made[Catalog], error) {
	if err := a.checkDeclared(in, n.Name); err != nil {
		return nil, err
	}
	c, err := a.store.CreateCatalog(ctx, in, n.Name, n.Description, n.active(), r.by())
	return created(r, ids.Text(c.ID), catalogOf(c), c.Version),
		taken(err, "body.name", catalogTaken, n.Name)
}

// beforeCatalog refuses a change of a catalog for reasons that are not those of the store. body is
// nil if the catalog is deleted.
func (a *API) beforeCatalog(ctx context.Context, r *request, id string, body any) error {
	patch, _ := body.(*CatalogPatch)
	if patch != nil && *patch == (CatalogPatch{}) {
		return problem.New(http.StatusUnprocessableEntity,
			"the body changes nothing: send name, description or is_active")
	}
	if _, ok := a.declared(r.scope, id); ok {
		return errDeclared
	}
	if patch == nil || patch.Name == nil || r.scope != store.Anywhere {
		return nil
	}
	c, err := a.store.Catalog(ctx, r.scope, ids.Of(id))
	if err == nil && c.Name != *patch.Name {
		err = a.checkDeclared(c.Scope, *patch.Name)
	}
	return err
}

// Entry is a tool's name in a catalog.
type Entry struct {
	ID      string     `json:"id,omitempty"`
	Tool    string     `json:"tool_name"`
	Module  string     `json:"module_id,omitempty" doc:"The origin of the tool, for readers"`
	Created *time.Time `json:"created_at,omitempty"`
}

func entryOf(e store.Entry) Entry {
	return Entry{ID: ids.Text(e.ID), Tool: e.Tool, Module: e.Module, Created: &e.Created}
}

// newEntry has the fields of a new entry. Whether the tool exists is not checked: the response
// would reveal it to a manager of a catalog who may not see all tools.
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
			all, more, err := a.store.Entries(ctx, r.scope, ids.Of(i.ID.ID), page)
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
			e, err := a.store.AddEntry(ctx, r.scope, ids.Of(i.ID.ID), i.Body.Tool,
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
			return nil, a.store.RemoveEntry(ctx, r.scope, ids.Of(i.ID.ID), i.Tool, r.by())
		})
}
