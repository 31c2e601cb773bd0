package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// held is a toolset of a tool "hold", and "held" in go-sdk's shape, that run until they are
// released.
type held struct {
	started, ended chan error // ended has why the context has ended, or nil
	release        chan struct{}
}

func newHeld() *held {
	return &held{make(chan error, 9), make(chan error, 9), make(chan struct{}, 9)}
}

func (h *held) tools() toolset.Toolset {
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		h.started <- nil
		select {
		case <-h.release:
		case <-ctx.Done():
		}
		h.ended <- ctx.Err()
		return toolset.Done(ctx.Err())
	}
	return bothShapes(call)
}

// bothShapes is a toolset of a tool "hold", and "held" in go-sdk's shape.
func bothShapes(call func(context.Context, toolset.Call) (toolset.Result, error)) toolset.Toolset {
	return toolsetOf([]toolset.Tool{{Name: "hold", Input: `{"type":"object"}`, Call: call},
		{Name: "held", Input: `{"type":"object"}`, SDK: true, Call: call}})
}

// later calls a tool, and returns the channel of its answer. A call without an answer fails the
// test and closes the channel.
func (c *raw) later(t *testing.T, tool string) chan reply {
	got := make(chan reply, 1)
	go func() {
		defer close(got)
		got <- c.call(t, tool, "", nil)
	}()
	return got
}

var withSessions = eras[:2]

func TestActivityKeepsASession(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{
				HTTP: runtime.HTTPOptions{SessionTimeout: time.Minute}}, h.tools())
			c := newRaw(t, serve(t, s), tokens["Member"], version)
			alive := func(want bool) {
				t.Helper()
				if got := c.send(t, "POST", ping, nil); (got.status == 200) != want || !want &&
					got.status != 404 {
					t.Errorf("%s", got)
				}
			}
			for range 3 {
				time.Sleep(50 * time.Second)
				c.ask(t, "tools/list", "", nil)
				time.Sleep(50 * time.Second)
				alive(true)
			}
			for _, tool := range []string{"hold", "held"} {
				c.later(t, tool)
				time.Sleep(25 * time.Second) // less than the time limit of a call
				h.release <- struct{}{}
				time.Sleep(50 * time.Second)
				alive(true)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, "GET", c.url, nil)
			r.Header = http.Header{"Accept": {"text/event-stream"},
				"Authorization": {"Bearer " + c.token}, "Mcp-Session-Id": {c.session}}
			go func() { _, _ = c.client.Do(r) }()
			time.Sleep(61 * time.Second)
			alive(false) // a GET is no activity
		})
	}
}

func TestIdleSessionIsGivenUpForANewOneOfItsUser(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{Anonymous: true,
				HTTP: runtime.HTTPOptions{MaxSessions: 6, MaxPerUser: 3}}, h.tools())
			c := newRaw(t, serve(t, s), tokens["Member"], version)
			opens := func(token string) (*raw, int) {
				other := &raw{url: c.url, token: token, era: c.era, client: c.client}
				got := other.send(t, "POST", strings.Replace(handshake, "2025-11-25", c.era, 1), nil)
				other.session = got.header.Get("Mcp-Session-Id")
				return other, got.status
			}
			status := func(c *raw) int { return c.send(t, "POST", ping, nil).status }
			second, _ := opens(c.token)
			c.later(t, "hold")
			time.Sleep(20 * time.Second)
			third, _ := opens(c.token)
			admin, _ := opens(tokens["Admin"])
			if _, got := opens(c.token); got != http.StatusTooManyRequests {
				t.Errorf("a session was given up that is not idle: %d", got)
			}
			time.Sleep(50 * time.Second) // the first has a call; the second is idle for a minute
			fourth, got := opens(c.token)
			if got != 200 || status(second) != 404 || status(third) != 200 || status(fourth) != 200 ||
				status(admin) != 200 {
				t.Errorf("%d %d %d %d %d", got, status(second), status(third), status(fourth),
					status(admin))
			}
			h.release <- struct{}{}
			synctest.Wait()
			if status(c) != 200 {
				t.Error("a session with a call was given up")
			}
			// Strangers do not end each other's sessions: all anonymous callers are one user.
			stranger, _ := opens("")
			opens("")
			if _, got := opens(""); got != 503 {
				t.Errorf("%d", got)
			}
			time.Sleep(2 * time.Minute)
			opens(c.token) // gives up one of its own
			if _, got := opens(""); got != 503 || status(stranger) != 200 {
				t.Errorf("%d", got)
			}
		})
	}
}

func TestDeleteEndsASessionBehindItsDirectCalls(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{}, h.tools())
			c := newRaw(t, serve(t, s), tokens["Member"], version)
			running, deleted := c.later(t, "hold"), make(chan reply, 1)
			<-h.started
			other := *c
			if other.token = tokens["Admin"]; other.send(t, "DELETE", "", nil).status != 404 ||
				other.call(t, "hold", "", nil).status != 404 {
				t.Error("the session of another user is found")
			}
			go func() { deleted <- c.send(t, "DELETE", "", nil) }()
			synctest.Wait()
			for _, tool := range []string{"hold", "held"} {
				got := c.send(t, "POST", strings.Replace(c.request("tools/call", `"name":"`+tool+`"`),
					":7", ":8", 1), nil)
				if got.status != 404 || !strings.Contains(got.body, "session not found") {
					t.Errorf("a call in a session that ends: %s", got)
				}
			}
			if len(deleted) > 0 {
				t.Error("it is closed before its call has ended")
			}
			h.release <- struct{}{}
			if got := <-running; got.status != 200 || <-h.ended != nil {
				t.Errorf("%s", got)
			}
			if got := <-deleted; got.status != 204 {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestSessionMayEndDuringACall(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{}, h.tools())
			c := newRaw(t, serve(t, s), tokens["Member"], version)
			running := c.later(t, "hold")
			<-h.started
			runtime.CloseSessions(s)
			if got := <-running; got.status != 200 || !errors.Is(<-h.ended, context.Canceled) {
				t.Errorf("%s", got)
			}
			if got := c.send(t, "POST", ping, nil); got.status != 404 {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestShutdownWaitsForCalls(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{}, h.tools())
			c := newRaw(t, serve(t, s), tokens["Member"], version)
			running, down := c.later(t, "hold"), make(chan error, 1)
			<-h.started
			go func() { down <- s.Shutdown(context.Background()) }()
			synctest.Wait()
			if got := c.call(t, "hold", "", nil); got.status != 503 || len(down) > 0 {
				t.Errorf("%s", got)
			}
			h.release <- struct{}{}
			if got := <-running; got.status != 200 || <-h.ended != nil || <-down != nil {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestIDInFlightIsRefused(t *testing.T) {
	t.Parallel()
	h := newHeld()
	url := serve(t, newServer(t, runtime.Options{}, h.tools()))
	for _, tools := range [][2]string{{"hold", "hold"}, {"hold", "held"}, {"held", "hold"},
		{"held", "held"}} {
		c := newRaw(t, url, tokens["Member"], "2025-11-25")
		running := c.later(t, tools[0])
		<-h.started
		got := make(chan reply, 1)
		go func() { got <- c.call(t, tools[1], "", nil) }()
		select {
		case got := <-got:
			if got.status != 400 ||
				!strings.Contains(got.body, `"duplicate in-flight request ID 7"`) {
				t.Errorf("%q: %s", tools, got)
			}
		case <-h.started:
			t.Errorf("%q run with one id", tools)
			h.release <- struct{}{}
		}
		h.release <- struct{}{}
		<-running
	}
}

func TestIDCanBeUsedAgainOnceItsAnswerHasArrived(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, bothShapes(atOnce))
	url := serve(t, s)
	c := newRaw(t, url, tokens["Member"], "2025-11-25")
	p := newPipe(t, s, principalOf("Member"), "2025-11-25")
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 1000 {
		tool := []string{"hold", "held", "held", "hold"}[i%4]
		if got := c.call(t, tool, "", nil); got.status != 200 ||
			!strings.Contains(got.body, `"result"`) {
			t.Fatalf("%d: %s", i, got)
		}
		p.write(t, c.request("tools/call", `"name":"`+tool+`"`))
		if got := p.until(t, 7); got.response(t).Error != nil {
			t.Fatalf("%d: %s", i, got)
		}
	}
}

func atOnce(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

func TestIDInFlightIsDroppedOnStdio(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		h := newHeld()
		p := newPipe(t, newServer(t, runtime.Options{}, h.tools()), principalOf("Member"), version)
		if version != "2026-07-28" {
			p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		c := &raw{era: version}
		for _, tools := range [][2]string{{"hold", "hold"}, {"hold", "held"}, {"held", "hold"},
			{"held", "held"}} {
			for i, tool := range tools {
				p.write(t, c.request("tools/call", `"name":"`+tool+`"`))
				if i == 0 {
					<-h.started
				}
			}
			p.write(t, strings.Replace(c.request("tools/list", ""), ":7", ":8", 1))
			p.until(t, 8)
			h.release <- struct{}{}
			p.until(t, 7)
			if <-h.ended; len(h.started) > 0 {
				t.Errorf("%s, %q: both run", version, tools)
			}
		}
	}
}

const cancelled7 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`

func TestCancelledDirectCallEndsItsContext(t *testing.T) {
	t.Parallel()
	h := newHeld()
	for _, set := range []toolset.Toolset{h.tools(), nonBlocking(h.tools())} {
		cancelledEndsContext(t, h, newServer(t, runtime.Options{}, set))
	}
}

func cancelledEndsContext(t *testing.T, h *held, s *runtime.Server) {
	t.Helper()
	url := serve(t, s)
	for _, version := range withSessions {
		for _, tool := range []string{"hold", "held"} {
			c := newRaw(t, url, tokens["Member"], version)
			other := newRaw(t, url, tokens["Member"], version)
			running := c.later(t, tool)
			<-h.started
			other.send(t, "POST", cancelled7, nil) // another session has another call 7
			if c.send(t, "POST", cancelled7, nil); <-h.ended != context.Canceled {
				t.Errorf("%s, %s: no end of its context", version, tool)
			}
			if got := <-running; got.status != 200 {
				t.Errorf("%s", got)
			}
		}
	}
	for _, version := range eras {
		p := newPipe(t, s, principalOf("Member"), version)
		if version != "2026-07-28" {
			p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		for i, tool := range []string{"hold", "held"} {
			id := int64(7 + i)
			own := func(text string) string { return strings.Replace(text, "7", fmt.Sprint(id), 1) }
			call := (&raw{era: version}).request("tools/call", `"name":"`+tool+`"`)
			p.write(t, strings.Replace(call, `"id":7`, own(`"id":7`), 1))
			<-h.started
			if p.write(t, own(cancelled7)); <-h.ended != context.Canceled {
				t.Errorf("%s, %s: no end of its context", version, tool)
			}
			// A cancelled request has no response on stdio.
			list := (&raw{era: version}).request("tools/list", "")
			p.write(t, strings.Replace(list, `"id":7`, `"id":70`, 1))
			if got := p.until(t, 70); len(got) != 1 {
				t.Errorf("%s: a cancelled call is answered: %s", tool, got)
			}
		}
	}
}

// A cancellation right behind its call is not lost.
func TestCancellationDoesNotOvertakeItsCall(t *testing.T) {
	t.Parallel()
	sink, ended := &keeper{}, 0
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink}}, bothShapes(
		func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Done(ctx.Err())
		}))
	p := newPipe(t, s, principalOf("Member"), "2025-11-25")
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 200 {
		p.write(t, strings.NewReplacer(`"id":7`, fmt.Sprintf(`"id":%d`, i), `Id":7`,
			fmt.Sprintf(`Id":%d`, i)).Replace((&raw{}).request("tools/call",
			`"name":"held"`)+"\n"+cancelled7))
		soon(t, "its outcome", func() bool {
			ended += len(sink.taken())
			return ended > i
		})
	}
}

func TestDroppedConnectionCancelsWithoutSessionsOnly(t *testing.T) {
	t.Parallel()
	for i := range 2 * len(eras) {
		version := eras[i/2]
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			set := h.tools()
			if i%2 == 1 {
				set = nonBlocking(set)
			}
			url := serve(t, newServer(t, runtime.Options{}, set))
			c := newRaw(t, url, tokens["Member"], version)
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, "POST", url,
				strings.NewReader(c.request("tools/call", `"name":"hold"`)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"},
				"Authorization":        {"Bearer " + c.token},
				"Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/call"},
				"Mcp-Name": {"hold"}, "Mcp-Session-Id": {c.session}}
			go func() { _, _ = c.client.Do(r) }()
			<-h.started
			cancel()
			synctest.Wait()
			cancelled := version == "2026-07-28"
			if len(h.ended) == 1 != cancelled {
				t.Errorf("%s: the handler has ended: %v", version, !cancelled)
			}
			h.release <- struct{}{}
			if err := <-h.ended; errors.Is(err, context.Canceled) != cancelled {
				t.Errorf("%s: %v", version, err)
			}
		})
	}
}

func TestEndOfInputCancelsDirectCalls(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			s := newServer(t, runtime.Options{}, h.tools())
			shutDown(t, s)
			in, toServer := io.Pipe()
			var out journal
			done := make(chan error, 1)
			go func() { done <- s.RunIO(context.Background(), in, &out, principalOf("Member")) }()
			c := &raw{era: version}
			first := handshake
			if version == "2026-07-28" {
				first = strings.Replace(c.request("tools/list", ""), `"id":7`, `"id":0`, 1)
			}
			fmt.Fprintln(toServer, first)
			if synctest.Wait(); !strings.Contains(out.String(), `"id":0`) {
				t.Errorf("%s: %s", version, out.String())
			}
			fmt.Fprintln(toServer, c.request("tools/call", `"name":"hold"`))
			<-h.started
			toServer.Close()
			if err := <-h.ended; err != context.Canceled {
				t.Errorf("%s: %v", version, err)
			}
			if err := <-done; err != nil || !strings.Contains(out.String(), `"id":7`) {
				t.Errorf("%s: %v, %s", version, err, out.String())
			}
		})
	}
}

// wanting calls the tool "work" for a client that wants log messages and progress.
func (c *raw) wanting(t *testing.T) reply {
	t.Helper()
	body, further := c.request("tools/call", `"name":"work"`), map[string]string(nil)
	if c.era == "2026-07-28" {
		body = strings.Replace(body, `"_meta":{`,
			`"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",`, 1)
		further = map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "work"}
	} else {
		c.ask(t, "logging/setLevel", `"level":"debug"`, nil)
		body = strings.Replace(body, `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
	}
	return c.send(t, "POST", body, further)
}

// wantingProgress is a call of the tool "work" by a client that wants progress.
func (c *raw) wantingProgress() string {
	body := c.request("tools/call", `"name":"work"`)
	if c.era == "2026-07-28" {
		return strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	}
	return strings.Replace(body, `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
}

// events are the messages of an event stream.
func (r reply) events(t *testing.T) (all serverMessages) {
	t.Helper()
	if r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("no stream: %s", r)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(r.body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "event: message\ndata: ")
		if !ok {
			t.Errorf("no event: %q", event)
		}
		all = append(all, parseMessage(t, data))
	}
	return all
}

// doing is a client of a server whose tool "work" does what a test wants.
func doing(t *testing.T, version string, options runtime.Options,
	do func(context.Context) error) *raw {
	t.Helper()
	s := newServer(t, options,
		oneTool("work", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			return toolset.Structured(map[string]string{"secret": "hunter2"}, do(ctx))
		}))
	return newRaw(t, serve(t, s), tokens["Member"], version)
}

func TestLongCallsBecomeStreams(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		synctest.Test(t, func(t *testing.T) {
			var takes time.Duration
			c := doing(t, version, runtime.Options{}, func(context.Context) error {
				time.Sleep(takes)
				return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no"}
			})
			const text = `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}`
			takes = transport.StreamAfter - time.Nanosecond
			got := c.call(t, "work", "", nil)
			status := map[bool]int{true: 400, false: 200}[version == "2026-07-28"]
			if got.status != status || got.body != text ||
				got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s", got)
			}
			takes = transport.StreamAfter + time.Nanosecond
			got = c.call(t, "work", "", nil)
			if all := got.events(t); len(all) != 1 || all[0].text != text {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestRefusalsAreNeverStreams(t *testing.T) {
	t.Parallel()
	for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		for _, version := range eras {
			synctest.Test(t, func(t *testing.T) {
				slow := audit.SinkFunc(func(context.Context, audit.Event) error {
					time.Sleep(4 * transport.StreamAfter)
					return nil
				})
				s := newServer(t, runtime.Options{
					Audit:  runtime.AuditOptions{Sink: slow, Timeout: time.Minute},
					Access: runtime.AccessOptions{Denial: denial}}, directory(&desk{}))
				c := newRaw(t, serve(t, s), tokens["Member"], version)
				for _, tool := range []string{"update", "unknown"} {
					got := c.call(t, tool, "", nil)
					if strings.Contains(got.header.Get("Content-Type"), "event") {
						t.Errorf("%v, %s: %s", denial, tool, got)
					}
				}
			})
		}
	}
}

func TestEventsArriveBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		synctest.Test(t, func(t *testing.T) {
			all := doing(t, version, runtime.Options{}, func(ctx context.Context) error {
				runtime.Logger(ctx).Info("one")
				runtime.Progress(ctx).Report(1, 2, "half")
				time.Sleep(time.Second)
				runtime.Logger(ctx).Info("two")
				runtime.Progress(ctx).Report(2, 2, "all")
				return nil
			}).wanting(t).events(t)
			if got := all.response(t); strings.Join(all.logs(), ",") != "info one,info two" ||
				len(all.progress()) != 2 || len(all) != 5 || got.Error != nil {
				t.Errorf("%s", all)
			}
		})
	}
}

func TestPanicBehindAnEventIsAnEvent(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		synctest.Test(t, func(t *testing.T) {
			all := doing(t, version, runtime.Options{}, func(ctx context.Context) error {
				runtime.Logger(ctx).Info("one")
				time.Sleep(time.Second)
				panic("hunter2")
			}).wanting(t).events(t)
			if got := all.response(t); len(all) != 2 || got.Error == nil && !got.Result.IsError ||
				strings.Contains(all.String(), "hunter2") {
				t.Errorf("%s", all)
			}
		})
	}
}

func TestNothingLeavesADirectCallOnceItsTokenHasExpired(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				tenSeconds := identity.Bearer(func(context.Context,
					string) (identity.Identity, error) {
					return identity.Identity{Principal: principalOf("Member"),
						Expires: time.Now().Add(10 * time.Second)}, nil
				})
				ended := make(chan struct{})
				all := doing(t, version, runtime.Options{Identity: tenSeconds},
					func(ctx context.Context) error {
						defer close(ended)
						if early {
							runtime.Logger(ctx).Info("early")
						}
						time.Sleep(12 * time.Second)
						runtime.Logger(ctx).Info("late")
						runtime.Progress(ctx).Report(1, 2, "late")
						return nil
					}).wanting(t).events(t)
				<-ended
				text := all.String()
				if got := all.response(t); got.Error == nil ||
					got.Error.Message != "the credential has expired" ||
					strings.Contains(text, "late") || strings.Contains(text, "hunter2") ||
					strings.Contains(text, "early") != early {
					t.Errorf("%s", all)
				}
			})
		}
	}
}

// unread sends a message on a connection that nobody reads, and waits until its response has begun.
func (c *raw) unread(t *testing.T, body string) net.Conn {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(c.url, "http://"), "/mcp")
	conn, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	authorization := ""
	if c.token != "" {
		authorization = "Authorization: Bearer " + c.token + "\r\n"
	}
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nAccept: */*\r\n"+
		"Mcp-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\nMcp-Method: tools/call\r\nMcp-Name: work\r\nContent-Length: %d\r\n\r\n%s", host, authorization, c.era, c.session, len(body), body)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDirectCallOfAClientThatNeverReadsIsLetGo(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		for _, streams := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				large := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					if streams {
						runtime.Progress(ctx).Report(1, 2, "half")
					}
					return toolset.Structured(strings.Repeat("x", 1<<20), nil)
				}
				s := newServer(t, runtime.Options{}, oneTool("work", large))
				c := newRaw(t, serve(t, s), tokens["Member"], version)
				conn := c.unread(t, c.wantingProgress())
				defer conn.Close()
				start := time.Now()
				if err := s.Shutdown(t.Context()); err != nil {
					t.Errorf("%s, a stream %t: %v", version, streams, err)
				}
				if took := time.Since(start); took > transport.BodyReadTimeout {
					t.Errorf("%s, a stream %t: let go after %v", version, streams, took)
				}
			})
		}
	}
}

// TestUserWhoDoesNotReadIsBounded: six responses of 16 MiB that nobody reads. Anonymous callers are
// users by their address.
func TestUserWhoDoesNotReadIsBounded(t *testing.T) {
	t.Parallel()
	tool := toolset.Tool{Name: "work", Input: `{"type":"object"}`,
		Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Structured(map[string]string{"a": strings.Repeat("x", 16<<20)}, nil)
		}}
	for name, test := range map[string]struct {
		token, other string
		from         net.IP // of the other caller
	}{
		"a user":              {token: tokens["Member"], other: tokens["Admin"]},
		"an anonymous caller": {from: net.IPv4(127, 0, 0, 2)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, runtime.Options{Anonymous: true}, toolsetOf([]toolset.Tool{tool},
				access.Rule{Tool: "work", Public: true}))
			c := newRaw(t, serve(t, s), test.token, "2026-07-28")
			var conns []net.Conn
			for range 6 {
				conns = append(conns, c.unread(t, c.request("tools/call", `"name":"work"`)))
			}
			time.Sleep(2 * time.Second) // until they count as unread
			got := c.ask(t, "tools/list", "", nil)
			if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" ||
				!strings.Contains(got.body, "unread") {
				t.Errorf("%s: %s", name, got)
			}
			elsewhere := &http.Transport{DialContext: memnet.Dialer{From: test.from}.DialContext}
			defer elsewhere.CloseIdleConnections()
			other := newRaw(t, c.url, test.other, "2026-07-28")
			other.client.Transport = elsewhere
			if got := other.ask(t, "tools/list", "", nil); got.status != http.StatusOK {
				t.Errorf("%s: another user: %s", name, got)
			}
			start := time.Now()
			if err := s.Shutdown(t.Context()); err != nil || time.Since(start) > 5*time.Second {
				t.Errorf("%s: after %s: %v", name, time.Since(start), err)
			}
			for _, conn := range conns {
				if n, _ := io.Copy(io.Discard, conn); n > 16<<20 {
					t.Errorf("%s: a response is whole", name)
				}
				conn.Close()
			}
		})
	}
}

func TestClientMayLeaveAnEventStream(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		left, ended := make(chan error), make(chan error, 1)
		s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
			runtime.Progress(ctx).Report(1, 3, "one")
			<-left
			if version == "2026-07-28" {
				<-ctx.Done()
			}
			for i := range 100 {
				runtime.Progress(ctx).Report(float64(i+2), 300, strings.Repeat("x", 1000))
			}
			ended <- ctx.Err()
		}))
		c := newRaw(t, serve(t, s), tokens["Member"], version)
		c.unread(t, c.wantingProgress()).Close()
		left <- nil
		if err := <-ended; (err == nil) != (version != "2026-07-28") {
			t.Errorf("%s: %v", version, err)
		}
		for { // the id is in flight until the response has been given up
			got := c.ask(t, "tools/list", "", nil)
			if got.status == 200 {
				break
			} else if !strings.Contains(got.body, "in-flight") {
				t.Fatalf("%s", got)
			}
		}
	}
}

func TestDecidingHeadersAreSentOnce(t *testing.T) {
	t.Parallel()
	url := serve(t, newServer(t, runtime.Options{}, directory(&desk{})))
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key",
		"X-Auth-Token", "Mcp-Name", "Mcp-Method",
		"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcpgen-Catalog", "Last-Event-Id",
		"Mcp-Param-Region", "mcp-param-x"} {
		for _, token := range []string{tokens["Member"], "invalid"} {
			for _, method := range []string{"POST", "GET", "DELETE", "PUT"} {
				r, err := http.NewRequest(method, url, strings.NewReader(ping))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = http.Header{"Authorization": {"Bearer " + token},
					"Content-Type": {"application/json"}, "Accept": {"*/*"}}
				r.Header[name] = []string{"Bearer " + token, "Bearer " + token}
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the header ` +
					http.CanonicalHeaderKey(name) + ` is sent more than once"}}`
				if res.StatusCode != 400 || string(text) != want ||
					res.Header.Get("WWW-Authenticate") != "" {
					t.Errorf("%s %s: %d %s", method, name, res.StatusCode, text)
				}
			}
		}
	}
}

// A DELETE that go-sdk refuses leaves the session as it was.
func TestRefusedDeleteLeavesTheSession(t *testing.T) {
	t.Parallel()
	c := newRaw(t, serve(t, newServer(t, runtime.Options{}, directory(&desk{}))), tokens["Admin"],
		"2025-11-25")
	r, err := http.NewRequest("DELETE", c.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Mcp-Session-Id": {c.session},
		"Mcp-Protocol-Version": {"1999-01-01"}}
	res, err := c.client.Do(r)
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Fatal(res, err)
	}
	res.Body.Close()
	if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusOK {
		t.Errorf("%s", got)
	}
}

// fullLog is a log handler that panics.
type fullLog struct{ slog.Handler }

func (fullLog) Enabled(context.Context, slog.Level) bool { return true }
func (fullLog) WithAttrs([]slog.Attr) slog.Handler       { return fullLog{} }
func (fullLog) WithGroup(string) slog.Handler            { return fullLog{} }
func (fullLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo && r.Message != "MCP server" {
		panic("the log is full")
	}
	return nil
}

// A log handler that panics costs a response, and neither the process nor the session.
func TestPanicOfTheLogHandlerEndsNoSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failing := func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(errors.New("no luck"))
		}
		s := newServer(t, runtime.Options{Logger: slog.New(fullLog{})}, oneTool("fail", failing))
		shutDown(t, s)
		url := memnet.Start(t, &http.Server{Handler: s.Handler(),
			ErrorLog: log.New(io.Discard, "", 0)})
		c := newRaw(t, url+runtime.PathMCP, tokens["Member"], "2025-11-25")
		r, err := http.NewRequest("POST", c.url,
			strings.NewReader(c.request("tools/call", `"name":"fail"`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Mcp-Session-Id": {c.session},
			"Content-Type": {"application/json"}, "Accept": {"*/*"}}
		if res, err := c.client.Do(r); err == nil {
			res.Body.Close()
		}
		time.Sleep(transport.StreamAfter + time.Second) // the response would become a stream by now
		if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusOK {
			t.Errorf("the id stays in flight: %s", got)
		}
		if got := c.send(t, "DELETE", "", nil); got.status != http.StatusNoContent {
			t.Errorf("the session does not end: %s", got)
		}
	})
}
