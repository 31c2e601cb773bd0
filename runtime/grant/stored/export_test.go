package stored

import "github.com/mcpgen/mcpgen/runtime/store"

// NewKeeping is New with a smaller cache.
func NewKeeping(s *store.Store, clients, grants int) *Keeper {
	return &Keeper{s, 3, newCache(s, clients, grants)}
}

// Kept is how many clients a keeper keeps, and the costs of their grants.
func (k *Keeper) Kept() (clients, grants int) {
	k.cache.mu.Lock()
	defer k.cache.mu.Unlock()
	if k.cache.of == nil {
		return 0, 0
	}
	return k.cache.of.Len()
}
