package stored

import "github.com/mcpgen/mcpgen/runtime/store"

// NewKeeping is New with a smaller cache.
func NewKeeping(s *store.Store, clients, grants int) *Keeper {
	return &Keeper{s, 3, newCache(clients, grants)}
}

// Kept is how many clients and grants a keeper keeps.
func (k *Keeper) Kept() (clients, grants int) {
	k.cache.mu.Lock()
	defer k.cache.mu.Unlock()
	for _, h := range k.cache.kept {
		grants += len(h.grants)
	}
	return len(k.cache.kept), grants
}
