package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// watchers are an observer of funcs, each of which may be nil.
type watchers struct {
	began  func(context.Context, runtime.Message) (context.Context, runtime.Observation)
	away   func(status int)
	cached func(cache string, hit bool)
	ended  func(runtime.Outcome)
}

func (w watchers) Began(ctx context.Context, m runtime.Message) (context.Context, runtime.Observation) {
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
	ended       func(runtime.Outcome)
}

func (o observation) Trace() (string, string) { return o.trace, o.span }

func (o observation) Ended(out runtime.Outcome) {
	if o.ended != nil {
		o.ended(out)
	}
}

// watched keeps what an observer is told.
type watched struct {
	mu sync.Mutex
	events
}

type events struct {
	messages []runtime.Message
	outcomes []runtime.Outcome
	away     []int
	cached   []string
}

func (w *watched) observer() runtime.Observer {
	return watchers{
		began: func(ctx context.Context, m runtime.Message) (context.Context, runtime.Observation) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.messages = append(w.messages, m)
			return ctx, observation{ended: func(o runtime.Outcome) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.outcomes = append(w.outcomes, o)
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

// taken is what was told since the last time. A client may have its answer before the observer has heard of it.
func (w *watched) taken(t testing.TB, messages int) events {
	t.Helper()
	soon(t, fmt.Sprintf("the observer hears of %d messages", messages), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.outcomes) >= messages
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.events
	w.events = events{}
	return got
}

func outcome(o runtime.Outcome) string {
	kind := o.Kind.String() + " "
	if o.Name == "" && o.Kind == 0 {
		kind = ""
	}
	return fmt.Sprintf("%s%s status=%s axis=%s limit=%s isolated=%v %d/%d code=%d", kind, o.Name, o.Status, o.Axis, o.Limit, o.Isolated, o.Listed, o.Total, o.Code)
}

func TestObserverHearsWhatCameOfEachMessage(t *testing.T) {
	answering := func(err error) func(context.Context, runtime.Call) (runtime.Result, error) {
		return func(context.Context, runtime.Call) (runtime.Result, error) { return runtime.Done(err) }
	}
	tool := func(name string, call func(context.Context, runtime.Call) (runtime.Result, error)) runtime.Tool {
		return runtime.Tool{Name: name, Input: `{"type":"object"}`, Call: call, Timeout: 50 * time.Millisecond}
	}
	apart := func(name string) runtime.Tool {
		return runtime.Tool{Name: name, Input: `{"type":"object"}`, Isolate: "example.com/odd." + name, Timeout: 50 * time.Millisecond,
			Call: func(ctx context.Context, call runtime.Call) (runtime.Result, error) {
				return runtime.Wrapped(call.Isolated(ctx))
			}}
	}
	inBox := &box{isolate: func(ctx context.Context, call runtime.IsolatedCall) (json.RawMessage, error) {
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
	s := newServer(t, runtime.Options{Observer: seen.observer(), Sandbox: inBox}, toolset([]runtime.Tool{
		tool("fine", answering(nil)), tool("failing", answering(errors.New("hunter2"))), tool("limited", answering(reached("rate"))),
		tool("protocol", answering(&jsonrpc.Error{Code: -32001, Message: "hunter2"})),
		tool("panics", func(context.Context, runtime.Call) (runtime.Result, error) { panic("hunter2") }),
		tool("long", func(ctx context.Context, _ runtime.Call) (runtime.Result, error) {
			<-ctx.Done()
			return runtime.Done(ctx.Err())
		}),
		tool("boss", nothing), tool("told", nothing), tool("scoped", nothing), apart("apart"), apart("apart_long"), apart("apart_fine"),
	}, access.Rule{Tool: "boss", MinRole: admin}, access.Rule{Tool: "told", MinRole: admin, Denial: access.Forbid},
		access.Rule{Tool: "scoped", Scopes: []string{"w"}, Denial: access.Challenge}), library())
	url := serve(t, s)
	l := overHTTP(t, url, tokens["Member"], "2025-11-25")
	stateless := overHTTP(t, url, tokens["Member"], "2026-07-28")
	seen.taken(t, 2)
	for _, test := range []struct{ method, name, params, want string }{
		{"tools/call", "fine", `"name":"fine"`, `tool fine status=ok axis=authentication limit= isolated=false 0/0 code=0`},
		{"tools/call", "failing", `"name":"failing"`, `tool failing status=failed axis=authentication limit= isolated=false 0/0 code=0`},
		{"tools/call", "protocol", `"name":"protocol"`, `tool protocol status=failed axis=authentication limit= isolated=false 0/0 code=-32001`},
		{"tools/call", "limited", `"name":"limited"`, `tool limited status=limited axis=limit limit=rate isolated=false 0/0 code=0`},
		{"tools/call", "panics", `"name":"panics"`, `tool panics status=crashed axis=authentication limit= isolated=false 0/0 code=0`},
		{"tools/call", "long", `"name":"long"`, `tool long status=timeout axis=authentication limit=timeout isolated=false 0/0 code=0`},
		{"tools/call", "apart_fine", `"name":"apart_fine"`, `tool apart_fine status=ok axis=authentication limit= isolated=false 0/0 code=0`},
		{"tools/call", "apart", `"name":"apart"`, `tool apart status=limited axis=limit limit=memory isolated=true 0/0 code=0`},
		{"tools/call", "apart_long", `"name":"apart_long"`, `tool apart_long status=timeout axis=authentication limit=timeout isolated=true 0/0 code=0`},
		{"tools/call", "boss", `"name":"boss"`, `tool boss status=denied axis=role limit= isolated=false 0/0 code=-32602`},
		{"tools/call", "told", `"name":"told"`, `tool told status=denied axis=role limit= isolated=false 0/0 code=0`},
		{"tools/call", "scoped", `"name":"scoped"`, `tool scoped status=denied axis=scopes limit= isolated=false 0/0 code=0`},
		{"tools/call", "hunter2", `"name":"hunter2"`, ` status=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
		{"tools/list", "", ``, ` status=ok axis= limit= isolated=false 10/12 code=0`},
		{"tools/list", "", `"cursor":"hunter2"`, ` status=invalid axis= limit= isolated=false 10/12 code=-32602`},
		{"prompts/list", "", ``, ` status=ok axis= limit= isolated=false 2/4 code=0`},
		{"resources/list", "", ``, ` status=ok axis= limit= isolated=false 2/3 code=0`},
		{"resources/templates/list", "", ``, ` status=ok axis= limit= isolated=false 2/3 code=0`},
		{"prompts/get", "join", `"name":"join","arguments":{"a":"hunter2"}`, `prompt join status=ok axis=authentication limit= isolated=false 0/0 code=0`},
		{"prompts/get", "rule", `"name":"rule"`, `prompt rule status=denied axis=role limit= isolated=false 0/0 code=-32602`},
		{"prompts/get", "hunter2", `"name":"hunter2"`, ` status=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
		{"resources/read", "lib://books/hunter2", `"uri":"lib://books/hunter2"`, `resource lib://books/{id} status=ok axis=role limit= isolated=false 0/0 code=0`},
		{"resources/read", "lib://safe", `"uri":"lib://safe"`, `resource lib://safe status=denied axis=role limit= isolated=false 0/0 code=-32602`},
		{"resources/read", "hunter2:", `"uri":"hunter2:"`, ` status=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"a","value":"hunter2"}`, `prompt join status=ok axis=authentication limit= isolated=false 0/0 code=0`},
		{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"lib://books/{id}"},"argument":{"name":"id","value":"hunter2"}`, `resource lib://books/{id} status=ok axis=role limit= isolated=false 0/0 code=0`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"hunter2"},"argument":{"name":"a","value":"b"}`, ` status=denied axis=unknown limit= isolated=false 0/0 code=-32602`},
		{"ping", "", ``, ` status= axis= limit= isolated=false 0/0 code=0`},
		{"resources/subscribe", "", `"uri":"lib://hall"`, ` status=failed axis= limit= isolated=false 0/0 code=-32601`},
	} {
		for _, l := range []*listener{l, stateless} {
			if l == stateless && (test.method == "ping" || test.method == "resources/subscribe") {
				continue // which go-sdk answers itself there
			}
			l.ask(t, test.method, test.name, test.params)
			got := seen.taken(t, 1)
			want := strings.TrimPrefix(test.want, " ")
			if len(got.outcomes) != 1 || strings.TrimPrefix(outcome(got.outcomes[0]), " ") != want {
				t.Errorf("%s %s of %s: %s, want %s", test.method, test.params, l.era, outcome(got.outcomes[0]), want)
			}
			if m := got.messages[0]; m.Method != test.method && (m.Method != "" || test.method != "resources/subscribe") || m.Protocol != l.era || m.Transport != "http" {
				t.Errorf("%s of %s: %+v", test.method, l.era, m)
			}
			if strings.Contains(fmt.Sprintf("%+v", got.messages)+fmt.Sprintf("%+v", got.outcomes), "hunter2") {
				t.Errorf("%s: the observer hears what the client made up: %+v", test.method, got.messages)
			}
		}
	}
}
