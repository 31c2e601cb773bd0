package stored

import "github.com/mcpgen/mcpgen/runtime/store"

// NewKeeping is New with a smaller cache.
func NewKeeping(s *store.Store, memberships Memberships, answers, tools int) *Source {
	return &Source{s, memberships, newCache(answers, tools)}
}

// Kept is how many callers, answers and names of tools a source keeps.
func (r *Source) Kept() (callers, answers, tools int) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	for _, names := range r.cache.tools.kept {
		tools += len(names)
	}
	return len(r.cache.places.kept), len(r.cache.answers.kept), tools
}
