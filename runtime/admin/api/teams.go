package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// Team is a team in the API.
type Team struct {
	ID      string    `json:"id"`
	OrgID   string    `json:"org_id"`
	Name    string    `json:"name" doc:"Unique in its organization"`
	Version int64     `json:"version" doc:"The value of its ETag"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

func teamOf(t store.Team) Team {
	return Team{ID: textOf(t.ID), OrgID: textOf(t.Org), Name: t.Name, Version: t.Version,
		Created: t.Created, Updated: t.Updated}
}

// newTeam is what a team is made of.
type newTeam struct {
	OrgID Reference `json:"org_id"`
	Name  string    `json:"name" minLength:"1" maxLength:"256"`
}

// teams registers the operations on teams.
func (a *API) teams() {
	const path = "/teams"
	in := everywhere
	type listed struct {
		Paging
		OrgID Reference `query:"org_id" doc:"Of this organization"`
	}
	register(a, in.operation(http.MethodGet, "list-teams", path, "List teams"), in.gate,
		func(ctx context.Context, r *request, i *listed) (*pageOutput[Team], error) {
			page, err := i.ids()
			if err != nil {
				return nil, err
			}
			scope := r.scope
			if i.OrgID != "" {
				scope = store.InOrg(idOf(string(i.OrgID)))
			}
			all, more, err := a.store.Teams(ctx, scope, page)
			return paged(r, all, more, teamOf,
				func(t store.Team) string { return cursorOf(byID, textOf(t.ID)) }), err
		})
	register(a, in.operation(http.MethodPost, "create-team", path, "Create a team in an organization",
		http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *struct{ Body newTeam }) (*made[Team], error) {
			t, err := a.store.CreateTeam(ctx, idOf(string(i.Body.OrgID)), i.Body.Name, r.by())
			return created(r, textOf(t.ID), teamOf(t), t.Version),
				missing(taken(err, "body.name", teamTaken, i.Body.Name), Place{OrgID: i.Body.OrgID})
		})
	register(a, in.operation(http.MethodGet, "get-team", path+"/{id}", "Read a team",
		http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Team], error) {
			t, err := a.store.Team(ctx, r.scope, idOf(i.ID))
			return found(teamOf(t), t.Version), err
		})
	version := func(ctx context.Context, r *request, id string) func() (int64, error) {
		return func() (int64, error) {
			t, err := a.store.Team(ctx, r.scope, idOf(id))
			return t.Version, err
		}
	}
	register(a, in.operation(http.MethodPatch, "update-team", path+"/{id}", "Rename a team",
		changing...), in.gate,
		func(ctx context.Context, r *request, i *Renaming) (*one[Team], error) {
			var t store.Team
			err := r.change(true, version(ctx, r, i.ID.ID), func(version int64) (err error) {
				t, err = a.store.RenameTeam(ctx, r.scope, idOf(i.ID.ID), version, i.Body.Name,
					r.by())
				return err
			})
			return found(teamOf(t), t.Version), taken(err, "body.name", teamTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodDelete, "delete-team", path+"/{id}",
		"Delete a team with its members and catalogs", deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			return nil, r.change(false, version(ctx, r, i.ID.ID), func(version int64) error {
				return a.store.DeleteTeam(ctx, r.scope, idOf(i.ID.ID), version, r.by())
			})
		})
}
