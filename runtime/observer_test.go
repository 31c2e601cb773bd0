package runtime_test

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
)

// watchers are an observer of funcs, each of which may be nil.
type watchers struct {
	began  func(context.Context, runtime.Message) (context.Context, runtime.Observation)
	away   func(status int)
	cached func(cache string, hit bool)
	ended  func(runtime.Outcome)
}

func (w watchers) Began(ctx context.Context, m runtime.Message) (context.Context, runtime.Observation) {
	if w.began != nil {
		return w.began(ctx, m)
	}
	return ctx, observation{ended: w.ended}
}

func (w watchers) TurnedAway(_ context.Context, status int) {
	if w.away != nil {
		w.away(status)
	}
}

func (w watchers) Cached(cache string, hit bool) {
	if w.cached != nil {
		w.cached(cache, hit)
	}
}

// observation is one of a watchers.
type observation struct {
	trace, span string
	ended       func(runtime.Outcome)
}

func (o observation) Trace() (string, string) { return o.trace, o.span }

func (o observation) Ended(out runtime.Outcome) {
	if o.ended != nil {
		o.ended(out)
	}
}
