package oidc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// loadTimeout bounds one load. It is shorter than a server waits for an identity by default, so
// that the caller gets the reason.
const loadTimeout = 8 * time.Second

// patience is how long a request waits for a provider while the held value serves: long enough for
// one that responds, so that a key that it has withdrawn ends with the period, and short for one
// that hangs.
const patience = time.Second

// quiet is how long nothing was loaded when the next pause is the shortest again.
const quiet = time.Minute

// cached is a document of a provider: fetched on its first use, and again after a period. While
// that fails, or takes longer than [patience], the held value serves for the stale period and no
// longer. After that, no request waits until a load succeeds.
//
// One load runs at a time, however many callers want one. After a load there is a pause, whatever
// came of the load: first of [retryInterval], then twice as long after each load, up to interval.
// After a quiet time the first pause is the shortest again. See [retryInterval] for the bound.
type cached[T any] struct {
	what          string // for errors and the log
	load          func(context.Context) (T, error)
	period, stale time.Duration
	interval      time.Duration // the longest pause between two loads
	log           *slog.Logger

	flight singleflight.Group
	mu     sync.Mutex
	held   held[T]
}

func newCached[T any](i *issuer, what string, load func(context.Context) (T, error)) *cached[T] {
	return &cached[T]{what: what + i.settings.URL, load: load, period: i.settings.KeyPeriod,
		stale: i.settings.StalePeriod, interval: refreshInterval, log: i.log}
}

// held is one state of a cached value.
type held[T any] struct {
	value T
	// when the load of value began and ended, zero for never, and when the last try ended
	began, loaded, tried time.Time
	pause                time.Duration // from tried to the next try, at least
	failure              error         // of the last try
	slow                 bool          // somebody's patience has ended since a load succeeded
}

// get returns what is held, loaded anew where its period is over.
func (c *cached[T]) get(ctx context.Context) (held[T], error) {
	h := c.state()
	switch age := time.Since(h.loaded); {
	case h.loaded.IsZero():
	case age < c.period:
		return h, nil
	case age < c.period+c.stale:
		return c.renewed(ctx, h), nil
	}
	h, err := c.renew(ctx, h)
	if err != nil {
		return h, err
	}
	if c.serves(h) {
		return h, nil
	}
	return h, fmt.Errorf("%s: %w", c.what, h.failure)
}

// serves reports whether a state has a value that still counts.
func (c *cached[T]) serves(h held[T]) bool {
	return !h.loaded.IsZero() && time.Since(h.loaded) < c.period+c.stale
}

// renewed has what is held loaded anew and returns what is held then: the new where that is there
// soon, and otherwise the old, which serves while it is loaded.
func (c *cached[T]) renewed(ctx context.Context, h held[T]) held[T] {
	if h.slow || h.failure != nil {
		c.start(h)
		return h
	}
	wait := patience
	if end, ok := ctx.Deadline(); ok { // or what is held would come too late
		wait = min(wait, time.Until(end)/2)
	}
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	newer, err := c.renew(short, h)
	if err != nil && ctx.Err() == nil {
		c.mu.Lock()
		c.held.slow = c.held.tried.Equal(h.tried)
		c.mu.Unlock()
	}
	return newer
}

// renew loads again, unless h has been replaced meanwhile, or the pause is not over. Its own error
// is that of ctx; the result of the load is in the value.
func (c *cached[T]) renew(ctx context.Context, h held[T]) (held[T], error) {
	done := c.start(h)
	if done == nil {
		return c.state(), nil
	}
	select {
	case <-done:
		return c.state(), nil
	case <-ctx.Done():
		return h, fmt.Errorf("%s: %w", c.what, ctx.Err())
	}
}

// start starts to load, or joins a running load. Its result is nil if no load is needed; see renew.
func (c *cached[T]) start(h held[T]) <-chan singleflight.Result {
	if now := c.state(); now.tried.After(h.tried) || c.resting(now) {
		return nil
	}
	return c.flight.DoChan("", func() (any, error) {
		// A caller right after the end of a load starts no new one.
		if !c.resting(c.state()) {
			c.refresh()
		}
		return nil, nil
	})
}

func (c *cached[T]) resting(h held[T]) bool { return h.rest() > 0 }

// rest is how much of the pause is left.
func (h held[T]) rest() time.Duration { return h.pause - time.Since(h.tried) }

func (c *cached[T]) state() held[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// refresh loads on behalf of all who wait, and so under no request's context.
func (c *cached[T]) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	began := time.Now()
	value, err := c.contained(ctx)
	c.mu.Lock()
	c.held.pause = min(2*c.held.pause, c.interval)
	if time.Since(c.held.tried) >= quiet {
		c.held.pause = min(retryInterval, c.interval)
	}
	c.held.tried, c.held.failure = time.Now(), err
	if err == nil {
		c.held.value, c.held.slow = value, false
		c.held.began, c.held.loaded = began, c.held.tried
	}
	h := c.held
	c.mu.Unlock()
	if err != nil && !h.loaded.IsZero() {
		c.log.Warn("an identity provider is unreachable; the server keeps using its cached data",
			"what", c.what, "error", err, "until", h.loaded.Add(c.period+c.stale))
	}
}

// contained loads and turns a panic, which would end the process here, into an error.
func (c *cached[T]) contained(ctx context.Context) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return c.load(ctx)
}
