package tasks

import (
	"sync"
	"time"
)

// health is what a registry knows of its store. Runs go on while the store is gone, and their
// results wait for it. So a replica must not take a run for dead before the run could have reached
// the store.
type health struct {
	mu    sync.Mutex
	since time.Time // since when each use has succeeded; zero after a failure
	last  time.Time // the last use that succeeded
}

// note takes the outcome of one use. Without a use for a time, nothing is known of that time.
func (h *health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	switch {
	case err != nil:
		h.since = time.Time{}
		return
	case h.since.IsZero() || now.Sub(h.last) > 2*renewal:
		h.since = now
	}
	h.last = now
}

// up reports whether the last use has succeeded.
func (h *health) up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.since.IsZero()
}

// settled reports whether the store has responded for the time of a lease.
func (h *health) settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return !h.since.IsZero() && now.Sub(h.since) >= lease && now.Sub(h.last) <= 2*renewal
}
