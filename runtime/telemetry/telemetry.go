// Package telemetry provides OpenTelemetry traces and metrics of a server.
//
//	observer, err := telemetry.New(telemetry.Options{})
//	…
//	server, err := runtime.New(runtime.Options{Identity: callers,
//		Observe: runtime.ObserveOptions{Observer: observer}}, toolsets...)
//
// Each message has a server span, and is counted and timed. Names follow the semantic conventions
// for the Model Context Protocol (github.com/open-telemetry/semantic-conventions-genai,
// docs/gen-ai/mcp.md; status: development). The package's own names begin with "mcpgen.".
//
// Spans and metrics contain the names of existing tools, prompts and resources, known methods and
// protocol versions, and outcomes. They contain no session id, principal, argument or URI of a
// caller, no JSON-RPC id, and no name that a client made up.
//
// The package links only the OpenTelemetry API. The program brings the SDK and exporters.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime/observe"
)

// scopeName is the name of the instrumentation scope. The version of the scope is that of this
// module, if the program was built with one.
const scopeName = "github.com/mcpgen/mcpgen/runtime/telemetry"

// Options configure an observer. The zero value uses the providers that the program has registered
// with package otel, also if it registers them later.
type Options struct {
	// TracerProvider makes the tracer of spans. Nil is otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments of metrics. Nil is otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Propagator reads traceparent, tracestate and baggage, of a message's _meta and of HTTP
	// headers. Nil is W3C Trace Context and W3C Baggage, also if the program has registered
	// others for HTTP: the keys of _meta are theirs (SEP-414).
	Propagator propagation.TextMapPropagator
	// Public is for servers that strangers call. Each message then begins a trace, with a link to
	// the span that the caller names, so that callers cannot decide what is sampled or join traces
	// of others. Baggage of callers is dropped. The span of HTTP middleware is a parent all the
	// same.
	Public bool
}

// New returns an observer for runtime.Options.Observe.Observer. Several servers may share it. The
// error names the tracer or instrument that the provider failed to make.
func New(opts Options) (observe.Observer, error) {
	if opts.TracerProvider == nil {
		opts.TracerProvider = otel.GetTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	if opts.Propagator == nil {
		opts.Propagator = propagation.NewCompositeTextMapPropagator(
			propagation.TraceContext{}, propagation.Baggage{})
	}
	for name, given := range map[string]any{
		"TracerProvider": opts.TracerProvider, "MeterProvider": opts.MeterProvider,
		"Propagator": opts.Propagator,
	} {
		if v := reflect.ValueOf(given); v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("telemetry: Options.%s is a nil %T: pass another value, or remove it",
				name, given)
		}
	}
	o := &observer{
		tracer:  opts.TracerProvider.Tracer(scopeName, trace.WithInstrumentationVersion(version())),
		origins: origins{propagator: opts.Propagator, public: opts.Public},
	}
	if o.tracer == nil {
		return nil, errors.New("telemetry: Options.TracerProvider returns no tracer")
	}
	meter := opts.MeterProvider.Meter(scopeName, metric.WithInstrumentationVersion(version()))
	if meter == nil {
		return nil, errors.New("telemetry: Options.MeterProvider returns no meter")
	}
	var err error
	if o.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return o, nil
}

// observer implements [observe.Observer].
type observer struct {
	tracer      trace.Tracer
	origins     origins
	instruments instruments

	starts   kept[start, []trace.SpanStartOption]
	series   kept[shape, *series]
	refusals kept[int, []metric.AddOption]
	lookups  kept[lookup, []metric.AddOption]
}

// Began implements [observe.Observer].
func (o *observer) Began(ctx context.Context, m observe.Message) (
	context.Context, observe.Observation,
) {
	return o.begin(ctx, m)
}

// TurnedAway implements [observe.Observer].
func (o *observer) TurnedAway(ctx context.Context, status int) {
	o.instruments.refusals.Add(ctx, 1, o.refusals.get(status, refusalOf)...)
}

// Cached implements [observe.Observer].
func (o *observer) Cached(cache string, hit bool) {
	o.instruments.lookups.Add(context.Background(), 1, o.lookups.get(lookup{cache, hit}, lookupOf)...)
}
