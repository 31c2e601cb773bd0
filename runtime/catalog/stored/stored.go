// Package stored finds tool catalogs in a store: among what the caller's teams and organisations
// have and what is global, and nowhere else.
package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var _ catalog.Source = (*Source)(nil)

// Memberships says where it is kept who is in which organisation and team.
type Memberships int

const (
	// Stored: in the store, by issuer and subject. This is the zero value.
	Stored Memberships = iota
	// Claimed: in the principal, as the identity source filled it in, by the names that organisations
	// and teams have in the store. A team counts in the organisations that the principal has as
	// well: two organisations may each have a team of one name. Standings are not looked at.
	Claimed
)

// Source is a [catalog.Source] over a store. It may be used from many goroutines at once.
type Source struct {
	store       *store.Store
	memberships Memberships
}

// New returns a source over a store, which stays the caller's to close.
func New(s *store.Store, memberships Memberships) *Source { return &Source{s, memberships} }

// Catalog returns the active catalog that a caller asks for. A name is looked for in the caller's teams
// first, then in its organisations, then globally; where two teams or two organisations have it, the one
// with the lower id counts and a note says so. Errors are [catalog.ErrUnknown], or the store's.
func (r *Source) Catalog(ctx context.Context, caller access.Principal, ask catalog.Ask) (catalog.Found, error) {
	scopes, err := r.scopes(ctx, caller)
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: the caller's memberships: %w", err)
	}
	var (
		c    store.Catalog
		note string
	)
	if ask.ID != "" {
		c, err = r.byID(ctx, scopes, ask.ID)
	} else {
		c, note, err = r.byName(ctx, scopes, ask.Name)
	}
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: %w", err)
	}
	tools, err := r.store.Tools(ctx, c.ID)
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: %w", err)
	}
	return catalog.Found{ID: strconv.FormatInt(c.ID, 10), Name: c.Name, Global: c.Scope == store.Global, Tools: tools, Note: note}, nil
}

// ToolsOff returns the names of the tools that are switched off, in order.
func (r *Source) ToolsOff(ctx context.Context) ([]string, error) { return r.store.ToolsOff(ctx) }

// Changes tells what has changed in the store.
func (r *Source) Changes(ctx context.Context) <-chan catalog.Change {
	out := make(chan catalog.Change)
	go func() {
		defer close(out)
		for c := range r.store.Changes(ctx) {
			change := catalog.Change{Tools: c.Kind == store.ChangedTool || c.Kind == store.Everything, Catalogs: c.Kind != store.ChangedTool}
			select {
			case out <- change:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// scopes are where the caller's catalogs can be.
func (r *Source) scopes(ctx context.Context, caller access.Principal) ([]store.Scope, error) {
	scopes := []store.Scope{store.Global}
	if caller.Anonymous() {
		return scopes, nil
	}
	if r.memberships == Claimed {
		own, err := r.store.ScopesNamed(ctx, names(caller.Orgs), names(caller.Teams))
		return append(scopes, own...), err
	}
	own, err := r.store.Memberships(ctx, caller.Issuer, caller.Subject)
	for _, m := range own {
		scopes = append(scopes, m.Scope)
	}
	return scopes, err
}

func names(memberships []access.Membership) []string {
	all := make([]string, len(memberships))
	for i, m := range memberships {
		all[i] = m.Name
	}
	return all
}

func (r *Source) byID(ctx context.Context, scopes []store.Scope, text string) (store.Catalog, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return store.Catalog{}, catalog.ErrUnknown // an id has one spelling
	}
	c, err := r.store.Catalog(ctx, store.Anywhere, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Catalog{}, catalog.ErrUnknown
	case err != nil:
		return store.Catalog{}, err
	case !c.Active || !slices.Contains(scopes, c.Scope):
		return store.Catalog{}, catalog.ErrUnknown
	}
	return c, nil
}

func (r *Source) byName(ctx context.Context, scopes []store.Scope, name string) (store.Catalog, string, error) {
	all, err := r.store.ActiveCatalogs(ctx, name, scopes...)
	if err != nil {
		return store.Catalog{}, "", err
	}
	if len(all) == 0 {
		return store.Catalog{}, "", catalog.ErrUnknown
	}
	slices.SortFunc(all, func(a, b store.Catalog) int {
		return cmp.Or(cmp.Compare(precedence(a), precedence(b)), cmp.Compare(a.Scope.Team(), b.Scope.Team()), cmp.Compare(a.Scope.Org(), b.Scope.Org()))
	})
	c := all[0]
	note := ""
	if len(all) > 1 && precedence(all[1]) == precedence(c) {
		note = fmt.Sprintf("several of your %ss have a catalog of this name: this one is of %s; ask by id %d or another to be sure", kinds[precedence(c)], c.Scope, c.ID)
	}
	return c, note, nil
}

var kinds = []string{"team", "organization", "scope"}

// precedence is 0 for a team's, 1 for an organisation's, 2 for a global one.
func precedence(c store.Catalog) int {
	switch {
	case c.Scope.Team() != 0:
		return 0
	case c.Scope.Org() != 0:
		return 1
	}
	return 2
}
