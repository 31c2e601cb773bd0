package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// Client gets what the server sends in one session. call is the message of this session whose
// handler has sent it; nil for none. Calls are concurrent.
type Client interface {
	// Notified gets a notification. An error reaches the handler that has sent it.
	Notified(ctx context.Context, call *Call, method string, params json.RawMessage) error
	// Closed is called when the server, or a handler of it, has closed the session.
	Closed()
	// Asked gets a request, and returns the response of the client.
	Asked(ctx context.Context, call *Call, method string,
		params json.RawMessage) (json.RawMessage, error)
}

// Session is a session of the server, for one session of a client or for one of its messages. It is
// safe for concurrent use.
type Session struct {
	id     string
	client Client
	log    *slog.Logger
	sdk    *mcp.ServerSession

	mu    sync.Mutex
	queue []jsonrpc.Message // that the server has not read
	last  float64           // the id of the last call
	calls map[jsonrpc.ID]*Call
	// sent and handled count notifications.
	sent, handled int
	closed        bool
	ours          bool          // it is closed by Close
	wake          chan struct{} // holds an item if the queue or closed has changed
}

// ErrEnded reports that the session has ended before the call was answered.
var ErrEnded = errors.New("the session of the adopted server has ended")

// Open opens a session, whose first message is initialize in versions with sessions. id is that of
// the client's session, empty for none.
func (s *Server) Open(id string, client Client, log *slog.Logger) (*Session, error) {
	c := &Session{id: id, client: client, log: log, wake: make(chan struct{}, 1),
		calls: map[jsonrpc.ID]*Call{}}
	var err error
	c.sdk, err = s.sdk.Connect(context.Background(), transport{c}, nil)
	return c, err
}

// Do sends a request and returns the result of its handler. An error of go-sdk or of the handler is
// returned as it is; a panic, a goroutine that has ended and a handler that runs on after its
// context are a [worker.Crash] and [worker.ErrAbandoned].
func (c *Session) Do(ctx context.Context, call *Call) (mcp.Result, error) {
	if !c.send(ctx, call) {
		return nil, ErrEnded
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		// The handler of another message may hold the session up before the call reaches its own.
		grace := time.NewTimer(2 * worker.Grace)
		defer grace.Stop()
		select {
		case <-call.done:
		case <-grace.C:
			call.end(nil, worker.ErrAbandoned)
			<-call.done // another end may have been first
		}
	}
	return call.result, call.err
}

// maxNotices bounds the notifications that wait for a handler of the server, one after the other.
const maxNotices = 64

// Notify sends a notification. Its handler may run when Notify has returned. One more than
// maxNotices is dropped.
func (c *Session) Notify(ctx context.Context, call *Call) {
	call.notice = true
	c.send(context.WithoutCancel(ctx), call)
}

// send gives the server a message. It reports false if the session has ended, or too many
// notifications wait.
func (c *Session) send(ctx context.Context, call *Call) bool {
	call.ctx, call.of, call.done = ctx, c, make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || call.notice && c.sent-c.handled >= maxNotices {
		return false
	}
	call.after = c.sent
	message := &jsonrpc.Request{Method: call.Method, Params: call.Params, Extra: call.extra()}
	if call.notice {
		c.sent++
	} else {
		c.last++
		message.ID, _ = jsonrpc.MakeID(c.last) // of a number there is no error
		c.calls[message.ID] = call
	}
	c.push(message)
	return true
}

// begins notes that go-sdk has reached a message, which it does in their order, and reports whether
// the session is open.
func (c *Session) begins(call *Call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled = max(c.handled, call.after)
	return !c.closed
}

// Close ends the session. It returns when its handlers have returned.
func (c *Session) Close() error {
	c.mu.Lock()
	c.ours = true
	c.mu.Unlock()
	return c.sdk.Close()
}

// push appends to the queue. c.mu is held.
func (c *Session) push(m jsonrpc.Message) {
	c.queue = append(c.queue, m)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// transport connects one session. Unlike the pipe of mcp.NewInMemoryTransports it encodes nothing,
// has no bound on the size of a message, and keeps the extra of requests and the id of the session.
type transport struct{ *Session }

// Connect implements [mcp.Transport].
func (t transport) Connect(context.Context) (mcp.Connection, error) { return connection(t), nil }

type connection struct{ *Session }

// SessionID implements [mcp.Connection].
func (n connection) SessionID() string { return n.id }

// Read implements [mcp.Connection].
func (n connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if m, ended := n.next(); m != nil {
			return m, nil
		} else if ended {
			return nil, io.EOF
		}
		select {
		case <-n.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (n connection) next() (m jsonrpc.Message, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.queue) == 0 {
		return nil, n.closed
	}
	m = n.queue[0]
	if n.queue = n.queue[1:]; len(n.queue) == 0 {
		n.queue = nil // an idle session keeps no memory for messages
	}
	return m, false
}

// notSent is the code of an error that go-sdk does not take for the end of the connection:
// errors.Is compares codes, and this one is that of jsonrpc2.ErrRejected.
const notSent = -32005

// Write implements [mcp.Connection]. It blocks only while it delivers a notification.
func (n connection) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		n.mu.Lock()
		call := n.calls[m.ID]
		delete(n.calls, m.ID)
		n.mu.Unlock()
		if call != nil { // the middleware has ended one that has reached it
			err := m.Error // params that do not fit are the caller's to read
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != jsonrpc.CodeInvalidParams {
				err = fmt.Errorf("go-sdk has answered before the handler: %v", m.Error)
			}
			call.end(nil, err)
		}
	case *jsonrpc.Request:
		call, _ := ctx.Value(callKey{}).(*Call)
		if call != nil && call.of != n.Session {
			call = nil // a handler that sends on another session, which has clients of its own
		}
		if m.IsCall() {
			go n.ask(ctx, call, m)
			return nil
		}
		if err := n.client.Notified(ctx, call, m.Method, m.Params); err != nil {
			return &jsonrpc.Error{Code: notSent, Message: err.Error()}
		}
	}
	return nil
}

// ask passes a request of the server on, and gives the server the response.
func (n connection) ask(ctx context.Context, call *Call, m *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: m.ID, Result: json.RawMessage("{}")}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.push(response)
	}()
	defer func() {
		if p := recover(); p != nil {
			response.Result, response.Error = nil, errors.New("internal error")
			defer func() { _ = recover() }() // the program's log handler must not end the process
			n.log.ErrorContext(ctx, "a request to the client panicked", "method", m.Method,
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	if m.Method != "ping" { // the server asks whether this connection works
		response.Result, response.Error = n.client.Asked(ctx, call, m.Method, m.Params)
	}
}

// Close implements [mcp.Connection]. Calls that are not answered end with [ErrEnded].
func (n connection) Close() error {
	n.mu.Lock()
	if !n.ours {
		defer n.client.Closed() // once n.mu is free
	}
	defer n.mu.Unlock()
	n.closed = true
	for _, call := range n.calls {
		call.end(nil, ErrEnded)
	}
	clear(n.calls)
	n.queue = nil
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}
