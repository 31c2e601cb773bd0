package console_test

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// keeper keeps grants and requests in memory, and can be made to fail, and to have something else
// happen first.
type keeper struct {
	*grant.Memory
	failure   error
	meanwhile func()          // before something is changed
	odd       []grant.Request // besides, that no client could have made
}

func (k *keeper) change() error {
	if do := k.meanwhile; do != nil {
		k.meanwhile = nil
		do()
	}
	return k.failure
}

func (k *keeper) Grants(ctx context.Context, issuer, client string) ([]grant.Grant, uint64, error) {
	if k.failure != nil {
		return nil, 0, k.failure
	}
	return k.Memory.Grants(ctx, issuer, client)
}

func (k *keeper) Grant(ctx context.Context, g grant.Grant) (grant.Grant, error) {
	if err := k.change(); err != nil {
		return grant.Grant{}, err
	}
	return k.Memory.Grant(ctx, g)
}

func (k *keeper) Revoke(ctx context.Context, r grant.Revocation) ([]grant.Grant, error) {
	if err := k.change(); err != nil {
		return nil, err
	}
	return k.Memory.Revoke(ctx, r)
}

func (k *keeper) List(ctx context.Context, f grant.Filter) ([]grant.Grant, error) {
	if k.failure != nil {
		return nil, k.failure
	}
	return k.Memory.List(ctx, f)
}

func (k *keeper) Request(ctx context.Context, id string) (grant.Request, error) {
	if k.failure != nil {
		return grant.Request{}, k.failure
	}
	for _, r := range k.odd {
		if r.ID == id {
			return r, nil
		}
	}
	return k.Memory.Request(ctx, id)
}

func (k *keeper) Approve(ctx context.Context, id string, v grant.Verdict) (
	grant.Request, grant.Grant, error) {
	if err := k.change(); err != nil {
		return grant.Request{}, grant.Grant{}, err
	}
	return k.Memory.Approve(ctx, id, v)
}

func (k *keeper) Deny(ctx context.Context, id string, v grant.Verdict) (grant.Request, error) {
	if err := k.change(); err != nil {
		return grant.Request{}, err
	}
	return k.Memory.Deny(ctx, id, v)
}

func (k *keeper) Requests(ctx context.Context, f grant.Filter) ([]grant.Request, error) {
	if k.failure != nil {
		return nil, k.failure
	}
	found, err := k.Memory.Requests(ctx, f)
	for _, r := range k.odd {
		if r.Status == f.Status {
			found = append(found, r)
		}
	}
	return found, err
}

// requestPermission requests a permission for a client.
func (w *world) requestPermission(client, kind, resource, reason string) grant.Request {
	return must(w.keeper.Ask(context.Background(), grant.Request{
		Permission: grant.Permission{Type: kind, Resource: resource, Unrestricted: true},
		Issuer:     issuer, Client: client, Principal: "vera", Tool: "read_file", Reason: reason,
	}))
}

// gives gives a client something.
func (w *world) gives(client, kind, resource string) grant.Grant {
	return must(w.keeper.Grant(context.Background(),
		grant.Grant{Permission: grant.Permission{
			Type: kind, Resource: resource, Unrestricted: true}, Issuer: issuer, Client: client,
			By: "seed", Reason: "because"}))
}

// has is what a client has, a permission a line.
func (w *world) has(client string) (all []string) {
	for _, g := range must(w.keeper.List(context.Background(), grant.Filter{Client: client})) {
		all = append(all, g.Permission.String())
	}
	return all
}
