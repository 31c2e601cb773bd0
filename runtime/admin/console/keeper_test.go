package console_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// keeper keeps grants and requests in memory, and can be made to fail.
type keeper struct {
	grants    []grant.Grant // sorted
	requests  []grant.Request
	ids       int
	failure   error
	meanwhile func() // before a decision
}

func (k *keeper) id() string { k.ids++; return strconv.Itoa(k.ids) }

func (k *keeper) Grants(_ context.Context, issuer, client string) (found []grant.Grant, _ uint64, _ error) {
	for _, g := range k.grants {
		if g.Issuer == issuer && g.Client == client {
			found = append(found, g)
		}
	}
	return found, 1, k.failure
}

func (k *keeper) Changes(context.Context) <-chan grant.Change { return nil }

func (k *keeper) Grant(_ context.Context, g grant.Grant) (grant.Grant, error) {
	g.ID, g.Permission, g.Created = k.id(), g.Canonical(), time.Now()
	k.grants = append(k.grants, g)
	slices.SortFunc(k.grants, func(a, b grant.Grant) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Resource, b.Resource))
	})
	return g, k.failure
}

func (k *keeper) Revoke(_ context.Context, r grant.Revocation) (revoked []grant.Grant, _ error) {
	if k.meanwhile != nil {
		k.meanwhile()
	}
	k.grants = slices.DeleteFunc(k.grants, func(g grant.Grant) bool {
		_, these := grant.Revoke([]grant.Grant{g}, r.Type, r.Resource)
		if g.Issuer != r.Issuer || g.Client != r.Client {
			these = nil
		}
		revoked = append(revoked, these...)
		return len(these) > 0
	})
	return revoked, k.failure
}

// paged cuts a page out of all.
func paged[T any](all []T, id func(T) string, f grant.Filter) []T {
	all = all[slices.IndexFunc(all, func(one T) bool { return id(one) == f.After })+1:]
	return all[:min(len(all), f.Limit)]
}

func (k *keeper) List(_ context.Context, f grant.Filter) (found []grant.Grant, _ error) {
	for _, g := range k.grants {
		if (f.Issuer == "" || f.Issuer == g.Issuer) && (f.Client == "" || f.Client == g.Client) && (f.Type == "" || f.Type == g.Type) {
			found = append(found, g)
		}
	}
	return paged(found, func(g grant.Grant) string { return g.ID }, f), k.failure
}

func (k *keeper) Ask(_ context.Context, r grant.Request) (grant.Request, error) {
	r.ID, r.Status, r.Created = k.id(), grant.Open, time.Now()
	k.requests = append(k.requests, r)
	return r, nil
}

func (k *keeper) at(id string) (*grant.Request, error) {
	for i := range k.requests {
		if k.requests[i].ID == id {
			return &k.requests[i], k.failure
		}
	}
	return nil, cmp.Or(k.failure, fmt.Errorf("request %s: %w", id, grant.ErrUnknown))
}

func (k *keeper) Request(_ context.Context, id string) (grant.Request, error) {
	r, err := k.at(id)
	if err != nil {
		return grant.Request{}, err
	}
	return *r, nil
}

func (k *keeper) decide(id string, s grant.Status, v grant.Verdict) (*grant.Request, error) {
	if k.meanwhile != nil {
		k.meanwhile()
	}
	r, err := k.at(id)
	if err != nil {
		return &grant.Request{}, err
	}
	if r.Status != grant.Open {
		return r, fmt.Errorf("request %s: %w", id, grant.ErrDecided)
	}
	r.Status, r.By, r.Note, r.Decided = s, v.By, v.Note, time.Now()
	return r, nil
}

func (k *keeper) Approve(ctx context.Context, id string, v grant.Verdict) (grant.Request, grant.Grant, error) {
	r, err := k.decide(id, grant.Approved, v)
	if err != nil {
		return *r, grant.Grant{}, err
	}
	g := must(k.Grant(ctx, must(r.Granted(v, time.Now()))))
	r.Grant = g.ID
	return *r, g, nil
}

func (k *keeper) Deny(_ context.Context, id string, v grant.Verdict) (grant.Request, error) {
	r, err := k.decide(id, grant.Refused, v)
	return *r, err
}

func (k *keeper) Requests(_ context.Context, f grant.Filter) (found []grant.Request, _ error) {
	for _, r := range slices.Backward(k.requests) {
		if f.Status == "" || f.Status == r.Status {
			found = append(found, r)
		}
	}
	return paged(found, func(r grant.Request) string { return r.ID }, f), k.failure
}

// asks has a client ask for something.
func (w *world) asks(client, kind, resource, reason string) grant.Request {
	return must(w.keeper.Ask(context.Background(), grant.Request{
		Permission: grant.Permission{Type: kind, Resource: resource}, Issuer: issuer, Client: client, Principal: "vera", Tool: "read_file", Reason: reason,
	}))
}

// grants gives a client something.
func (w *world) gives(client, kind, resource string) grant.Grant {
	return must(w.keeper.Grant(context.Background(), grant.Grant{Permission: grant.Permission{Type: kind, Resource: resource}, Issuer: issuer, Client: client, By: "seed", Reason: "because"}))
}
