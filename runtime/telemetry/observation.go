package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// codeInternal is JSON-RPC's internal error (section 5.1).
const codeInternal = -32603

// start has the properties of a message when its span starts.
type start struct{ method, protocol, transport string }

// shape has the common properties of messages that are counted together.
type shape struct {
	start
	kind   access.Kind
	name   string
	failed audit.Failure
	axis   string // of a denial or a limit
	limit  string
	code   int64
	gone   bool // it was cancelled
}

// series has the attributes of a shape.
type series struct {
	span      string // its name
	attrs     []attribute.KeyValue
	failure   string // of the server's own
	durations []metric.RecordOption
	requests  []metric.AddOption
	denials   []metric.AddOption // nil where nothing was denied, and no limit reached
	lists     []metric.RecordOption
	kills     []metric.AddOption
}

// observation is one message. It implements [observe.Observation].
type observation struct {
	of    *observer
	ctx   context.Context // with the span
	span  trace.Span
	began time.Time
	start start
	id    string
}

func (o *observer) begin(ctx context.Context, m observe.Message) (context.Context, *observation) {
	s := start{methodOf(m.Method), m.Protocol, m.Transport}
	began := time.Now()
	options := o.starts.get(s, startOf)
	ctx, links := o.origins.of(ctx, m)
	if len(links) > 0 {
		options = append(slices.Clip(options), trace.WithLinks(links...))
	}
	ctx, span := o.tracer.Start(ctx, s.method, options...)
	return ctx, &observation{of: o, ctx: ctx, span: span, began: began, start: s, id: m.RequestID}
}

// startOf returns the attributes that samplers get at the start of a span.
func startOf(s start) []trace.SpanStartOption {
	return []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(s.attrs()...)}
}

func (s start) attrs() []attribute.KeyValue {
	attrs := append(ofTransport(s.transport), keyMethod.String(s.method))
	if s.protocol != "" {
		attrs = append(attrs, keyProtocol.String(s.protocol))
	}
	if s.method == "tools/call" {
		attrs = append(attrs, keyOperation.String("execute_tool"))
	}
	return attrs
}

// Trace implements [observe.Observation].
func (o *observation) Trace() (traceID, spanID string) {
	at := o.span.SpanContext()
	if !at.IsValid() {
		return "", ""
	}
	return at.TraceID().String(), at.SpanID().String()
}

// Ended implements [observe.Observation].
func (o *observation) Ended(out observe.Outcome) {
	s := shape{start: o.start, kind: out.Kind, name: out.Name, failed: out.Failure,
		limit: limitOf(out.Limit), code: out.Code, gone: out.Cancelled}
	switch {
	case s.limit != "": // time is one
		s.axis = audit.AxisLimit
	case s.failed == audit.Denied || s.failed == audit.Limited:
		s.axis = out.Axis
	}
	one := o.of.series.get(s, seriesOf)
	if o.span.IsRecording() {
		o.describe(one, out)
	}
	o.span.End()

	to := o.of.instruments
	to.duration.Record(o.ctx, time.Since(o.began).Seconds(), one.durations...)
	to.requests.Add(o.ctx, 1, one.requests...)
	if one.denials != nil {
		to.denials.Add(o.ctx, 1, one.denials...)
	}
	if out.Total > 0 {
		to.listed.Record(o.ctx, int64(out.Listed), one.lists...)
	}
	if out.Isolated {
		to.kills.Add(o.ctx, 1, one.kills...)
	}
	if out.Coerced == (decode.Coercions{}) {
		return
	}
	for kind, n := range map[string]int{"number": out.Coerced.Numbers,
		"boolean": out.Coerced.Booleans, "list": out.Coerced.Lists, "null": out.Coerced.Nulls,
		"unknown": out.Coerced.Unknown} {
		if n > 0 {
			to.coerced.Add(o.ctx, int64(n),
				adding(append(ofTarget(out.Kind, out.Name), keyCoercion.String(kind))...)...)
		}
	}
}

// describe adds the outcome of a message to its span.
func (o *observation) describe(one *series, out observe.Outcome) {
	o.span.SetName(one.span)
	o.span.SetAttributes(one.attrs...)
	o.span.SetAttributes(keyRequestID.String(o.id))
	if out.Total > 0 {
		o.span.SetAttributes(keyListed.Int(out.Listed), keyTotal.Int(out.Total))
	}
	if out.Isolated {
		o.span.SetAttributes(keyKilled.Bool(true))
	}
	if one.failure != "" {
		o.span.SetStatus(codes.Error, one.failure)
	}
}

func seriesOf(s shape) *series {
	target, failure := ofTarget(s.kind, s.name), errorTypeOf(s)
	method := keyMethod.String(s.method)
	status := []attribute.KeyValue{keyStatus.String(string(s.failed.Status()))}
	if s.failed != "" {
		status = append(status, keyFailure.String(string(s.failed)))
	}

	var came []attribute.KeyValue // beyond what the span began with
	if failure != "" {
		came = append(came, keyErrorType.String(failure))
	}
	if s.code != 0 {
		came = append(came, keyCode.String(codeOf(s.code)))
	}
	one := &series{
		span:      s.method,
		durations: recording(slices.Concat(s.start.attrs(), target, came)...),
		requests:  adding(slices.Concat(target, []attribute.KeyValue{method}, status)...),
		lists:     recording(method),
		kills:     adding(append(target, keyLimit.String(s.limit))...),
	}
	if s.name != "" && s.kind != access.Resources {
		one.span += " " + s.name
	}
	if s.failed == audit.Timeout || s.failed == audit.Crashed ||
		s.failed == audit.Errored && s.code == codeInternal && !s.gone {
		one.failure = failure
	}
	came = append(came, status...)
	if s.limit != "" {
		came = append(came, keyLimit.String(s.limit))
	}
	if s.axis != "" {
		came = append(came, keyAxis.String(s.axis))
		of := append(target, method, keyAxis.String(s.axis))
		if s.limit != "" {
			of = append(of, keyLimit.String(s.limit))
		}
		one.denials = adding(of...)
	}
	one.attrs = slices.Concat(target, came)
	return one
}
