// Package stored provides the tool catalogs of a store to a server. A caller gets the catalogs of
// its teams, its organisations and the global scope, and no others.
package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var _ catalog.Source = (*Source)(nil)

// Source is a [catalog.Source] over a store. It is safe for concurrent use.
//
// It caches resolved catalogs as long as the store's revision stays the same, and reads the
// revision for each request: see [store.Store.Revision]. So results are as new as the database. A
// program that changes tables directly must increment the revision in store_revision.
type Source struct {
	store          *store.Store
	memberships    Memberships
	results, tools int // bounds of the cache

	mu    sync.Mutex
	cache *cache // nil before the first request
}

// New returns a source over a store. The caller closes the store.
func New(s *store.Store, memberships Memberships) *Source {
	return &Source{store: s, memberships: memberships, results: results, tools: tools}
}

// Store returns the store of the source.
func (r *Source) Store() *store.Store { return r.store }

// Memberships returns the source of memberships.
func (r *Source) Memberships() Memberships { return r.memberships }

// Catalog returns the active catalog of a name for a caller. It searches the caller's teams
// first, then its organisations, then the global scope. If two teams or two organisations have
// the name, the lower id wins and a note reports it. The error is [catalog.ErrUnknown], or the
// store's.
func (r *Source) Catalog(ctx context.Context, caller access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	revision, err := r.store.Revision(ctx)
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: %w", err)
	}
	cache, in := r.at(revision), placeOf(store.Global)
	if r.memberships.counts(caller) {
		e, err := cache.places.Get(ctx, caller)
		if err != nil {
			return catalog.Found{}, fmt.Errorf("catalog: the caller's memberships: %w", err)
		}
		in = e.Value
	}
	if ref.ID != "" {
		ref.Name = ""
	}
	a, err := cache.results.Get(ctx, query{in, ref})
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: %w", err)
	}
	if a.Value.unknown {
		return catalog.Found{}, fmt.Errorf("catalog: %w", catalog.ErrUnknown)
	}
	names, err := cache.tools.Get(ctx, a.Value.id)
	if err != nil {
		return catalog.Found{}, fmt.Errorf("catalog: %w", err)
	}
	found := a.Value.found
	found.Tools = names.Value
	return found, nil
}

// ToolsOff returns the names of the tools that are switched off, in order. After the store was
// closed, the error is [catalog.ErrClosed].
func (r *Source) ToolsOff(ctx context.Context) ([]string, error) {
	names, err := r.store.ToolsOff(ctx)
	if errors.Is(err, store.ErrClosed) {
		err = catalog.ErrClosed
	}
	return names, err
}

// Changes reports the changes of the store, and the loss of its connection. A closed store
// reports no more changes. The channel is closed when ctx ends.
func (r *Source) Changes(ctx context.Context) <-chan catalog.Change {
	out := make(chan catalog.Change)
	go func() {
		defer close(out)
		defer func() { <-ctx.Done() }() // the store may be closed before
		for c := range r.store.Changes(ctx) {
			var change catalog.Change
			switch c.Kind {
			case storechange.Deaf:
				change.Deaf = true
			case storechange.Tool:
				change.Tools = true
			case storechange.Everything:
				change.Tools, change.Catalogs = true, true
			case storechange.Grant, storechange.Request, storechange.Audit, storechange.Boundary:
				continue
			default:
				change.Catalogs = true
			}
			select {
			case out <- change:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// readPlace reads where a caller's catalogs can be.
func (r *Source) readPlace(ctx context.Context, caller access.Principal) (place, error) {
	in, err := r.memberships.Of(ctx, r.store, caller)
	return placeOf(append(slices.Collect(maps.Keys(in)), store.Global)...), err
}

// key is all that the scopes depend on that a caller who counts is in.
func (m Memberships) key(p access.Principal) string {
	if m.claimed() {
		return spell(names(p.Orgs)) + "|" + spell(names(p.Teams))
	}
	return spell([]string{p.Issuer, p.Subject})
}

// placeOf takes scopes in any order.
func placeOf(scopes ...store.Scope) place {
	slices.SortFunc(scopes, func(a, b store.Scope) int {
		return cmp.Or(cmp.Compare(a.Team(), b.Team()), cmp.Compare(a.Org(), b.Org()))
	})
	var key strings.Builder
	for _, in := range scopes {
		fmt.Fprintf(&key, "%s,", in)
	}
	return place{scopes, key.String()}
}

// spell writes texts so that no others are written alike.
func spell(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "%d:%s", len(text), text)
	}
	return b.String()
}

func names(memberships []access.Membership) []string {
	all := make([]string, len(memberships))
	for i, m := range memberships {
		all[i] = m.Name
	}
	return all
}

// key is all that a result depends on.
func (q query) key() string { return spell([]string{q.in.key, q.ref.ID, q.ref.Name}) }

// readResult finds the catalog. A missing one is a result too.
func (r *Source) readResult(ctx context.Context, q query) (result, error) {
	if q.ref.ID != "" {
		return r.byID(ctx, q.in.scopes, q.ref.ID)
	}
	return r.byName(ctx, q.in.scopes, q.ref.Name)
}

func (r *Source) byID(ctx context.Context, scopes []store.Scope, text string) (result, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return result{unknown: true}, nil // an id has one spelling
	}
	c, err := r.store.Catalog(ctx, store.Anywhere, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return result{unknown: true}, nil
	case err != nil:
		return result{}, err
	case !c.Active || !slices.Contains(scopes, c.Scope):
		return result{unknown: true}, nil
	}
	return resultOf(c, ""), nil
}

func (r *Source) byName(ctx context.Context, scopes []store.Scope, name string) (result, error) {
	all, err := r.store.ActiveCatalogs(ctx, name, scopes...)
	if err != nil {
		return result{}, err
	}
	if len(all) == 0 {
		return result{unknown: true}, nil
	}
	slices.SortFunc(all, func(a, b store.Catalog) int {
		return cmp.Or(cmp.Compare(precedence(a), precedence(b)), cmp.Compare(a.Scope.Team(),
			b.Scope.Team()), cmp.Compare(a.Scope.Org(), b.Scope.Org()))
	})
	c := all[0]
	note := ""
	if len(all) > 1 && precedence(all[1]) == precedence(c) {
		note = fmt.Sprintf("several of your %ss have a catalog of this name: this one belongs to %s; "+
			"use the id, %d for this one", kinds[precedence(c)], c.Scope, c.ID)
	}
	return resultOf(c, note), nil
}

func resultOf(c store.Catalog, note string) result {
	return result{id: c.ID, found: catalog.Found{ID: strconv.FormatInt(c.ID, 10), Name: c.Name,
		Global: c.Scope == store.Global, Note: note}}
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
