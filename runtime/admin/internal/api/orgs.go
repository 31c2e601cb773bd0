package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/ifmatch"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
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
	return Org{ID: ids.Text(o.ID), Name: o.Name, Version: o.Version, Created: o.Created,
		Updated: o.Updated}
}

// Naming is the body of a request that names an organisation, or renames it or a team.
type Naming struct {
	Name string `json:"name" minLength:"1" maxLength:"256"`
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
			return paged(r, all, more, orgOf,
				func(o store.Org) string { return cursorOf(byID, ids.Text(o.ID)) }), err
		})
	register(a, in.operation(http.MethodPost, "create-org", path, "Create an organization",
		http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *struct{ Body Naming }) (*made[Org], error) {
			o, err := a.store.CreateOrg(ctx, i.Body.Name, r.by())
			return created(r, ids.Text(o.ID), orgOf(o), o.Version),
				taken(err, "body.name", orgTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodGet, "get-org", path+"/{id}", "Read an organization",
		http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Org], error) {
			o, err := a.store.Org(ctx, ids.Of(i.ID))
			return found(orgOf(o), o.Version), err
		})
	version := func(ctx context.Context, id string) func() (int64, error) {
		return func() (int64, error) {
			o, err := a.store.Org(ctx, ids.Of(id))
			return o.Version, err
		}
	}
	register(a, in.operation(http.MethodPatch, "update-org", path+"/{id}",
		"Rename an organization", changing...), in.gate,
		func(ctx context.Context, r *request, i *Renaming) (*one[Org], error) {
			var o store.Org
			err := ifmatch.Change(r.Request, true, version(ctx, i.ID.ID), func(version int64) (err error) {
				o, err = a.store.RenameOrg(ctx, ids.Of(i.ID.ID), version, i.Body.Name, r.by())
				return err
			})
			return found(orgOf(o), o.Version), taken(err, "body.name", orgTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodDelete, "delete-org", path+"/{id}",
		"Delete an organization with its teams, members and catalogs", deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			return nil, ifmatch.Change(r.Request, false, version(ctx, i.ID.ID), func(version int64) error {
				return a.store.DeleteOrg(ctx, ids.Of(i.ID.ID), version, r.by())
			})
		})
}

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
	return Team{ID: ids.Text(t.ID), OrgID: ids.Text(t.Org), Name: t.Name, Version: t.Version,
		Created: t.Created, Updated: t.Updated}
}

// newTeam has the fields of a new team.
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
				scope = store.InOrg(ids.Of(string(i.OrgID)))
			}
			all, more, err := a.store.Teams(ctx, scope, page)
			return paged(r, all, more, teamOf,
				func(t store.Team) string { return cursorOf(byID, ids.Text(t.ID)) }), err
		})
	register(a, in.operation(http.MethodPost, "create-team", path, "Create a team in an organization",
		http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *struct{ Body newTeam }) (*made[Team], error) {
			t, err := a.store.CreateTeam(ctx, ids.Of(string(i.Body.OrgID)), i.Body.Name, r.by())
			return created(r, ids.Text(t.ID), teamOf(t), t.Version),
				missing(taken(err, "body.name", teamTaken, i.Body.Name), Place{OrgID: i.Body.OrgID})
		})
	register(a, in.operation(http.MethodGet, "get-team", path+"/{id}", "Read a team",
		http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Team], error) {
			t, err := a.store.Team(ctx, r.scope, ids.Of(i.ID))
			return found(teamOf(t), t.Version), err
		})
	version := func(ctx context.Context, r *request, id string) func() (int64, error) {
		return func() (int64, error) {
			t, err := a.store.Team(ctx, r.scope, ids.Of(id))
			return t.Version, err
		}
	}
	register(a, in.operation(http.MethodPatch, "update-team", path+"/{id}", "Rename a team",
		changing...), in.gate,
		func(ctx context.Context, r *request, i *Renaming) (*one[Team], error) {
			var t store.Team
			read := version(ctx, r, i.ID.ID)
			err := ifmatch.Change(r.Request, true, read, func(version int64) (err error) {
				t, err = a.store.RenameTeam(ctx, r.scope, ids.Of(i.ID.ID), version, i.Body.Name,
					r.by())
				return err
			})
			return found(teamOf(t), t.Version), taken(err, "body.name", teamTaken, i.Body.Name)
		})
	register(a, in.operation(http.MethodDelete, "delete-team", path+"/{id}",
		"Delete a team with its members and catalogs", deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			read := version(ctx, r, i.ID.ID)
			return nil, ifmatch.Change(r.Request, false, read, func(version int64) error {
				return a.store.DeleteTeam(ctx, r.scope, ids.Of(i.ID.ID), version, r.by())
			})
		})
}

// Member is a membership in an organisation or a team.
type Member struct {
	ID       string    `json:"id"`
	OrgID    string    `json:"org_id,omitempty"`
	TeamID   string    `json:"team_id,omitempty"`
	Issuer   string    `json:"issuer" doc:"The issuer of the subject's tokens (claim iss)"`
	Subject  string    `json:"subject"`
	Standing string    `json:"standing" enum:"owner,admin,lead,member"`
	Version  int64     `json:"version" doc:"The value of its ETag"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

func memberOf(m store.Membership) Member {
	shown := Member{
		ID: ids.Text(m.ID), Issuer: m.Issuer, Subject: m.Subject, Standing: string(m.Standing),
		Version: m.Version, Created: m.Created, Updated: m.Updated,
	}
	if org := m.Scope.Org(); org != 0 {
		shown.OrgID = ids.Text(org)
	} else {
		shown.TeamID = ids.Text(m.Scope.Team())
	}
	return shown
}

// MemberStanding contains the new standing of a member.
type MemberStanding struct {
	Standing string `json:"standing" enum:"owner,admin,lead,member" doc:"Owners, admins and leads manage the catalogs of their organization or team"`
}

// NewMember contains the fields of a new membership.
type NewMember struct {
	MemberStanding
	OrgID   Reference `json:"org_id,omitempty" doc:"Either this or team_id. A member of a team is not a member of its organization"`
	TeamID  Reference `json:"team_id,omitempty"`
	Issuer  string    `json:"issuer" maxLength:"512"`
	Subject string    `json:"subject" minLength:"1" maxLength:"512"`
}

// members registers the operations on memberships.
func (a *API) members() {
	const path = "/members"
	in := everywhere
	type listed struct {
		Paging
		Place
	}
	register(a, in.operation(http.MethodGet, "list-members", path,
		"List the members of organizations and teams"), in.gate,
		func(ctx context.Context, r *request, i *listed) (*pageOutput[Member], error) {
			page, err := i.ids()
			if err != nil {
				return nil, err
			}
			scope, err := i.scope("query", r.scope)
			if err != nil {
				return nil, err
			}
			all, more, err := a.store.Members(ctx, scope, page)
			return paged(r, all, more, memberOf,
				func(m store.Membership) string { return cursorOf(byID, ids.Text(m.ID)) }), err
		})
	register(a, in.operation(http.MethodPost, "create-member", path,
		"Add a member to an organization or a team", http.StatusConflict), in.gate,
		func(ctx context.Context, r *request, i *struct{ Body NewMember }) (*made[Member], error) {
			p := Place{i.Body.OrgID, i.Body.TeamID}
			scope, err := p.scope("body", store.Scope{})
			if err != nil {
				return nil, err
			}
			if scope == (store.Scope{}) {
				return nil, problem.At(http.StatusUnprocessableEntity, "body.org_id",
					"send org_id or team_id")
			}
			m, err := a.store.AddMember(ctx, scope, i.Body.Issuer, i.Body.Subject,
				access.Standing(i.Body.Standing), r.by())
			err = taken(
				err, "body.subject",
				"%q of issuer %q is already a member of %s: PATCH the membership to change the standing",
				i.Body.Subject, i.Body.Issuer, scope)
			return created(r, ids.Text(m.ID), memberOf(m), m.Version), missing(err, p)
		})
	register(a, in.operation(http.MethodGet, "get-member", path+"/{id}", "Read a membership",
		http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Member], error) {
			m, err := a.store.Member(ctx, r.scope, ids.Of(i.ID))
			return found(memberOf(m), m.Version), err
		})
	version := func(ctx context.Context, r *request, id string) func() (int64, error) {
		return func() (int64, error) {
			m, err := a.store.Member(ctx, r.scope, ids.Of(id))
			return m.Version, err
		}
	}
	type patched struct {
		One
		Body MemberStanding
	}
	register(a, in.operation(http.MethodPatch, "update-member", path+"/{id}",
		"Change the standing of a member", changing...), in.gate,
		func(ctx context.Context, r *request, i *patched) (*one[Member], error) {
			var m store.Membership
			read := version(ctx, r, i.ID.ID)
			err := ifmatch.Change(r.Request, true, read, func(version int64) (err error) {
				m, err = a.store.UpdateMember(
					ctx, r.scope, ids.Of(i.ID.ID), version, access.Standing(i.Body.Standing), r.by())
				return err
			})
			return found(memberOf(m), m.Version), err
		})
	register(a, in.operation(http.MethodDelete, "delete-member", path+"/{id}", "End a membership",
		deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			read := version(ctx, r, i.ID.ID)
			return nil, ifmatch.Change(r.Request, false, read, func(version int64) error {
				return a.store.RemoveMember(ctx, r.scope, ids.Of(i.ID.ID), version, r.by())
			})
		})
}
