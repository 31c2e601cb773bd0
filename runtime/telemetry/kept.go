package telemetry

import "sync"

// maxKept bounds what one kept holds: more than a server with a hundred tools has use for.
const maxKept = 8 << 10

// kept holds what is made of attributes, so that it is made once. Beyond maxKept it is made each
// time. It is safe for concurrent use.
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
