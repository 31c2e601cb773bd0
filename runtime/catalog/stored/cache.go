package stored

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// results is how many results are kept, and for how many callers where their catalogs can be.
	results = 4096
	// tools is how many names of tools are kept, of all catalogs. One of 40 bytes takes about 60.
	tools = 1 << 18
	// longest bounds the key of what is kept, in bytes: the caller chooses its length.
	longest = 4096
)

// cache keeps what was read at one revision of the store. Its caller has read that revision before
// the rest: a result is never older than the database was at the request, on any replica. A mix
// with a later change is kept under a revision that no request reads again.
type cache struct {
	revision store.Revision
	places   *loader.Loader[access.Principal, place]
	results  *loader.Loader[query, result]
	tools    *loader.Loader[int64, []string] // by catalog
}

// place is where a caller's catalogs can be.
type place struct {
	scopes []store.Scope
	key    string // equal for equal scopes
}

// query is a requested catalog, and where it is searched.
type query struct {
	in  place
	ref catalog.Ref
}

// result is a catalog without its tools, or that there is none.
type result struct {
	id      int64
	found   catalog.Found
	unknown bool
}

// at returns the cache of a revision. It forgets that of another one.
func (r *Source) at(revision store.Revision) *cache {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil || r.cache.revision != revision {
		r.cache = &cache{
			revision: revision,
			places:   newLoader(r.results, r.memberships.key, r.readPlace, nil),
			results:  newLoader(r.results, query.key, r.readResult, nil),
			tools: newLoader(r.tools, func(id int64) string { return fmt.Sprint(id) }, r.store.Tools,
				func(_ int64, names []string) int { return 1 + len(names) }),
		}
	}
	return r.cache
}

// newLoader returns a loader that keeps all but errors and what has a long key.
func newLoader[I, V any](
	size int, key func(I) string, read func(context.Context, I) (V, error), cost func(I, V) int,
) *loader.Loader[I, V] {
	return loader.New(loader.Config[I, V]{
		Key: key, Load: read, Size: size, Cost: cost, Cancel: true,
		Keep: func(in I, _ V, err error) time.Duration {
			if err != nil || len(key(in)) > longest {
				return 0
			}
			return loader.Forever
		},
	})
}
