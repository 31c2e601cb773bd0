// Package bridge connects the guard with go-sdk's server: the server calls the guard as its
// outermost middleware, and the guard's chain ends in the server's handlers.
//
// Everything that exists because go-sdk behaves as it does is in this package.
package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Config is what the bridge reads, besides what the guard has.
type Config struct {
	Server     *mcp.Server
	Facts      *request.Server
	Guard      *guard.Guard
	Middleware []mcp.Middleware
	// Descriptions replace those of tools of an adopted server, by name.
	Descriptions map[string]string
}

// Bridge is a go-sdk server behind the guard.
type Bridge struct {
	Config
	send mcp.MethodHandler // past the middleware that drops list_changed
	next mcp.MethodHandler // the server itself, without the guard

	asking    context.Context // ends with all questions
	endAsking context.CancelCauseFunc
	mu        sync.Mutex
	waiting   map[any]*questions // by session
}

// New puts the guard around a server, and registers the dispatcher of the toolsets' tools.
func New(c Config) *Bridge {
	b := &Bridge{Config: c, waiting: map[any]*questions{}}
	b.asking, b.endAsking = context.WithCancelCause(context.Background())
	c.Server.AddTool(&mcp.Tool{Name: dispatcher, InputSchema: json.RawMessage(`{"type":"object"}`)},
		b.dispatch)
	c.Server.AddReceivingMiddleware(b.Receiving)
	c.Server.AddSendingMiddleware(b.sending)
	return b
}

// Receiving is the guard as go-sdk's outermost middleware. It reads the caller from the carrier,
// and from nowhere else.
func (b *Bridge) Receiving(next mcp.MethodHandler) mcp.MethodHandler {
	b.next = next
	inner := b.serve(next)
	for _, m := range slices.Backward(b.Middleware) {
		inner = m(inner)
	}
	chain := b.Guard.Chain(func(ctx context.Context, m *guard.Message) (guard.Answer, error) {
		c := m.Origin.(*carrier)
		c.inside = m
		res, err := inner(ctx, m.Method, withParams(c.request, m.Params))
		if r, ok := res.(*encodedResult); ok {
			return guard.Answer{Encoded: r.encoded}, err
		}
		return guard.Answer{Result: res, Report: c.report}, err
	})
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if request.IsNil(req) {
			return nil, wire.InternalError()
		}
		c := carrierOf(req.GetExtra())
		if c == nil {
			b.Guard.Log.ErrorContext(ctx, "refused a message without a caller", "method", method)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "unauthenticated"}
		}
		c.request, c.report = req, nil
		c.message = guard.Message{Info: c.info, Method: method, Params: req.GetParams(),
			Meta: metaOf(req.GetParams()), Origin: c}
		responses, state := wire.ResponsesOf(c.message.Params)
		c.message.Responds = responses != nil || state != ""
		c.complete(b.Facts)
		a, err := chain(context.WithValue(ctx, carrierKey{}, c), &c.message)
		switch {
		case err != nil:
			rpc, ok := errors.AsType[*jsonrpc.Error](err)
			c.mismatch.Store(ok && rpc.Code == mcp.CodeHeaderMismatch && !c.info.HasSessions())
			return nil, err
		case a.Encoded == nil: // of a notification
			return nil, nil
		}
		return &encodedResult{encoded: a.Encoded}, nil
	}
}

// encodedResult is an encoded result. go-sdk marshals results behind all middleware and outside of
// any recover: a panic there ends the process, and NaN leaves the caller without an answer.
type encodedResult struct {
	mcp.ResultBase // to which go-sdk adds a _meta that is encoded already
	encoded        *wire.Encoded
}

// MarshalJSON is called by go-sdk.
func (r *encodedResult) MarshalJSON() ([]byte, error) {
	return r.encoded.Append(make([]byte, 0, r.encoded.Size())), nil
}

func (b *Bridge) server(*http.Request) *mcp.Server { return b.Server }

// Run serves one client over a transport, until its session or ctx ends.
func (b *Bridge) Run(ctx context.Context, transport mcp.Transport) error {
	session, err := b.Server.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = b.close(session) })() // every end is the same here
	return cmp.Or(session.Wait(), ctx.Err())
}

// CloseSessions closes all sessions, and returns when they are closed.
func (b *Bridge) CloseSessions() {
	var wg sync.WaitGroup
	for session := range b.Server.Sessions() {
		wg.Go(func() {
			if err := b.close(session); err != nil {
				b.Guard.Log.Debug("closing a session", "error", err)
			}
		})
	}
	wg.Wait()
}
