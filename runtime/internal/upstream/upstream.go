// Package upstream runs a go-sdk server behind the guard, in this process. What reaches the server
// is allowed, and what the server sends goes to the client of the message that has caused it.
//
// go-sdk runs handlers, and encodes their results, in goroutines without recover. The one receiving
// middleware of this package runs the handler on a worker instead, keeps its result, and gives
// go-sdk an empty one. It also refuses every message that this package has not sent.
package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// Server is a go-sdk server. It is safe for concurrent use.
type Server struct {
	sdk  *mcp.Server
	pool *worker.Pool
}

// New returns a go-sdk server that only sessions of [Server.Open] reach. Middleware that the
// program adds to the server later is called behind the guard, and gets an empty result of its
// rest.
func New(server *mcp.Server, pool *worker.Pool) *Server {
	s := &Server{server, pool}
	server.AddReceivingMiddleware(s.receive)
	server.AddSendingMiddleware(send)
	return s
}

// send is a sending middleware of the server. What cannot be encoded is an error of the handler
// that sends it, and so is a request while which the caller's credential ends.
func send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if recover() != nil { // its value may be the caller's
				res, err = nil, errors.New("the message cannot be encoded")
			}
		}()
		res, err = next(ctx, method, req)
		c, _ := ctx.Value(callKey{}).(*Call)
		if err != nil && c != nil && c.Expired != nil && c.Expired() {
			return nil, wire.Expired()
		}
		return res, err
	}
}

// Call is one message to the server. Its exported fields are not changed once it is sent.
type Call struct {
	Method string
	Params json.RawMessage // empty for none
	Header http.Header     // of the message, without credentials; nil on stdio
	UserID string          // of the caller, as handlers get it
	// CloseStream ends the stream of the message's response, whose client resumes it; nil if there is
	// no such stream.
	CloseStream func(mcp.CloseSSEStreamArgs)
	// Handler answers tools/call in place of the server; nil for a tool of the server.
	Handler mcp.ToolHandler
	Origin  any // of the sender
	// Expired reports whether the credential of the caller has ended; nil for never.
	Expired func() bool

	ctx    context.Context
	of     *Session
	notice bool // a notification, which has no result
	after  int  // how many notifications were sent before it
	over   atomic.Bool
	done   chan struct{} // closed once result and err are set
	result mcp.Result
	err    error
}

// end sets the result of a call. The first one counts.
func (c *Call) end(result mcp.Result, err error) {
	if c.over.CompareAndSwap(false, true) {
		c.result, c.err = result, err
		close(c.done)
	}
}

// callKey is the key of a call in the context of its handler.
type callKey struct{}

// tokenKey is where a call travels through go-sdk, which hands TokenInfo on as it is. The type of a
// call has unexported fields, so that no other package makes one that was sent.
const tokenKey = "github.com/mcpgen/mcpgen/runtime.upstream"

func (c *Call) extra() *mcp.RequestExtra {
	return &mcp.RequestExtra{Header: c.Header, CloseSSEStream: c.CloseStream,
		TokenInfo: &auth.TokenInfo{UserID: c.UserID, Extra: map[string]any{tokenKey: c}}}
}

// callOf returns the call of a request, and nil for a request of another origin.
func callOf(req mcp.Request) *Call {
	if request.IsNil(req) {
		return nil
	}
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	c, _ := extra.TokenInfo.Extra[tokenKey].(*Call)
	if c == nil || c.of == nil {
		return nil
	}
	return c
}

// handling is the context of a handler: that of its message, with go-sdk's values behind it.
type handling struct {
	context.Context
	sdk context.Context
}

func (h handling) Value(key any) any {
	if v := h.Context.Value(key); v != nil {
		return v
	}
	return h.sdk.Value(key)
}

// noticeTime bounds the handler of a notification. go-sdk reads no further message of a session
// before the handler has returned.
const noticeTime = 10 * time.Second

// begins returns why the handler of a message does not begin any more: the message may have waited
// for the handler of a notification.
func (c *Call) begins() error {
	switch {
	case !c.of.begins(c):
		return ErrEnded
	case c.Expired != nil && c.Expired():
		return wire.Expired()
	case c.over.Load():
		return worker.ErrAbandoned
	}
	return c.ctx.Err()
}

// marshalsItself reports whether a result has values that may have methods for their encoding.
func marshalsItself(r *mcp.CallToolResult) bool {
	_, encoded := r.StructuredContent.(json.RawMessage)
	return r.StructuredContent != nil && !encoded || len(r.Meta) > 0
}

// receive is the outermost middleware of the server.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(sdk context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := callOf(req)
		if c == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "unauthenticated"}
		}
		if err := c.begins(); err != nil {
			c.end(nil, err)
			return &wire.Empty{}, nil
		}
		ctx, cancel := context.WithCancel(context.WithValue(c.ctx, callKey{}, c))
		defer cancel()
		defer context.AfterFunc(sdk, cancel)() // the end of a session ends its handlers
		type result struct {
			mcp.Result
			err error
		}
		job := worker.Job[result]{Context: handling{ctx, sdk}, Grace: worker.Grace,
			Do: func(ctx context.Context) result {
				if call, ok := req.(*mcp.CallToolRequest); ok && c.Handler != nil {
					res, err := c.Handler(ctx, call)
					if res == nil { // a nil pointer is no nil interface
						return result{nil, err}
					}
					return result{res, err}
				}
				res, err := next(ctx, method, req)
				if r, ok := res.(*mcp.CallToolResult); ok && r != nil && marshalsItself(r) {
					_, _ = wire.EncodeResult(r) // what hangs or ends its goroutine does so here
				}
				return result{res, err}
			}}
		if c.notice {
			job.Timeout = noticeTime
		}
		switch o := worker.Run(s.pool, job); {
		case o.Abandoned:
			c.end(nil, worker.ErrAbandoned)
		case o.Crash != nil:
			c.end(nil, o.Crash)
		default:
			c.end(o.Value.Result, o.Value.err)
		}
		if c.notice {
			return nil, nil
		}
		return &wire.Empty{}, nil
	}
}
