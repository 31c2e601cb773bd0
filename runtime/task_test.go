package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// taskUsers are the users of tokens subject/client/role, and of subject/client/role/duration.
func taskUsers() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (id identity.Identity, err error) {
		part := strings.Split(token, "/")
		if len(part) < 3 {
			return id, identity.ErrInvalidToken
		}
		id.Principal = access.Principal{Issuer: "test", Subject: part[0], Client: part[1],
			Role: part[2]}
		if len(part) > 3 {
			until, err := strconv.ParseInt(part[3], 10, 64)
			if err != nil {
				return id, identity.ErrInvalidToken
			}
			id.Expires = time.UnixMilli(until)
		}
		return id, nil
	}, identity.KeepToken())
}

// job is what the tools of tasks share with a test.
type job struct {
	release chan struct{} // lets slow return
	started chan context.Context
}

func (j *job) toolset() toolset.Toolset {
	slow := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		if p := runtime.Progress(ctx); p != nil {
			p.Report(3, 10, "copying for "+valueIn(ctx))
		}
		select {
		case j.started <- ctx:
		default:
		}
		select {
		case <-ctx.Done():
			return toolset.Result{}, ctx.Err()
		case <-j.release:
			return toolset.Structured(map[string]string{"value": valueIn(ctx)}, nil)
		}
	}
	ask := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		first, err := runtime.Elicit[nameForm](ctx, "who", "Your name?")
		if err != nil {
			return toolset.Result{}, err
		}
		second, err := runtime.Elicit[nameForm](ctx, "pet", "Your pet?")
		if err != nil {
			return toolset.Result{}, err
		}
		return toolset.Structured(map[string]string{"names": first.Name + "+" + second.Name}, nil)
	}
	fail := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		return toolset.Result{}, &jsonrpc.Error{Code: -32050, Message: "broken " + valueIn(ctx)}
	}
	tools := []toolset.Tool{
		{Name: "slow", Task: toolset.TaskOptional, Call: slow, Timeout: time.Minute},
		{Name: "hasty", Task: toolset.TaskOptional, Call: slow, Timeout: 5 * time.Second},
		{Name: "only", Task: toolset.TaskRequired, Call: slow, Timeout: time.Minute},
		{Name: "secret", Task: toolset.TaskRequired, Call: slow, Timeout: time.Minute},
		{Name: "ask", Task: toolset.TaskOptional, Call: ask, Elicits: true},
		{Name: "late", Task: toolset.TaskAnswered, Call: ask, Elicits: true},
		{Name: "fail", Task: toolset.TaskOptional, Call: fail},
		{Name: "plain", Call: ask, Elicits: true},
		{Name: "open", Task: toolset.TaskOptional, Call: slow, Timeout: time.Minute},
	}
	table := access.Table{Roles: access.DefaultRoles()}
	for i := range tools {
		tools[i].Input = `{"type":"object"}`
		rule := access.Rule{Tool: tools[i].Name, MinRole: 2}
		switch tools[i].Name {
		case "secret":
			rule.MinRole = 4
		case "open":
			rule = access.Rule{Tool: "open", Public: true}
		}
		table.Rules = append(table.Rules, rule)
	}
	return toolset.NewToolset(toolset.Generated{Package: "example.com/jobs",
		Server: toolset.ServerInfo{Name: "jobs", Version: "1"}, Table: table, Tools: tools})
}

func newJob() *job {
	return &job{release: make(chan struct{}), started: make(chan context.Context, 100)}
}

// taskServer serves the tools of a job.
func taskServer(t testing.TB, j *job, options runtime.Options) (*runtime.Server, string) {
	t.Helper()
	options.Identity, options.Anonymous = taskUsers(), true
	s := newServer(t, options, j.toolset())
	return s, serve(t, s)
}

const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// tasksClient is a client that declares the extension.
type tasksClient struct{ raw }

func newTasks(url, token string) *tasksClient {
	return &tasksClient{raw{url: url, token: token, era: "2026-07-28"}}
}

func (c *tasksClient) do(t testing.TB, method, name, params string) reply {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + tasksMeta + `,` +
		params + `}}`
	return c.send(t, http.MethodPost, body, map[string]string{"Mcp-Method": method,
		"Mcp-Name": name})
}

// task sends a tasks method.
func (c *tasksClient) task(t testing.TB, method, id, rest string) reply {
	t.Helper()
	return c.do(t, method, id, `"taskId":"`+id+`"`+rest)
}

func (c *tasksClient) start(t testing.TB, tool, rest string) taskReply {
	t.Helper()
	got := parseTask(t, c.do(t, "tools/call", tool, `"name":"`+tool+`"`+rest))
	if got.Type != "task" || got.ID == "" || got.Status != "working" {
		t.Fatalf("%s: %+v", tool, got)
	}
	return got
}

// await reads a task until it has a status. It is for bubbles.
func (c *tasksClient) await(t testing.TB, id, status string) taskReply {
	t.Helper()
	for range 1000 {
		got := parseTask(t, c.task(t, "tasks/get", id, ""))
		if got.Status == status {
			return got
		}
		if got.Status != "working" && got.Status != "input_required" {
			t.Fatalf("want %s: %+v", status, got)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it is not %s", status)
	return taskReply{}
}

type taskReply struct {
	Type     string                     `json:"resultType"`
	ID       string                     `json:"taskId"`
	Status   string                     `json:"status"`
	Message  string                     `json:"statusMessage"`
	TTL      int64                      `json:"ttlMs"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	Result   json.RawMessage            `json:"result"`
	Error    json.RawMessage            `json:"error"`
}

func parseTask(t testing.TB, r reply) taskReply {
	t.Helper()
	var body struct {
		Result *taskReply `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || body.Result == nil ||
		r.status != http.StatusOK {
		t.Fatalf("%v: %s", err, r)
	}
	return *body.Result
}

func answer(key, name string) string {
	return fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":%q}}}`, key, name)
}

// failingOn is a sink that fails for events of a type that are no intents, until it is repaired.
type failingOn struct {
	keeper
	kind     audit.Type
	repaired atomic.Bool
}

func (f *failingOn) Record(ctx context.Context, e audit.Event) error {
	if e.Type == f.kind && e.Status != audit.Intent && !f.repaired.Load() {
		return errors.New("full")
	}
	return f.keeper.Record(ctx, e)
}

// askingReader is a tool that reads a file by a grant and then asks. first runs before it asks.
func askingReader(tool toolset.Tool, first func()) toolset.Toolset {
	tool.Name, tool.Allow, tool.Elicits = "read", reading.Allow, true
	return permitting(tool, func(ctx context.Context, in named) (string, error) {
		text, err := readAll(ctx, in)
		if err != nil {
			return "", err
		}
		first()
		form, err := runtime.Elicit[nameForm](ctx, "who", "Your name?")
		return text + form.Name, err
	})
}

func TestGrantsOfARunThatAsksAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sink := &purse{}, &keeper{}
		allowed := grant.Permission{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true}
		p.put(client("Member"), allowed)
		options := runtime.Options{Grants: runtime.GrantOptions{
			Source: p,
			Roots:  roots(t, map[string]string{"a.md": "A"}),
		},
			Audit: runtime.AuditOptions{Sink: sink}}
		url := serve(t, newServer(t, options,
			askingReader(toolset.Tool{Task: toolset.TaskOptional}, func() {})))
		c := newTasks(url, tokens["Member"])
		const arguments = `,"arguments":{"path":"docs/a.md"}`
		id := c.start(t, "read", arguments).ID
		c.await(t, id, "input_required") // the record is there before
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskAsked || len(e.Grants) != 1 ||
			e.Grants[0].Grant != "1.0" || e.Failure != "" || e.RequestID != events[0].RequestID {
			t.Errorf("%+v", e)
		}
		// The second run of a call with answers that nobody asked for has another grant.
		url = serve(t, newServer(t, options,
			askingReader(toolset.Tool{SDK: true}, func() { p.put(client("Member"), allowed) })))
		got := newRaw(t, url, tokens["Member"], "2026-07-28").call(t, "read", arguments+
			`,"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`, nil)
		if !strings.Contains(got.body, "AAda") {
			t.Fatal(got)
		}
		events = sink.taken()
		if e := events[len(events)-1]; len(e.Grants) != 2 || e.Grants[0].Grant != "1.0" ||
			e.Grants[1].Grant != "2.0" {
			t.Errorf("%+v", e)
		}
	})
}

// hastyStore cancels each task before its run can start.
type hastyStore struct{ task.Store }

func (h hastyStore) Create(ctx context.Context, r task.Record, l task.Limits) error {
	if err := h.Store.Create(ctx, r, l); err != nil {
		return err
	}
	_, err := h.Change(ctx, r.Owner, r.ID, func(r *task.Record) error {
		r.Status = task.Cancelled
		return nil
	})
	return err
}

func TestHandlerOfACancelledTaskDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		s, url := taskServer(t, j, runtime.Options{
			Tasks: runtime.TaskOptions{Store: hastyStore{task.NewMemory()}},
			Audit: runtime.AuditOptions{Sink: sink}})
		newTasks(url, "ada/ide/Member").start(t, "slow", "")
		if err := s.Shutdown(t.Context()); err != nil { // waits for the run
			t.Error(err)
		}
		if len(j.started) > 0 {
			t.Error("the handler has run")
		}
		events := sink.taken()
		if len(events) != 2 || events[1].Type != audit.TaskEnded ||
			events[1].Axis != audit.AxisCancelled || events[1].Failure != audit.Errored {
			t.Errorf("%+v", events)
		}
	})
}

// TestEndOfALostTaskIsRecordedOnce: a replica that has lost its task, because it could not renew
// the lease, leaves the record to the replica that has ended the task.
func TestEndOfALostTaskIsRecordedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tool := range []string{"slow", "ask"} {
			j, store, sink := newJob(), &created{Store: task.NewMemory()}, &keeper{}
			begun := make(chan struct{})
			s, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
				Audit: runtime.AuditOptions{Sink: sink},
				Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
					return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
						close(begun)
						<-j.release
						return next(ctx, m)
					}
				}}})
			newTasks(url, "ada/ide/Member").start(t, tool, "")
			<-begun
			if _, err := store.Change(t.Context(), store.made.Owner, store.made.ID,
				func(r *task.Record) error {
					r.Status, r.Run = task.Failed, ""
					return nil
				}); err != nil {
				t.Fatal(err)
			}
			close(j.release)
			if err := s.Shutdown(t.Context()); err != nil { // waits for the run
				t.Error(err)
			}
			if events := sink.taken(); len(events) != 1 || events[0].Type != audit.ToolCalled {
				t.Errorf("%s: %+v", tool, events)
			}
		}
	})
}

// panickingAt is a log handler that panics at one message.
type panickingAt struct {
	slog.Handler
	at string
}

func (p panickingAt) Handle(_ context.Context, r slog.Record) error {
	if r.Message == p.at {
		panic("the log handler")
	}
	return nil
}

func (p panickingAt) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panickingAt) WithGroup(string) slog.Handler { return p }

// The program's log handler may panic after a task was created, and before its run starts.
func TestTaskWhoseRequestPanicsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, store := newJob(), &created{Store: task.NewMemory()}
		_, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Audit: runtime.AuditOptions{Sink: &failingOn{kind: audit.ToolCalled}},
			Logger: slog.New(panickingAt{quiet().Handler(),
				"the outcome of a call could not be recorded; the call has run, and the server " +
					"withholds its response"})})
		if got := newTasks(url, "ada/ide/Member").do(t, "tools/call", "slow",
			`"name":"slow"`); !strings.Contains(got.body, "-32603") {
			t.Error(got)
		}
		r, err := store.Get(t.Context(), store.made.Owner, store.made.ID)
		if err != nil || r.Status != task.Failed || r.Run != "" {
			t.Errorf("%v %+v", err, r)
		}
	})
}

// The program's log handler runs on the goroutine of a run, which nothing else recovers.
func TestLogHandlerThatPanicsEndsNoTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{
			Logger: slog.New(panickingAt{quiet().Handler(), "call failed"})})
		c := newTasks(url, "ada/ide/Member")
		if got := c.await(t, c.start(t, "fail", "").ID, "failed"); !strings.Contains(got.Message,
			"broken") {
			t.Errorf("%+v", got)
		}
	})
}

// created is a store that keeps the newest of its tasks.
type created struct {
	task.Store
	made task.Record
}

func (c *created) Create(ctx context.Context, r task.Record, l task.Limits) error {
	c.made = r
	return c.Store.Create(ctx, r, l)
}

func TestInterceptorsGetTheRunsOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		var mu sync.Mutex
		var got []string
		_, url := taskServer(t, j, runtime.Options{Interceptors: []intercept.Middleware{
			func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					res, err := next(ctx, m)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprintf("%s %v", m.Method, err))
					if r, ok := res.(*mcp.CallToolResult); ok {
						r.Content = []mcp.Content{&mcp.TextContent{Text: "changed"}}
					}
					return res, err
				}
			}}})
		c := newTasks(url, "ada/ide/Member")
		done := c.await(t, c.start(t, "slow", "").ID, "completed")
		if !strings.Contains(string(done.Result), "changed") || len(got) != 1 ||
			got[0] != "tools/call <nil>" {
			t.Errorf("%q: %s", got, done.Result)
		}
	})
}

// Middleware may return a result that has no JSON: the task fails, and does not complete without a
// result.
func TestTaskWhoseResultCannotBeEncodedFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		close(j.release)
		_, url := taskServer(t, j, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Interceptors: []intercept.Middleware{func(intercept.Next) intercept.Next {
				return func(context.Context, intercept.Message) (mcp.Result, error) {
					return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
				}
			}}})
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "slow", "").ID, "failed")
		if string(got.Error) != `{"code":-32603,"message":"internal error"}` || got.Result != nil {
			t.Errorf("%+v", got)
		}
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskEnded || e.Failure != audit.Crashed {
			t.Errorf("%+v", e)
		}
	})
}

// counting counts the calls of a store.
type counting struct {
	task.Store
	gets, changes atomic.Int64
}

func (c *counting) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, o, id)
}

func (c *counting) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	c.changes.Add(1)
	return c.Store.Change(ctx, o, id, change)
}

// TestUnknownTasksAreLookedUpAlike compares what an answer costs: one look by owner and id, which
// finds no row for an id of somebody else.
func TestUnknownTasksAreLookedUpAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: task.NewMemory()}
		_, url := taskServer(t, newJob(), runtime.Options{Tasks: runtime.TaskOptions{Store: store}})
		owner := newTasks(url, "ada/ide/Member")
		id := owner.start(t, "ask", "").ID
		owner.await(t, id, "input_required") // nothing runs, so nothing else reads the store
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			for caller, of := range map[string]string{"ada/ide/Member": "never", "eve/ide/Admin": id,
				"ada/web/Admin": id, "": id, "ada/ide/Viewer": id} {
				gets, changes := store.gets.Load(), store.changes.Load()
				got := newTasks(url, caller).task(t, method, of, answer("1.who", "Eve"))
				if gets, changes = store.gets.Load()-gets, store.changes.Load()-changes; gets != 1 ||
					changes != 0 || !strings.Contains(got.body, "unknown task") {
					t.Errorf("%s by %q: %d reads, %d changes: %s", method, caller, gets, changes, got)
				}
			}
		}
	})
}

// dead is a store in which the run of each task has died.
type dead struct{ task.Store }

func (d dead) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	r, err := d.Store.Get(ctx, o, id)
	r.Lease = time.Now().Add(-time.Minute)
	return r, err
}

func (d dead) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	return d.Store.Change(ctx, o, id, func(r *task.Record) error {
		r.Lease = time.Now().Add(-time.Minute)
		return change(r)
	})
}

func (d dead) Lost(ctx context.Context, now time.Time, most int) ([]task.Record, error) {
	return d.Store.Lost(ctx, now.Add(time.Minute), most)
}

// peeking is a sink that looks for the caller's value.
type peeking struct {
	mu    sync.Mutex
	found map[audit.Type]string
}

func (r *peeking) Record(ctx context.Context, e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[e.Type] = valueIn(ctx)
	return nil
}

// The request that finds a dead task records its end, and may have a value for a handler.
func TestSinkGetsNoValueWithTheEndOfADeadTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink, store := &peeking{found: map[audit.Type]string{}}, task.NewMemory()
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Tasks: runtime.TaskOptions{Store: store}})
		_, other := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Tasks: runtime.TaskOptions{Store: dead{store}}})
		time.Sleep(35 * time.Second)
		id := newTasks(url, "ada/ide/Member").start(t, "slow", "").ID
		time.Sleep(10 * time.Second) // then the other server knows that its store accepts changes
		newTasks(other, "ada/ide/Member").task(t, "tasks/update", id, `,"inputResponses":{}`)
		sink.mu.Lock()
		defer sink.mu.Unlock()
		for _, kind := range []audit.Type{audit.ToolCalled, audit.TaskEnded, audit.TaskUpdate} {
			if got := sink.found[kind]; got != "false <>" {
				t.Errorf("%s: %q", kind, got)
			}
		}
	})
}

// The run of a task gets the answers that came with its call, as a call without a task does.
func TestTasksTakeUnsolicitedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newJob().toolset().Generated()
		for i := range g.Tools {
			g.Tools[i].SDK = g.Tools[i].Name == "ask"
		}
		url := serve(t, newServer(t, runtime.Options{Identity: taskUsers()}, toolset.NewToolset(g)))
		c := newTasks(url, "ada/ide/Member")
		for _, form := range []struct{ content, want string }{
			{`{"name":"Ada"}`, "Your pet?"}, {`{}`, "Your name?"}} {
			id := c.start(t, "ask", `,"inputResponses":{"who":{"action":"accept","content":`+
				form.content+`}}`).ID
			if got := c.await(t, id, "input_required"); !strings.Contains(fmt.Sprintf("%s", got.Requests),
				form.want) {
				t.Errorf("%s: %s", form.content, got.Requests)
			}
		}
	})
}

// deserted is a store whose client goes away while it creates a task.
type deserted struct {
	task.Store
	leave func()
	made  chan task.Record
}

func (d deserted) Create(ctx context.Context, r task.Record, l task.Limits) error {
	d.leave()
	synctest.Wait() // until the server knows
	d.made <- r
	// A database can commit although it reports the end of the context.
	return errors.Join(ctx.Err(), d.Store.Create(context.Background(), r, l))
}

func TestClientThatVanishesLeavesNoTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		ctx, cancel := context.WithCancel(t.Context())
		store := deserted{task.NewMemory(), cancel, make(chan task.Record, 1)}
		_, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Audit: runtime.AuditOptions{Sink: sink}})
		body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + tasksMeta +
			`,"name":"slow"}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call",
			"Authorization": "Bearer ada/ide/Member", "Mcp-Name": "slow",
			"Mcp-Protocol-Version": "2026-07-28"} {
			req.Header.Set(name, value)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			t.Fatal(res.Status)
		}
		time.Sleep(15 * time.Second)
		made := <-store.made
		if r, err := store.Get(t.Context(), made.Owner, made.ID); !errors.Is(err,
			task.ErrUnknown) && (err != nil || r.Run != "" || time.Now().Before(r.Expires)) {
			t.Errorf("it takes a place: %+v, %v", r, err)
		}
		events := sink.taken()
		if len(j.started) > 0 || len(events) != 1 || events[0].Failure == "" {
			t.Errorf("%d runs, %+v", len(j.started), events)
		}
	})
}

// unchanging is a store whose database accepts no changes from a moment on.
type unchanging struct {
	task.Store
	full atomic.Bool
}

func (u *unchanging) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	if u.full.Load() {
		return task.Record{}, errors.New("disk full")
	}
	return u.Store.Change(ctx, o, id, change)
}

// An answer that waits for the store has the value of its caller until the credential ends, and no
// longer.
func TestAnswerThatWaitsForgetsAnExpiredCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type content struct{ secret string }
		var last atomic.Pointer[weak.Pointer[content]]
		store := &unchanging{Store: task.NewMemory()}
		source := identity.Bearer(func(context.Context, string) (id identity.Identity, _ error) {
			c := &content{"hunter2"}
			last.Store(new(weak.Make(c)))
			id.Principal = access.Principal{Issuer: "test", Subject: "ada", Role: "Member"}
			id.Expires, id.Value = time.Now().Add(time.Minute), identity.NewValue(c, c.secret)
			return id, nil
		})
		url := serve(t, newServer(t, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Identity: source},
			newJob().toolset()))
		c := newTasks(url, "token")
		id := c.start(t, "ask", "").ID
		c.await(t, id, "input_required")
		store.full.Store(true)
		if got := c.task(t, "tasks/update", id,
			answer("1.who", "Ada")); got.status != http.StatusServiceUnavailable {
			t.Fatal(got)
		}
		value := last.Load()
		collect := func() {
			synctest.Wait()
			for range 3 { // the second one empties pools
				goruntime.GC()
			}
		}
		time.Sleep(59 * time.Second)
		if collect(); value.Value() == nil {
			t.Error("the answer has no value for its run")
		}
		time.Sleep(2 * time.Second)
		if collect(); value.Value() != nil {
			t.Error("the answer keeps the value of a credential that has expired")
		}
	})
}
