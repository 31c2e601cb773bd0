package runtime_test

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// watchers are an observer of funcs, each of which may be nil.
type watchers struct {
	began  func(context.Context, observe.Message) (context.Context, observe.Observation)
	away   func(status int)
	cached func(cache string, hit bool)
	ended  func(observe.Outcome)
}

func (w watchers) Began(ctx context.Context,
	m observe.Message) (context.Context, observe.Observation) {
	if w.began != nil {
		return w.began(ctx, m)
	}
	return ctx, observation{ended: w.ended}
}

func (w watchers) TurnedAway(_ context.Context, status int) {
	if w.away != nil {
		w.away(status)
	}
}

func (w watchers) Cached(cache string, hit bool) {
	if w.cached != nil {
		w.cached(cache, hit)
	}
}

// observation is one of a watchers.
type observation struct {
	trace, span string
	ended       func(observe.Outcome)
}

func (o observation) Trace() (string, string) { return o.trace, o.span }

func (o observation) Ended(out observe.Outcome) {
	if o.ended != nil {
		o.ended(out)
	}
}

// watched records the calls of an observer.
type watched struct {
	mu    sync.Mutex
	ended *sync.Cond // of outcomes; nil before somebody waits
	events
}

type events struct {
	messages []observe.Message
	outcomes []observe.Outcome
	away     []int
	cached   []string
}

func (w *watched) observer() observe.Observer {
	return watchers{
		began: func(ctx context.Context, m observe.Message) (context.Context, observe.Observation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.messages = append(w.messages, m)
			return ctx, observation{ended: func(o observe.Outcome) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.outcomes = append(w.outcomes, o); w.ended != nil {
					w.ended.Broadcast()
				}
			}}
		},
		away: func(status int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.away = append(w.away, status)
		},
		cached: func(cache string, hit bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cached = append(w.cached, fmt.Sprint(cache, " ", hit))
		},
	}
}

// taken is what was told since the last time. A client may have its answer before the observer has
// heard of it.
func (w *watched) taken(t testing.TB, messages int) events {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = sync.NewCond(&w.mu)
	}
	for len(w.outcomes) < messages {
		w.ended.Wait()
	}
	got := w.events
	w.events = events{}
	return got
}

func outcome(o observe.Outcome) string {
	kind := o.Kind.String() + " "
	if o.Name == "" && o.Kind == 0 {
		kind = ""
	}
	said := fmt.Sprintf("%s%s failure=%s axis=%s limit=%s isolated=%v %d/%d code=%d", kind, o.Name,
		o.Failure, o.Axis, o.Limit, o.Isolated, o.Listed, o.Total, o.Code)
	if o.Cancelled {
		said += " cancelled"
	}
	return said
}

func TestObserverGetsTheOutcomeOfEachMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answering := func(err error) func(context.Context, toolset.Call) (toolset.Result, error) {
			return func(context.Context, toolset.Call) (toolset.Result,
				error) {
				return toolset.Done(err)
			}
		}
		limit := func(name string) time.Duration {
			if strings.HasSuffix(name, "long") {
				return 50 * time.Millisecond
			}
			return time.Minute
		}
		tool := func(name string, call func(context.Context, toolset.Call) (toolset.Result,
			error)) toolset.Tool {
			return toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: call, Timeout: limit(name)}
		}
		apart := func(name string) toolset.Tool {
			return toolset.Tool{Name: name, Input: `{"type":"object"}`, Isolate: "example.com/odd." +
				name, Timeout: limit(name),
				Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
					return toolset.Structured(call.Isolated(ctx))
				}}
		}
		inBox := &box{isolate: func(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
			if call.Name == "example.com/odd.apart_long" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			if call.Name == "example.com/odd.apart_fine" {
				return json.RawMessage(`1`), nil
			}
			return nil, reached("memory")
		}}
		var seen watched
		s := newServer(t, runtime.Options{
			Observe: runtime.ObserveOptions{Observer: seen.observer()},
			Sandbox: inBox},
			toolsetOf([]toolset.Tool{
				tool("fine", answering(nil)), tool("failing", answering(errors.New("hunter2"))),
				tool("limited", answering(reached("rate"))),
				tool("protocol", answering(&jsonrpc.Error{Code: -32001, Message: "hunter2"})),
				tool("panics", func(context.Context, toolset.Call) (toolset.Result,
					error) {
					panic("hunter2")
				}),
				tool("long", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					<-ctx.Done()
					return toolset.Done(ctx.Err())
				}),
				tool("boss", nothing), tool("told", nothing), tool("scoped", nothing), apart("apart"),
				apart("apart_long"), apart("apart_fine"),
			}, access.Rule{Tool: "boss", MinRole: admin}, access.Rule{Tool: "told", MinRole: admin,
				Denial: access.Forbid},
				access.Rule{Tool: "scoped", Scopes: []string{"w"}, Denial: access.Challenge}),
			library())
		url := serve(t, s)
		l := overHTTP(t, url, tokens["Member"], "2025-11-25")
		stateless := overHTTP(t, url, tokens["Member"], "2026-07-28")
		seen.taken(t, 2)
		for _, test := range []struct{ method, name, params, want string }{
			{"tools/call", "fine", `"name":"fine"`,
				`tool fine failure= axis=authentication limit= isolated=false 0/0 code=0`},
			{"tools/call", "failing", `"name":"failing"`,
				`tool failing failure=error axis=authentication limit= isolated=false 0/0 code=0`},
			{"tools/call", "protocol", `"name":"protocol"`,
				`tool protocol failure=error axis=authentication limit= isolated=false 0/0 code=-32001`},
			{"tools/call", "limited", `"name":"limited"`,
				`tool limited failure=limited axis=limit limit=rate isolated=false 0/0 code=0`},
			{"tools/call", "panics", `"name":"panics"`,
				`tool panics failure=crashed axis=authentication limit= isolated=false 0/0 code=0`},
			{"tools/call", "long", `"name":"long"`,
				`tool long failure=timeout axis=authentication limit=timeout isolated=false 0/0 code=0`},
			{"tools/call", "apart_fine", `"name":"apart_fine"`,
				`tool apart_fine failure= axis=authentication limit= isolated=false 0/0 code=0`},
			{"tools/call", "apart", `"name":"apart"`,
				`tool apart failure=limited axis=limit limit=memory isolated=true 0/0 code=0`},
			{"tools/call", "apart_long", `"name":"apart_long"`,
				`tool apart_long failure=timeout axis=authentication limit=timeout isolated=true 0/0 code=0`},
			{"tools/call", "boss", `"name":"boss"`,
				`tool boss failure=denied axis=role limit= isolated=false 0/0 code=-32602`},
			{"tools/call", "told", `"name":"told"`,
				`tool told failure=denied axis=role limit= isolated=false 0/0 code=0`},
			{"tools/call", "scoped", `"name":"scoped"`,
				`tool scoped failure=denied axis=scopes limit= isolated=false 0/0 code=0`},
			{"tools/call", "hunter2", `"name":"hunter2"`,
				` failure=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
			{"tools/list", "", ``, ` failure= axis= limit= isolated=false 10/12 code=0`},
			{"tools/list", "", `"cursor":"hunter2"`,
				` failure=invalid axis= limit= isolated=false 10/12 code=-32602`},
			{"prompts/list", "", ``, ` failure= axis= limit= isolated=false 2/4 code=0`},
			{"resources/list", "", ``, ` failure= axis= limit= isolated=false 2/3 code=0`},
			{"resources/templates/list", "", ``, ` failure= axis= limit= isolated=false 2/3 code=0`},
			{"prompts/get", "join", `"name":"join","arguments":{"a":"hunter2"}`,
				`prompt join failure= axis=authentication limit= isolated=false 0/0 code=0`},
			{"prompts/get", "rule", `"name":"rule"`,
				`prompt rule failure=denied axis=role limit= isolated=false 0/0 code=-32602`},
			{"prompts/get", "hunter2", `"name":"hunter2"`,
				` failure=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
			{"resources/read", "lib://books/hunter2", `"uri":"lib://books/hunter2"`,
				`resource lib://books/{id} failure= axis=role limit= isolated=false 0/0 code=0`},
			{"resources/read", "lib://safe", `"uri":"lib://safe"`,
				`resource lib://safe failure=denied axis=role limit= isolated=false 0/0 code=-32602`},
			{"resources/read", "hunter2:", `"uri":"hunter2:"`,
				` failure=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
			{"completion/complete", "",
				`"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"a","value":"hunter2"}`,
				`prompt join failure= axis=authentication limit= isolated=false 0/0 code=0`},
			{"completion/complete", "",
				`"ref":{"type":"ref/resource","uri":"lib://books/{id}"},"argument":{"name":"id","value":"hunter2"}`, `resource lib://books/{id} failure= axis=role limit= isolated=false 0/0 code=0`},
			{"completion/complete", "",
				`"ref":{"type":"ref/prompt","name":"hunter2"},"argument":{"name":"a","value":"b"}`,
				` failure=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
			{"ping", "", ``, ` failure= axis= limit= isolated=false 0/0 code=0`},
			{"resources/subscribe", "", `"uri":"lib://hall"`,
				` failure=error axis= limit= isolated=false 0/0 code=-32601`},
		} {
			for _, l := range []*listener{l, stateless} {
				if l == stateless && (test.method == "ping" || test.method == "resources/subscribe") {
					continue // which this version does not have
				}
				l.ask(t, test.method, test.name, test.params)
				got := seen.taken(t, 1)
				want := strings.TrimPrefix(test.want, " ")
				if len(got.outcomes) != 1 || strings.TrimPrefix(outcome(got.outcomes[0]), " ") != want {
					t.Errorf("%s %s of %s: %s, want %s", test.method, test.params, l.era,
						outcome(got.outcomes[0]), want)
				}
				if m := got.messages[0]; m.Method != test.method &&
					(m.Method != "" || test.method != "resources/subscribe") || m.Protocol != l.era ||
					m.Transport != "http" {
					t.Errorf("%s of %s: %+v", test.method, l.era, m)
				}
				if strings.Contains(fmt.Sprintf("%+v", got.messages)+fmt.Sprintf("%+v", got.outcomes),
					"hunter2") {
					t.Errorf("%s: the observer gets what the client made up: %+v", test.method,
						got.messages)
				}
			}
		}
	})
}

// A client that goes away is no failure of the handler's.
func TestObserverGetsThatACallWasCancelled(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}, 1), make(chan observe.Outcome, 1)
	s := newServer(t, runtime.Options{
		Observe: runtime.ObserveOptions{Observer: watchers{ended: func(o observe.Outcome) {
			if o.Name != "" {
				ended <- o
			}
		}}}}, unlucky(time.Minute, func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}))
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		session := connectHTTP(t, serve(t, s), tokens["Member"], era)
		for name, ask := range map[string]func(context.Context) error{
			"work": func(ctx context.Context) error {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "work"})
				return err
			},
			"greet": func(ctx context.Context) error {
				_, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
				return err
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-begun; cancel() }()
			if err := ask(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %s: %v", name, era, err)
			}
			if o := <-ended; !o.Cancelled || o.Name != name || o.Failure != audit.Errored {
				t.Errorf("%s of %s: %+v", name, era, o)
			}
		}
	}
}

// panicking is a log that panics at one text.
type panicking struct{ at string }

func (panicking) Enabled(context.Context, slog.Level) bool { return true }
func (p panicking) WithAttrs([]slog.Attr) slog.Handler     { return p }
func (p panicking) WithGroup(string) slog.Handler          { return p }
func (p panicking) Handle(_ context.Context, r slog.Record) error {
	if r.Message == p.at {
		panic("hunter2")
	}
	return nil
}

func TestMessageAtWhichTheGuardPanicsIsACrash(t *testing.T) {
	t.Parallel()
	var seen watched
	s := newServer(t, runtime.Options{Observe: runtime.ObserveOptions{Observer: seen.observer()},
		Logger: slog.New(panicking{"list filtered"})}, directory(&desk{}))
	if got := newRaw(t, serve(t, s), tokens["Member"], "2026-07-28").ask(t, "tools/list", "",
		nil); !strings.Contains(got.body, "-32603") {
		t.Error(got)
	}
	if got := seen.taken(t, 1).outcomes[0]; got.Failure != audit.Crashed ||
		got.Code != jsonrpc.CodeInternalError {
		t.Error(outcome(got))
	}
}

// An observer has no say: whatever it does, the request goes its way.
func TestObserverThatMisbehavesChangesNoAnswer(t *testing.T) {
	t.Parallel()
	type bothered struct{ observe.Observation }
	for name, observer := range map[string]watchers{
		"panics at once": {began: func(context.Context, observe.Message) (context.Context,
			observe.Observation) {
			panic("hunter2")
		},
			away: func(int) { panic("hunter2") }, cached: func(string, bool) { panic("hunter2") }},
		"panics later": {ended: func(observe.Outcome) { panic("hunter2") }},
		"watches nothing": {began: func(ctx context.Context, _ observe.Message) (context.Context,
			observe.Observation) {
			return ctx, nil
		}},
		"has no context": {began: func(context.Context, observe.Message) (context.Context,
			observe.Observation) {
			return nil, observation{}
		}},
		"is nil inside": {began: func(ctx context.Context, _ observe.Message) (context.Context,
			observe.Observation) {
			return ctx, bothered{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			s := newServer(t, runtime.Options{Observe: runtime.ObserveOptions{Observer: observer},
				Logger: log.logger()},
				directory(&desk{}))
			url := serve(t, s)
			for _, era := range eras {
				c := newRaw(t, url, tokens["Member"], era)
				for range 2 {
					if got := c.call(t, "create", `,"arguments":{"id":"ada"}`,
						nil); got.status != 200 ||
						!strings.Contains(got.body, `"structuredContent":{"id":"ada"`) {
						t.Errorf("%s: %s", era, got)
					}
					if got := c.ask(t, "tools/list", "", nil); !strings.Contains(got.body,
						`"create"`) {
						t.Errorf("%s: %s", era, got)
					}
				}
				if got := c.send(t, "PUT", "", nil); got.status != 405 {
					t.Errorf("%s: %s", era, got)
				}
			}
			if told := strings.Contains(log.String(),
				"Options.Observe.Observer panicked"); told != (strings.HasPrefix(name, "panics") ||
				strings.HasPrefix(name, "is nil")) {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}

func TestTraceOfAMessageIsInItsLogAndItsRecord(t *testing.T) {
	t.Parallel()
	parent := func(digit string) string {
		return "00-" + strings.Repeat(digit, 32) + "-" + strings.Repeat(digit, 16) + "-01"
	}
	for _, test := range []struct{ name, meta, header, observed, span, want string }{
		{"none", "", "", "", "", ""},
		{"in the header", "", "a", "", "", "a"},
		{"in _meta", "b", "", "", "", "b"},
		{"in both", "b", "a", "", "", "b"},
		{"of the observer", "b", "a", "c", "d", "c"},
		{"of an observer that knows none", "b", "a", "", "d", "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log lines
			sink := &keeper{}
			var message observe.Message
			type key struct{}
			s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
				Logger: log.at(slog.LevelInfo),
				Observe: runtime.ObserveOptions{Observer: watchers{began: func(ctx context.Context,
					m observe.Message) (context.Context, observe.Observation) {
					// the handshake's last notification may come later
					if m.Method == "tools/call" {
						message = m
					}
					o := observation{span: strings.Repeat(test.span, 16)}
					if test.observed != "" {
						o.trace = strings.Repeat(test.observed, 32)
					}
					return context.WithValue(ctx, key{}, "inside"), o
				}}}}, working(func(ctx context.Context) {
				runtime.Logger(ctx).Info("m", "value", ctx.Value(key{}))
				if r, ok := runtime.RequestOf(ctx); !ok || r.TraceID != strings.Repeat(test.want,
					32) {
					t.Errorf("RequestOf: %+v", r)
				}
			}))
			c := newRaw(t, serve(t, s), tokens["Member"], "2025-11-25")
			rest, header := `,"arguments":{}`, map[string]string{"Tracestate": "a=1",
				"Baggage": strings.Repeat("b", 9<<10)}
			if test.meta != "" {
				rest += `,"_meta":{"traceparent":"` + parent(test.meta) +
					`","tracestate":"t=1","baggage":7}`
			}
			if test.header != "" {
				header["Traceparent"] = parent(test.header)
			}
			c.call(t, "work", rest, header)
			events := sink.taken()
			line := log.of(t, "m")
			if len(line) != 1 || len(events) != 1 {
				t.Fatalf("%v %v", line, events)
			}
			id, _ := line[0]["trace_id"].(string)
			if want := strings.Repeat(test.want, 32); id != want || events[0].TraceID != want {
				t.Errorf("the log has %q, the audit %q, want %q", id, events[0].TraceID, want)
			}
			span, _ := line[0]["span_id"].(string)
			if want := strings.Repeat(test.span, 16); test.observed != "" && span != want ||
				test.observed == "" && span != "" {
				t.Errorf("span %q", span)
			}
			if line[0]["value"] != "inside" {
				t.Error("the handler lacks what the observer put into its context")
			}
			// that baggage is too large
			wantMeta, wantHeader := observe.TraceContext{}, observe.TraceContext{Tracestate: "a=1"}
			if test.meta != "" {
				wantMeta = observe.TraceContext{Traceparent: parent(test.meta), Tracestate: "t=1"}
			}
			if test.header != "" {
				wantHeader.Traceparent = parent(test.header)
			}
			if message.Meta != wantMeta || message.Header != wantHeader ||
				message.RequestID != events[0].RequestID {
				t.Errorf("%+v", message)
			}
		})
	}
}

func TestObserverGetsWhatWasKept(t *testing.T) {
	t.Parallel()
	var seen watched
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{Observe: runtime.ObserveOptions{Observer: seen.observer()},
		Host: runtime.HostOptions{TTL: time.Minute}})
	c := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28")
	c.ask(t, "tools/list", "", nil)
	if got := seen.taken(t, 1).cached; !slices.Contains(got, "capabilities false") {
		t.Errorf("the first time: %v", got)
	}
	c.ask(t, "tools/list", "", nil)
	got := seen.taken(t, 1).cached
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []string{"capabilities true"}) {
		t.Errorf("the second time: %v", got)
	}
}

type nobody struct{ observe.Observer }
