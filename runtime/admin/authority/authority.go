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
	IsAdmin(p access.Principal) bool
}

// Authority answers who may manage what. It keeps nothing: what somebody was a moment ago does not count.
// It may be used from many goroutines at once.
type Authority struct {
	server      Server
	store       *store.Store
	memberships stored.Memberships
}

// New returns the authority over what a store keeps. Memberships says who is a member: those that the store
// has, by issuer and subject, or those that the principal claims, by the names that organisations and teams have
// in the store. A claimed team counts in the organisations that are claimed as well, and, where two of them have a
// team of that name, in both: a claim does not say which it means.
func New(server Server, s *store.Store, m stored.Memberships) *Authority {
	return &Authority{server, s, m}
}

// Admin reports whether a principal is an admin of the server. Anonymous callers never are.
func (a *Authority) Admin(p access.Principal) bool {
	return !p.Anonymous() && a.server.IsAdmin(p)
}

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
	places := map[store.Scope]Standing{}
	if p.Anonymous() {
		return places, nil
	}
	var err error
	if a.memberships == stored.Claimed {
		err = a.claimed(ctx, p, places)
	} else {
		err = a.stored(ctx, p, places)
	}
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return places, nil
}

func (a *Authority) stored(ctx context.Context, p access.Principal, places map[store.Scope]Standing) error {
	all, err := a.store.Memberships(ctx, p.Issuer, p.Subject)
	for _, m := range all {
		places[m.Scope] = of(m.Standing)
	}
	return err
}

func (a *Authority) claimed(ctx context.Context, p access.Principal, places map[store.Scope]Standing) error {
	orgs := names(p.Orgs, Member)
	in, err := a.store.ScopesNamed(ctx, orgs, names(p.Teams, Member))
	if err != nil {
		return err
	}
	for _, scope := range in {
		places[scope] = Member
	}
	if in, err = a.store.ScopesNamed(ctx, names(p.Orgs, Manager), nil); err != nil {
		return err
	}
	for _, scope := range in {
		places[scope] = Manager
	}
	for _, team := range names(p.Teams, Manager) {
		if in, err = a.store.ScopesNamed(ctx, orgs, []string{team}); err != nil {
			return err
		}
		in = slices.DeleteFunc(in, func(scope store.Scope) bool { return scope.Team() == 0 })
		if len(in) == 1 { // which of several is meant nobody can tell
			places[in[0]] = Manager
		}
	}
	return nil
}

// names are those of the memberships that make a principal at least so much.
func names(memberships []access.Membership, least Standing) []string {
	var all []string
	for _, m := range memberships {
		if of(m.Standing) >= least {
			all = append(all, m.Name)
		}
	}
	return all
}

// of is what a member's standing makes it. One that is none of those that there are makes a member, no more.
func of(s access.Standing) Standing {
	switch s {
	case access.Owner, access.Admin, access.Lead:
		return Manager
	}
	return Member
}
