package session

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// Exchange is one message of a client and the way of its answer. The transport sets the exported
// fields before [Exchange.Serve].
type Exchange struct {
	Server  *Server
	Message *guard.Message
	Session *Session // nil for a message of 2026-07-28
	// InFlight is the session whose messages have different ids; nil for none.
	InFlight *Session
	Sent     mcp.Params // as the client has sent them
	Out      Out        // of what belongs to the message
	// Table has the session, which does not end as idle during the message. Gone ends when the
	// client can get no answer any more on the connection of its message: while a question waits,
	// the session may end as idle then. Both are for a call in a session over HTTP, and nil for
	// others.
	Table *Table
	Gone  context.Context
	// CloseStream ends the stream of the response, which the client resumes; nil if it cannot.
	CloseStream func(mcp.CloseSSEStreamArgs)

	msg       guard.Message  // to which Message points
	key       string         // of the id; empty for a notification
	ctx       worker.Context // of the message
	cancelled bool           // by the client; guarded by InFlight

	mu     sync.Mutex
	use    Use           // of the session
	own    *Session      // of a message of 2026-07-28; nil until it is needed
	over   bool          // the message has its answer, and a run that was abandoned may go on
	denied error         // the message ends with it
	acked  chan struct{} // of a listen request: the adopted server has acknowledged it
}

// NewExchange returns the exchange of a message as it was sent. s is its session, and that of its
// id; nil for none.
func NewExchange(server *Server, s *Session, m guard.Message) *Exchange {
	x := &Exchange{Server: server, Session: s, InFlight: s, Sent: m.Params, msg: m}
	x.Message = &x.msg
	return x
}

// Errors of [Exchange.Begin].
var (
	ErrInFlight = errors.New("the id is in flight")
	ErrEnds     = errors.New("the session ends")
)

// Begin notes the message as in flight until [Exchange.Finish], and returns its context. Its errors
// are [ErrInFlight] and [ErrEnds].
func (x *Exchange) Begin(ctx context.Context, id wire.ID) (context.Context, error) {
	x.ctx.Parent = ctx
	x.key = id.Key
	if x.Table != nil {
		x.use = x.Table.Use(x.Session)
	}
	if x.InFlight == nil {
		return &x.ctx, nil
	}
	err := x.InFlight.begin(x)
	if err != nil {
		x.ctx.End()
	}
	return &x.ctx, err
}

// Finish ends the message, before its response leaves: then the client may use the id again, and
// the session may end as idle. It reports whether the client has cancelled the message.
func (x *Exchange) Finish() (cancelled bool) {
	defer x.ctx.End()
	if x.Table != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		defer x.use.Release()
	}
	return x.InFlight != nil && x.InFlight.finish(x)
}

// waits lets the session end as idle while a question waits whose client has gone, until done.
func (x *Exchange) waits() (done func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	stop := context.AfterFunc(x.Gone, x.release)
	return func() {
		if stop() {
			return
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.over { // the session was released, and the call goes on
			x.use.Release()
			x.use = x.Table.Use(x.Session)
		}
	}
}

// release ends the use of the session.
func (x *Exchange) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.use.Release()
}

// Serve passes the message through the guard's chain. ctx ends with the message.
func (x *Exchange) Serve(ctx context.Context) (guard.Answer, error) {
	a, err := x.Start(ctx)
	if x.Lasts() {
		return x.Last(ctx, a)
	}
	return a, err
}

// Start is Serve for a caller who waits elsewhere for the end of a message that lasts: with a
// shallow stack. Last is for such a message alone, and returns its answer.
func (x *Exchange) Start(ctx context.Context) (a guard.Answer, err error) {
	x.Message.Origin = x
	defer func() {
		if !x.Lasts() {
			x.close()
		}
	}()
	if x.Message.Method == "subscriptions/listen" && x.Session == nil {
		x.Message.Session = x.session() // whose client is notified
	}
	m := x.Message
	if a, err = x.Server.chain(ctx, m); err != nil && x.Lasts() {
		a, err = x.Server.Guard.End(ctx, m, a, err)
		m.Lasts = nil
	}
	if x.Lasts() {
		x.Sent, m.Params, m.Meta = nil, nil, nil // nobody reads them any more
	}
	return a, err
}

// Lasts reports whether the message goes on: Last waits for its end.
func (x *Exchange) Lasts() bool { return x.Message.Lasts != nil }

// Last waits for the end of a message that lasts.
func (x *Exchange) Last(ctx context.Context, a guard.Answer) (guard.Answer, error) {
	defer x.close()
	<-x.Message.Lasts
	return x.Server.Guard.End(ctx, x.Message, a, nil)
}

// session returns the session of the message: that of its client, or one of its own.
func (x *Exchange) session() *Session {
	if x.Session != nil {
		return x.Session
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own == nil {
		x.own = x.Server.newSession("", request.OwnerOf(x.Message.Principal), x.Out)
		if x.own.noQuestions = errNoSession; x.over {
			x.own.End()
		}
	}
	return x.own
}

// close ends the session of the message's own.
func (x *Exchange) close() {
	x.mu.Lock()
	x.over = true
	own := x.own
	x.mu.Unlock()
	if own != nil {
		own.End()
	}
}

// do sends a request to the upstream.
func (x *Exchange) do(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	return x.call(ctx, method, params, nil)
}

// call sends a request to the upstream, which handler answers if it is not nil.
func (x *Exchange) call(ctx context.Context, method string, params mcp.Params,
	handler mcp.ToolHandler) (mcp.Result, error) {
	up, err := x.session().connect(ctx, x)
	if err != nil {
		return nil, err
	}
	text, err := wire.Marshal(params)
	if err != nil {
		return nil, err
	}
	c := x.message(method, text)
	c.Handler = handler
	return up.Do(ctx, c)
}

// message returns a message of the exchange to the upstream.
func (x *Exchange) message(method string, params json.RawMessage) *upstream.Call {
	return &upstream.Call{Method: method, Params: params, Header: x.Message.HTTP.Header(),
		UserID: userID(request.OwnerOf(x.Message.Principal)), CloseStream: x.CloseStream, Origin: x,
		Expired: x.Message.Expired}
}

// exchangeOf returns the exchange of a message to the upstream, nil for none.
func exchangeOf(c *upstream.Call) *Exchange {
	if c == nil {
		return nil
	}
	x, _ := c.Origin.(*Exchange)
	return x
}

// refused is the error of a message that ends with its question: too many wait, none is answered,
// or the message is not allowed any more when its client has answered.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// deny ends the message with an error, whatever its handler makes of it.
func (x *Exchange) deny(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.denied = err
	return refused{err}
}

// cannotElicit are the words of go-sdk's own check, which has no type.
var cannotElicit = regexp.MustCompile(
	`^multi-round-trip: fulfilling input request ".*": client does not support .*elicitation$`)

// conclude returns the result of the last run of a handler as the client gets it. What the client
// of an adopted tool does not support is the tool's error.
func (x *Exchange) conclude(m *guard.Message, res mcp.Result, err error,
	adopted bool) (mcp.Result, error) {
	x.mu.Lock()
	denied := x.denied
	x.mu.Unlock()
	switch {
	case denied != nil:
		return nil, denied
	case err == nil:
		return res, nil
	}
	var ends refused
	var undeclared wire.NotDeclared
	switch {
	case errors.As(err, &ends):
		return nil, ends.error
	case !adopted:
		return res, err
	case errors.As(err, &undeclared):
	case cannotElicit.MatchString(err.Error()):
		undeclared.Missing.URL = strings.Contains(err.Error(), `"url"`)
		undeclared.Missing.Form = !undeclared.Missing.URL
	default:
		return nil, err
	}
	if m.Method == "tools/call" {
		return wire.ErrorResult(undeclared.Error()), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: undeclared.Error()}
}
