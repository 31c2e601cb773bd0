package worker

import (
	"context"
	"sync"
	"sync/atomic"
)

// Group counts the work that a shutdown waits for.
type Group struct {
	draining context.Context
	drain    context.CancelFunc
	active   atomic.Int64
	idle     chan struct{} // closed by close, when draining and active is 0
	close    sync.Once
}

// NewGroup returns an open group.
func NewGroup() *Group {
	g := &Group{idle: make(chan struct{})}
	g.draining, g.drain = context.WithCancel(context.Background())
	return g
}

// Begin counts a new request, and reports false during a shutdown.
func (g *Group) Begin() bool {
	g.active.Add(1) // before the question: then Drain waits for the answer
	if g.Open() {
		return true
	}
	g.End()
	return false
}

// Enter counts work of a request that was admitted before.
func (g *Group) Enter() { g.active.Add(1) }

// End ends what Begin or Enter has counted.
func (g *Group) End() {
	if g.active.Add(-1) == 0 {
		g.settle()
	}
}

// Open reports whether requests are admitted.
func (g *Group) Open() bool { return g.draining.Err() == nil }

// Draining returns a context that ends when no request is admitted any more.
func (g *Group) Draining() context.Context { return g.draining }

// Drain admits no further requests. The channel is closed when all counted work has ended.
func (g *Group) Drain() <-chan struct{} {
	g.drain()
	g.settle()
	return g.idle
}

// settle closes idle if nothing is active any more.
func (g *Group) settle() {
	if !g.Open() && g.active.Load() == 0 {
		g.close.Do(func() { close(g.idle) })
	}
}
