package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var discard = slog.New(slog.DiscardHandler)

// reached is a [toolset.LimitError].
type reached string

func (r reached) Error() string   { return "the tool reached its limit on " + string(r) }
func (r reached) Reached() string { return string(r) }

// box is a sandbox that kills all that is isolated.
type box struct{}

func (box) Start(isolate.Start) error { return nil }

func (box) Enter(ctx context.Context, _ isolate.Client) (context.Context, func()) {
	return ctx, func() {}
}

func (box) Isolate(context.Context, isolate.Call) (json.RawMessage, error) {
	return nil, reached("memory")
}

// host is a host of permissions where everybody may view devices.
type host struct{}

func (host) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	return capability.User{ID: p.User, Name: p.User}, nil
}

func (host) Capabilities(context.Context, access.Principal) (capability.Set, error) {
	var s capability.Set
	s.Add("dcim.view_device")
	s.Add("dcim.bound_device", capability.Constraint(`{"site":"a"}`))
	return s, nil
}

func (host) MapAction(permission string) (string, error) { return permission, nil }

var roles = access.DefaultRoles()[0]

// desk is a toolset with a tool for each way in which a call can end, made fresh for a server with
// Options.Grants, Sandbox and so on.
func desk(seen func(context.Context)) toolset.Toolset {
	device := func(action string) access.Permission {
		return access.Permission{App: "dcim", Action: action, Object: "device"}
	}
	none := access.NoPermission()
	table := access.Table{
		Roles: [][]string{roles},
		Rules: []access.Rule{
			{Tool: "info", Public: true},
			{Tool: "get", Authenticated: true, Permission: device("view")},
			{Tool: "wipe", Authenticated: true, Permission: device("wipe")},
			{Tool: "bound", Authenticated: true, Permission: device("bound")},
			{Tool: "manage", MinRole: []string{access.Highest}, Permission: none},
			{Tool: "scoped", Scopes: []string{"a"}, Permission: none},
			{Tool: "push", Authenticated: true, Permission: none},
			{Tool: "rated", Authenticated: true, Permission: none},
			{Tool: "apart", Authenticated: true, Permission: none},
			{Tool: "fails", Authenticated: true, Permission: none},
			{Tool: "crashes", Authenticated: true, Permission: none},
			{Tool: "slow", Authenticated: true, Permission: none},
			{Tool: "upstream", Authenticated: true, Permission: none},
		},
		Prompts: []access.Rule{{Prompt: "greet", Public: true},
			{Prompt: "hire", MinRole: []string{access.Highest}, Permission: none}},
		Resources: []access.Rule{{Resource: "lib://hall", Public: true},
			{Resource: "lib://books/{id}", Authenticated: true, Permission: none}},
	}
	calls := map[string]func(context.Context, toolset.Call) (toolset.Result, error){
		"push": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			_, err := call.Allow(ctx, toolset.Named{Argument: "queue",
				Kinds: []string{"queue.push"}, Values: []string{"mail"}})
			return toolset.Done(err)
		},
		"apart": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Structured(call.Isolated(ctx))
		},
		"fails": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(errors.New("hunter2"))
		},
		"crashes": func(context.Context, toolset.Call) (toolset.Result, error) { panic("hunter2") },
		"slow": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Done(ctx.Err())
		},
		"upstream": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(reached("hunter2"))
		},
	}
	var tools []toolset.Tool
	for _, rule := range table.Rules {
		tool := toolset.Tool{Name: rule.Tool, Input: `{"type":"object"}`, Call: calls[rule.Tool]}
		if tool.Call == nil {
			tool.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				seen(ctx)
				return toolset.Done(nil)
			}
		}
		switch rule.Tool {
		case "push":
			tool.Input = `{"type":"object","properties":{"queue":{"type":"string"}}}`
			tool.Allow = []toolset.Allow{{Kind: "queue.push", Argument: "queue"}}
		case "rated":
			tool.Limits.Rate = toolset.Rate{Calls: 1, Per: time.Hour}
		case "apart":
			tool.Isolate = "example.com/desk.apart"
		case "slow":
			tool.Timeout = time.Millisecond
		}
		tools = append(tools, tool)
	}
	get := func(context.Context, toolset.Call) (toolset.PromptResult, error) {
		return toolset.PromptText("hello", nil)
	}
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("text", nil)
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/desk", Server: toolset.ServerInfo{Name: "desk", Version: "1"},
		Table: table, Tools: tools,
		Prompts: []toolset.Prompt{{Name: "greet", Get: get},
			{Name: "hire", Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				panic("hunter2")
			}}},
		Resources: []toolset.Resource{
			{URI: "lib://hall", Name: "hall", Read: read},
			{URI: "lib://books/{id}", Name: "books", Read: read,
				Variables: []toolset.Variable{{Name: "id"}}},
		},
	})
}

// office is a served desk, and what was exported of it.
type office struct {
	url    string
	server *runtime.Server
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	audit  *trail

	mu   sync.Mutex
	seen []context.Context // of handlers
}

// trail keeps events, without intents: a message is observed once.
type trail struct {
	mu     sync.Mutex
	events []audit.Event
}

func (k *trail) Record(_ context.Context, e audit.Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Status != audit.Intent {
		k.events = append(k.events, e)
	}
	return nil
}

func open(t testing.TB, opts telemetry.Options, with func(*runtime.Options),
	front func(http.Handler) http.Handler) *office {
	t.Helper()
	o := &office{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader(),
		audit: &trail{}}
	if opts.TracerProvider == nil {
		opts.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans))
	}
	opts.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader))
	observer, err := telemetry.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	options := runtime.Options{
		Observe: runtime.ObserveOptions{Observer: observer}, Logger: discard,
		Audit: runtime.AuditOptions{Sink: o.audit}, Anonymous: true,
		Grants: runtime.GrantOptions{Source: grant.NewMemory()}, Sandbox: box{},
		Host: runtime.HostOptions{Source: host{}},
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			if !strings.HasPrefix(token, "user-") {
				return identity.Identity{}, identity.ErrInvalidToken
			}
			return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: token,
				Client: "app-" + token, Actor: access.Actor{Issuer: "test", Subject: "actor-" + token},
				User: token, Roles: []string{string(roles[0])}}}, nil
		}, identity.NamesUsers()),
	}
	if with != nil {
		with(&options)
	}
	if o.server, err = runtime.New(options, desk(func(ctx context.Context) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.seen = append(o.seen, ctx)
	})); err != nil {
		t.Fatal(err)
	}
	if front == nil {
		o.url = mcptest.Serve(t, o.server)
	} else {
		ts := httptest.NewServer(front(o.server.Handler()))
		t.Cleanup(ts.Close)
		o.url = ts.URL + runtime.PathMCP
	}
	return o
}

// post sends one request of the stateless protocol and returns its status.
func (o *office) post(t testing.TB, token, method, params, meta string, header ...string) int {
	t.Helper()
	if meta != "" {
		meta = "," + meta
	}
	if params != "" {
		params += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}` + meta + `}}}`
	req, err := http.NewRequest(http.MethodPost, o.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var named struct{ Name, URI string }
	if err := json.Unmarshal([]byte("{"+strings.TrimSuffix(params, ",")+"}"), &named); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method,
		"Mcp-Name": named.Name + named.URI,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// one returns the only span of a method, and forgets all.
func (o *office) one(t testing.TB, method string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range o.spans.GetSpans() {
		if attributesOf(s.Attributes)["mcp.method.name"] == method {
			found = append(found, s)
		}
	}
	o.spans.Reset()
	if len(found) != 1 {
		t.Fatalf("%d spans of %s: %v", len(found), method, found)
	}
	return found[0]
}

func attributesOf(list []attribute.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, kv := range list {
		texts[string(kv.Key)] = kv.Value.String()
	}
	return texts
}

// line is attributes as one line, without some.
func line(list []attribute.KeyValue, without ...string) string {
	texts := attributesOf(list)
	var words []string
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(without, key) {
			words = append(words, key+"="+texts[key])
		}
	}
	return strings.Join(words, " ")
}

// points are the points of all metrics, by "name{attributes}", as counts.
func (o *office) points(t testing.TB) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	points := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			put := func(set attribute.Set, n int64) {
				points[m.Name+"{"+line(set.ToSlice())+"}"] = n
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, int64(p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					put(p.Attributes, p.Sum)
				}
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return points
}

func spanIDs(t testing.TB, parent string) trace.SpanContext {
	t.Helper()
	parts := strings.Split(parent, "-")
	traceID, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	spanID, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID})
}
