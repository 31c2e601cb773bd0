package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// durationBounds are the bounds that the conventions give mcp.server.operation.duration, in
// seconds.
var durationBounds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// listBounds are for the sizes of lists.
var listBounds = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}

// instruments are the counters and histograms.
type instruments struct {
	duration metric.Float64Histogram
	requests metric.Int64Counter
	denials  metric.Int64Counter
	refusals metric.Int64Counter
	listed   metric.Int64Histogram
	lookups  metric.Int64Counter
	kills    metric.Int64Counter
	coerced  metric.Int64Counter
}

// newInstruments makes all instruments. A provider that fails returns an error for each.
func newInstruments(meter metric.Meter) (instruments, error) {
	var (
		i    instruments
		errs []error
	)
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	var err error
	i.duration, err = meter.Float64Histogram("mcp.server.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of an MCP request or notification, from its receipt until "+
			"its result or acknowledgement was sent."),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	errs = append(errs, err)
	i.requests = counter("mcpgen.requests", "{request}",
		"MCP requests and notifications received, by outcome.")
	i.denials = counter("mcpgen.denials", "{request}",
		"MCP requests denied or ended at a limit, by the deciding rule or limit.")
	i.refusals = counter("mcpgen.http.refusals", "{request}",
		"HTTP requests refused before their message was read.")
	i.listed, err = meter.Int64Histogram("mcpgen.list.size", metric.WithUnit("{item}"),
		metric.WithDescription("How many tools, prompts, resources or templates of a list its "+
			"caller may see, on all pages."),
		metric.WithExplicitBucketBoundaries(listBounds...))
	errs = append(errs, err)
	i.lookups = counter("mcpgen.cache.lookups", "{lookup}",
		"Lookups in caches of the server, by hit or miss.")
	i.kills = counter("mcpgen.sandbox.kills", "{call}",
		"Isolated calls whose process was killed, by the reached limit.")
	i.coerced = counter("mcpgen.arguments.coerced", "{coercion}",
		"Coercions of lenient arguments, by tool and kind.")
	return i, errors.Join(errs...)
}

func adding(of ...attribute.KeyValue) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(of...))}
}

func recording(of ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(of...))}
}
