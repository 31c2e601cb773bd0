package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// unsampled is an observer as programs have one in production, which samples none of what is measured here.
func unsampled(t testing.TB) runtime.Observer {
	t.Helper()
	observer, err := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample()))),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	})
	if err != nil {
		t.Fatal(err)
	}
	return observer
}

// caller is a session that is warm, over a connection that is kept.
type caller struct {
	url, session string
	client       http.Client
}

func (c *caller) send(b *testing.B, body string) {
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer abc")
	req.Header.Set("Traceparent", quiet)
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := c.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 || bytes.Contains(got, []byte(`"error"`)) {
		b.Fatalf("%d %s %v", res.StatusCode, got, err)
	}
	if c.session == "" {
		c.session = res.Header.Get("Mcp-Session-Id")
	}
}

func newCaller(b *testing.B, opts runtime.Options) *caller {
	b.Helper()
	opts.Identity = identity.Static(map[string]access.Principal{identity.HashToken("abc"): {Subject: "ada"}})
	server, err := runtime.New(opts, runtime.NewToolset(runtime.Generated{
		Package: "example.com/p", Server: runtime.ServerInfo{Name: "p"},
		Table: access.Table{Rules: []access.Rule{{Tool: "get", Authenticated: true}}},
		Tools: []runtime.Tool{{Name: "get", Input: `{"type":"object"}`, Call: func(context.Context, runtime.Call) (runtime.Result, error) {
			return runtime.Wrapped("done", nil)
		}}},
	}))
	if err != nil {
		b.Fatal(err)
	}
	c := &caller{url: mcptest.Serve(b, server)}
	b.Cleanup(c.client.CloseIdleConnections)
	c.send(b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	c.send(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

const benchCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{}}}`

// BenchmarkCallOverHTTP calls two servers in turn, one with a logger, unsampled traces and metrics and one without, and reports what the first
// costs more, in percent. A call of either is one op.
func BenchmarkCallOverHTTP(b *testing.B) {
	bare := newCaller(b, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	full := newCaller(b, runtime.Options{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), Observer: unsampled(b)})
	for range 500 {
		bare.send(b, benchCall)
		full.send(b, benchCall)
	}
	var without, with time.Duration
	for i := 0; b.Loop(); i++ {
		first, second := bare, full
		if i%2 == 1 {
			first, second = full, bare
		}
		began := time.Now()
		first.send(b, benchCall)
		between := time.Now()
		second.send(b, benchCall)
		one, two := between.Sub(began), time.Since(between)
		if i%2 == 1 {
			one, two = two, one
		}
		without, with = without+one, with+two
	}
	n := float64(b.N)
	b.ReportMetric(float64(without.Nanoseconds())/n, "ns/without")
	b.ReportMetric(float64(with.Nanoseconds())/n, "ns/with")
	b.ReportMetric(100*(float64(with)/float64(without)-1), "%more")
}

// BenchmarkMessage is what an observer alone takes for a message.
func BenchmarkMessage(b *testing.B) {
	for _, test := range []struct {
		name     string
		observer func() runtime.Observer
		meta     string
	}{
		{"unsampled", func() runtime.Observer { return unsampled(b) }, ""},
		{"unsampled parent", func() runtime.Observer { return unsampled(b) }, quiet},
		{"sampled", func() runtime.Observer {
			observer, err := telemetry.New(telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: noop.NewMeterProvider()})
			if err != nil {
				b.Fatal(err)
			}
			return observer
		}, ""},
	} {
		b.Run(test.name, func(b *testing.B) {
			observer := test.observer()
			m := runtime.Message{Method: "tools/call", Transport: runtime.TransportHTTP, Protocol: "2025-11-25", RequestID: "1", Meta: runtime.TraceContext{Traceparent: test.meta}, Around: context.Background()}
			b.ReportAllocs()
			for b.Loop() {
				_, seen := observer.Began(context.Background(), m)
				seen.Trace()
				seen.Ended(runtime.Outcome{Name: "get", Status: "ok"})
			}
		})
	}
}
