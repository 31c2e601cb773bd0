package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/tasks"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/task"
)

// conn is a transport without an HTTP response.
type conn struct{ released int }

func (c *conn) Release()                         { c.released++ }
func (*conn) Challenge(string) bool              { return false }
func (*conn) Challenges() bool                   { return false }
func (*conn) Reserve(request.User) (func(), int) { return func() {}, 0 }
func (*conn) Watch(func(request.Standing, *request.Info)) (stop func()) {
	return func() {}
}

type backend = Next

const auditTimeout = time.Minute

// newGuard returns a guard of one tool, t, for the role Member.
func newGuard(sink audit.Sink) *Guard {
	table, err := access.Compose(access.Part{Package: "example.com/one", Table: access.Table{
		Roles: [][]string{{"Member"}}, Rules: []access.Rule{{Tool: "t", MinRole: []string{"Member"}}},
	}})
	if err != nil {
		panic(err)
	}
	policy := &discovery.Policy{Table: table, Denial: access.Conceal}
	return New(Config{
		Deciding: Deciding{Policy: policy, Sealer: invoke.NewSealer(nil),
			Catalogs: discovery.NewCatalogs(discovery.CatalogsConfig{Policy: policy})},
		Recording: Recording{Audit: sink, AuditTimeout: auditTimeout, Closing: context.Background(),
			Log: slog.New(slog.DiscardHandler)},
		Listing: Listing{
			Lists: discovery.NewLists(discovery.ListsConfig{Policy: policy, PageSize: 10})},
		Running: Running{Runner: &invoke.Runner{}, Tools: map[string]*invoke.Tool{"t": {}},
			Resources: &invoke.Resources{}, Pool: worker.NewPool(), Active: worker.NewGroup()},
	})
}

// call sends tools/call of t through a guard.
func call(ctx context.Context, g *Guard, role string, expires time.Time,
	b backend) (Answer, error) {
	info := request.New(identity.Identity{
		Principal: access.Principal{Subject: "mel", Roles: strings.Fields(role)}, Expires: expires,
	})
	info.Conn, info.Version = &conn{}, request.NewestWithSessions
	info.Server = &request.Server{Log: g.Log}
	return g.Chain(b)(ctx, &Message{Info: info, Method: "tools/call",
		Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{}`)}})
}

func handled(status audit.Failure) Answer {
	return Answer{Result: &mcp.CallToolResult{Content: []mcp.Content{}},
		Report: &invoke.Report{Failure: status}}
}

// Each line of the chain names the test of its order fact.
func TestStepsNameTheirTests(t *testing.T) {
	source, err := os.ReadFile("chain.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../../*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
		}
	}
	scenarios, err := filepath.Glob("../../testdata/scenario/*.txtar")
	if err != nil || len(scenarios) == 0 {
		t.Fatal(scenarios, err)
	}
	for _, path := range scenarios {
		tests["TestScenarios/"+strings.TrimSuffix(filepath.Base(path), ".txtar")] = true
	}
	lines := regexp.MustCompile(`(?s)((?:\t\t// [^\n]*\n)+)\t\tg\.(\w+),`).FindAllSubmatch(source,
		-1)
	g := &Guard{}
	if steps := len(g.steps()) + len(g.taskSteps()); len(lines) != steps {
		t.Fatalf("%d of %d steps have a comment", len(lines), steps)
	}
	for _, line := range lines {
		name := regexp.MustCompile(`\bTest\w+(/[\w-]+)?`).FindString(string(line[1]))
		if !tests[name] {
			t.Errorf("step %s names test %q, which does not exist", line[2], name)
		}
	}
}

func TestEventReportsWhatBecameOfACall(t *testing.T) {
	for name, test := range map[string]struct {
		role    string
		expires time.Duration
		backend backend
		want    string
		answers bool
	}{
		"it succeeds": {"Member", time.Hour, func(context.Context, *Message) (Answer, error) {
			return handled(""), nil
		}, "success ", true},
		"it is denied": {"", time.Hour, nil, "denied an authenticated caller; role Member", false},
		"its credential ends": {"Member", time.Second,
			func(ctx context.Context, _ *Message) (Answer, error) {
				<-ctx.Done()
				return handled(""), nil
			}, "error the credential expired during the call", false},
		"its answer is lost": {"Member", time.Hour,
			func(context.Context, *Message) (Answer, error) {
				return Answer{Report: &invoke.Report{}}, errors.New("lost")
			}, "error ", false},
		"its answer cannot be encoded": {"Member", time.Hour,
			func(context.Context, *Message) (Answer, error) {
				a := handled("")
				a.Result.(*mcp.CallToolResult).StructuredContent = math.NaN()
				return a, nil
			}, "crashed ", false},
		"its answer cannot be sealed": {"Member", time.Hour,
			func(context.Context, *Message) (Answer, error) {
				a := handled("")
				a.Result.(*mcp.CallToolResult).InputRequests = mcp.InputRequestMap{"q": nil}
				return a, nil
			}, "crashed ", false},
		"another handler answers": {"Member", time.Hour,
			func(context.Context, *Message) (Answer, error) {
				return Answer{Result: &mcp.CallToolResult{}}, nil
			}, "crashed ", false},
		"its goroutine ends": {"Member", time.Hour,
			func(context.Context, *Message) (Answer, error) {
				return Answer{}, worker.ErrGoexit
			}, "crashed ", false},
		"it is abandoned": {"Member", time.Hour, func(context.Context, *Message) (Answer, error) {
			return Answer{}, worker.ErrAbandoned
		}, "error ", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
					if got = append(got, outcomeOf(e)+" "+e.Missing); e.Intended {
						got = slices.DeleteFunc(got, func(s string) bool { return s == "intent " })
					}
					return nil
				}))
				defer g.Pool.Close()
				principal := test.role
				a, err := call(t.Context(), g, principal, time.Now().Add(test.expires),
					test.backend)
				if (err == nil) != test.answers || (a.Encoded != nil) != test.answers {
					t.Errorf("answered with %+v, %v", a, err)
				}
				if len(got) != 1 || !strings.HasPrefix(got[0], strings.Fields(test.want)[0]) ||
					test.role != "" && got[0] != test.want {
					t.Errorf("recorded %q, want one event %q", got, test.want)
				}
			})
		})
	}
}

// The event of an intercepted call has the outcome of its last run.
func TestEventOfAnInterceptedCallHasItsOutcome(t *testing.T) {
	var got []string
	g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		got = append(got, outcomeOf(e))
		return nil
	}))
	defer g.Pool.Close()
	g.Interceptors = []intercept.Middleware{func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			_, _ = next(ctx, m)
			return next(ctx, m)
		}
	}}
	outcomes := []audit.Failure{audit.Limited, audit.Errored}
	_, err := call(t.Context(), g, "Member", time.Time{},
		func(context.Context, *Message) (Answer, error) {
			a := handled(outcomes[0])
			outcomes = outcomes[1:]
			return a, nil
		})
	if err != nil || fmt.Sprint(got) != "[intent error]" {
		t.Errorf("%q, %v", got, err)
	}
}

// A call depends on its sink only until the sink's time is over.
func TestSinksThatMisbehave(t *testing.T) {
	for name, test := range map[string]struct {
		record func(context.Context, chan struct{}) error
		want   []string // one of these errors; none for a durable record
		took   time.Duration
	}{
		"accepts": {func(context.Context, chan struct{}) error { return nil }, nil, 0},
		"fails": {func(context.Context, chan struct{}) error {
			return errors.New("disk full")
		}, []string{"disk full"}, 0},
		"panics": {func(context.Context, chan struct{}) error { panic("hunter2") },
			[]string{"the audit sink panicked: hunter2"}, 0},
		"panics in the words of its error": {func(context.Context, chan struct{}) error {
			return wordless{}
		},
			[]string{"the audit sink panicked: no words"}, 0},
		"ends its goroutine": {func(context.Context, chan struct{}) error {
			runtime.Goexit()
			return nil
		},
			[]string{worker.ErrGoexit.Error()}, 0},
		"blocks": {func(_ context.Context, stuck chan struct{}) error { <-stuck; return nil },
			[]string{errSinkSilent.Error()}, auditTimeout},
		"blocks until its time ends": {func(ctx context.Context, _ chan struct{}) error {
			<-ctx.Done()
			return ctx.Err()
		},
			[]string{errSinkSilent.Error(), context.DeadlineExceeded.Error()}, auditTimeout},
	} {
		run := func(t *testing.T, waits bool) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				record := audit.SinkFunc(func(ctx context.Context, _ audit.Event) error {
					return test.record(ctx, stuck)
				})
				g := newGuard(record)
				if waits {
					g.Audit = waiting{record}
				}
				defer g.Pool.Close()
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // the record is written although the caller has gone
				begun := time.Now()
				err := g.record(ctx, &Message{Info: &request.Info{Started: begun}}, audit.Event{})
				switch {
				case (err == nil) != (test.want == nil):
					t.Errorf("recorded with %v", err)
				case err != nil && !slices.Contains(test.want, err.Error()):
					t.Errorf("%q, want one of %q", err, test.want)
				case time.Since(begun) != test.took:
					t.Errorf("it took %s", time.Since(begun))
				}
				close(stuck)
				synctest.Wait()
				if len(g.recording) != 0 {
					t.Error("the record's place is not released")
				}
			})
		}
		t.Run(name, func(t *testing.T) { run(t, false) })
		if name != "blocks" && name != "ends its goroutine" { // which a waiting sink does not
			t.Run(name+", and only waits", func(t *testing.T) { run(t, true) })
		}
	}
}

// waiting is a sink that is called on the goroutine of its request.
type waiting struct{ audit.Sink }

func (waiting) OnlyWaits() {}

type wordless struct{}

func (wordless) Error() string { panic("no words") }

func TestRecordsWithoutAPlaceAreRefusedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := 0
		g := newGuard(audit.SinkFunc(func(context.Context, audit.Event) error {
			recorded++
			return nil
		}))
		defer g.Pool.Close()
		for range cap(g.recording) {
			g.recording <- struct{}{}
		}
		m, e := &Message{Info: &request.Info{}}, audit.Event{}
		begun := time.Now()
		if err := g.record(t.Context(), m, e); !errors.Is(err, errAuditBusy) ||
			time.Since(begun) != auditTimeout {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		time.AfterFunc(time.Second, func() { <-g.recording })
		if err := g.record(t.Context(), m, e); err != nil || recorded != 1 {
			t.Errorf("%v, recorded %d times", err, recorded)
		}
	})
}

// A challenge without an HTTP response, or after a released one, is an internal error.
func TestChallengeWithoutAResponseIsAnInternalError(t *testing.T) {
	g := newGuard(nil)
	chained := g.challenge(func(context.Context, *Message) (Answer, error) {
		return Answer{}, challenged{"Bearer"}
	})
	_, err := chained(t.Context(), &Message{Info: &request.Info{Conn: &conn{}}})
	if errors.As(err, new(challenged)) || err.Error() != wire.InternalError().Error() {
		t.Error(err)
	}
}

// The steps of a message that lasts end in their order, also if one of them panics.
func TestMessageThatLastsEndsWithAllOfItsSteps(t *testing.T) {
	g := newGuard(nil)
	m := &Message{Info: &request.Info{}, Method: "m"}
	var ended []string
	step := func(name string) func() { return func() { ended = append(ended, name) } }
	if m.Finally(step("at once")); len(ended) != 1 {
		t.Error("the end of a message that does not last waits")
	}
	m.Lasts = make(chan struct{})
	m.Finally(step("inner"))
	m.atEnd(func(*Answer, *error) { panic("the middle") })
	m.Finally(step("outer"))
	if len(ended) != 1 {
		t.Errorf("%q before the end", ended)
	}
	_, err := g.End(t.Context(), m, Answer{}, nil)
	if got := strings.Join(ended, ", "); got != "at once, inner, outer" ||
		err == nil || err.Error() != wire.InternalError().Error() ||
		m.observed(err).Failure != audit.Crashed {
		t.Errorf("%s: %v, %+v", got, err, m.outcome)
	}
}

func TestSilentObserverOfNothing(t *testing.T) {
	var o *Observer
	o.TurnedAway(t.Context(), 401)
	if NewObserver(nil, nil) != nil || o.Cached() != nil {
		t.Error("no observer is observed")
	}
}

// Words that middleware puts around a handler's masked error are masked too, and the log has no
// value that a client sent.
func TestErrorsThatLeaveAreMaskedAsAWhole(t *testing.T) {
	var log strings.Builder
	g := newGuard(nil)
	g.Log = slog.New(slog.NewTextHandler(&log, nil))
	m := &Message{Info: &request.Info{}, Method: "prompts/get"}
	inner := wire.MaskedError{RPC: &jsonrpc.Error{Code: 1, Message: "failed"}}
	out := g.errorFor(t.Context(), m, fmt.Errorf("postgres://ada:hunter2@db: %w", inner))
	if strings.Contains(out.Error(), "hunter2") || !strings.Contains(out.Error(), "failed") {
		t.Error(out)
	}
	var into struct{ Card int8 }
	misfit := json.Unmarshal([]byte(`{"card":4111111111111111}`), &into)
	_ = g.errorFor(t.Context(), m, fmt.Errorf("answer 4111111111111111 (%v): %w", misfit, misfit))
	if strings.Contains(log.String(), "4111111111111111") || !strings.Contains(log.String(),
		"does not fit") {
		t.Error(log.String())
	}
}

// A sink sees no credential of go-sdk's, which in a session is that of the session's creator.
func TestSinksSeeNoTokenInfo(t *testing.T) {
	type key struct{}
	seen := any(nil)
	g := newGuard(audit.SinkFunc(func(ctx context.Context, _ audit.Event) error {
		seen = ctx.Value(key{})
		return nil
	}))
	defer g.Pool.Close()
	ctx := context.WithValue(t.Context(), key{}, &auth.TokenInfo{UserID: "creator"})
	m := &Message{Info: &request.Info{Started: time.Now()}}
	if err := g.record(ctx, m, audit.Event{}); err != nil || seen != nil {
		t.Error(err, seen)
	}
}

// A sink is probed by one goroutine, in longer and longer pauses, until a record is durable. In a
// bubble a goroutine that goes on would fail the test.
func TestSinkThatIsDownIsProbedUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes []time.Duration
		begun, works := time.Now(), false
		var lost int
		var mu sync.Mutex
		g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e.Type == audit.Outage:
				probes, lost = append(probes, time.Since(begun)), e.Total
			case works:
				return nil
			}
			if works {
				return nil
			}
			return errors.New("disk full")
		}))
		defer g.Pool.Close()
		ask := func() error {
			_, err := call(t.Context(), g, "Member", time.Time{},
				func(context.Context, *Message) (Answer, error) {
					return handled(""), nil
				})
			return err
		}
		for range 5 { // all at once, of which none waits for a probe
			if ask() == nil {
				t.Error("a call without a record is answered")
			}
		}
		time.Sleep(20 * time.Second)
		mu.Lock()
		var pauses []string
		for i := range probes[1:] {
			pauses = append(pauses, (probes[i+1] - probes[i]).String())
		}
		if got := strings.Join(pauses, " "); got != "100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s" {
			t.Errorf("the pauses are %s", got)
		}
		works = true
		mu.Unlock()
		time.Sleep(5 * time.Second)
		err := ask()
		mu.Lock()
		defer mu.Unlock()
		if err != nil || lost != 5 || g.sink.lost.Load() != 0 {
			t.Errorf("%v, with %d of 5 requests counted", err, lost)
		}
	})
}

func TestProbesEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(audit.SinkFunc(func(context.Context, audit.Event) error {
			return errors.New("disk full")
		}))
		var stop context.CancelFunc
		g.Closing, stop = context.WithCancel(t.Context())
		defer g.Pool.Close()
		for range 2 {
			_, _ = call(t.Context(), g, "Member", time.Time{}, nil)
		}
		synctest.Wait()
		if !g.sink.probing.Load() || !g.sink.down.Load() {
			t.Error("a sink that is down is not probed")
		}
		stop()
		synctest.Wait()
		if g.sink.probing.Load() {
			t.Error("the probes go on")
		}
	})
}

// A client may cause an event that the sink does not take. That takes nobody's answers away.
func TestOneEventThatFailsDoesNotTakeTheSinkForDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outages := 0
		g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			if e.Type == audit.Outage {
				outages += e.Total
			} else if len(e.Roles) == 0 {
				return errors.New("not this one")
			}
			return nil
		}))
		defer g.Pool.Close()
		for range 3 {
			_, _ = call(t.Context(), g, "", time.Time{}, nil)
			synctest.Wait()
			if g.sink.down.Load() {
				t.Error("the sink is taken for down")
			}
		}
		if outages != 3 {
			t.Errorf("%d of 3 requests without a record are counted", outages)
		}
	})
}

// A log handler that panics does not end the process.
func TestProbeWhoseLogPanicsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(audit.SinkFunc(func(context.Context, audit.Event) error {
			return errors.New("disk full")
		}))
		g.Log = slog.New(panics{slog.DiscardHandler})
		defer g.Pool.Close()
		g.probeSink(errors.New("disk full"))
		synctest.Wait()
		if g.sink.probing.Load() || g.sink.down.Load() {
			t.Error("the sink is taken for down, and nothing probes it")
		}
	})
}

type panics struct{ slog.Handler }

func (panics) Enabled(context.Context, slog.Level) bool  { return true }
func (panics) Handle(context.Context, slog.Record) error { panic("the log") }

// However many members it has, a denied call costs one digest: nothing of them is decoded.
func TestDeniedCallCostsNothingForItsMembers(t *testing.T) {
	var arguments []byte
	g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		if len(e.Arguments) != 1 || e.Arguments[0].Bytes != len(arguments) ||
			e.Arguments[0].Name != "" {
			return fmt.Errorf("recorded %v", e.Arguments)
		}
		return nil
	}))
	defer g.Pool.Close()
	costs := func(text string) float64 {
		arguments = []byte(text)
		info := request.New(identity.Identity{Principal: access.Principal{Subject: "mel"}})
		info.Conn, info.Version, info.Server = &conn{}, request.NewestWithSessions,
			&request.Server{Log: g.Log}
		decide := g.audit(g.authorize(nil))
		return testing.AllocsPerRun(20, func() {
			_, err := decide(t.Context(), &Message{Info: info, Method: "tools/call",
				Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: arguments}})
			if err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Fatal(err)
			}
		})
	}
	few := costs(`{"a":1}`)
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	// Pools drop items under the race detector, and each member would cost at least one.
	if many := costs("{" + b.String()[1:] + "}"); many > few+100 {
		t.Errorf("%v allocations for 100,000 members, and %v for one", many, few)
	}
}

// outcomeOf returns the failure of an event, or its status without one.
func outcomeOf(e audit.Event) string { return cmp.Or(string(e.Failure), string(e.Status)) }

// A credential extends a run only if it lets its owner do the same.
func TestCallersAreEqualIfTheirCredentialsLetThemDoTheSame(t *testing.T) {
	p := access.Principal{Subject: "ada", Client: "ide", User: "ada", Roles: []string{"Member",
		"Auditor"},
		Scopes: []string{"a", "b"}, Groups: []string{"g"},
		Orgs:  []access.Membership{{Name: "o", Standing: access.Member}},
		Teams: []access.Membership{{Name: "t", Standing: access.Lead}}}
	want := callerOf(p)
	for name, change := range map[string]func(*access.Principal){
		"user":   func(p *access.Principal) { p.User = "eve" },
		"roles":  func(p *access.Principal) { p.Roles = []string{"Member"} },
		"scopes": func(p *access.Principal) { p.Scopes = []string{"a b"} },
		"groups": func(p *access.Principal) { p.Groups = nil },
		"orgs": func(p *access.Principal) {
			p.Orgs = []access.Membership{{Name: "o", Standing: access.Owner}}
		},
		"teams": func(p *access.Principal) { p.Orgs, p.Teams = p.Teams, p.Orgs },
	} {
		other := p
		if change(&other); callerOf(other) == want {
			t.Errorf("other %s: equal", name)
		}
	}
	p.Scopes, p.Roles = []string{"b", "a"}, []string{"Auditor", "Member"}
	if callerOf(p) != want {
		t.Error("another order of roles or scopes is another caller")
	}
}

// A change of a task that the store refuses is a failure of its request for observers too.
func TestRefusedChangeOfATaskIsObserved(t *testing.T) {
	g := &Guard{}
	g.Log = slog.New(slog.DiscardHandler)
	for err, want := range map[error]audit.Failure{
		nil: "", task.ErrFull: audit.Limited, tasks.ErrTooLarge: audit.Limited,
		task.ErrUnknown: audit.Denied, errors.New("read only"): audit.Errored,
	} {
		m := &Message{Info: &request.Info{Started: time.Now()}, event: &audit.Event{}}
		got := g.changeTask(t.Context(), m, func(context.Context) error { return err })
		if (got == nil) != (err == nil) || m.outcome.Failure != want {
			t.Errorf("%v: %v, observed as %q", err, got, m.outcome.Failure)
		}
		if limit := want == audit.Limited; limit != (m.event.Axis == audit.AxisLimit) ||
			limit != (m.outcome.Limit != "") {
			t.Errorf("%v: axis %q, limit %q", err, m.event.Axis, m.outcome.Limit)
		}
	}
}

func TestTextsAreMaskedWithTheValueOfTheirMessage(t *testing.T) {
	const text = "the value is s3same-0ne"
	held := credential.Hold(identity.Identity{Value: identity.NewValue("s3same-0ne")}, "id")
	for _, c := range []struct {
		held   *credential.Held
		masked bool
	}{{nil, false}, {held, true}} {
		got := (&Guard{}).maskOf(&Message{Info: &request.Info{Credential: c.held}}).Text(text)
		if (got != text) != c.masked {
			t.Errorf("%q", got)
		}
	}
}
