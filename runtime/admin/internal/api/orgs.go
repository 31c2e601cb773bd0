package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/audit"
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

// orgs registers the operations on organisations.
func (a *API) orgs() {
	i := items[store.Org, Org]{a: a, in: everywhere, path: "/orgs", name: "org", show: orgOf,
		key: func(o store.Org) (id, version int64) { return o.ID, o.Version },
		read: func(ctx context.Context, _ store.Scope, id int64) (store.Org, error) {
			return a.store.Org(ctx, id)
		},
		remove: func(ctx context.Context, _ store.Scope, id, version int64, by audit.Event) error {
			return a.store.DeleteOrg(ctx, id, version, by)
		}}
	list(i, "List organizations", func(ctx context.Context, _ *request, page store.Page[int64],
		_ *Paging) ([]store.Org, bool, error) {
		return a.store.Orgs(ctx, page)
	})
	create(i, "Create an organization", func(ctx context.Context, r *request, n *Naming) (store.Org,
		error) {
		o, err := a.store.CreateOrg(ctx, n.Name, r.by())
		return o, taken(err, "body.name", orgTaken, n.Name)
	})
	i.get("Read an organization")
	update(i, "Rename an organization", func(ctx context.Context, r *request, id, version int64,
		n *Naming) (store.Org, error) {
		o, err := a.store.RenameOrg(ctx, id, version, n.Name, r.by())
		return o, taken(err, "body.name", orgTaken, n.Name)
	})
	i.delete("Delete an organization with its teams, members and catalogs")
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
	i := items[store.Team, Team]{a: a, in: everywhere, path: "/teams", name: "team", show: teamOf,
		key:  func(t store.Team) (id, version int64) { return t.ID, t.Version },
		read: a.store.Team, remove: a.store.DeleteTeam}
	type listed struct {
		Paging
		OrgID Reference `query:"org_id" doc:"Of this organization"`
	}
	list(i, "List teams", func(ctx context.Context, r *request, page store.Page[int64],
		l *listed) ([]store.Team, bool, error) {
		scope, err := Place{OrgID: l.OrgID}.scope("query", r.scope)
		if err != nil {
			return nil, false, err
		}
		return a.store.Teams(ctx, scope, page)
	})
	create(i, "Create a team in an organization", func(ctx context.Context, r *request,
		n *newTeam) (store.Team, error) {
		t, err := a.store.CreateTeam(ctx, ids.Of(string(n.OrgID)), n.Name, r.by())
		return t, missing(taken(err, "body.name", teamTaken, n.Name), Place{OrgID: n.OrgID})
	})
	i.get("Read a team")
	update(i, "Rename a team", func(ctx context.Context, r *request, id, version int64, n *Naming) (
		store.Team, error) {
		t, err := a.store.RenameTeam(ctx, r.scope, id, version, n.Name, r.by())
		return t, taken(err, "body.name", teamTaken, n.Name)
	})
	i.delete("Delete a team with its members and catalogs")
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
	i := items[store.Membership, Member]{a: a, in: everywhere, path: "/members", name: "member",
		show: memberOf,
		key:  func(m store.Membership) (id, version int64) { return m.ID, m.Version },
		read: a.store.Member, remove: a.store.RemoveMember}
	type listed struct {
		Paging
		Place
	}
	list(i, "List the members of organizations and teams", func(ctx context.Context,
		r *request, page store.Page[int64], l *listed) ([]store.Membership, bool, error) {
		scope, err := l.scope("query", r.scope)
		if err != nil {
			return nil, false, err
		}
		return a.store.Members(ctx, scope, page)
	})
	create(i, "Add a member to an organization or a team", func(ctx context.Context, r *request,
		n *NewMember) (m store.Membership, err error) {
		p := Place{n.OrgID, n.TeamID}
		scope, err := p.scope("body", store.Scope{})
		if err != nil {
			return m, err
		}
		if scope == (store.Scope{}) {
			return m, problem.At(http.StatusUnprocessableEntity, "body.org_id",
				"send org_id or team_id")
		}
		m, err = a.store.AddMember(ctx, scope, n.Issuer, n.Subject, access.Standing(n.Standing), r.by())
		return m, missing(taken(err, "body.subject",
			"%q of issuer %q is already a member of %s: PATCH the membership to change the standing",
			n.Subject, n.Issuer, scope), p)
	})
	i.get("Read a membership")
	update(i, "Change the standing of a member", func(ctx context.Context, r *request,
		id, version int64, n *MemberStanding) (store.Membership, error) {
		return a.store.UpdateMember(ctx, r.scope, id, version, access.Standing(n.Standing), r.by())
	})
	i.delete("End a membership")
}
