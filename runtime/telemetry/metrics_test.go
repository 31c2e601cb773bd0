package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/metric"
	mnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

func TestLooksIntoCachesAreCounted(t *testing.T) {
	for _, test := range []struct {
		ttl         time.Duration
		hits, reads int64 // of the host
	}{{0, 0, 3}, {time.Minute, 2, 1}} {
		o := open(t, telemetry.Options{}, func(options *runtime.Options) {
			options.Host.TTL = test.ttl
		}, nil)
		for range 3 {
			o.post(t, "user-a", "tools/list", "", "")
		}
		points := o.points(t)
		lookups := func(cache string, hit bool) int64 {
			return points[fmt.Sprintf(
				"mcpgen.cache.lookups{mcpgen.cache.hit=%v mcpgen.cache.name=%s}",
				hit, cache)]
		}
		if lookups("capabilities", true) != test.hits ||
			lookups("capabilities", false) != test.reads {
			t.Errorf("CapabilityTTL %v: %v", test.ttl, points)
		}
	}
}

func TestWhatIsTurnedAwayAtTheFrontIsCounted(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	for range 2 {
		if got := o.post(t, "hunter2", "tools/list", "", ""); got != 401 {
			t.Fatal(got)
		}
	}
	if got := o.post(t, "user-a", "tools/list", "", "", "Origin",
		"https://evil.example"); got != 403 {
		t.Fatal(got)
	}
	points := o.points(t)
	if points["mcpgen.http.refusals{http.response.status_code=401}"] != 2 ||
		points["mcpgen.http.refusals{http.response.status_code=403}"] != 1 {
		t.Errorf("%v", points)
	}
	if spans := o.spans.GetSpans(); len(spans) > 0 {
		t.Errorf("%v", spans)
	}
}

// The duration is that of the conventions, and all have a unit and words.
func TestInstrumentsFollowTheConventions(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	for _, params := range []string{`"name":"get"`, `"name":"wipe"`, `"name":"apart"`} {
		o.post(t, "user-a", "tools/call", params, "")
	}
	o.post(t, "user-a", "tools/list", "", "")
	o.post(t, "hunter2", "tools/list", "", "")
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		got = append(got, m.Name+" "+m.Unit)
		if !strings.HasSuffix(m.Description, ".") {
			t.Errorf("%s: %q", m.Name, m.Description)
		}
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			if want := []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120,
				300}; !slices.Equal(data.DataPoints[0].Bounds, want) {
				t.Errorf("%s: %v", m.Name, data.DataPoints[0].Bounds)
			}
		case metricdata.Sum[int64]:
			if !data.IsMonotonic {
				t.Errorf("%s goes down", m.Name)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"mcp.server.operation.duration s", "mcpgen.cache.lookups {lookup}",
		"mcpgen.denials {request}", "mcpgen.http.refusals {request}",
		"mcpgen.list.size {item}", "mcpgen.requests {request}", "mcpgen.sandbox.kills {call}",
	}
	if scope := all.ScopeMetrics[0].Scope.Name; !slices.Equal(got, want) ||
		scope != "github.com/mcpgen/mcpgen/runtime/telemetry" || len(all.ScopeMetrics) != 1 {
		t.Errorf("of %s: %q", scope, got)
	}
}

// Whatever callers ask for, the sets of attributes stay as many as there are names and outcomes.
func TestCallersCannotMakeUpSeries(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	ask := func(i int) {
		word := fmt.Sprint("hunter", i)
		o.post(t, "user-"+word, "tools/call", `"name":"`+word+`"`, "")
		o.post(t, "user-"+word, "tools/call", `"name":"get","arguments":{"`+word+`":1}`, "")
		o.post(t, "user-"+word, "resources/read", `"uri":"lib://books/`+word+`"`, "")
		o.post(t, "user-"+word, "prompts/get", `"name":"`+word+`"`, "")
		o.post(t, "user-"+word, "tools/"+word, ``, "")
	}
	ask(0)
	before := len(o.points(t))
	for i := range 20 {
		ask(i)
	}
	if after := o.points(t); len(after) != before {
		t.Errorf("%d series became %d: %v", before, len(after), after)
	}
}

// A refusal by the boundary of a client is counted by its axis.
func TestRefusalsOfBoundariesAreCounted(t *testing.T) {
	file := fstest.MapFS{"b.yaml": {Data: []byte("boundaries: [{issuer: test, client: app-user-a, " +
		"items: ['tool:get']}]")}}
	boundaries, err := static.OpenFS(file, "b.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, telemetry.Options{}, func(options *runtime.Options) {
		options.Access.Boundaries = boundaries
	}, nil)
	for _, tool := range []string{"get", "push", "info"} {
		o.post(t, "user-a", "tools/call", `"name":"`+tool+`"`, "")
	}
	points := o.points(t)
	for tool, want := range map[string]int64{"get": 0, "push": 1, "info": 1} {
		if got := points["mcpgen.denials{gen_ai.tool.name="+tool+
			" mcp.method.name=tools/call mcpgen.denial.axis=boundary}"]; got != want {
			t.Errorf("%s: %d, want %d: %v", tool, got, want, points)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	const clients, calls = 8, 20
	var wg sync.WaitGroup
	for i := range clients {
		session := mcptest.Connect(t, o.url, fmt.Sprint("user-", i), "")
		wg.Go(func() {
			for range calls {
				if _, err := session.CallTool(
					context.Background(), &mcp.CallToolParams{Name: "get"}); err != nil {
					t.Error(err)
				}
				if _, err := session.CallTool(
					context.Background(), &mcp.CallToolParams{Name: "wipe"}); err == nil {
					t.Error("a refusal is none")
				}
			}
		})
	}
	wg.Wait()
	points, names := o.points(t), map[string]int{}
	for _, span := range o.spans.GetSpans() {
		names[span.Name]++
	}
	if n := points["mcpgen.requests{gen_ai.tool.name=get mcp.method.name=tools/call "+
		"mcpgen.status=success}"]; n != clients*calls || names["tools/call get"] != clients*calls {
		t.Errorf("%d calls of get, %d spans", n, names["tools/call get"])
	}
	if n := points["mcpgen.denials{gen_ai.tool.name=wipe mcp.method.name=tools/call "+
		"mcpgen.denial.axis=permission}"]; n != clients*calls ||
		names["tools/call wipe"] != clients*calls {
		t.Errorf("%d denials of wipe, %d spans", n, names["tools/call wipe"])
	}
}

// Unknown values of handlers and the kernel become _OTHER.
func TestOutcomesThatNobodyNamed(t *testing.T) {
	for _, test := range []struct {
		message observe.Message
		outcome observe.Outcome
		span    string
		want    string
		failed  bool
	}{
		{observe.Message{}, observe.Outcome{Failure: audit.Errored, Code: -32601}, "_OTHER",
			"error.type=-32601 mcp.method.name=_OTHER mcpgen.failure=error mcpgen.status=failed " +
				"rpc.response.status_code=-32601", false},
		{observe.Message{Method: "ping"}, observe.Outcome{}, "ping",
			"mcp.method.name=ping mcpgen.status=success", false},
		{observe.Message{Method: "prompts/get"},
			observe.Outcome{Kind: access.Prompts, Name: "a", Failure: audit.Errored, Code: -32603},
			"prompts/get a",
			"error.type=-32603 gen_ai.prompt.name=a mcp.method.name=prompts/get " +
				"mcpgen.failure=error mcpgen.status=failed rpc.response.status_code=-32603", true},
		{observe.Message{Method: "resources/read"},
			observe.Outcome{Failure: audit.Errored, Code: 42}, "resources/read",
			"error.type=_OTHER mcp.method.name=resources/read mcpgen.failure=error " +
				"mcpgen.status=failed rpc.response.status_code=_OTHER", false},
		{observe.Message{Method: "resources/read"}, observe.Outcome{Failure: audit.Errored},
			"resources/read",
			"error.type=_OTHER mcp.method.name=resources/read mcpgen.failure=error " +
				"mcpgen.status=failed", false},
		{observe.Message{Method: "prompts/get"},
			observe.Outcome{Failure: audit.Errored, Code: -32603, Cancelled: true}, "prompts/get",
			"error.type=cancelled mcp.method.name=prompts/get mcpgen.failure=error " +
				"mcpgen.status=failed rpc.response.status_code=-32603", false},
		{observe.Message{Method: "tools/call"},
			observe.Outcome{Failure: audit.Errored, Cancelled: true}, "tools/call",
			"error.type=cancelled gen_ai.operation.name=execute_tool mcp.method.name=tools/call " +
				"mcpgen.failure=error mcpgen.status=failed", false},
		{observe.Message{Method: "tools/call"},
			observe.Outcome{Failure: audit.Denied, Code: -32603}, "tools/call",
			"error.type=-32603 gen_ai.operation.name=execute_tool mcp.method.name=tools/call " +
				"mcpgen.failure=denied mcpgen.status=failed rpc.response.status_code=-32603",
			false},
	} {
		o := open(t, telemetry.Options{}, nil, nil)
		observer, err := telemetry.New(telemetry.Options{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans)),
			MeterProvider:  mnoop.NewMeterProvider()})
		if err != nil {
			t.Fatal(err)
		}
		test.message.Transport = observe.TransportStdio
		_, seen := observer.Began(context.Background(), test.message)
		seen.Ended(test.outcome)
		span := o.spans.GetSpans()[0]
		if got := line(span.Attributes, "mcpgen.request.id",
			"network.transport"); got != test.want || span.Name != test.span ||
			(span.Status.Description != "") != test.failed {
			t.Errorf("%+v is %q, %v\n got %s\nwant %s", test.outcome, span.Name, span.Status, got,
				test.want)
		}
	}
}

// broken makes meters that make no counters, or no meters.
type broken struct {
	mnoop.MeterProvider
	none bool
}

func (b broken) Meter(string, ...metric.MeterOption) metric.Meter {
	if b.none {
		return nil
	}
	return counterless{}
}

type counterless struct{ mnoop.Meter }

func (counterless) Int64Counter(name string, _ ...metric.Int64CounterOption) (
	metric.Int64Counter, error) {
	return nil, errors.New("no " + name)
}

// tracerless is a provider without a tracer.
type tracerless struct{ noop.TracerProvider }

func (tracerless) Tracer(string, ...trace.TracerOption) trace.Tracer { return nil }

func TestProvidersThatFailAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		opts telemetry.Options
		want []string
	}{
		"no instruments": {telemetry.Options{MeterProvider: broken{}},
			[]string{"no mcpgen.requests", "no mcpgen.sandbox.kills"}},
		"no meter": {telemetry.Options{MeterProvider: broken{none: true}},
			[]string{"Options.MeterProvider returns no meter"}},
		"no tracer": {telemetry.Options{TracerProvider: tracerless{}},
			[]string{"Options.TracerProvider returns no tracer"}},
		"a nil tracerprovider": {telemetry.Options{TracerProvider: (*sdktrace.TracerProvider)(nil)},
			[]string{"Options.TracerProvider is a nil *trace.TracerProvider"}},
		"a nil meterprovider": {telemetry.Options{MeterProvider: (*sdkmetric.MeterProvider)(nil)},
			[]string{"Options.MeterProvider is a nil *metric.MeterProvider"}},
	} {
		observer, err := telemetry.New(test.opts)
		if err == nil || observer != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := telemetry.New(telemetry.Options{}); err != nil {
		t.Error(err)
	}
}

func TestCoercionsAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	observer, err := telemetry.New(telemetry.Options{TracerProvider: noop.NewTracerProvider(),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, seen := observer.Began(context.Background(), observe.Message{Method: "tools/call"})
		seen.Ended(observe.Outcome{Kind: access.Tools, Name: "get",
			Coerced: decode.Coercions{Numbers: 2, Unknown: 1}})
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "mcpgen.arguments.coerced" {
			for _, p := range sum.DataPoints {
				got[line(p.Attributes.ToSlice())] += p.Value
			}
		}
	}
	want := map[string]int64{"gen_ai.tool.name=get mcpgen.coercion=number": 4,
		"gen_ai.tool.name=get mcpgen.coercion=unknown": 2}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
