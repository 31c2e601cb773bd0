// Package authority decides which organisations, teams and global items a principal may manage.
// The admin API and the console use no other rules.
//
// An owner, admin or lead of an organisation or a team manages its items. A member of a team is
// not thereby a member of its organisation. A standing in an organisation does not extend to its
// teams. Admins of the server manage everything. A client that may not administer is a member of
// the places that its user manages.
package authority

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Standing is the relation of a caller to a scope.
type Standing int

const (
	// Stranger does not belong to the scope: responses are the same as for a scope that does not
	// exist. It is the zero value.
	Stranger Standing = iota
	// Member may see the scope and not change it.
	Member
	// Manager may change the items of the scope.
	Manager
)

// String returns the name of the standing, for logs and tests.
func (s Standing) String() string {
	switch s {
	case Member:
		return "member"
	case Manager:
		return "manager"
	}
	return "stranger"
}

// Server identifies admins. A [runtime.Administered] is one.
type Server interface {
	// IsAdmin reports whether a principal is an admin.
	IsAdmin(p access.Principal) bool
	// MayManage reports whether the client of a principal may change what its user manages.
	MayManage(p access.Principal) bool
}

// Authority decides what principals may manage. It caches nothing, so that a lost standing has no
// effect any more. It is safe for concurrent use.
type Authority struct {
	server      Server
	store       *store.Store
	memberships stored.Memberships
}

// New returns the authority over a store. Memberships is the source of memberships, as for the
// server's catalogs: the store ([stored.Stored]) or the claims of principals ([stored.Claimed]).
func New(server Server, s *store.Store, m stored.Memberships) *Authority {
	return &Authority{server, s, m}
}

// Admin reports whether a principal is an admin of the server. Anonymous callers never are.
func (a *Authority) Admin(p access.Principal) bool {
	return !p.Anonymous() && a.server.IsAdmin(p)
}

// MayGrant reports whether a principal may decide on grants. Grants are for resources of the
// server's machine, which belong to no organisation. So only admins of the server decide.
func (a *Authority) MayGrant(p access.Principal) bool { return a.Admin(p) }

// MayAudit reports whether a principal may read the audit trail and prune it. The trail contains
// events of all organisations. So only admins of the server may.
func (a *Authority) MayAudit(p access.Principal) bool { return a.Admin(p) }

// Of returns the standing of a principal in a scope. Authenticated principals are members of the
// global scope, and admins manage it. In a scope that does not exist every principal is a
// [Stranger]. So it is in the zero Scope and, except for admins, in [store.Anywhere]. The error
// is the store's, and comes with Stranger.
//
// For principals who are no admins, the query selects by principal and not by scope. So it takes
// the same time whether the scope exists or not.
func (a *Authority) Of(ctx context.Context, p access.Principal, scope store.Scope) (
	Standing, error) {
	switch {
	case p.Anonymous():
		return Stranger, nil
	case a.Admin(p):
		return a.ofAdmin(ctx, scope)
	case scope == store.Global:
		return Member, nil
	}
	places, err := a.Places(ctx, p)
	if err != nil {
		return Stranger, err
	}
	return places[scope], nil
}

// ofAdmin returns Manager for a scope that exists.
func (a *Authority) ofAdmin(ctx context.Context, scope store.Scope) (Standing, error) {
	var err error
	switch {
	case scope.Org() != 0:
		_, err = a.store.Org(ctx, scope.Org())
	case scope.Team() != 0:
		_, err = a.store.Team(ctx, store.Anywhere, scope.Team())
	case scope != store.Global && scope != store.Anywhere:
		return Stranger, nil
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Stranger, nil
	case err != nil:
		return Stranger, fmt.Errorf("authority: %w", err)
	}
	return Manager, nil
}

// Managed returns the organisations and teams that a principal manages by its memberships:
// organisations first, each in the order of their ids. The rights of an admin add none.
func (a *Authority) Managed(ctx context.Context, p access.Principal) ([]store.Scope, error) {
	places, err := a.Places(ctx, p)
	if err != nil {
		return nil, err
	}
	var own []store.Scope
	for scope, standing := range places {
		if standing == Manager {
			own = append(own, scope)
		}
	}
	slices.SortFunc(own, func(a, b store.Scope) int {
		return cmp.Or(cmp.Compare(a.Team(), b.Team()), cmp.Compare(a.Org(), b.Org()))
	})
	return own, nil
}

// Places returns the organisations and teams of a principal, with its standing in each. The
// rights of an admin add none. Deleted ones are not in the map, and neither are claims that a
// token may not make. The caller may change the map.
func (a *Authority) Places(ctx context.Context, p access.Principal) (
	map[store.Scope]Standing, error) {
	in, err := a.memberships.Of(ctx, a.store, p)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	most := Member
	if a.server.MayManage(p) {
		most = Manager
	}
	places := map[store.Scope]Standing{}
	for scope, standings := range in {
		for _, s := range standings {
			places[scope] = max(places[scope], min(of(s), most))
		}
	}
	return places, nil
}

// of returns the standing that a membership gives. An unknown one gives Member only.
func of(s access.Standing) Standing {
	switch s {
	case access.Owner, access.Admin, access.Lead:
		return Manager
	}
	return Member
}
