package main

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP. What is sent there is what these messages of files are:
// resource spans and resource metrics.
type collector struct {
	url string

	mu       sync.Mutex
	spans    []*traces.Span
	metrics  []*metrics.Metric
	services []string // "name version" of what sent them
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, r *http.Request) {
		var data traces.TracesData
		c.read(t, r, &data)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range data.ResourceSpans {
			c.services = append(c.services, words(
				of.Resource.Attributes, "service.name", "service.version"))
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(_ http.ResponseWriter, r *http.Request) {
		var data metrics.MetricsData
		c.read(t, r, &data)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range data.ResourceMetrics {
			c.services = append(c.services, words(
				of.Resource.Attributes, "service.name", "service.version"))
			for _, scope := range of.ScopeMetrics {
				c.metrics = append(c.metrics, scope.Metrics...)
			}
		}
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	c.url = ts.URL
	return c
}

func (c *collector) read(t *testing.T, r *http.Request, into proto.Message) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %s: %v", r.URL, r.Header.Get("Content-Type"), err)
	}
}

// words are the values of attributes, where they are there.
func words(attrs []*common.KeyValue, keys ...string) string {
	var found []string
	for _, key := range keys {
		for _, kv := range attrs {
			if kv.Key == key {
				found = append(found, kv.Value.GetStringValue())
			}
		}
	}
	return strings.Join(found, " ")
}

// headerTransport sends a header along.
type headerTransport struct {
	http.RoundTripper
	name, value string
}

func (s headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(s.name, s.value)
	return s.RoundTripper.RoundTrip(r)
}

// The example exports what it did before it ends, and the audit knows the same traces.
func TestTracesAndMetricsReachACollector(t *testing.T) {
	c := collect(t)
	p := start(t, "-otlp", c.url, "-store", "sqlite:"+t.TempDir()+"/kept.db")
	res, err := http.Get(p.Base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("it is not ready: %s", res.Status)
	}
	type wanted struct{ trace, parent string }
	want := map[string][]wanted{} // by the name of the span
	expect := func(span string, id int) string {
		w := wanted{fmt.Sprintf("%032x", id), fmt.Sprintf("%016x", id)}
		want[span] = append(want[span], w)
		return "00-" + w.trace + "-" + w.parent + "-01"
	}
	for i, era := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
		"2026-07-28"} {
		id := 0x100 * (i + 1)
		inHeader := expect("tools/call get_all", id)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "traced", Version: "1"},
			nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: p.Base + "/mcp", HTTPClient: &http.Client{
				Transport: headerTransport{as("vera"), "Traceparent", inHeader}}, DisableStandaloneSSE: true,
		}, &mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "get_all"}); err != nil {
			t.Errorf("%s: %v", era, err)
		}
		meta := func(span string, n int) mcp.Meta {
			return mcp.Meta{
				"traceparent": expect(span, id+n)}
		}
		if res, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "get_by_id", Arguments: map[string]any{"id": 999},
				Meta: meta("tools/call get_by_id", 1)}); err != nil || !res.IsError {
			t.Errorf("%s: %v, %v", era, res, err)
		}
		if _, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "create", Meta: meta("tools/call create", 2)}); err == nil {
			t.Errorf("%s: a viewer creates", era)
		}
		if _, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "hunter2", Meta: meta("tools/call", 3)}); err == nil {
			t.Errorf("%s: there is a tool hunter2", era)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: %v", era, err)
		}
	}
	audited := map[string]string{} // the tool of a trace
	for _, item := range p.must(t, 200, "ada", "GET", "/admin/audit/events?limit=200",
		nil)["items"].([]any) {
		e := item.(map[string]any)["event"].(map[string]any)
		if e["event_type"] == "tool_called" {
			audited[fmt.Sprint(e["trace_id"], " ", e["request_id"])] = fmt.Sprint(e["tool_name"])
		}
	}
	if err := p.Process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	got := map[string][]wanted{}
	for _, span := range c.spans {
		if words(span.Attributes, "mcp.method.name") != "tools/call" {
			continue
		}
		trace, tool := hex.EncodeToString(span.TraceId), words(span.Attributes, "gen_ai.tool.name")
		got[span.Name] = append(got[span.Name],
			wanted{trace, hex.EncodeToString(span.ParentSpanId)})
		if asked, ok := audited[trace+" "+words(span.Attributes, "mcpgen.request.id")]; !ok ||
			asked != cmp.Or(tool, "hunter2") {
			t.Errorf("the audit has %q of %s in trace %s", asked, tool, trace)
		}
		if inHeader := strings.HasSuffix(trace, "00"); span.Kind != traces.Span_SPAN_KIND_SERVER ||
			(len(span.Links) == 0) != inHeader {
			t.Errorf("%v", span)
		}
		if words(span.Attributes, "mcp.protocol.version", "network.transport",
			"gen_ai.operation.name") == "" || strings.Contains(span.String(), "hunter2") ||
			strings.Contains(span.String(), "vera") {
			t.Errorf("%v", span)
		}
	}
	for name, of := range want {
		slices.SortFunc(got[name], func(a, b wanted) int { return cmp.Compare(a.trace, b.trace) })
		if !slices.Equal(got[name], of) {
			t.Errorf("spans of %q:\n got %v\nwant %v", name, got[name], of)
		}
	}
	calls, denials := int64(0), int64(0)
	for _, m := range c.metrics {
		for _, point := range m.GetSum().GetDataPoints() {
			switch what := m.Name + " " + words(
				point.Attributes, "gen_ai.tool.name", "mcpgen.status", "mcpgen.denial.axis"); what {
			case "mcpgen.requests get_all success":
				calls = point.GetAsInt()
			case "mcpgen.denials create role":
				denials = point.GetAsInt()
			}
		}
	}
	if calls != 5 || denials != 5 || !slices.ContainsFunc(
		c.metrics,
		func(m *metrics.Metric) bool { return m.Name == "mcp.server.operation.duration" }) {
		t.Errorf("%d calls, %d denials: %v", calls, denials, c.metrics)
	}
	for _, of := range c.services {
		if of != "team 1.0.0" {
			t.Errorf("telemetry of %q", of)
		}
	}
}

func TestCollectorsThatAreNoneAreRefused(t *testing.T) {
	for _, url := range []string{"collector:4318", "http://", "ftp://127.0.0.1", "%"} {
		if err := run(t.Context(), []string{"-addr", "127.0.0.1:0", "-db", t.TempDir() + "/team.db",
			"-otlp", url}); err == nil || !strings.Contains(
			err.Error(), "want the URL of a collector") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
