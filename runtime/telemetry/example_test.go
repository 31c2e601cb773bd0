package telemetry_test

import (
	"fmt"
	"log"

	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// An observer for spans and metrics. By default it uses the providers that the program registers
// with package otel.
func ExampleNew() {
	observer, err := telemetry.New(telemetry.Options{
		TracerProvider: tracenoop.NewTracerProvider(), // those of the SDK, with an exporter
		MeterProvider:  noop.NewMeterProvider(),
		Public:         true, // strangers call: they do not decide what is sampled
	})
	if err != nil {
		log.Fatal(err)
	}
	options := runtime.Options{Observe: runtime.ObserveOptions{Observer: observer}}
	fmt.Println(options.Observe.Observer != nil)
	// Output: true
}
