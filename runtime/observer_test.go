package runtime_test

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/observe"
)

// watchers are an observer of funcs, each of which may be nil.
type watchers struct {
	began  func(context.Context, observe.Message) (context.Context, observe.Observation)
	away   func(status int)
	cached func(cache string, hit bool)
	ended  func(observe.Outcome)
}

func (w watchers) Began(ctx context.Context,
	m observe.Message) (context.Context, observe.Observation) {
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
	ended       func(observe.Outcome)
}

func (o observation) Trace() (string, string) { return o.trace, o.span }

func (o observation) Ended(out observe.Outcome) {
	if o.ended != nil {
		o.ended(out)
	}
}

// observes is the observer of a scenario. It notes what it gets.
func (w *scenarioWorld) observes(mode string) observe.Observer {
	o := watchers{ended: func(o observe.Outcome) {
		line := "note: observed"
		if o.Name != "" || o.Kind != 0 {
			line += " " + o.Kind.String() + " " + o.Name
		}
		for i, value := range []any{o.Failure, o.Axis, o.Limit, o.Isolated, o.Cancelled, o.Listed,
			o.Total, o.Code, o.Coerced} {
			if !reflect.ValueOf(value).IsZero() {
				line += fmt.Sprintf(" %s=%+v", []string{"failure", "axis", "limit", "isolated",
					"cancelled", "listed", "of", "code", "coerced"}[i], value)
			}
		}
		w.note(line)
	}}
	switch ended := o.ended; mode {
	case "outcomes":
		o.began = func(ctx context.Context, m observe.Message) (context.Context, observe.Observation) {
			if m.Method == "notifications/cancelled" { // it ends before or after the call
				return ctx, observation{}
			}
			return ctx, observation{ended: ended}
		}
	case "messages":
		o.began = func(ctx context.Context, m observe.Message) (context.Context, observe.Observation) {
			w.note(fmt.Sprintf("note: began %s %s %s", m.Method, m.Transport, m.Protocol))
			return ctx, observation{ended: ended}
		}
	case "traces", "spans":
		o.began = func(ctx context.Context, m observe.Message) (context.Context, observe.Observation) {
			w.note(fmt.Sprintf("note: began %+v %+v", m.Meta, m.Header))
			o := observation{span: strings.Repeat("d", 16)}
			if mode == "traces" {
				o.trace = strings.Repeat("c", 32)
			}
			return context.WithValue(ctx, observedKey{}, "inside"), o
		}
	case "caches":
		o = watchers{cached: func(cache string, hit bool) {
			w.note(fmt.Sprintf("note: %s kept %t", cache, hit))
		}}
	case "panics":
		o.began = func(context.Context, observe.Message) (context.Context, observe.Observation) {
			panic("hunter2")
		}
		o.away, o.cached = func(int) { panic("hunter2") }, func(string, bool) { panic("hunter2") }
	case "fails":
		o.ended = func(observe.Outcome) { panic("hunter2") }
	case "nothing":
		o.began = func(ctx context.Context, _ observe.Message) (context.Context, observe.Observation) {
			return ctx, nil
		}
	case "contextless":
		o.began = func(context.Context, observe.Message) (context.Context, observe.Observation) {
			return nil, observation{}
		}
	case "bothered":
		type bothered struct{ observe.Observation }
		o.began = func(ctx context.Context, _ observe.Message) (context.Context, observe.Observation) {
			return ctx, bothered{}
		}
	}
	return o
}

// observedKey is of what an observer puts into a context.
type observedKey struct{}

type nobody struct{ observe.Observer }
