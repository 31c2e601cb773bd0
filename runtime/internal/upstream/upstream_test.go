package upstream

//lint:file-ignore SA1019 roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// client notes what a server sends, and answers each request with the text answer.
type client struct {
	answer  string
	failure error         // of notifications
	asked   chan struct{} // receives for each request; nil for no wait

	closed atomic.Int32 // how often the server has closed the session

	mu   sync.Mutex
	sent []string
}

func (c *client) Closed() { c.closed.Add(1) }

func (c *client) note(call *Call, method string, params json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	origin := any("nobody")
	if call != nil {
		origin = call.Origin
	}
	c.sent = append(c.sent, fmt.Sprintf("%s %s to %v", method, params, origin))
}

func (c *client) Notified(_ context.Context, call *Call, method string,
	params json.RawMessage) error {
	c.note(call, method, params)
	return c.failure
}

func (c *client) Asked(ctx context.Context, call *Call, method string,
	params json.RawMessage) (json.RawMessage, error) {
	c.note(call, method, params)
	if c.asked != nil {
		select {
		case c.asked <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.answer == "panic" {
		panic("the client")
	}
	return json.RawMessage(c.answer), nil
}

func (c *client) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.sent = nil }()
	return strings.Join(c.sent, "\n")
}

// serving is a server with tools in go-sdk's shape.
type serving struct {
	t    *testing.T
	pool *worker.Pool
	*Server
	mcp *mcp.Server
}

func newServing(t *testing.T, tools map[string]mcp.ToolHandler) *serving {
	s := &serving{t: t, pool: worker.NewPool(),
		mcp: mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)}
	for name, handler := range tools {
		s.mcp.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	s.Server = New(s.mcp, s.pool)
	return s
}

// open opens a session for a client that has made its handshake.
func (s *serving) open(id string, c Client) *Session {
	s.t.Helper()
	session, err := s.Open(id, c, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = session.Do(s.t.Context(), call("initialize", `{"protocolVersion":"2025-11-25",
		"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`))
	if err != nil {
		s.t.Fatal(err)
	}
	session.Notify(s.t.Context(), call("notifications/initialized", "{}"))
	return session
}

func (s *serving) end(sessions ...*Session) {
	for _, session := range sessions {
		if err := session.Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.pool.Close()
}

func call(method, params string) *Call {
	return &Call{Method: method, Params: json.RawMessage(params), UserID: "user",
		Origin: method + params}
}

func callTool(name string) *Call { return call("tools/call", `{"name":"`+name+`"}`) }

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// textOf returns the text of a result, or the error.
func textOf(res mcp.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	return res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text
}

// Whatever a handler does, its caller gets an answer, and the process and the session go on.
func TestHandlersThatFailAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		s := newServing(t, map[string]mcp.ToolHandler{
			"panic": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				panic("at the disco")
			},
			"goexit": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				runtime.Goexit()
				return nil, nil
			},
			"nothing": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, nil
			},
			"nan": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
			},
			"hang": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-hang
				return text("late"), nil
			},
			"fine": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("fine"), nil
			},
		})
		session := s.open("", &client{})
		var crash *worker.Crash
		if _, err := session.Do(t.Context(), callTool("panic")); !errors.As(err, &crash) ||
			!crash.Panicked {
			t.Error(err)
		}
		if _, err := session.Do(t.Context(), callTool("goexit")); !errors.As(err, &crash) ||
			crash.Panicked {
			t.Error(err)
		}
		if res, err := session.Do(t.Context(), callTool("nothing")); err != nil || !request.IsNil(res) {
			t.Error(res, err)
		}
		if res, err := session.Do(t.Context(), callTool("nan")); err != nil || !math.IsNaN(
			res.(*mcp.CallToolResult).StructuredContent.(float64)) {
			t.Error(res, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := session.Do(ctx, callTool("hang")); !errors.Is(err, worker.ErrAbandoned) {
			t.Error(err)
		}
		if got := textOf(session.Do(t.Context(), callTool("fine"))); got != "fine" {
			t.Error(got)
		}
		var rpc *jsonrpc.Error
		if _, err := session.Do(t.Context(), callTool("unknown")); !errors.As(err, &rpc) ||
			rpc.Code != jsonrpc.CodeInvalidParams {
			t.Error(err)
		}
		if _, err := session.Do(t.Context(), call("tools/call", `{"name":[]}`)); err == nil {
			t.Error("params that do not fit are answered")
		}
		close(hang)
		s.end(session)
	})
}

// A handler has the context of its message, and what go-sdk puts into its own.
func TestHandlersGetTheirMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var got string
		handler := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got = fmt.Sprint(ctx.Value(key{}), " ", req.Extra.TokenInfo.UserID, " ",
				req.Extra.Header.Get("X"), " ", req.Session.ID(), " ",
				req.Session.InitializeParams().ClientInfo.Name, " ", req.Params.Name)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		s := newServing(t, map[string]mcp.ToolHandler{"own": handler})
		session := s.open("id", &client{})
		for _, c := range []*Call{callTool("own"), callTool("of a toolset")} {
			if c.Header = (http.Header{"X": {"y"}}); strings.Contains(string(c.Params), "toolset") {
				c.Handler = handler
			}
			ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
			time.AfterFunc(time.Second, func() { cancel(errors.New("the client has gone")) })
			_, err := session.Do(ctx, c)
			if err == nil || err.Error() != "the client has gone" {
				t.Error(err)
			}
			var p struct{ Name string }
			_ = json.Unmarshal(c.Params, &p)
			if want := "value user y id c " + p.Name; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		s.end(session)
	})
}

// Somebody who connects the server elsewhere reaches nothing.
func TestMessagesOfOthersAreRefused(t *testing.T) {
	s := newServing(t, map[string]mcp.ToolHandler{
		"t": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("reached"), nil
		}})
	near, far := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(t.Context(), near, nil); err != nil {
		t.Fatal(err)
	}
	_, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
		Connect(t.Context(), far, nil)
	if err == nil || !strings.Contains(err.Error(), "unauthenticated") {
		t.Error(err)
	}
	s.pool.Close()
}

// What a handler sends belongs to its message, in its own session alone.
func TestMessagesOfHandlersBelongToTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other *mcp.ServerSession
		s := newServing(t, map[string]mcp.ToolHandler{
			"keep": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				other = req.Session
				return text("kept"), nil
			},
			"speak": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				progress := &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 2}
				err := errors.Join(req.Session.NotifyProgress(ctx, progress),
					other.NotifyProgress(ctx, progress),
					req.Session.NotifyProgress(context.Background(), progress))
				if err != nil {
					return text(err.Error()), nil
				}
				res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "m",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
				if err != nil {
					return text(err.Error()), nil
				}
				return text(res.Action), nil
			},
		})
		mine, theirs := &client{answer: `{"action":"decline"}`}, &client{}
		one, two := s.open("one", mine), s.open("two", theirs)
		if got := textOf(two.Do(t.Context(), callTool("keep"))); got != "kept" {
			t.Fatal(got)
		}
		if got := textOf(one.Do(t.Context(), callTool("speak"))); got != "decline" {
			t.Error(got)
		}
		const progress = `notifications/progress {"progressToken":1,"progress":2} to `
		got := mine.got()
		if !strings.Contains(got, progress+`tools/call{"name":"speak"}`) ||
			!strings.Contains(got, progress+"nobody") || !strings.Contains(got, "elicitation/create") {
			t.Error(got)
		}
		if got := theirs.got(); got != progress+"nobody" {
			t.Errorf("the other client gets %s", got)
		}
		// An error of a notification reaches its handler, and the session goes on. So it does after a
		// panic of the client's side.
		mine.failure = errors.New("the client has gone")
		if got := textOf(one.Do(t.Context(), callTool("speak"))); !strings.Contains(got,
			"the client has gone") {
			t.Error(got)
		}
		mine.failure, mine.answer = nil, "panic"
		if got := textOf(one.Do(t.Context(), callTool("speak"))); !strings.Contains(got,
			"internal error") {
			t.Error(got)
		}
		s.end(one, two)
	})
}

// A session ends once its calls and questions are cancelled, and takes no further ones.
func TestEndOfASessionEndsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServing(t, map[string]mcp.ToolHandler{
			"wait": func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			"ask": func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "m",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
				return nil, err
			},
		})
		session := s.open("", &client{asked: make(chan struct{})})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, c := range []*Call{callTool("wait"), callTool("ask")} {
			all.Go(func() {
				if _, err := session.Do(ctx, c); err == nil {
					t.Errorf("%s has a result", c.Params)
				}
			})
		}
		synctest.Wait()
		cancel() // the end of the client's session cancels its calls
		s.end(session)
		all.Wait()
		if _, err := session.Do(t.Context(), callTool("wait")); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		session.Notify(t.Context(), call("notifications/initialized", "{}")) // has no effect
	})
}

// The handler of a notification that does not return holds the session up for a time only, and its
// client's calls no longer than their own time.
func TestNotificationThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		pool := worker.NewPool()
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
			InitializedHandler: func(context.Context, *mcp.InitializedRequest) { <-hang }})
		server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("fine"), nil
			})
		s := &serving{t: t, pool: pool, mcp: server, Server: New(server, pool)}
		session := s.open("", &client{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := session.Do(ctx, callTool("t")); !errors.Is(err, worker.ErrAbandoned) {
			t.Error(err)
		}
		if got := textOf(session.Do(t.Context(), callTool("t"))); got != "fine" {
			t.Error(got)
		}
		close(hang)
		s.end(session)
	})
}

// go-sdk handles notifications one at a time, and holds back what follows. A call that has ended
// meanwhile does not begin, and the notifications that wait are bounded.
func TestWhatWaitsForANotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls, notices atomic.Int32
		pool := worker.NewPool()
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
			RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { <-release },
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) {
				notices.Add(1)
			}})
		server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls.Add(1)
				return text("fine"), nil
			})
		s := &serving{t: t, pool: pool, mcp: server, Server: New(server, pool)}
		session := s.open("", &client{})
		session.Notify(t.Context(), call("notifications/roots/list_changed", "{}"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := session.Do(ctx, callTool("t")); !errors.Is(err, worker.ErrAbandoned) {
			t.Error(err)
		}
		expired, late := callTool("t"), make(chan error, 1)
		expired.Expired = func() bool { return true }
		go func() {
			_, err := session.Do(t.Context(), expired)
			late <- err
		}()
		for range maxNotices + 10 {
			session.Notify(t.Context(), call("notifications/progress",
				`{"progressToken":"p","progress":1}`))
		}
		close(release)
		synctest.Wait()
		if err := <-late; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Error(err)
		}
		if calls.Load() != 0 || notices.Load() != maxNotices-1 { // one was the handler's that waited
			t.Errorf("%d calls, %d notifications", calls.Load(), notices.Load())
		}
		session.Notify(t.Context(), call("notifications/progress",
			`{"progressToken":"p","progress":1}`))
		if got := textOf(session.Do(t.Context(), callTool("t"))); got != "fine" ||
			notices.Load() != maxNotices {
			t.Error(got, notices.Load())
		}
		s.end(session)
	})
}

// A server whose own keep-alive asks whether the connection works gets its answer from this
// package. Closed is called once for a session that a handler closes, and not for one that Close
// closes.
func TestServerThatPingsAndClosesItsSession(t *testing.T) {
	s := newServing(t, map[string]mcp.ToolHandler{
		"ping": func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("pong"), r.Session.Ping(ctx, nil)
		},
		"close": func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			go func() { _ = r.Session.Close() }() // it waits for this handler
			return text("bye"), nil
		}})
	one, other := &client{answer: "none"}, &client{}
	session, kept := s.open("", one), s.open("", other)
	if got := textOf(session.Do(t.Context(), callTool("ping"))); got != "pong" {
		t.Error(got)
	}
	_ = textOf(session.Do(t.Context(), callTool("close"))) // it may end before its answer
	for one.closed.Load() == 0 {
		runtime.Gosched()
	}
	if _, err := session.Do(t.Context(), callTool("ping")); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	s.end(session, kept)
	if one.closed.Load() != 1 || other.closed.Load() != 0 || one.got() != "" {
		t.Error(one.closed.Load(), other.closed.Load(), one.got())
	}
}

// encoding is a value whose encoding calls the func.
type encoding func()

func (e encoding) MarshalJSON() ([]byte, error) {
	e()
	return nil, errors.New("late")
}

// A result is encoded where a value that hangs, or ends its goroutine, is contained.
func TestResultsThatCannotBeEncodedAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value := func(v any) mcp.ToolHandler {
			return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: v}, nil
			}
		}
		s := newServing(t, map[string]mcp.ToolHandler{
			"hangs": value(encoding(func() { time.Sleep(time.Hour) })),
			"exits": value(encoding(runtime.Goexit))})
		session := s.open("", &client{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := session.Do(ctx, callTool("hangs")); !errors.Is(err, worker.ErrAbandoned) {
			t.Error(err)
		}
		var crash *worker.Crash
		if _, err := session.Do(t.Context(), callTool("exits")); !errors.As(err, &crash) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		s.end(session)
	})
}

// Middleware that answers in place of this package gets no words of go-sdk's to the client, which
// may have an address in them.
func TestMessageThatDoesNotReachItsHandler(t *testing.T) {
	s := newServing(t, nil)
	session := s.open("", &client{})
	s.mcp.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }
	})
	_, err := session.Do(t.Context(), callTool("t"))
	if err == nil || !strings.HasPrefix(err.Error(), "go-sdk has answered before the handler") ||
		errors.As(err, new(*jsonrpc.Error)) {
		t.Error(err)
	}
	s.end(session)
}

// Concurrent calls get their own results.
func TestConcurrentCalls(t *testing.T) {
	s := newServing(t, map[string]mcp.ToolHandler{
		"echo": func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(string(req.Params.Arguments)), nil
		}})
	session := s.open("", &client{})
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			arguments := fmt.Sprintf(`{"n":%d}`, n)
			got := textOf(session.Do(t.Context(),
				call("tools/call", `{"name":"echo","arguments":`+arguments+`}`)))
			if got != arguments {
				t.Errorf("%s, want %s", got, arguments)
			}
		})
	}
	all.Wait()
	s.end(session)
	if _, err := (connection{session}).Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
