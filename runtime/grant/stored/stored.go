// Package stored keeps grants and requests in a store, where administrators change them while a
// server runs.
package stored

import (
	"cmp"
	"context"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var (
	_ grant.Registry = (*Keeper)(nil)
	_ grant.Recorder = (*Keeper)(nil)
)

// Keeper is a [grant.Registry] over a store. It is safe for concurrent use.
//
// Each change and its event in the store's audit trail are one transaction. The event begins with
// the event that [audit.Acting] put into the context. Without one, it has the name of the grantor
// from the change itself. A request without such an event is recorded as the client's own.
//
// Errors wrap those of package grant, or are the store's, which mean an outage.
type Keeper struct {
	store *store.Store
	open  int
	cache *cache
}

// Options configure a [Keeper].
type Options struct {
	// OpenRequests is the number of open requests of one client. Zero is [grant.MaxOpen].
	OpenRequests int
}

// New returns a keeper over a store. The caller closes the store.
func New(s *store.Store, o Options) *Keeper {
	return &Keeper{s, cmp.Or(o.OpenRequests, grant.MaxOpen), newCache(s, clients, grants)}
}

// RecordsChanges implements [grant.Recorder]: it returns true, because each change is one
// transaction with its event.
func (k *Keeper) RecordsChanges() bool { return true }

// Grants implements [grant.Source]. It reads the store's revision each time, one row by its key,
// and reads the grants only after a change of it. So the grants are as new as the database. A
// program that changes tables directly must increment the revision in store_revision. The
// returned revision belongs to the client in this process: changes of other data do not change
// it.
func (k *Keeper) Grants(ctx context.Context, issuer, client string) ([]grant.Grant, uint64, error) {
	if len(issuer) > grant.MaxIdentity || len(client) > grant.MaxIdentity {
		return nil, 0, nil // nobody could grant it anything
	}
	at, err := k.store.Revision(ctx)
	if err != nil {
		return nil, 0, err
	}
	h, err := k.cache.get(ctx, owner{issuer, client}, at)
	return h.grants, h.revision, err
}

// Changes implements [grant.Source]. Its changes do not name the client.
func (k *Keeper) Changes(ctx context.Context) <-chan grant.Change {
	out := make(chan grant.Change)
	go func() {
		defer close(out)
		for c := range k.store.Changes(ctx) {
			if c.Kind != storechange.Everything && c.Kind != storechange.Grant {
				continue
			}
			select {
			case out <- grant.Change{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// by is the event of the acting caller.
func by(ctx context.Context, otherwise audit.Event) audit.Event {
	if event, found := audit.WhoActs(ctx); found {
		return event
	}
	return otherwise
}

// Grant implements [grant.Keeper]. Errors wrap [grant.ErrInvalid] and [grant.ErrFull].
func (k *Keeper) Grant(ctx context.Context, g grant.Grant) (grant.Grant, error) {
	return k.store.Grant(ctx, g, by(ctx, audit.Event{Principal: g.By}))
}

// Revoke implements [grant.Keeper]. Errors wrap [grant.ErrInvalid].
func (k *Keeper) Revoke(ctx context.Context, r grant.Revocation) ([]grant.Grant, error) {
	return k.store.RevokeGrants(ctx, r, by(ctx, audit.Event{Principal: r.By}))
}

// List implements [grant.Keeper]. Errors wrap [grant.ErrInvalid].
func (k *Keeper) List(ctx context.Context, f grant.Filter) ([]grant.Grant, error) {
	return k.store.Grants(ctx, f)
}

// Ask implements [grant.Requests]. Errors wrap [grant.ErrInvalid] and [grant.ErrTooMany].
func (k *Keeper) Ask(ctx context.Context, r grant.Request) (grant.Request, error) {
	e := audit.Event{Issuer: r.Issuer, Principal: r.Principal, Client: r.Client, Tool: r.Tool}
	return k.store.RequestGrant(ctx, r, k.open, by(ctx, e))
}

// Request implements [grant.Requests].
func (k *Keeper) Request(ctx context.Context, id string) (grant.Request, error) {
	return k.store.GrantRequest(ctx, id)
}

// Approve implements [grant.Requests]. Errors also wrap [grant.ErrInvalid] and [grant.ErrFull];
// the request then stays open.
func (k *Keeper) Approve(ctx context.Context, id string, v grant.Verdict) (
	grant.Request, grant.Grant, error,
) {
	return k.store.ApproveRequest(ctx, id, v, by(ctx, audit.Event{Principal: v.By}))
}

// Deny implements [grant.Requests]. Errors also wrap [grant.ErrInvalid]; the request then stays
// open.
func (k *Keeper) Deny(ctx context.Context, id string, v grant.Verdict) (grant.Request, error) {
	return k.store.DenyRequest(ctx, id, v, by(ctx, audit.Event{Principal: v.By}))
}

// Requests implements [grant.Requests]. Errors wrap [grant.ErrInvalid].
func (k *Keeper) Requests(ctx context.Context, f grant.Filter) ([]grant.Request, error) {
	return k.store.GrantRequests(ctx, f)
}
