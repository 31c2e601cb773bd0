package stored

import "github.com/mcpgen/mcpgen/runtime/store"

// NewKeeping is New with a smaller cache.
func NewKeeping(s *store.Store, memberships Memberships, results, tools int) *Source {
	return &Source{store: s, memberships: memberships, results: results, tools: tools}
}

// Kept is how many callers, results and names of tools a source keeps.
func (r *Source) Kept() (callers, results, tools int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return 0, 0, 0
	}
	callers, _ = r.cache.places.Len()
	results, _ = r.cache.results.Len()
	catalogs, cost := r.cache.tools.Len()
	return callers, results, cost - catalogs
}
