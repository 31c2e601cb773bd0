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
// that whoever asked learns the reason.
const loadTimeout = 8 * time.Second

// cached is what a provider publishes: fetched when it is asked for, and again after a period. While
// that fails, what is held serves for the stale period and no longer.
//
// However many ask, one load runs at a time, and loads are an interval apart.
type cached[T any] struct {
	what          string // for errors and the log
	load          func(context.Context) (T, error)
	period, stale time.Duration
	interval      time.Duration // the least time between two loads
	log           *slog.Logger

	flight singleflight.Group
	mu     sync.Mutex
	held   held[T]
}

// held is one state of a cached value.
type held[T any] struct {
	value         T
	loaded, tried time.Time // when value was loaded, zero for never, and when the last try ended
	failure       error     // of the last try
}

// get returns what is held, loaded anew where its period is over.
func (c *cached[T]) get(ctx context.Context) (held[T], error) {
	h := c.state()
	if !h.loaded.IsZero() && time.Since(h.loaded) < c.period {
		return h, nil
	}
	h, err := c.renew(ctx, h)
	if err != nil {
		return h, err
	}
	if !h.loaded.IsZero() && time.Since(h.loaded) < c.period+c.stale {
		return h, nil
	}
	return h, fmt.Errorf("%s: %w", c.what, h.failure)
}

// renew loads anew, unless somebody has since h, or within the interval. Its own error says that ctx
// has ended; how the load went stands in what it returns.
func (c *cached[T]) renew(ctx context.Context, h held[T]) (held[T], error) {
	if now := c.state(); now.tried.After(h.tried) || c.resting(now) {
		return now, nil
	}
	done := c.flight.DoChan("", func() (any, error) {
		// Whoever comes right after a load has ended starts none.
		if !c.resting(c.state()) {
			c.refresh()
		}
		return nil, nil
	})
	select {
	case <-done:
		return c.state(), nil
	case <-ctx.Done():
		return h, fmt.Errorf("%s: %w", c.what, ctx.Err())
	}
}

func (c *cached[T]) resting(h held[T]) bool { return time.Since(h.tried) < c.interval }

func (c *cached[T]) state() held[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// refresh loads on behalf of all who wait, and so under no request's context.
func (c *cached[T]) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	value, err := c.contained(ctx)
	c.mu.Lock()
	c.held.tried, c.held.failure = time.Now(), err
	if err == nil {
		c.held.value, c.held.loaded = value, c.held.tried
	}
	h := c.held
	c.mu.Unlock()
	if err != nil && !h.loaded.IsZero() {
		c.log.Warn("a provider of identities could not be asked; what it said before serves meanwhile",
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
