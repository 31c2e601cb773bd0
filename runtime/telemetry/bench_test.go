package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// unsampled is an observer as programs have one in production, which samples none of what is
// measured here.
func unsampled(t testing.TB) observe.Observer {
	t.Helper()
	observer, err := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample()))),
		MeterProvider: sdkmetric.NewMeterProvider(
			sdkmetric.WithReader(sdkmetric.NewManualReader())),
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
	opts.Identity = identity.Static(map[string]access.Principal{
		identity.HashToken("abc"): {Subject: "ada"}})
	server, err := runtime.New(opts, toolset.NewToolset(toolset.Generated{
		Package: "example.com/p", Server: toolset.ServerInfo{Name: "p"},
		Table: access.Table{Rules: []access.Rule{{Tool: "get", Authenticated: true}}},
		Tools: []toolset.Tool{{Name: "get", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured("done", nil)
			}}},
	}))
	if err != nil {
		b.Fatal(err)
	}
	c := &caller{url: mcptest.Serve(b, server)}
	b.Cleanup(c.client.CloseIdleConnections)
	c.send(
		b,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	c.send(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

const benchCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{}}}`

// BenchmarkCallOverHTTP calls two servers in turn, one with a logger, unsampled traces and metrics
// and one without, and reports what the first costs more, in percent of medians and of means. An op
// is a call of both.
func BenchmarkCallOverHTTP(b *testing.B) {
	servers := [2]*caller{
		newCaller(b, runtime.Options{Logger: slog.New(slog.DiscardHandler)}),
		newCaller(b, runtime.Options{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
			Observe: runtime.ObserveOptions{Observer: unsampled(b)}}),
	}
	for i := range 1000 {
		servers[i%2].send(b, benchCall)
	}
	var took [2][]float64
	for i := 0; b.Loop(); i++ {
		for j := range servers {
			which := (i + j) % 2 // neither is always the first
			began := b.Elapsed()
			servers[which].send(b, benchCall)
			took[which] = append(took[which], float64(b.Elapsed()-began))
		}
	}
	var median, mean [2]float64
	for which, all := range took {
		for _, one := range all {
			mean[which] += one / float64(len(all))
		}
		slices.Sort(all)
		median[which] = all[len(all)/2]
	}
	b.ReportMetric(median[0], "ns/without")
	b.ReportMetric(median[1], "ns/with")
	b.ReportMetric(100*(median[1]/median[0]-1), "%more")
	b.ReportMetric(100*(mean[1]/mean[0]-1), "%more-mean")
}

// BenchmarkMessage is what an observer alone takes for a message.
func BenchmarkMessage(b *testing.B) {
	for _, test := range []struct {
		name     string
		observer func() observe.Observer
		meta     string
	}{
		{"unsampled", func() observe.Observer { return unsampled(b) }, ""},
		{"unsampled parent", func() observe.Observer { return unsampled(b) }, quiet},
		{"sampled", func() observe.Observer {
			observer, err := telemetry.New(telemetry.Options{
				TracerProvider: sdktrace.NewTracerProvider(),
				MeterProvider:  noop.NewMeterProvider()})
			if err != nil {
				b.Fatal(err)
			}
			return observer
		}, ""},
	} {
		b.Run(test.name, func(b *testing.B) {
			observer := test.observer()
			m := observe.Message{Method: "tools/call", Transport: observe.TransportHTTP,
				Protocol: "2025-11-25", RequestID: "1",
				Meta: observe.TraceContext{Traceparent: test.meta}, Around: context.Background()}
			b.ReportAllocs()
			for b.Loop() {
				_, seen := observer.Began(context.Background(), m)
				seen.Trace()
				seen.Ended(observe.Outcome{Name: "get"})
			}
		})
	}
}
