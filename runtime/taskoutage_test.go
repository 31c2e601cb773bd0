package runtime_test

import (
	"context"
	"errors"
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
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/task"
)

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
		_, url := taskServer(t, j, runtime.Options{Tasks: store, Audit: sink})
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
		url := serve(t, newServer(t, runtime.Options{Tasks: store, Identity: source},
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
