package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// keeper is a sink that keeps events, and intents apart from the others. It refuses an event
// without a status, a failed event without a failure, and any other event with one.
type keeper struct {
	mu              sync.Mutex
	events, intents []audit.Event
}

func (k *keeper) Record(_ context.Context, e audit.Event) error {
	if e.Status == "" || (e.Status == audit.Failed) != (e.Failure != "") {
		return fmt.Errorf("the status %q with the failure %q", e.Status, e.Failure)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Status == audit.Intent {
		k.intents = append(k.intents, e)
	} else {
		k.events = append(k.events, e)
	}
	return nil
}

// taken returns what was kept since the last time.
func (k *keeper) taken() []audit.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	events := k.events
	k.events = nil
	return events
}

func TestEachCallAndEachListIsOneEvent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, user string
		ask        func(*testing.T, *raw) reply
		want       string
	}{
		{"a list", "Member", func(t *testing.T, c *raw) reply {
			return c.ask(t, "tools/list", "", nil)
		},
			`tool_list success/ user-Member/Member tool="" axis="" missing="" 4/6 []`},
		{"a list with a bad cursor", "Member", func(t *testing.T, c *raw) reply {
			return c.ask(t, "tools/list", `"cursor":"x"`, nil)
		},
			`tool_list failed/invalid user-Member/Member tool="" axis="" missing="" 4/6 []`},
		{"an allowed call", "Member", func(t *testing.T, c *raw) reply {
			return c.call(t, "create", `,"arguments":{"id":"ada"}`, nil)
		},
			`tool_called success/ user-Member/Member tool="create" axis="role" missing="" 0/0 [{id 5 sha256:982c2f9e71df354525a6c3c60fe5f63cbf624b59fb9539e267f5ad935c619613}]`},
		{"a call of a public tool", "", func(t *testing.T, c *raw) reply {
			return c.call(t, "get_public_info", ``, nil)
		},
			`tool_called success/ / tool="get_public_info" axis="public" missing="" 0/0 []`},
		{"a call that fails", "Viewer", func(t *testing.T, c *raw) reply {
			return c.call(t, "get_by_id", `,"arguments":{"id":"nobody"}`, nil)
		},
			`tool_called failed/error user-Viewer/Viewer tool="get_by_id" axis="role" missing="" 0/0 [{id 8 `},
		{"a refused call", "Viewer", func(t *testing.T, c *raw) reply {
			return c.call(t, "update", ``, nil)
		},
			`tool_called failed/denied user-Viewer/Viewer tool="update" axis="role" missing="needs role Manager" 0/0 []`},
		{"an unknown tool", "Viewer", func(t *testing.T, c *raw) reply {
			return c.call(t, "nope", `,"arguments":[1,2]`, nil)
		},
			`tool_called failed/denied user-Viewer/Viewer tool="nope" axis="unknown" missing="does not exist" 0/0 [{ 5 sha256:`},
		{"an anonymous call", "", func(t *testing.T, c *raw) reply {
			return c.call(t, "get_all", ``, nil)
		},
			`tool_called failed/denied / tool="get_all" axis="authentication" missing="needs an authenticated caller" 0/0 []`},
	} {
		for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
			sink := &keeper{}
			s := newServer(t, runtime.Options{Anonymous: true,
				Access: runtime.AccessOptions{Denial: denial},
				Audit:  runtime.AuditOptions{Sink: sink}},
				directory(&desk{}))
			url := serve(t, s)
			for _, era := range eras {
				c := newRaw(t, url, tokens[test.user], era)
				sink.taken()
				before := time.Now()
				test.ask(t, c)
				events := sink.taken()
				if len(events) != 1 {
					t.Errorf("%s, %s: %d events", test.name, era, len(events))
					continue
				}
				e := events[0]
				got := fmt.Sprintf("%s %s/%s %s/%s tool=%q axis=%q missing=%q %d/%d %v", e.Type,
					e.Status, e.Failure, e.Principal, e.Role, e.Tool, e.Axis, e.Missing, e.Visible,
					e.Total,
					e.Arguments)
				if !strings.HasPrefix(got, test.want) {
					t.Errorf("%s, %s: %s\nwant %s", test.name, era, got, test.want)
				}
				if e.RequestID == "" || e.Milliseconds < 0 ||
					e.Time.Before(before.Add(-time.Second)) {
					t.Errorf("%s, %s: %+v", test.name, era, e)
				}
			}
		}
	}
}

func TestRecordsHoldNoValues(t *testing.T) {
	t.Parallel()
	sink := &keeper{}
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink}}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	long := strings.Repeat("k", 500)
	c.call(t, "get_by_id", `,"arguments":{"id":"hunter2","`+long+`":1}`, nil)
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, `"k%d":1,`, i)
	}
	c.call(t, strings.Repeat("é", 500), `,"arguments":{`+strings.TrimSuffix(many.String(), ",")+`}`,
		nil)
	events := sink.taken()
	if got := fmt.Sprint(events); strings.Contains(got, "hunter2") ||
		strings.Contains(got, tokens["Viewer"]) || strings.Contains(got, long) {
		t.Errorf("%s", got)
	}
	if e := events[1]; len(e.Arguments) > 64 || len(e.Tool) > 128 ||
		!strings.HasPrefix(e.Tool, "éé") {
		t.Errorf("what a client makes up is not bounded: %d arguments, a name of %d bytes",
			len(e.Arguments), len(e.Tool))
	}
}

func TestCallWhoseRecordCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]func(context.Context, audit.Event) error{
		"an error": func(context.Context, audit.Event) error {
			return errors.New("disk full: hunter2")
		},
		"panics": func(context.Context, audit.Event) error { panic("hunter2") },
	} {
		var log journal
		s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: audit.SinkFunc(record)},
			Logger: log.logger()},
			directory(&desk{}))
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Viewer"], era)
			for what, got := range map[string]reply{
				"list": c.ask(t, "tools/list", "", nil), "call": c.call(t, "get_all", "", nil),
				"refused": c.call(t, "update", "", nil), "unknown": c.call(t, "nope", "", nil),
			} {
				if !strings.Contains(got.body, `"code":-32603,"message":"internal error"`) ||
					strings.Contains(got.body, "hunter2") {
					t.Errorf("a sink that %s, %s, %s: %s", name, era, what, got)
				}
			}
		}
		if !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("a sink that %s: nothing in the log", name)
		}
	}
}

func TestRecordStandsBeforeTheAnswerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, runtime.Options{
			Audit: runtime.AuditOptions{Sink: audit.SinkFunc(func(context.Context,
				audit.Event) error {
				<-release
				return nil
			})}}, directory(&desk{}))
		answered := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25").later(t, "get_all")
		if synctest.Wait(); len(answered) > 0 {
			t.Errorf("answered before its record stood: %s", <-answered)
		}
		close(release)
		if got := <-answered; !strings.Contains(got.body, "structuredContent") {
			t.Errorf("%s", got)
		}
	})
}

func TestSinkThatDoesNotComeBackRefusesInTime(t *testing.T) {
	t.Parallel()
	for _, heeds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const limit = time.Minute
			release := make(chan struct{})
			var stuck, most atomic.Int32
			sink := audit.SinkFunc(func(ctx context.Context, _ audit.Event) error {
				now := stuck.Add(1)
				defer stuck.Add(-1)
				for {
					if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
						break
					}
				}
				if heeds {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-release:
						return nil
					}
				}
				<-release
				return nil
			})
			s := newServer(t, runtime.Options{
				Audit: runtime.AuditOptions{Sink: sink, Timeout: limit}},
				directory(&desk{}))
			c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
			start := time.Now()
			got := c.call(t, "get_all", "", nil)
			if !strings.Contains(got.body, "internal error") ||
				strings.Contains(got.body, "structuredContent") || time.Since(start) > 2*limit {
				t.Errorf("after %v: %s", time.Since(start), got)
			}
			var wg sync.WaitGroup
			for id := range 400 {
				wg.Go(func() {
					got := c.send(t, "POST", fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id), nil)
					if !strings.Contains(got.body, "internal error") {
						t.Errorf("answered without a record: %s", got)
					}
				})
			}
			wg.Wait()
			if n := most.Load(); n > 256 {
				t.Errorf("%d goroutines are stuck in the sink", n)
			}
			close(release)
			time.Sleep(2 * limit) // the server tries the sink again
			got = c.call(t, "get_all", "", nil)
			if !strings.Contains(got.body, "structuredContent") {
				t.Errorf("the sink is back, and calls are refused: %s", got)
			}
		})
	}
}
