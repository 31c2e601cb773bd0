package stored

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// clients is how many clients' grants are kept.
	clients = 4096
	// grants is how many are kept of all clients. One of usual lengths takes about 400 bytes.
	grants = 1 << 16
)

type owner struct{ issuer, client string }

// holding is the grants of a client. Its revision is a hash of the grants and their owner, so that
// other changes in the store do not change it.
type holding struct {
	revision uint64
	grants   []grant.Grant
}

type loadedGrants = loader.Loader[owner, holding]

// cache keeps the grants that were read at one revision of the store. Its caller has read that
// revision before the grants are read: they are never older than the database was at the request.
// A mix with a later change is kept under a revision that no request reads again.
type cache struct {
	store           *store.Store
	clients, grants int // bounds
	seed            maphash.Seed

	mu sync.Mutex
	at store.Revision
	of *loadedGrants // at that revision
}

func newCache(s *store.Store, clients, grants int) *cache {
	return &cache{store: s, clients: clients, grants: grants, seed: maphash.MakeSeed()}
}

func (c *cache) get(ctx context.Context, of owner, at store.Revision) (holding, error) {
	e, err := c.loader(at).Get(ctx, of)
	if err != nil {
		return holding{}, err
	}
	return e.Value, nil
}

// loader returns the grants at a revision. It forgets those at another one.
func (c *cache) loader(at store.Revision) *loadedGrants {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || c.at != at {
		c.at, c.of = at, loader.New(loader.Config[owner, holding]{
			Key:  func(o owner) string { return fmt.Sprintf("%d:%s%s", len(o.issuer), o.issuer, o.client) },
			Load: c.load,
			Keep: func(_ owner, _ holding, err error) time.Duration {
				if err != nil {
					return 0
				}
				return loader.Forever
			},
			Size: c.grants, Cancel: true,
			// So many at least that both bounds hold.
			Cost: func(_ owner, h holding) int { return max(c.grants/c.clients, len(h.grants)) },
		})
	}
	return c.of
}

func (c *cache) load(ctx context.Context, of owner) (holding, error) {
	read, err := c.store.GrantsOf(ctx, of.issuer, of.client)
	if err != nil {
		return holding{}, err
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	fmt.Fprintf(&h, "%#v %#v", of, read) // with all fields, also later ones
	return holding{h.Sum64(), read}, nil
}
