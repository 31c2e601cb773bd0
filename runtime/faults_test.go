package runtime_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// inProcess passes requests to a handler without a network, so that time can be that of synctest.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// inBubble runs a test in a bubble of synctest, with a client of each version given.
func inBubble(t *testing.T, server func(testing.TB) *runtime.Server, versions []string, test func(*testing.T, *runtime.Server, *raw)) {
	t.Helper()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server(t)
				c := &raw{url: "http://localhost/mcp", token: tokens["Member"], era: version, client: http.Client{Transport: inProcess{s.Handler()}}}
				c.begin(t)
				test(t, s, c)
				if err := s.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// begin opens a session where the version has sessions.
func (c *raw) begin(t *testing.T) {
	t.Helper()
	if c.era == "2026-07-28" {
		return
	}
	c.session = c.send(t, "POST", strings.Replace(handshake, "2025-11-25", c.era, 1), nil).header.Get("Mcp-Session-Id")
	c.send(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
}

// held is a toolset of a tool "hold", and "held" in go-sdk's shape, that run until they are released.
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
	return bothDoors(call)
}

// bothDoors is a toolset of a tool "hold", and "held" in go-sdk's shape.
func bothDoors(call func(context.Context, toolset.Call) (toolset.Result, error)) toolset.Toolset {
	return toolsetOf([]toolset.Tool{{Name: "hold", Input: `{"type":"object"}`, Call: call}, {Name: "held", Input: `{"type":"object"}`, SDK: true, Call: call}})
}

// later calls a tool, and returns the channel of its answer.
func (c *raw) later(t *testing.T, tool string) chan reply {
	got := make(chan reply, 1)
	go func() { got <- c.call(t, tool, "", nil) }()
	return got
}

var withSessions = eras[:2]

func TestActivityByEitherDoorKeepsASession(t *testing.T) {
	h := &held{}
	server := func(t testing.TB) *runtime.Server {
		h = newHeld()
		return newServer(t, runtime.Options{SessionTimeout: time.Minute}, h.tools())
	}
	inBubble(t, server, withSessions, func(t *testing.T, _ *runtime.Server, c *raw) {
		alive := func(want bool) {
			t.Helper()
			if got := c.send(t, "POST", ping, nil); (got.status == 200) != want || !want && got.status != 404 {
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
		r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + c.token}, "Mcp-Session-Id": {c.session}}
		go func() { _, _ = c.client.Do(r) }()
		time.Sleep(61 * time.Second)
		alive(false) // a GET is no activity
	})
}

func TestDeleteEndsASessionBehindItsDirectCalls(t *testing.T) {
	h := &held{}
	server := func(t testing.TB) *runtime.Server { h = newHeld(); return newServer(t, runtime.Options{}, h.tools()) }
	inBubble(t, server, withSessions, func(t *testing.T, _ *runtime.Server, c *raw) {
		running, deleted := c.later(t, "hold"), make(chan reply, 1)
		<-h.started
		other := *c
		if other.token = tokens["Admin"]; other.send(t, "DELETE", "", nil).status != 404 || other.call(t, "hold", "", nil).status != 404 {
			t.Error("the session of another user is found")
		}
		go func() { deleted <- c.send(t, "DELETE", "", nil) }()
		synctest.Wait()
		for _, tool := range []string{"hold", "held"} {
			got := c.send(t, "POST", strings.Replace(c.request("tools/call", `"name":"`+tool+`"`), ":7", ":8", 1), nil)
			if got.status != 404 || strings.TrimSpace(got.body) != "session not found" {
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

func TestSessionMayEndDuringACall(t *testing.T) {
	h := &held{}
	server := func(t testing.TB) *runtime.Server { h = newHeld(); return newServer(t, runtime.Options{}, h.tools()) }
	inBubble(t, server, withSessions, func(t *testing.T, s *runtime.Server, c *raw) {
		running := c.later(t, "hold")
		<-h.started
		for session := range runtime.MCP(s).Sessions() {
			_ = session.Close()
		}
		synctest.Wait()
		h.release <- struct{}{}
		if got := <-running; got.status != 200 || <-h.ended != nil {
			t.Errorf("%s", got)
		}
		if got := c.send(t, "POST", ping, nil); got.status != 404 {
			t.Errorf("%s", got)
		}
	})
}

func TestShutdownWaitsForDirectCalls(t *testing.T) {
	h := &held{}
	server := func(t testing.TB) *runtime.Server { h = newHeld(); return newServer(t, runtime.Options{}, h.tools()) }
	inBubble(t, server, eras, func(t *testing.T, s *runtime.Server, c *raw) {
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

func TestIDInFlightIsRefusedAtBothDoors(t *testing.T) {
	var words [2]string
	for i := range words {
		h := newHeld()
		url := serve(t, newServer(t, runtime.Options{SDKOnly: i == 1}, h.tools()))
		for _, tools := range [][2]string{{"hold", "hold"}, {"hold", "held"}, {"held", "hold"}, {"held", "held"}} {
			c := newRaw(t, url, tokens["Member"], "2025-11-25")
			running := c.later(t, tools[0])
			<-h.started
			got := make(chan reply, 1)
			go func() { got <- c.call(t, tools[1], "", nil) }()
			select {
			case got := <-got:
				if got.header.Del("Content-Length"); got.status != 400 || !strings.Contains(got.body, `"duplicate in-flight request ID 7"`) {
					t.Errorf("%q: %s", tools, got)
				}
				words[i] += got.body
			case <-h.started:
				t.Errorf("%q run with one id", tools)
				h.release <- struct{}{}
			}
			h.release <- struct{}{}
			<-running
		}
	}
	if words[0] != words[1] {
		t.Errorf("%s\ngo-sdk: %s", words[0], words[1])
	}
}

func TestIDCanBeUsedAgainOnceItsAnswerHasArrived(t *testing.T) {
	s := newServer(t, runtime.Options{}, bothDoors(atOnce))
	url := serve(t, s)
	c := newRaw(t, url, tokens["Member"], "2025-11-25")
	p := newPipe(t, s, principalOf("Member"), "2025-11-25")
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range 1000 {
		tool := []string{"hold", "held", "held", "hold"}[i%4]
		if got := c.call(t, tool, "", nil); got.status != 200 || !strings.Contains(got.body, `"result"`) {
			t.Fatalf("%d: %s", i, got)
		}
		p.write(t, c.request("tools/call", `"name":"`+tool+`"`))
		if got := p.until(t, 7); got.answer(t).Error != nil {
			t.Fatalf("%d: %s", i, got)
		}
	}
}

func atOnce(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

func TestIDInFlightIsDroppedOnStdio(t *testing.T) {
	for _, version := range eras {
		h := newHeld()
		p := newPipe(t, newServer(t, runtime.Options{}, h.tools()), principalOf("Member"), version)
		if version != "2026-07-28" {
			p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		c := &raw{era: version}
		for _, tools := range [][2]string{{"hold", "hold"}, {"hold", "held"}, {"held", "hold"}, {"held", "held"}} {
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
	h := newHeld()
	s := newServer(t, runtime.Options{}, h.tools())
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
		for _, tool := range []string{"hold", "held"} {
			p.write(t, (&raw{era: version}).request("tools/call", `"name":"`+tool+`"`))
			<-h.started
			if p.write(t, cancelled7); <-h.ended != context.Canceled {
				t.Errorf("%s, %s: no end of its context", version, tool)
			}
			p.until(t, 7)
		}
	}
}

// A cancellation right behind its call is not lost on its way to go-sdk.
func TestCancellationDoesNotOvertakeItsCall(t *testing.T) {
	h := newHeld()
	p := newPipe(t, newServer(t, runtime.Options{}, h.tools()), principalOf("Member"), "2025-11-25")
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for range 200 {
		p.write(t, (&raw{}).request("tools/call", `"name":"held"`)+"\n"+cancelled7)
		p.until(t, 7)
	}
	for len(h.ended) > 0 {
		if <-h.ended == nil {
			t.Error("a call was not cancelled")
		}
	}
}

func TestDroppedConnectionCancelsWithoutSessionsOnly(t *testing.T) {
	h := newHeld()
	url := serve(t, newServer(t, runtime.Options{}, h.tools()))
	for _, version := range eras {
		c := newRaw(t, url, tokens["Member"], version)
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(c.request("tools/call", `"name":"hold"`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, "Authorization": {"Bearer " + c.token},
			"Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"hold"}, "Mcp-Session-Id": {c.session}}
		go func() { _, _ = c.client.Do(r) }()
		<-h.started
		cancel()
		if version == "2026-07-28" {
			if err := <-h.ended; err != context.Canceled {
				t.Errorf("%s: %v", version, err)
			}
			continue
		}
		select {
		case err := <-h.ended:
			t.Errorf("%s: %v", version, err)
		case <-time.After(50 * time.Millisecond):
		}
		h.release <- struct{}{}
		<-h.ended
	}
}

func TestEndOfInputCancelsDirectCalls(t *testing.T) {
	for _, version := range eras {
		h := newHeld()
		s := newServer(t, runtime.Options{}, h.tools())
		in, toServer := io.Pipe()
		var out journal
		done := make(chan error, 1)
		go func() { done <- s.RunIO(context.Background(), in, &out, principalOf("Member")) }()
		c := &raw{era: version}
		if version != "2026-07-28" {
			fmt.Fprintln(toServer, handshake)
			fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
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
	}
}
