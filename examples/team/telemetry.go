package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// exporting returns an observer that exports traces and metrics to a collector, by OTLP over HTTP.
// flush exports the rest and ends the export. Variables such as OTEL_TRACES_SAMPLER and
// OTEL_RESOURCE_ATTRIBUTES apply.
func exporting(ctx context.Context, collector string, public bool,
	logger *slog.Logger) (observer observe.Observer, flush func(), err error) {
	base, err := url.Parse(collector)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, nil, errors.New("-otlp: want the URL of a collector, as in http://127.0.0.1:4318")
	}
	if base.User != nil || base.RawQuery != "" {
		return nil, nil, errors.New("-otlp: the URL contains credentials; remove them and set " +
			"OTEL_EXPORTER_OTLP_HEADERS")
	}
	logger = logger.With("collector", base.String())
	logger.Info("traces and metrics are exported")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn("OpenTelemetry",
			"error", err)
	}))
	spans, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(base.JoinPath("v1/traces").String()))
	if err != nil {
		return nil, nil, err
	}
	points, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(base.JoinPath("v1/metrics").String()))
	if err != nil {
		return nil, nil, err
	}
	of, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "team"),
			attribute.String("service.version", "1.0.0")), resource.WithFromEnv())
	if err != nil {
		return nil, nil, err
	}
	traces := trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(of))
	metrics := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(points)),
		metric.WithResource(of))
	observer, err = telemetry.New(telemetry.Options{TracerProvider: traces, MeterProvider: metrics,
		Public: public})
	flush = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := errors.Join(traces.Shutdown(ctx), metrics.Shutdown(ctx)); err != nil {
			logger.Warn("the last telemetry could not be exported", "error", err)
		}
	}
	return observer, flush, err
}
