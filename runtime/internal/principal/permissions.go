package principal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const unknownTTL = 5 * time.Second // how long a principal is remembered as no user of the host
const maxQueries = 256             // that run, and so the goroutines that a hanging host holds

// MaxBytes bounds the permissions that are kept, in bytes.
const MaxBytes = 64 << 20

type entry = loader.Entry[access.Principal, *permissions]

// permissions are what the host lets one principal do, as far as the table has rules about it. They
// do not change.
type permissions struct {
	permits *access.Permits // one for all principals with equal permissions
	// constraints are those of the permissions of constrained rules; nil without any.
	constraints map[access.Permission][]capability.Constraint
}

func (h *Host) newCache() *loader.Loader[access.Principal, *permissions] {
	c := loader.Config[access.Principal, *permissions]{
		Key: keyOf, Load: h.load, Size: MaxBytes, Timeout: h.Timeout, MaxLoads: maxQueries,
		Fresh: h.TTL == 0, Loaded: h.Loaded,
		// The least cost keeps the number of entries within Max.
		Cost: func(p access.Principal, held *permissions) int {
			return max(MaxBytes/h.Max, h.size(p, held))
		},
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
	e, err := get(ctx, p.Within())
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
		return h.compile(set), nil
	})
}

// compile keeps of a set of the host what the table has rules about.
func (h *Host) compile(set capability.Set) *permissions {
	held, all := &permissions{}, sha256.New()
	permits := h.Table.Permits(func(_ access.Kind, rule access.Rule) access.Permit {
		native := h.native[rule.Permission]
		permit := permitOf(set, rule.Permission, native)
		all.Write([]byte{byte(permit)})
		if permit == access.PermitConstrained && rule.Constrained &&
			held.constraints[rule.Permission] == nil {
			if held.constraints == nil {
				held.constraints = map[access.Permission][]capability.Constraint{}
			}
			constraints, _ := set.Constraints(native)
			held.constraints[rule.Permission] = constraints
		}
		return permit
	})
	held.permits = h.equal.one([sha256.Size]byte(all.Sum(nil)), permits)
	return held
}

// size is about how much memory a kept entry has, in bytes. Equal permits count for each.
func (h *Host) size(p access.Principal, held *permissions) int {
	const entry, member, sets = 1024, 64, 4 // sets of bits that permits have at most
	size := entry + 2*len(keyOf(p)) +       // the principal has the texts as well
		member*(len(p.Roles)+len(p.Scopes)+len(p.Groups)+len(p.Orgs)+len(p.Teams))
	if held == nil {
		return size
	}
	t := &h.Table
	for _, rules := range [...][]access.Rule{t.Rules, t.Prompts, t.Resources, t.Values,
		t.Fields} {
		size += sets * (len(rules) + 7) / 8
	}
	for _, constraints := range held.constraints {
		for _, c := range constraints {
			size += member + len(c)
		}
	}
	return size
}

// equalPermits keeps one of equal permits for as long as somebody has it.
type equalPermits struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]weak.Pointer[access.Permits] // by the digest of what they permit
}

func (e *equalPermits) one(digest [sha256.Size]byte, p *access.Permits) *access.Permits {
	e.mu.Lock()
	defer e.mu.Unlock()
	if same := e.by[digest].Value(); same != nil {
		return same
	}
	if e.by == nil {
		e.by = map[[sha256.Size]byte]weak.Pointer[access.Permits]{}
	}
	e.by[digest] = weak.Make(p)
	runtime.AddCleanup(p, e.forget, digest)
	return p
}

func (e *equalPermits) forget(digest [sha256.Size]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by[digest].Value() == nil { // and no others are equal to them again
		delete(e.by, digest)
	}
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
	texts(p.Issuer, p.Subject, p.Client, p.Actor.Issuer, p.Actor.Subject, p.User)
	for _, list := range [...][]string{p.Roles, p.Scopes, p.Groups} {
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
