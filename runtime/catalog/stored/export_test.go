package stored

import "github.com/mcpgen/mcpgen/runtime/store"

// NewKeeping is New with a smaller cache.
func NewKeeping(s *store.Store, memberships Memberships, answers, tools int) *Source {
	return &Source{store: s, memberships: memberships, answers: answers, tools: tools}
}

// Kept is how many callers, answers and names of tools a source keeps.
func (r *Source) Kept() (callers, answers, tools int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return 0, 0, 0
	}
	callers, _ = r.cache.places.Len()
	answers, _ = r.cache.answers.Len()
	catalogs, cost := r.cache.tools.Len()
	return callers, answers, cost - catalogs
}
