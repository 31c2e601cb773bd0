package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime/observe"
)

// origins finds the trace that a message belongs to.
type origins struct {
	propagator propagation.TextMapPropagator
	public     bool
}

// of returns the context in which a message's span starts, and the spans that it is linked to. The
// trace context in _meta of a message comes before that of its HTTP request, which is linked
// (conventions for MCP, context propagation): the span of HTTP middleware if there is one, else the
// trace context in the headers.
//
// The context of a message is that of the session, and so may hold the span and the baggage of the
// request that opened it. They are left behind.
func (o origins) of(ctx context.Context, m observe.Message) (context.Context, []trace.Link) {
	around := m.Around
	if around == nil {
		around = ctx
	}
	middleware := trace.SpanFromContext(around)
	sent, luggage := o.read(m.Meta)
	header, further := o.read(m.Header)

	var ours *trace.SpanContext
	theirs := [3]*trace.SpanContext{sent}
	switch at := valid(middleware); {
	case at == nil:
		theirs[1] = header
	case at.IsRemote():
		theirs[1] = at
	default:
		ours = at
	}
	if !o.public {
		theirs[2] = ours
	}

	var parent *trace.SpanContext
	var links []trace.Link
	if o.public {
		parent = ours
	}
	for i, one := range theirs {
		again := func(before *trace.SpanContext) bool { return same(one, before) }
		switch {
		case one == nil || same(one, parent) || slices.ContainsFunc(theirs[:i], again):
		case !o.public && parent == nil:
			parent = one
		default:
			links = linked(links, one)
		}
	}
	switch {
	case parent != nil && ours != nil && equal(parent, ours):
		ctx = trace.ContextWithSpan(ctx, middleware)
	case parent != nil:
		ctx = trace.ContextWithSpanContext(ctx, *parent)
	case valid(trace.SpanFromContext(ctx)) != nil:
		ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	}
	return o.carrying(ctx, around, luggage, further), links
}

// Span contexts are large, and the goroutines of messages have small stacks: growing one takes
// longer than the code here. So they are passed by pointers, and copied in functions that return
// soon.

// valid is the context of a span, nil where it is not valid.
func valid(span trace.Span) *trace.SpanContext {
	at := span.SpanContext()
	if !at.IsValid() {
		return nil
	}
	return &at
}

//go:noinline
func equal(a, b *trace.SpanContext) bool { return a.Equal(*b) }

//go:noinline
func linked(links []trace.Link, to *trace.SpanContext) []trace.Link {
	return append(links, trace.Link{SpanContext: *to})
}

// same reports whether two are the same span.
func same(a, b *trace.SpanContext) bool {
	return a != nil && b != nil && a.TraceID() == b.TraceID() && a.SpanID() == b.SpanID()
}

// carrying is ctx with the baggage that came with a message, if it is passed on.
func (o origins) carrying(
	ctx, around context.Context, luggage, further baggage.Baggage,
) context.Context {
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

// read returns the valid parts of a trace context. Invalid baggage is not passed to the propagator,
// which would report it, with the caller's text, to the program's error handler.
func (o origins) read(c observe.TraceContext) (*trace.SpanContext, baggage.Baggage) {
	if c == (observe.TraceContext{}) {
		return nil, baggage.Baggage{}
	}
	if _, err := baggage.Parse(c.Baggage); err != nil {
		c.Baggage = ""
	}
	ctx := o.propagator.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": c.Traceparent, "tracestate": c.Tracestate, "baggage": c.Baggage})
	return valid(trace.SpanFromContext(ctx)), baggage.FromContext(ctx)
}
