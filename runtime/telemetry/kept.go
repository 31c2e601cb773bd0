package telemetry

import "sync"

// maxKept bounds the entries of one kept: a server with a hundred tools needs fewer.
const maxKept = 8 << 10

// kept caches values made of attributes, up to maxKept. It is safe for concurrent use.
type kept[K comparable, V any] struct {
	mu   sync.RWMutex
	made map[K]V
}

func (k *kept[K, V]) get(key K, build func(K) V) V {
	k.mu.RLock()
	v, ok := k.made[key]
	k.mu.RUnlock()
	if ok {
		return v
	}
	v = build(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[K]V{}
	}
	if len(k.made) < maxKept {
		k.made[key] = v
	}
	return v
}
