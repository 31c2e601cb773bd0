package telemetry_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// What callers say of traces. The middle one is not sampled.
const (
	inMeta   = "00-11111111111111111111111111111111-aaaaaaaaaaaaaaaa-01"
	inHeader = "00-22222222222222222222222222222222-bbbbbbbbbbbbbbbb-01"
	quiet    = "00-33333333333333333333333333333333-cccccccccccccccc-00"
)

var fronts = sdktrace.NewTracerProvider()

// traced is HTTP middleware that begins a span, as a child of what the headers say unless it is for
// the public.
func traced(public bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if !public {
				ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
			}
			ctx, span := fronts.Tracer("front").Start(ctx, "HTTP")
			defer span.End()
			w.Header().Set("X-Span", span.SpanContext().SpanID().String())
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// remote is HTTP middleware that reads the headers and begins no span.
func remote(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(propagation.TraceContext{}.Extract(
			r.Context(), propagation.HeaderCarrier(r.Header))))
	})
}

func TestSpansBelongToTheTraceThatTheCallerNames(t *testing.T) {
	const none, front = "", "the front"
	for _, test := range []struct {
		name         string
		public       bool
		front        func(http.Handler) http.Handler
		meta, header string
		parent       string
		links        []string
	}{
		{"nothing", false, nil, none, none, none, nil},
		{"_meta", false, nil, inMeta, none, inMeta, nil},
		{"a header", false, nil, none, inHeader, inHeader, nil},
		{"both, and different", false, nil, inMeta, inHeader, inMeta, []string{inHeader}},
		{"both, and the same", false, nil, inMeta, inMeta, inMeta, nil},
		{"an invalid _meta", false, nil, "00-0-0-01", inHeader, inHeader, nil},
		{"an invalid header", false, nil, inMeta, "hunter2", inMeta, nil},
		{"the front's span", false, traced(false), none, inHeader, front, nil},
		{"the front's span and _meta", false, traced(false), inMeta, inHeader, inMeta,
			[]string{front}},
		{"what the front has read", false, remote, none, inHeader, inHeader, nil},
		{"what the front has read, and _meta", false, remote, inMeta, inHeader, inMeta,
			[]string{inHeader}},

		{"nothing, from strangers", true, nil, none, none, none, nil},
		{"_meta, from strangers", true, nil, inMeta, none, none, []string{inMeta}},
		{"both, from strangers", true, nil, inMeta, inHeader, none, []string{inMeta, inHeader}},
		{"the same twice, from strangers", true, nil, inMeta, inMeta, none, []string{inMeta}},
		{"the front's span, for strangers", true, traced(true), inMeta, inHeader, front,
			[]string{inMeta}},
		{"what the front has read of strangers", true, remote, none, inHeader, none,
			[]string{inHeader}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := open(t, telemetry.Options{Public: test.public}, nil, test.front)
			var meta string
			if test.meta != "" {
				meta = `"traceparent":"` + test.meta + `"`
			}
			var header []string
			if test.header != "" {
				header = []string{"Traceparent", test.header}
			}
			o.post(t, "user-a", "tools/call", `"name":"get"`, meta, header...)
			span := o.one(t, "tools/call")

			is := func(at trace.SpanContext, want string) bool {
				switch want {
				case none:
					return !at.IsValid()
				case front:
					return at.IsValid() && !at.IsRemote()
				}
				named := spanIDs(t, want)
				return at.TraceID() == named.TraceID() && at.SpanID() == named.SpanID() &&
					at.IsRemote()
			}
			if !is(span.Parent, test.parent) {
				t.Errorf("the parent is %v", span.Parent)
			}
			if span.Parent.IsValid() && span.Parent.TraceID() != span.SpanContext.TraceID() {
				t.Errorf("another trace than the parent's: %v", span)
			}
			for i, link := range span.Links {
				if i >= len(test.links) || !is(link.SpanContext, test.links[i]) {
					t.Errorf("a link to %v", link.SpanContext)
				}
			}
			if len(span.Links) != len(test.links) {
				t.Errorf("%d links", len(span.Links))
			}
			if got := o.audit.events[0].TraceID; got != span.SpanContext.TraceID().String() {
				t.Errorf("the audit has trace %q", got)
			}
			if inside := trace.SpanContextFromContext(o.seen[0]); !inside.Equal(span.SpanContext) {
				t.Errorf("the handler is in span %v", inside)
			}
		})
	}
}

// In a session, go-sdk gives all messages the context of the request that opened it.
func TestSpansOfASessionAreNotChildrenOfWhatOpenedIt(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, traced(false))
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		session := mcptest.Connect(t, o.url, "user-a", version)
		opened := o.one(t, "initialize")
		for _, parent := range []string{"", inMeta} {
			params := &mcp.CallToolParams{Name: "get"}
			if parent != "" {
				params.Meta = mcp.Meta{"traceparent": parent}
			}
			if _, err := session.CallTool(context.Background(), params); err != nil {
				t.Fatal(err)
			}
			span := o.one(t, "tools/call")
			at := span.Parent
			if parent != "" {
				at = span.Links[0].SpanContext
				if span.Parent.SpanID() != spanIDs(t, parent).SpanID() {
					t.Errorf("%s: the parent is %v", version, span.Parent)
				}
			}
			if !at.IsValid() || at.IsRemote() || at.TraceID() == opened.SpanContext.TraceID() {
				t.Errorf("%s: the HTTP request's span is %v, the session's was %v", version, at,
					opened.Parent)
			}
			if got := attributesOf(span.Attributes)["mcp.protocol.version"]; got != version {
				t.Errorf("protocol %s", got)
			}
		}
	}
}

func TestSpansOverStdio(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	session := mcptest.Pipe(t, o.server, access.Principal{
		Subject: "user-a", User: "user-a", Roles: []string{roles[0]}}, "2025-11-25")
	if _, err := session.CallTool(context.Background(),
		&mcp.CallToolParams{Name: "get", Meta: mcp.Meta{"traceparent": inMeta}}); err != nil {
		t.Fatal(err)
	}
	span := o.one(t, "tools/call")
	if got := line(
		span.Attributes,
		"mcpgen.request.id"); got != "gen_ai.operation.name=execute_tool gen_ai.tool.name=get "+
		"mcp.method.name=tools/call mcp.protocol.version=2025-11-25 mcpgen.status=success "+
		"network.transport=pipe" {
		t.Error(got)
	}
	if span.Parent.SpanID() != spanIDs(t, inMeta).SpanID() {
		t.Errorf("the parent is %v", span.Parent)
	}
}

func TestBaggageReachesHandlers(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(
		func(err error) { t.Errorf("the error handler got %v", err) }))
	in := `"baggage":"of=meta"`
	for _, test := range []struct {
		name       string
		opts       telemetry.Options
		meta, want string
		header     []string
	}{
		{"of _meta", telemetry.Options{}, in, "of=meta", []string{"Baggage", "of=header"}},
		{"of a header", telemetry.Options{}, "", "of=header", []string{"Baggage", "of=header"}},
		{"none", telemetry.Options{}, "", "", nil},
		{"invalid", telemetry.Options{}, `"baggage":"="`, "", nil},
		{"of strangers", telemetry.Options{Public: true}, in, "", nil},
		{"without its propagator", telemetry.Options{Propagator: propagation.TraceContext{}}, in,
			"", nil},
	} {
		o := open(t, test.opts, nil, nil)
		o.post(t, "user-a", "tools/call", `"name":"get"`, test.meta, test.header...)
		if got := baggage.FromContext(o.seen[0]).String(); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// Baggage that opened a session is not that of its other messages.
func TestBaggageOfASessionIsNotThatOfItsMessages(t *testing.T) {
	heavy := true
	o := open(t, telemetry.Options{}, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if heavy {
				bag, err := baggage.Parse("of=session")
				if err != nil {
					t.Error(err)
				}
				r = r.WithContext(baggage.ContextWithBaggage(r.Context(), bag))
			}
			next.ServeHTTP(w, r)
		})
	})
	session := mcptest.Connect(t, o.url, "user-a", "2025-11-25")
	for _, heavy = range []bool{true, false} {
		if _, err := session.CallTool(context.Background(),
			&mcp.CallToolParams{Name: "get"}); err != nil {
			t.Fatal(err)
		}
	}
	if first, second := baggage.FromContext(o.seen[0]).String(),
		baggage.FromContext(o.seen[1]).String(); first != "of=session" || second != "" {
		t.Errorf("%q and %q", first, second)
	}
}

func TestStrangersDoNotDecideWhatIsSampled(t *testing.T) {
	for _, public := range []bool{false, true} {
		spans := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(
			sdktrace.WithSyncer(spans), sdktrace.WithSampler(
				sdktrace.ParentBased(sdktrace.NeverSample())))
		o := open(t, telemetry.Options{TracerProvider: provider, Public: public}, nil, nil)
		o.post(t, "user-a", "tools/call", `"name":"get"`, `"traceparent":"`+inMeta+`"`)
		if got := len(spans.GetSpans()); (got == 1) == public {
			t.Errorf("public %v: %d spans", public, got)
		}
		spans.Reset()
		o.post(t, "user-a", "tools/call", `"name":"get"`, `"traceparent":"`+quiet+`"`)
		if len(spans.GetSpans()) > 0 {
			t.Errorf("public %v: a span of a trace that is not sampled", public)
		}
		if first, second := o.audit.events[0].TraceID, o.audit.events[1].TraceID; first == "" ||
			(first == strings.Split(inMeta, "-")[1]) == public ||
			(second == strings.Split(quiet, "-")[1]) == public {
			t.Errorf("public %v: the audit has traces %q and %q", public, first, second)
		}
	}
}

// A server without an SDK still passes the caller's trace on.
func TestTracesPassThroughWithoutAnSDK(t *testing.T) {
	o := open(t, telemetry.Options{TracerProvider: noop.NewTracerProvider()}, nil, nil)
	o.post(t, "user-a", "tools/call", `"name":"get"`, `"traceparent":"`+inMeta+`"`)
	o.post(t, "user-a", "tools/call", `"name":"get"`, "")
	if first, second := o.audit.events[0].TraceID,
		o.audit.events[1].TraceID; first != strings.Split(inMeta, "-")[1] || second != "" {
		t.Errorf("%q and %q", first, second)
	}
	if at := trace.SpanContextFromContext(o.seen[0]); at.SpanID() != spanIDs(t, inMeta).SpanID() {
		t.Errorf("the handler is in span %v", at)
	}
}

// Trace states are exported with spans, so that none with a secret may get there.
func TestTracestateWithASecretIsLeftBehind(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	for state, want := range map[string]string{
		"rojo=00f067aa0ba902b7":                         "rojo=00f067aa0ba902b7",
		"rojo=ghp_0123456789abcdefghijABCDEFGHIJ012345": ""} {
		o.post(t, "user-a", "tools/call", `"name":"get"`, `"traceparent":"`+inMeta+
			`","tracestate":"`+state+`"`)
		if got := o.one(t, "tools/call").SpanContext.TraceState().String(); got != want {
			t.Errorf("%s: %q", state, got)
		}
		o.post(t, "user-a", "tools/call", `"name":"get"`, "", "Traceparent", inHeader, "Tracestate",
			state)
		if got := o.one(t, "tools/call").SpanContext.TraceState().String(); got != want {
			t.Errorf("%s in a header: %q", state, got)
		}
	}
}
