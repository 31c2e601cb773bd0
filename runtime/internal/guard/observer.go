package guard

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// Observer calls an [observe.Observer], and contains its panics. A nil Observer does nothing.
type Observer struct {
	observe.Observer
	log *slog.Logger
}

// NewObserver returns nil without an observer.
func NewObserver(o observe.Observer, log *slog.Logger) *Observer {
	if o != nil {
		return &Observer{o, log}
	}
	return nil
}

func (o *Observer) contain() {
	if p := recover(); p != nil {
		o.log.Error("Options.Observe.Observer panicked",
			"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// start notes the trace of a message, and reports its start.
func (o *Observer) start(ctx context.Context,
	m *Message) (in context.Context, seen observe.Observation) {
	trace, around := request.TraceInMeta(m.Meta), m.TraceInHeader()
	m.TraceID = cmp.Or(request.ParseTraceID(trace.Traceparent),
		request.ParseTraceID(around.Traceparent))
	if in = ctx; o == nil {
		return in, nil
	}
	mask := m.Mask(m.Server.Masker)
	about := observe.Message{Transport: m.Transport(), RequestID: m.ID, Protocol: m.Version,
		Meta:   request.Exported(trace, mask),
		Header: request.Exported(around, mask)}
	if m.HTTP != nil {
		about.Around = m.HTTP.Context
	}
	if _, known := methods[m.Method]; known {
		about.Method = m.Method
	}
	defer o.contain()
	if c, s := o.Began(ctx, about); !request.IsNil(c) {
		in, seen = c, s
	}
	if seen != nil {
		if trace, span := seen.Trace(); trace != "" {
			m.TraceID, m.SpanID = trace, span
		}
	}
	return in, seen
}

func (o *Observer) end(seen observe.Observation, outcome observe.Outcome) {
	if seen != nil {
		defer o.contain()
		seen.Ended(outcome)
	}
}

// later returns what ends the observation of a message that lasts.
func (o *Observer) later(seen observe.Observation, m *Message) func(*Answer, *error) {
	return func(_ *Answer, err *error) { o.end(seen, m.observed(*err)) }
}

// TurnedAway reports an HTTP request whose message did not reach the guard.
func (o *Observer) TurnedAway(ctx context.Context, status int) {
	if o != nil {
		defer o.contain()
		o.Observer.TurnedAway(ctx, status)
	}
}

// Cached returns what reports whether a cache had what was looked up; nil without an observer.
func (o *Observer) Cached() func(cache string, hit bool) {
	if o == nil {
		return nil
	}
	return func(cache string, hit bool) {
		defer o.contain()
		o.Observer.Cached(cache, hit)
	}
}
