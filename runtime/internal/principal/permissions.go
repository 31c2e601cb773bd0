package principal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const unknownTTL = 5 * time.Second // how long a principal is remembered as no user of the host
const maxQueries = 256             // that run, and so the goroutines that a hanging host holds

type entry = loader.Entry[*permissions]

// permissions are what the host lets one principal do. They do not change.
type permissions struct {
	set     capability.Set
	permits *access.Permits
}

func (h *Host) newCache() *loader.Loader[access.Principal, *permissions] {
	c := loader.Config[access.Principal, *permissions]{
		Key: keyOf, Load: h.load, Size: h.Max, Timeout: h.Timeout, MaxLoads: maxQueries,
		Fresh: h.TTL == 0, Loaded: h.Loaded,
		Keep: func(_ access.Principal, _ *permissions, err error) time.Duration {
			switch {
			case err == nil:
				return h.TTL
			case errors.Is(err, capability.ErrNoUser):
				return min(h.TTL, unknownTTL)
			}
			return 0
		},
		RetryJoined: func(err error) bool { return !errors.Is(err, capability.ErrNoUser) },
	}
	if h.Looked != nil {
		c.Looked = func(hit bool) { h.Looked("capabilities", hit) }
	}
	return loader.New(c)
}

func (h *Host) cached(ctx context.Context, p *access.Principal,
	get func(context.Context, access.Principal) (*entry, error)) (*entry, error) {
	p.Permits = nil // earlier permissions are no part of the query
	e, err := get(ctx, *p)
	switch {
	case err == nil:
		p.Permits = e.Value.permits
	case errors.Is(err, loader.ErrTimeout):
		err = fmt.Errorf("the host returned %w", worker.ErrNoResponse)
	}
	return e, err
}

// Queries returns the number of running queries.
func (h *Host) Queries() int { return h.cache.Loading() }

// load queries the host. It waits until the adapter returns, so that the query counts until then.
func (h *Host) load(ctx context.Context, p access.Principal) (*permissions, error) {
	return Supervise(context.WithoutCancel(ctx), h.Pool, h.Masker, func() (*permissions, error) {
		if err := h.Pending(); err != nil {
			// The error may wrap ErrNoUser for a configured user, and not for this caller. Its text
			// may be long, and is logged for each request.
			return nil, fmt.Errorf("the checks at start failed: %.500s", err.Error())
		}
		if h.misfit.Load() { // readiness may not be queried again
			if err := h.checkFit(ctx); err != nil {
				return nil, fmt.Errorf("the host does not fit the settings: %v", err)
			}
		}
		set, err := h.Source.Capabilities(ctx, p)
		if err != nil {
			return nil, err
		}
		for permission, err := range set.AllUnreadable() {
			h.Log.ErrorContext(ctx, "a permission of the host cannot be read; the server denies it",
				"permission", permission, "user", p.User, "principal", p.Subject,
				"issuer", p.Issuer, "error", h.Masker.Text(fmt.Sprint(err)))
		}
		return &permissions{set, h.Table.Permits(
			func(_ access.Kind, rule access.Rule) access.Permit {
				return permitOf(set, rule.Permission, h.native[rule.Permission])
			})}, nil
	})
}

func permitOf(set capability.Set, p access.Permission, native string) access.Permit {
	if set.Unrestricted(p.Type(), p.Action) {
		return access.PermitAll
	}
	switch constraints, held := set.Constraints(native); {
	case !held:
		return access.PermitNone
	case len(constraints) > 0:
		return access.PermitConstrained
	}
	return access.PermitAll
}

// keyOf encodes all that a [capability.Source] can read, each text after its length to be unique.
func keyOf(p access.Principal) string {
	b := make([]byte, 0, 256)
	count := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	texts := func(list ...string) {
		for _, s := range list {
			count(len(s))
			b = append(b, s...)
		}
	}
	texts(p.Issuer, p.Subject, p.Client, p.User, p.Role)
	for _, list := range [...][]string{p.Scopes, p.Groups} {
		count(len(list))
		texts(list...)
	}
	for _, list := range [...][]access.Membership{p.Orgs, p.Teams} {
		count(len(list))
		for _, m := range list {
			texts(m.Name, string(m.Standing))
		}
	}
	return string(b)
}
