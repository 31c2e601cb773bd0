package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// limited is the context of a job: that of its caller, until the time limit or the end of the job.
// Few jobs read its channel. Its timer, and its place below the parent, are made when one does.
type limited struct {
	parent   context.Context
	deadline time.Time // zero for none

	mu    sync.Mutex
	err   error // set by end
	inner atomic.Pointer[cancellable]
}

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// Deadline implements [context.Context].
func (c *limited) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if c.deadline.IsZero() || ok && at.Before(c.deadline) {
		return at, ok
	}
	return c.deadline, true
}

// Done implements [context.Context].
func (c *limited) Done() <-chan struct{} {
	if inner := c.inner.Load(); inner != nil {
		return inner.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := c.inner.Load()
	if inner == nil {
		inner = &cancellable{}
		if c.deadline.IsZero() {
			inner.Context, inner.cancel = context.WithCancel(c.parent)
		} else {
			inner.Context, inner.cancel = context.WithDeadline(c.parent, c.deadline)
		}
		if c.err != nil {
			inner.cancel()
		}
		c.inner.Store(inner)
	}
	return inner.Done()
}

// Err implements [context.Context].
func (c *limited) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended()
}

// ended returns why the context has ended. c.mu is held.
func (c *limited) ended() error {
	if c.err != nil {
		return c.err
	}
	if inner := c.inner.Load(); inner != nil {
		return inner.Err()
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	return c.parent.Err()
}

// Value implements [context.Context]. Package context finds the inner context by a key of its own,
// once it has called Done.
func (c *limited) Value(key any) any {
	if inner := c.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return c.parent.Value(key)
}

// end ends the context.
func (c *limited) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = c.ended(); c.err == nil {
		c.err = context.Canceled
	}
	if inner := c.inner.Load(); inner != nil {
		inner.cancel()
	}
}
