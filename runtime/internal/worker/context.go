package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context is the context of a message or a job: that of its parent, until its deadline or End. Few
// read the channel of such a context. Its timer, and its place below the parent, are made when one
// does. It is a part of what it belongs to. The fields that are exported are set before its first
// use.
type Context struct {
	Parent context.Context
	At     time.Time // the deadline; zero for none

	mu    sync.Mutex
	err   error // set by end
	inner atomic.Pointer[cancellable]
}

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.Parent.Deadline()
	if c.At.IsZero() || ok && at.Before(c.At) {
		return at, ok
	}
	return c.At, true
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	if inner := c.inner.Load(); inner != nil {
		return inner.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := c.inner.Load()
	if inner == nil {
		inner = &cancellable{}
		if c.At.IsZero() {
			inner.Context, inner.cancel = context.WithCancel(c.Parent)
		} else {
			inner.Context, inner.cancel = context.WithDeadline(c.Parent, c.At)
		}
		if c.err != nil {
			inner.cancel()
		}
		c.inner.Store(inner)
	}
	return inner.Done()
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended()
}

// ended returns why the context has ended. c.mu is held.
func (c *Context) ended() error {
	if c.err != nil {
		return c.err
	}
	if inner := c.inner.Load(); inner != nil {
		return inner.Err()
	}
	if !c.At.IsZero() && !time.Now().Before(c.At) {
		return context.DeadlineExceeded
	}
	return c.Parent.Err()
}

// Value implements [context.Context]. Package context finds the inner context by a key of its own,
// once it has called Done.
func (c *Context) Value(key any) any {
	if inner := c.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	return c.Parent.Value(key)
}

// End ends the context.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = c.ended(); c.err == nil {
		c.err = context.Canceled
	}
	if inner := c.inner.Load(); inner != nil {
		inner.cancel()
	}
}
