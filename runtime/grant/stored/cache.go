package stored

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// clients is how many clients' grants are kept.
	clients = 4096
	// grants is how many are kept over all clients. One of everyday lengths takes some 400 bytes.
	grants = 1 << 16
)

type owner struct{ issuer, client string }

// holding is what a client had when the store was at a revision, and a number of its own, which it keeps for as long as
// nothing else is read. It does not change.
type holding struct {
	at       store.Revision
	revision uint64
	grants   []grant.Grant
}

// cache keeps holdings. Whoever asks has read the store's revision before, and what is kept was read after the revision
// it is kept under: what is found is never older than the database was when it was asked for. What a change that
// came in between has mixed is kept under a revision that nobody will read again.
type cache struct {
	clients, grants int // that there is room for

	mu   sync.Mutex
	kept map[owner]holding
	used int    // grants
	last uint64 // the number of the newest holding: none is given twice
}

func newCache(clients, grants int) *cache {
	return &cache{clients: clients, grants: grants, kept: map[owner]holding{}}
}

func (c *cache) get(of owner, at store.Revision) (holding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, found := c.kept[of]
	return h, found && h.at == at
}

// put keeps what was read, and makes room by leaving out whatever comes first, which is by chance.
func (c *cache) put(of owner, at store.Revision, read []grant.Grant) holding {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, found := c.kept[of]
	if found {
		c.drop(of)
	}
	if h.at = at; !found || !slices.EqualFunc(h.grants, read, same) {
		c.last++
		h.revision, h.grants = c.last, read
	}
	for other := range c.kept {
		if len(c.kept) < c.clients && c.used+len(h.grants) <= c.grants {
			break
		}
		c.drop(other)
	}
	if len(h.grants) <= c.grants {
		c.kept[of] = h
		c.used += len(h.grants)
	}
	return h
}

func (c *cache) drop(of owner) {
	c.used -= len(c.kept[of].grants)
	delete(c.kept, of)
}

// same reports whether two grants that were read are alike in everything.
func same(a, b grant.Grant) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Resource == b.Resource && a.Restricted == b.Restricted && maps.Equal(a.Params, b.Params) &&
		a.Issuer == b.Issuer && a.Client == b.Client && a.By == b.By && a.Reason == b.Reason && a.Created.Equal(b.Created) && a.Expires.Equal(b.Expires)
}
