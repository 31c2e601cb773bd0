// Package authority says who may manage what: the organisations, the teams, and what is of neither. The admin
// API and the console ask it, and nothing else.
//
// Whoever owns, administers or leads an organisation or a team manages what is in it. Being in a team is not
// being in its organisation, and what somebody is in an organisation says nothing of its teams. Admins of the server
// manage all there is.
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

// Standing is what a caller is to a scope.
type Standing int

const (
	// Stranger does not know that the scope is there: whatever is asked about it is answered as for one that
	// never was. It is the zero value.
	Stranger Standing = iota
	// Member knows that it is there and may not manage it.
	Member
	// Manager may change what is in it.
	Manager
)

// String names it, for logs and tests.
func (s Standing) String() string {
	switch s {
	case Member:
		return "member"
	case Manager:
		return "manager"
	}
	return "stranger"
}

// Server tells admins from others. *runtime.Server is one.
type Server interface {
	// IsAdmin reports whether a principal is an admin.
	IsAdmin(p access.Principal) bool
}

// Authority answers who may manage what. It keeps nothing: what somebody was a moment ago does not count.
// It may be used from many goroutines at once.
type Authority struct {
	server      Server
	store       *store.Store
	memberships stored.Memberships
}

// New returns the authority over what a store keeps. Memberships says who is a member, as for the server's catalogs: those
// that the store has ([stored.Stored]), or those that principals claim ([stored.Claimed]).
func New(server Server, s *store.Store, m stored.Memberships) *Authority {
	return &Authority{server, s, m}
}

// Admin reports whether a principal is an admin of the server. Anonymous callers never are.
func (a *Authority) Admin(p access.Principal) bool {
	return !p.Anonymous() && a.server.IsAdmin(p)
}

// MayGrant reports whether a principal decides which resources clients may use. Those are of the machine that the server
// runs on, and of no organisation: admins of the server decide, and no owner or lead does.
func (a *Authority) MayGrant(p access.Principal) bool { return a.Admin(p) }

// MayAudit reports whether a principal reads the audit trail, and deletes its oldest part. It holds what everybody did,
// of whichever organisation: only admins of the server do.
func (a *Authority) MayAudit(p access.Principal) bool { return a.Admin(p) }

// Of says what a principal is to a scope. What is global is known to all who are somebody, and admins manage it; a
// place that is none ([store.Anywhere] but for admins, the zero Scope, an organisation or a team that there is not) has strangers only.
// The error is the store's, and comes with Stranger.
//
// For others than admins the question to the store is about the caller and not about the scope: it takes the same time
// whether there is such a scope or not.
func (a *Authority) Of(ctx context.Context, p access.Principal, scope store.Scope) (Standing, error) {
	switch {
	case p.Anonymous():
		return Stranger, nil
	case a.Admin(p):
		return a.ofAdmin(ctx, scope)
	case scope == store.Global:
		return Member, nil
	}
	places, err := a.places(ctx, p)
	if err != nil {
		return Stranger, err
	}
	return places[scope], nil
}

// ofAdmin is Manager for whatever there is.
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

// Managed returns the organisations and teams that a principal manages itself, organisations first, each in the order of
// their ids. That an admin manages all of them is not in it.
func (a *Authority) Managed(ctx context.Context, p access.Principal) ([]store.Scope, error) {
	places, err := a.places(ctx, p)
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

// Places returns the organisations and teams that a principal is in, and what it is to each. Being an admin of the server
// adds none. The map is the caller's. What a token may not claim is not in it, nor what is gone.
func (a *Authority) Places(ctx context.Context, p access.Principal) (map[store.Scope]Standing, error) {
	return a.places(ctx, p)
}

// places are the organisations and teams that a principal is in.
func (a *Authority) places(ctx context.Context, p access.Principal) (map[store.Scope]Standing, error) {
	in, err := a.memberships.Of(ctx, a.store, p)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	places := map[store.Scope]Standing{}
	for scope, standings := range in {
		for _, s := range standings {
			places[scope] = max(places[scope], of(s))
		}
	}
	return places, nil
}

// of is what a member's standing makes it. One that is none of those that there are makes a member,
// no more.
func of(s access.Standing) Standing {
	switch s {
	case access.Owner, access.Admin, access.Lead:
		return Manager
	}
	return Member
}
