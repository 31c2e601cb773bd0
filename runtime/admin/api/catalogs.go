package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/catalog"
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
		ID: textOf(c.ID), Name: c.Name, Description: c.Description, Active: c.Active,
		Source:  "store",
		Version: c.Version, Created: &c.Created, Updated: &c.Updated,
	}
	if org := c.Scope.Org(); org != 0 {
		shown.OrgID = textOf(org)
	}
	if team := c.Scope.Team(); team != 0 {
		shown.TeamID = textOf(team)
	}
	return shown
}

func declaredOf(c catalog.Found) Catalog {
	return Catalog{ID: c.ID, Name: c.Name, Active: true, Source: "code", ReadOnly: true}
}

var errDeclared = problem(http.StatusConflict,
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

// scope is the place, or all that there is where none is said.
//
// in is where of the request it was read: "query" or "body".
func (p Place) scope(in string, otherwise store.Scope) (store.Scope, error) {
	switch {
	case p.OrgID != "" && p.TeamID != "":
		return store.Scope{}, misfit(http.StatusUnprocessableEntity, in+".team_id",
			"send org_id or team_id, not both")
	case p.OrgID != "":
		return store.InOrg(idOf(string(p.OrgID))), nil
	case p.TeamID != "":
		return store.InTeam(idOf(string(p.TeamID))), nil
	}
	return otherwise, nil
}

// missing turns what the store says of a place that there is not into what is wrong with the body
// that named it.
//
// p is the place that the body says.
func missing(err error, p Place) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if p.TeamID != "" {
		return misfit(http.StatusUnprocessableEntity, "body.team_id",
			"unknown team id: GET %s lists the teams", everywhere.path+"/teams")
	}
	return misfit(http.StatusUnprocessableEntity, "body.org_id",
		"unknown organization id: GET %s lists the organizations", everywhere.path+"/orgs")
}

// What is there already, by its name.
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

	register(a, in.operation(http.MethodGet, "get-*-tool-catalog", toolCatalogs+"/{id}",
		"Read a tool catalog", http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Catalog], error) {
			if c, ok := a.declared(r.scope, i.ID); ok {
				return found(declaredOf(c), 0), nil
			}
			c, err := a.store.Catalog(ctx, r.scope, idOf(i.ID))
			return found(catalogOf(c), c.Version), err
		})

	type patched struct {
		ID
		Condition
		Body CatalogPatch
	}
	register(a, in.operation(http.MethodPatch, "update-*-tool-catalog", toolCatalogs+"/{id}",
		"Change a tool catalog", changing...), in.gate,
		func(ctx context.Context, r *request, i *patched) (*one[Catalog], error) {
			if i.Body == (CatalogPatch{}) {
				return nil, problem(http.StatusUnprocessableEntity,
					"the body changes nothing: send name, description or is_active")
			}
			c, err := a.updateCatalog(ctx, r, i.ID.ID,
				store.CatalogPatch{Name: i.Body.Name, Description: i.Body.Description,
					Active: i.Body.Active})
			return found(catalogOf(c), c.Version), err
		})

	type deleted struct {
		ID
		Condition
	}
	register(a, in.operation(http.MethodDelete, "delete-*-tool-catalog", toolCatalogs+"/{id}",
		"Delete a tool catalog with its entries", deleting...), in.gate,
		func(ctx context.Context, r *request, i *deleted) (*nothing, error) {
			if _, ok := a.declared(r.scope, i.ID.ID); ok {
				return nil, errDeclared
			}
			id := idOf(i.ID.ID)
			return nil, r.change(false, a.catalogVersion(ctx, r, id), func(version int64) error {
				return a.store.DeleteCatalog(ctx, r.scope, id, version, r.by())
			})
		})
}

// What can go wrong with a change of something that has versions.
var (
	changing = []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusPreconditionRequired}
	deleting = []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed}
)

// declared finds a catalog that code declares, by its id. Only admins of the server are shown them.
func (a *API) declared(in store.Scope, id string) (catalog.Found, bool) {
	if in != store.Anywhere || !strings.HasPrefix(id, runtime.DeclaredID("")) {
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
		return misfit(http.StatusConflict, "body.name", "%s", err)
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
	// One at least is read, since whether there is one says whether there is a next page.
	room := p.Limit - len(all)
	some, more, err := a.store.Catalogs(ctx, in,
		store.Page[int64]{After: idOf(key), Limit: max(1, room)})
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
	return created(r, textOf(c.ID), catalogOf(c), c.Version),
		taken(err, "body.name", catalogTaken, n.Name)
}

func (a *API) updateCatalog(ctx context.Context, r *request, text string,
	patch store.CatalogPatch) (c store.Catalog, err error) {
	if _, ok := a.declared(r.scope, text); ok {
		return c, errDeclared
	}
	id := idOf(text)
	if patch.Name != nil && r.scope == store.Anywhere {
		before, err := a.store.Catalog(ctx, r.scope, id)
		if err != nil {
			return c, err
		}
		if err := a.checkDeclared(before.Scope, *patch.Name); err != nil &&
			before.Name != *patch.Name {
			return c, err
		}
	}
	err = r.change(true, a.catalogVersion(ctx, r, id), func(version int64) (err error) {
		c, err = a.store.UpdateCatalog(ctx, r.scope, id, version, patch, r.by())
		return err
	})
	if patch.Name != nil {
		err = taken(err, "body.name", catalogTaken, *patch.Name)
	}
	return c, err
}

func (a *API) catalogVersion(ctx context.Context, r *request, id int64) func() (int64, error) {
	return func() (int64, error) {
		c, err := a.store.Catalog(ctx, r.scope, id)
		return c.Version, err
	}
}
