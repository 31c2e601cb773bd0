package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// unavailable is a store whose database is gone from a moment on.
type unavailable struct {
	task.Store
	gone atomic.Bool
}

func (u *unavailable) err() error {
	if u.gone.Load() {
		return errors.New("connection refused: secret.example")
	}
	return nil
}

func (u *unavailable) Create(ctx context.Context, r task.Record, l task.Limits) error {
	if err := u.err(); err != nil {
		return err
	}
	return u.Store.Create(ctx, r, l)
}

func (u *unavailable) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	if err := u.err(); err != nil {
		return task.Record{}, err
	}
	return u.Store.Get(ctx, o, id)
}

func (u *unavailable) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	if err := u.err(); err != nil {
		return task.Record{}, err
	}
	return u.Store.Change(ctx, o, id, change)
}

func (u *unavailable) Due(ctx context.Context, ids []string) (map[string]time.Time, error) {
	if err := u.err(); err != nil {
		return nil, err
	}
	return u.Store.Due(ctx, ids)
}

// Clients take an unknown task for final. So an outage tells them to try again, for each id alike,
// and the task goes on: its result is there afterwards, with one record of its end.
func TestClientOfATaskIsToTryAgainDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, store, sink := newJob(), &unavailable{Store: task.NewMemory()}, &keeper{}
		_, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		store.gone.Store(true)
		for _, id := range []string{id, "x"} {
			for _, got := range []reply{c.do(t, "tools/call", "slow", `"name":"slow"`),
				c.task(t, "tasks/get", id, ""), c.task(t, "tasks/cancel", id, ""),
				c.task(t, "tasks/update", id, `,"inputResponses":{}`)} {
				if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" ||
					!strings.Contains(got.body,
						`"error":{"code":503,"message":"tasks are not available now: try again later"}`) {
					t.Error(got)
				}
			}
		}
		close(j.release)
		time.Sleep(10 * time.Minute)
		store.gone.Store(false)
		time.Sleep(time.Minute)
		c.await(t, id, "completed")
		ends := 0
		for _, e := range sink.taken() {
			if e.Type == audit.TaskEnded {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("%d records of the end", ends)
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

// While the host does not respond, nobody knows whether the caller may use the tool of a task. The
// answer is that for all ids, also for ids of others and for ids that never existed.
func TestTaskIsNotUnknownWhileTheHostDoesNotRespond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, release := newHost(nil), make(chan struct{})
		h.set("ada", "dcim.view_device")
		g := toolset.Generated{Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
			Table: access.Table{Rules: []access.Rule{{Tool: "view",
				Permission: permission("dcim.view_device")}, {Tool: "open", Public: true}}}}
		for _, name := range []string{"view", "open"} {
			g.Tools = append(g.Tools, toolset.Tool{Name: name, Input: anyInput,
				Task: toolset.TaskRequired, Timeout: time.Minute,
				Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					<-release
					return toolset.Structured(map[string]any{}, nil)
				}})
		}
		url := serve(t, newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h},
			Identity: hosted()}, toolset.NewToolset(g)))
		c := newTasks(url, "ada_Viewer")
		id, open := c.start(t, "view", "").ID, c.start(t, "open", "").ID
		h.failing(func(context.Context) error { return errors.New("connection refused") })
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			known := c.task(t, method, id, `,"inputResponses":{}`)
			never := c.task(t, method, "x", `,"inputResponses":{}`)
			if known.status != http.StatusServiceUnavailable || known.String() != never.String() ||
				!strings.Contains(known.body, "permissions are not available now: try again later") {
				t.Errorf("%s: %s\nunknown: %s", method, known, never)
			}
		}
		c.await(t, open, "working") // it needs no permission
		h.failing(nil)
		close(release)
		c.await(t, id, "completed")
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

// An answer that waits for the store waits longer than permissions count: its run reads them again.
func TestRunAfterAnOutageHasThePermissionsOfItsTime(t *testing.T) {
	t.Parallel()
	for revoked, want := range map[bool]string{false: "completed", true: "failed"} {
		synctest.Test(t, func(t *testing.T) {
			h, store := newHost(nil), &unchanging{Store: task.NewMemory()}
			h.set("ada", "dcim.view_device")
			var answered atomic.Int32
			g := toolset.Generated{Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
				Table: access.Table{Rules: []access.Rule{{Tool: "view",
					Permission: permission("dcim.view_device")}}},
				Tools: []toolset.Tool{{Name: "view", Input: anyInput, Task: toolset.TaskRequired,
					Timeout: time.Minute, Elicits: true,
					Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
						if _, err := runtime.Elicit[nameForm](ctx, "who", "Your name?"); err != nil {
							return toolset.Result{}, err
						}
						answered.Add(1)
						return toolset.Structured(map[string]any{}, nil)
					}}}}
			url := serve(t, newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h},
				Identity: hosted(),
				Tasks:    runtime.TaskOptions{Store: store}}, toolset.NewToolset(g)))
			c := newTasks(url, "ada_Viewer")
			id := c.start(t, "view", "").ID
			asked := c.await(t, id, "input_required")
			store.full.Store(true)
			if got := c.task(t, "tasks/update", id,
				`,"inputResponses":{}`); got.status != http.StatusOK { // there is nothing to store
				t.Fatal(got)
			}
			for key := range asked.Requests {
				got := c.task(t, "tasks/update", id, `,"inputResponses":{"`+key+
					`":{"action":"accept","content":{"name":"ada"}}}`)
				if got.status != http.StatusServiceUnavailable {
					t.Fatal(got)
				}
			}
			if revoked {
				h.set("ada", "dcim.view_site")
			}
			time.Sleep(5 * time.Minute)
			store.full.Store(false)
			time.Sleep(time.Minute)
			h.set("ada", "dcim.view_device") // to read the task
			c.await(t, id, want)
			if ran := answered.Load() > 0; ran == revoked {
				t.Errorf("revoked %t: the handler went on: %t", revoked, ran)
			}
		})
	}
}

// A newer credential that cannot extend its task gets an error: the client would take the task for
// one that goes on.
func TestTaskThatCannotBeExtendedIsReportedAsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, store := newJob(), &unchanging{Store: task.NewMemory()}
		_, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store}})
		until := func(d time.Duration) *tasksClient {
			return newTasks(url, fmt.Sprintf("ada/ide/Member/%d", time.Now().Add(d).UnixMilli()))
		}
		id := until(time.Minute).start(t, "slow", "").ID
		<-j.started
		store.full.Store(true)
		newer := until(time.Hour)
		if got := newer.task(t, "tasks/get", id, ""); got.status != http.StatusServiceUnavailable {
			t.Error(got)
		}
		store.full.Store(false)
		newer.await(t, id, "working")
		close(j.release)
		newer.await(t, id, "completed")
	})
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
