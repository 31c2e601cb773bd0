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

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
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

// A cancellation right behind its call is not lost.
func TestCancellationDoesNotOvertakeItsCall(t *testing.T) {
	const cancelled7 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
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

// wantingProgress is a call of the tool "work" by a client that wants progress.
func (c *raw) wantingProgress() string {
	body := c.request("tools/call", `"name":"work"`)
	if c.era == "2026-07-28" {
		return strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	}
	return strings.Replace(body, `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
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
