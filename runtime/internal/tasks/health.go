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
	wrote time.Time // the last write of a lost task as it is, unless a use has failed since
}

// note takes the outcome of one use.
func (h *health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.since, h.wrote = time.Time{}, time.Time{}
	case h.since.IsZero():
		h.since = time.Now()
	}
}

// noteWrite notes that the store accepts changes.
func (h *health) noteWrite() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrote = time.Now()
}

// up reports whether the last use has succeeded.
func (h *health) up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.since.IsZero()
}

// settled reports whether the store has responded for more than the time of a lease and accepted a
// recent change. That change is old enough that each living run has renewed its lease since.
func (h *health) settled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return !h.since.IsZero() && now.Sub(h.since) > lease &&
		now.Sub(h.wrote) >= 2*PollInterval && now.Sub(h.wrote) <= 2*renewal
}
