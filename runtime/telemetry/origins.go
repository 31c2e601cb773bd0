package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime"
)

// origins say which trace a message belongs to.
type origins struct {
	propagator propagation.TextMapPropagator
	public     bool
}

// of returns the context in which a message's span starts, and the spans that it is linked to. What a message says in
// _meta comes before the HTTP request by which it came, and that is linked (conventions for MCP, context propagation): the span of HTTP
// middleware where there is one, else what the headers say.
//
// The context of a message is that of the session, and so may hold the span and the baggage of the request that opened it. They are
// left behind.
func (o origins) of(ctx context.Context, m runtime.Message) (context.Context, []trace.Link) {
	around := m.Around
	if around == nil {
		around = ctx
	}
	middleware := trace.SpanFromContext(around)
	sent, luggage := o.read(m.Meta)
	header, further := o.read(m.Header)

	ours, theirs := trace.SpanContext{}, [3]trace.SpanContext{sent}
	switch at := middleware.SpanContext(); {
	case at.IsValid() && !at.IsRemote():
		ours = at
	case at.IsValid():
		theirs[1] = at
	default:
		theirs[1] = header
	}
	if !o.public {
		theirs[2] = ours
	}

	parent, links := trace.SpanContext{}, []trace.Link(nil)
	if o.public {
		parent = ours
	}
	for i, one := range theirs {
		switch {
		case !one.IsValid() || same(one, parent) || slices.ContainsFunc(theirs[:i], func(before trace.SpanContext) bool { return same(one, before) }):
		case !o.public && !parent.IsValid():
			parent = one
		default:
			links = append(links, trace.Link{SpanContext: one})
		}
	}
	switch {
	case parent.IsValid() && parent.Equal(ours):
		ctx = trace.ContextWithSpan(ctx, middleware)
	case parent.IsValid() || trace.SpanContextFromContext(ctx).IsValid():
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	return o.carrying(ctx, around, luggage, further), links
}

// same reports whether two are the same span.
func same(a, b trace.SpanContext) bool { return a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID() }

// carrying is ctx with the baggage that came with a message, if it is passed on.
func (o origins) carrying(ctx, around context.Context, luggage, further baggage.Baggage) context.Context {
	if luggage.Len() == 0 {
		if luggage = baggage.FromContext(around); luggage.Len() == 0 {
			luggage = further
		}
	}
	if o.public {
		luggage = baggage.Baggage{}
	}
	if luggage.Len() == 0 && baggage.FromContext(ctx).Len() == 0 {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, luggage)
}

// read is what a trace context says, as far as it is valid. Invalid baggage is not shown to the propagator, which would tell
// the program's error handler of it in the caller's words.
func (o origins) read(c runtime.TraceContext) (trace.SpanContext, baggage.Baggage) {
	if c == (runtime.TraceContext{}) {
		return trace.SpanContext{}, baggage.Baggage{}
	}
	if _, err := baggage.Parse(c.Baggage); err != nil {
		c.Baggage = ""
	}
	ctx := o.propagator.Extract(context.Background(), carrier(c))
	return trace.SpanContextFromContext(ctx), baggage.FromContext(ctx)
}

// carrier lets propagators read a trace context.
type carrier runtime.TraceContext

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string {
	switch key {
	case "traceparent":
		return c.Traceparent
	case "tracestate":
		return c.Tracestate
	case "baggage":
		return c.Baggage
	}
	return ""
}

// Set implements [propagation.TextMapCarrier] and writes nothing.
func (carrier) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier].
func (carrier) Keys() []string { return []string{"traceparent", "tracestate", "baggage"} }
