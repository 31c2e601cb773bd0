package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// intentsOf returns the intents of a request.
func (k *keeper) intentsOf(request string) (found []audit.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.intents {
		if e.RequestID == request {
			found = append(found, e)
		}
	}
	return found
}

// checkPair holds the intent of an outcome against it: they differ in how the call ended alone.
func checkPair(t *testing.T, what string, sink *keeper, outcome audit.Event) {
	t.Helper()
	intents := sink.intentsOf(outcome.RequestID)
	if len(intents) != 1 || !outcome.Intended {
		t.Errorf("%s: %d intents, and %+v", what, len(intents), outcome)
		return
	}
	outcome.Status, outcome.Failure = audit.Intent, ""
	outcome.Intended, outcome.Milliseconds = false, 0
	outcome.Grants = nil
	if intents[0].Axis != outcome.Axis { // that of the limit or the grant that ended the call
		outcome.Axis, outcome.Missing = intents[0].Axis, intents[0].Missing
	}
	if !reflect.DeepEqual(intents[0], outcome) {
		t.Errorf("%s: the intent is\n%+v, want\n%+v", what, intents[0], outcome)
	}
}

func TestIntentIsDurableBeforeTheHandlerStarts(t *testing.T) {
	t.Parallel()
	for _, policy := range []audit.IntentPolicy{"", audit.IntentNonReadonly, audit.IntentAll,
		audit.IntentNone} {
		sink := &keeper{}
		var missing atomic.Int32
		s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink, Intent: policy}},
			offering(func(ctx context.Context) {
				if len(sink.intentsOf(runtime.RequestID(ctx))) == 0 {
					missing.Add(1)
				}
			}))
		everywhere(t, s, func(t *testing.T, over string, l *listener) {
			for _, use := range everyUse {
				sink.taken()
				missing.Store(0)
				l.ask(t, use.method, use.name, use.params)
				outcomes := sink.taken()
				if len(outcomes) != 1 || outcomes[0].Status != audit.Success {
					t.Fatalf("%s, %s: %+v", over, use.method, outcomes)
				}
				want := policy == audit.IntentAll || policy != audit.IntentNone &&
					use.method == "tools/call"
				if got := missing.Load() == 0; got != want {
					t.Errorf("%q, %s, %s: the handler finds its intent: %v", policy, over,
						use.method, got)
				}
				if want {
					checkPair(t, use.method, sink, outcomes[0])
				} else if outcomes[0].Intended || len(sink.intentsOf(outcomes[0].RequestID)) > 0 {
					t.Errorf("%q, %s: %+v", policy, use.method, outcomes[0])
				}
			}
		})
	}
	if _, err := runtime.New(runtime.Options{Audit: runtime.AuditOptions{Intent: "readonly"},
		Logger: quiet()},
		directory(&desk{})); err == nil ||
		!strings.Contains(err.Error(),
			`Options.Audit.Intent is "readonly": use audit.IntentNonReadonly`) {
		t.Error(err)
	}
}

// readingAndWriting are a tool that is declared readonly, one that is not, and one in go-sdk's
// shape.
func readingAndWriting(call func(context.Context, toolset.Call) (toolset.Result,
	error)) []toolset.Tool {
	return []toolset.Tool{
		{Name: "reads", Input: `{"type":"object"}`, Call: call,
			Annotations: toolset.Annotations{ReadOnlyHint: true}},
		{Name: "writes", Input: `{"type":"object"}`, Call: call,
			Annotations: toolset.Annotations{IdempotentHint: true}},
		{Name: "held", Input: `{"type":"object"}`, Call: call, SDK: true},
	}
}

func done(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

func TestToolsThatAreNotReadonlyHaveAnIntent(t *testing.T) {
	t.Parallel()
	through := func(next intercept.Next) intercept.Next { return next }
	for name, test := range map[string]struct {
		options runtime.Options
		want    map[string]bool
	}{
		"a server": {runtime.Options{}, map[string]bool{"reads": false, "writes": true,
			"held": true}},
		// An interceptor may call another tool than the one that was decided.
		"interceptors": {runtime.Options{Interceptors: []intercept.Middleware{through}},
			map[string]bool{"reads": true, "writes": true}},
	} {
		sink := &keeper{}
		test.options.Audit.Sink = sink
		s := newServer(t, test.options, toolsetOf(readingAndWriting(done)))
		session := connectHTTP(t, serve(t, s), tokens["Member"], "")
		for tool, want := range test.want {
			if _, err := session.CallTool(t.Context(),
				&mcp.CallToolParams{Name: tool}); err != nil {
				t.Fatal(err)
			}
			if got := sink.taken()[0]; got.Intended != want ||
				(len(sink.intentsOf(got.RequestID)) == 1) != want {
				t.Errorf("%s, %s: %+v", name, tool, got)
			}
		}
	}
	// What an adopted server's own tools do is not known.
	sink := &keeper{}
	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	own.AddTool(&mcp.Tool{Name: "own", InputSchema: map[string]any{"type": "object"},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	s, err := runtime.Adopt(own, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
		Logger: quiet()},
		map[string]access.Rule{"own": {Authenticated: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connectIO(t, s, principalOf("Admin"), "").CallTool(t.Context(),
		&mcp.CallToolParams{Name: "own"}); err != nil {
		t.Fatal(err)
	}
	checkPair(t, "an adopted tool", sink, sink.taken()[0])
}

func TestCallWithoutAnIntentDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy audit.IntentPolicy
		ran    map[string]bool
	}{
		{"", map[string]bool{"reads": true, "writes": false, "held": false}},
		{audit.IntentAll, map[string]bool{"reads": false, "writes": false, "held": false}},
		{audit.IntentNone, map[string]bool{"reads": true, "writes": true, "held": true}},
	} {
		var ran atomic.Int32
		var log journal
		outcomes := &keeper{}
		full := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
			if e.Status == audit.Intent {
				return errors.New("the disk is full")
			}
			return outcomes.Record(ctx, e)
		})
		s := newServer(t, runtime.Options{
			Audit:  runtime.AuditOptions{Sink: full, Intent: test.policy},
			Logger: log.logger()},
			toolsetOf(readingAndWriting(func(context.Context, toolset.Call) (toolset.Result,
				error) {
				ran.Add(1)
				return toolset.Done(nil)
			})))
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Member"], era)
			for tool, want := range test.ran {
				ran.Store(0)
				got := c.call(t, tool, "", nil)
				if (ran.Load() == 1) != want ||
					strings.Contains(got.body, `"code":-32603,"message":"internal error"`) == want {
					t.Errorf("%q, %s, %s: ran %d times: %s", test.policy, tool, era, ran.Load(),
						got)
				}
			}
		}
		if said := strings.Contains(log.String(),
			"the intent of a call could not be recorded; the call was not "+
				"started"); said != (test.policy != audit.IntentNone) {
			t.Errorf("%q: %s", test.policy, log.String())
		}
		for _, e := range outcomes.taken() {
			if e.Type == audit.ToolCalled && !test.ran[e.Tool] {
				t.Errorf("%q: the outcome of a call that did not start: %+v", test.policy, e)
			}
		}
	}
}

func TestEveryEndOfACallHasIntentAndOutcome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(ctx context.Context, stuck chan struct{}) error
		want audit.Failure
	}{
		"it returns": {func(context.Context, chan struct{}) error {
			return nil
		}, ""},
		"it fails": {func(context.Context, chan struct{}) error {
			return errors.New("no")
		}, audit.Errored},
		"it panics": {func(context.Context, chan struct{}) error {
			panic("at the disco")
		}, audit.Crashed},
		"its goroutine ends": {func(context.Context, chan struct{}) error {
			goruntime.Goexit()
			return nil
		}, audit.Crashed},
		"it times out": {func(ctx context.Context, _ chan struct{}) error {
			<-ctx.Done()
			return ctx.Err()
		}, audit.Timeout},
		"it is abandoned": {func(_ context.Context, stuck chan struct{}) error {
			<-stuck
			return nil
		}, audit.Timeout},
		"its client cancels": {nil, audit.Errored},
		"it is not let in": {func(context.Context, chan struct{}) error {
			return reached("rate")
		}, audit.Limited},
		"it is isolated": {func(context.Context, chan struct{}) error {
			return nil
		}, ""},
		"an isolated one ends": {func(context.Context, chan struct{}) error {
			return reached("memory")
		}, audit.Limited},
	} {
		synctest.Test(t, func(t *testing.T) {
			sink := &keeper{}
			stuck, started := make(chan struct{}), make(chan struct{}, 1)
			defer close(stuck)
			tool := toolset.Tool{Name: "a", Input: `{"type":"object"}`, Timeout: time.Minute,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					return toolset.Done(test.do(ctx, stuck))
				}}
			if test.want == audit.Timeout {
				tool.Timeout = time.Second
			}
			if test.do == nil {
				tool.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					started <- struct{}{}
					<-ctx.Done()
					return toolset.Done(ctx.Err())
				}
			}
			set := toolsetOf([]toolset.Tool{tool})
			if strings.Contains(name, "isolated") {
				set = apart(tool)
			}
			s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
				Sandbox: &box{isolate: func(ctx context.Context, _ isolate.Call) (json.RawMessage,
					error) {
					return []byte(`"done"`), test.do(ctx, stuck)
				}}}, set)
			session := connectHTTP(t, serve(t, s), tokens["Member"], "2025-11-25")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-started:
					cancel()
				case <-ctx.Done():
				}
			}()
			_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "a",
				Arguments: map[string]any{"id": 7}})
			synctest.Wait()
			outcomes := sink.taken()
			if len(outcomes) != 1 || outcomes[0].Failure != test.want ||
				len(outcomes[0].Arguments) != 1 {
				t.Fatalf("%s: %+v", name, outcomes)
			}
			checkPair(t, name, sink, outcomes[0])
		})
	}
}

// broken is a sink that fails while it is down, and counts what it was given meanwhile.
type broken struct {
	keeper
	down  atomic.Bool
	tried sync.Map // by type
}

func (b *broken) Record(ctx context.Context, e audit.Event) error {
	if b.down.Load() {
		b.tried.Store(e.Type, true)
		return errors.New("the disk is full")
	}
	return b.keeper.Record(ctx, e)
}

func TestAnswersAreEqualWhileTheSinkIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		var ran atomic.Int32
		sink := &broken{}
		tools := readingAndWriting(func(context.Context, toolset.Call) (toolset.Result, error) {
			ran.Add(1)
			return toolset.Done(nil)
		})
		hidden := tools[0]
		hidden.Name = "hidden"
		tools = append(tools[:2], hidden)
		s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Logger: log.logger()},
			toolsetOf(tools, access.Rule{Tool: "hidden", MinRole: admin}))
		url := serve(t, s)
		clients := map[string]*raw{}
		for _, era := range eras {
			clients[era] = newRaw(t, url, tokens["Member"], era)
		}
		for range 2 { // it may fail again
			sink.down.Store(true)
			clients[eras[0]].call(t, "reads", "", nil) // it runs before its event fails
			synctest.Wait()
			ran.Store(0)
			sink.tried.Clear()
			refused := 0
			for era, c := range clients {
				want := c.call(t, "no_such", "", nil)
				if !strings.Contains(want.body, `"code":-32603,"message":"internal error"`) {
					t.Errorf("%s: %s", era, want)
				}
				for what, got := range map[string]reply{
					"a hidden tool": c.call(t, "hidden", "", nil), "an allowed one": c.call(t, "writes",
						`,"arguments":{"id":1}`, nil),
					"a readonly one": c.call(t, "reads", "", nil), "a list": c.ask(t, "tools/list", "",
						nil),
					"bad params": c.call(t, "writes", `,"requestState":"forged"`, nil),
				} {
					if got.String() != want.String() {
						t.Errorf("%s, %s: %s\nan unknown one: %s", era, what, got, want)
					}
					refused++
				}
			}
			if ran.Load() > 0 {
				t.Error("a handler ran")
			}
			sink.tried.Range(func(kind, _ any) bool {
				if kind != audit.Outage {
					t.Errorf("the sink was given a %s", kind)
				}
				return true
			})
			sink.taken()
			sink.down.Store(false)
			c := clients["2025-11-25"]
			time.Sleep(time.Minute) // the server tries the sink again
			if got := c.call(t, "writes", "", nil); strings.Contains(got.body, "internal error") {
				t.Errorf("the sink works: %s", got)
			}
			outages := 0
			for _, e := range sink.taken() {
				if e.Type == audit.Outage {
					if outages++; e.Status != audit.Success || e.Total < refused || e.Time.IsZero() ||
						e.RequestID != "" {
						t.Errorf("%d requests were refused: %+v", refused, e)
					}
				}
			}
			if outages != 1 {
				t.Errorf("%d records of one outage", outages)
			}
		}
		if n := strings.Count(log.String(), "the audit sink is down"); n != 2 ||
			strings.Count(log.String(), "the audit sink works again") != 2 {
			t.Errorf("%s", log.String())
		}
	})
}

// asKilled makes the test binary a server whose call kills it, with a trail in this file.
const asKilled = "MCPGEN_TEST_KILLED"

var trailKey = []byte(strings.Repeat("k", chain.MinKey))

func killedServer(trail string) int {
	file, err := audit.Rotating(trail, audit.RotateOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sealed, err := chain.New(file, chain.Options{Key: trailKey, Replica: "a"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	self, _ := os.FindProcess(os.Getpid())
	s, err := runtime.New(runtime.Options{Audit: runtime.AuditOptions{Sink: sealed},
		Logger: quiet(), Identity: users()},
		oneTool("pay", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			if strings.Contains(string(c.Arguments), "last") {
				_ = self.Kill()
				select {}
			}
			return toolset.Done(nil)
		}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, arguments := range []string{`{}`, `{"last":true}`} {
		r := httptest.NewRequest(http.MethodPost, runtime.PathMCP,
			strings.NewReader((&raw{era: "2026-07-28"}).request("tools/call",
				`"name":"pay","arguments":`+arguments)))
		r.Header = http.Header{"Content-Type": {"application/json"},
			"Accept":               {"application/json, text/event-stream"},
			"Authorization":        {"Bearer " + tokens["Member"]},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
			"Mcp-Name": {"pay"}}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		fmt.Fprintln(os.Stderr, w.Code, w.Body)
	}
	return 1
}

func TestKilledServerLeavesTheIntentOfItsCall(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trail := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asKilled+"="+trail)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("it was not killed: %s", out)
	}
	file, err := os.Open(trail)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := chain.Verify(chain.Lines("trail", file), chain.VerifyOptions{Key: trailKey})
	if err != nil || !got.Sound() || got.Records != 3 || got.NoOutcome != 1 ||
		len(got.Findings) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if f := got.Findings[0]; f.Kind != chain.NoOutcome || f.Line != 3 ||
		!strings.Contains(f.String(), `called "pay"`) {
		t.Error(f)
	}
}

// What a denied request says is not decoded for its event: that has one digest of the text.
func TestDeniedRequestsAreRecordedByOneDigest(t *testing.T) {
	t.Parallel()
	sink := &keeper{}
	s := newServer(t, runtime.Options{
		Audit: runtime.AuditOptions{Sink: sink}}, offering(func(context.Context) {}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Roleless"], era)
		for _, test := range []struct{ method, name, params, text string }{
			{"tools/call", "work",
				`"name":"work","arguments":{"password": "hunter2","b":[1, 2]}`,
				`{"password": "hunter2","b":[1, 2]}`},
			{"tools/call", "unknown", `"name":"unknown","arguments":{"password": "hunter2"}`,
				`{"password": "hunter2"}`},
			{"tools/call", "work", `"name":"work"`, ``},
			{"prompts/get", "greet", `"name":"greet","arguments":{"b": "c","a":"b"}`,
				`{"b": "c","a":"b"}`},
			{"prompts/get", "unknown", `"name":"unknown","arguments":{"a": "b"}`, `{"a": "b"}`},
			{"resources/read", "lib://books/7", `"uri":"lib://books\/7"`, `"lib://books\/7"`},
			{"resources/read", "lib://unknown", `"uri":"lib://unknown"`, `"lib://unknown"`},
			{"completion/complete", "",
				`"ref":{"type":"ref/prompt","name":"greet"},"argument":{"value":"b","name":"a"}`, `{"value":"b","name":"a"}`},
		} {
			headers := map[string]string{}
			if era == "2026-07-28" && test.name != "" {
				headers["Mcp-Name"] = test.name
			}
			sink.taken()
			c.ask(t, test.method, test.params, headers)
			events := sink.taken()
			if len(events) != 1 || events[0].Failure != audit.Denied {
				t.Fatalf("%s, %s: %+v", era, test.params, events)
			}
			var want []audit.Argument
			if test.text != "" {
				want = []audit.Argument{{Bytes: len(test.text),
					Digest: audit.DigestOf([]byte(test.text))}}
			}
			if !reflect.DeepEqual(events[0].Arguments, want) {
				t.Errorf("%s, %s: %v, want %v", era, test.params, events[0].Arguments, want)
			}
		}
	}
}

// An intent that takes long, and then fails, tells nobody that the tool exists: the response is no
// stream, as that of a refusal.
func TestSlowIntentIsAnsweredAsASlowRefusal(t *testing.T) {
	t.Parallel()
	tools := readingAndWriting(done)[1:2]
	hidden := tools[0]
	hidden.Name = "hidden"
	set := toolsetOf(append(tools, hidden), access.Rule{Tool: "hidden", MinRole: admin})
	for _, first := range []string{"writes", "hidden", "no_such"} {
		for _, version := range eras {
			synctest.Test(t, func(t *testing.T) {
				slow := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
					if e.Type != audit.Outage {
						time.Sleep(3 * transport.StreamAfter)
					}
					return errors.New("the disk is full")
				})
				s := newServer(t, runtime.Options{
					Audit: runtime.AuditOptions{Sink: slow, Timeout: time.Minute}}, set)
				got := newRaw(t, serve(t, s), tokens["Member"], version).call(t, first, "", nil)
				if got.status != http.StatusOK ||
					got.header.Get("Content-Type") != "application/json" ||
					!strings.Contains(got.body, "internal error") {
					t.Errorf("%s, %s: %s", version, first, got)
				}
			})
		}
	}
}
