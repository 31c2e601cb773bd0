package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
)

// watching is an Observer that may be nil, whose panics end with it.
type watching struct {
	observer Observer
	failed   func(p any, stack []byte) // not nil where there is an observer
}

func (w watching) recovers() {
	if p := recover(); p != nil {
		w.failed(fmt.Sprint(p), debug.Stack())
	}
}

// began is for where somebody watches.
func (w watching) began(ctx context.Context, m Message) (inside context.Context, seen Observation) {
	inside = ctx
	defer w.recovers()
	if c, o := w.observer.Began(ctx, m); !isNil(c) {
		inside, seen = c, o
	}
	return inside, seen
}

func (w watching) turnedAway(ctx context.Context, status int) {
	if w.observer != nil {
		defer w.recovers()
		w.observer.TurnedAway(ctx, status)
	}
}

func (w watching) cached(cache string, hit bool) {
	if w.observer != nil {
		defer w.recovers()
		w.observer.Cached(cache, hit)
	}
}

func (w watching) trace(o Observation) (traceID, spanID string) {
	if o == nil {
		return "", ""
	}
	defer w.recovers()
	return o.Trace()
}

func (w watching) ended(o Observation, out Outcome) {
	if o != nil {
		defer w.recovers()
		o.Ended(out)
	}
}
