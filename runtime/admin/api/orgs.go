package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// Org is an organisation in the API.
type Org struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Version int64     `json:"version" doc:"The value of its ETag"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func orgOf(o store.Org) Org {
	return Org{ID: textOf(o.ID), Name: o.Name, Version: o.Version, Created: o.Created, Updated: o.Updated}
}

// Naming is the body of a request that names an organisation, or renames it or a team.
type Naming struct {
	Name string `json:"name" minLength:"1" maxLength:"256"`
}

// One is a change of an item with a version, without a body.
type One struct {
	ID
	Condition
}

// Renaming is a change of a name.
type Renaming struct {
	One
	Body Naming
}

// orgs registers the operations on organisations.
func (a *API) orgs() {
	const path = "/orgs"
	in := everywhere
	register(a, in.operation(http.MethodGet, "list-orgs", path, "List organizations"), in.gate,
		func(ctx context.Context, r *request, i *Paging) (*pageOutput[Org], error) {
			page, err := i.ids()
			if err != nil {
				return nil, err
			}
			all, more, err := a.store.Orgs(ctx, page)
			return paged(r, all, more, orgOf, func(o store.Org) string { return cursorOf(byID, textOf(o.ID)) }), err
		})
	register(a, in.operation(http.MethodPost, "create-org", path, "Create an organization",
		http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *struct{ Body Naming }) (*made[Org], error) {
			o, err := a.store.CreateOrg(ctx, i.Body.Name, r.by())
			return created(r, textOf(o.ID), orgOf(o), o.Version), taken(err, "body.name", orgTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodGet, "get-org", path+"/{id}", "Read an organization", http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Org], error) {
			o, err := a.store.Org(ctx, idOf(i.ID))
			return found(orgOf(o), o.Version), err
		})
	version := func(ctx context.Context, id string) func() (int64, error) {
		return func() (int64, error) {
			o, err := a.store.Org(ctx, idOf(id))
			return o.Version, err
		}
	}
	register(a, in.operation(http.MethodPatch, "update-org", path+"/{id}", "Rename an organization", changing...), in.gate,
		func(ctx context.Context, r *request, i *Renaming) (*one[Org], error) {
			var o store.Org
			err := r.change(true, version(ctx, i.ID.ID), func(version int64) (err error) {
				o, err = a.store.RenameOrg(ctx, idOf(i.ID.ID), version, i.Body.Name, r.by())
				return err
			})
			return found(orgOf(o), o.Version), taken(err, "body.name", orgTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodDelete, "delete-org", path+"/{id}", "Delete an organization with its teams, members and catalogs", deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			return nil, r.change(false, version(ctx, i.ID.ID), func(version int64) error {
				return a.store.DeleteOrg(ctx, idOf(i.ID.ID), version, r.by())
			})
		})
}
