package api

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

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
		ID: textOf(m.ID), Issuer: m.Issuer, Subject: m.Subject, Standing: string(m.Standing),
		Version: m.Version, Created: m.Created, Updated: m.Updated,
	}
	if org := m.Scope.Org(); org != 0 {
		shown.OrgID = textOf(org)
	} else {
		shown.TeamID = textOf(m.Scope.Team())
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
				func(m store.Membership) string { return cursorOf(byID, textOf(m.ID)) }), err
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
				return nil, misfit(http.StatusUnprocessableEntity, "body.org_id",
					"send org_id or team_id")
			}
			m, err := a.store.AddMember(ctx, scope, i.Body.Issuer, i.Body.Subject,
				access.Standing(i.Body.Standing), r.by())
			err = taken(
				err, "body.subject",
				"%q of issuer %q is already a member of %s: PATCH the membership to change the standing",
				i.Body.Subject, i.Body.Issuer, scope)
			return created(r, textOf(m.ID), memberOf(m), m.Version), missing(err, p)
		})
	register(a, in.operation(http.MethodGet, "get-member", path+"/{id}", "Read a membership",
		http.StatusNotFound), in.gate,
		func(ctx context.Context, r *request, i *ID) (*one[Member], error) {
			m, err := a.store.Member(ctx, r.scope, idOf(i.ID))
			return found(memberOf(m), m.Version), err
		})
	version := func(ctx context.Context, r *request, id string) func() (int64, error) {
		return func() (int64, error) {
			m, err := a.store.Member(ctx, r.scope, idOf(id))
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
			err := r.change(true, version(ctx, r, i.ID.ID), func(version int64) (err error) {
				m, err = a.store.UpdateMember(
					ctx, r.scope, idOf(i.ID.ID), version, access.Standing(i.Body.Standing), r.by())
				return err
			})
			return found(memberOf(m), m.Version), err
		})
	register(a, in.operation(http.MethodDelete, "delete-member", path+"/{id}", "End a membership",
		deleting...), in.gate,
		func(ctx context.Context, r *request, i *One) (*nothing, error) {
			return nil, r.change(false, version(ctx, r, i.ID.ID), func(version int64) error {
				return a.store.RemoveMember(ctx, r.scope, idOf(i.ID.ID), version, r.by())
			})
		})
}
