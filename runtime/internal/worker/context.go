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
//
// It is as one of package context, but for an end that nobody has seen: if its deadline has passed
// and its parent has ended by then, the parent counts as the first.
type Context struct {
	Parent context.Context
	At     time.Time // the deadline; zero for none

	mu    sync.Mutex
	over  atomic.Bool // it was ended without inner
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
	return c.made().Done()
}

// made returns the inner context. c.mu is held.
func (c *Context) made() *cancellable {
	inner := c.inner.Load()
	if inner != nil {
		return inner
	}
	inner = &cancellable{}
	switch {
	case c.over.Load(): // before its parent
		inner.Context, inner.cancel = context.WithCancel(context.WithoutCancel(c.Parent))
		inner.cancel()
	case c.At.IsZero():
		inner.Context, inner.cancel = context.WithCancel(c.Parent)
	default:
		inner.Context, inner.cancel = context.WithDeadline(c.Parent, c.At)
	}
	c.inner.Store(inner)
	return inner
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended()
}

// ended returns why the context has ended. What it returns first stays the reason. c.mu is held.
func (c *Context) ended() error {
	switch inner := c.inner.Load(); {
	case inner != nil:
		return inner.Err()
	case c.over.Load():
		return context.Canceled
	case c.Parent.Err() == nil && (c.At.IsZero() || time.Now().Before(c.At)):
		return nil
	}
	return c.made().Err()
}

// Value implements [context.Context]. Package context finds the inner context by a key of its own,
// once it has called Done.
func (c *Context) Value(key any) any {
	if inner := c.inner.Load(); inner != nil {
		return inner.Value(key)
	}
	if c.over.Load() { // the cause of the parent's end is not that of its own
		return context.WithoutCancel(c.Parent).Value(key)
	}
	return c.Parent.Value(key)
}

// End ends the context.
func (c *Context) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ended(); c.inner.Load() != nil {
		c.inner.Load().cancel()
	} else if err == nil {
		c.over.Store(true)
	}
}
