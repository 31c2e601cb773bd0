package bridge

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// backend is the end of the guard's chain.
type backend struct {
	*Bridge
	inner mcp.MethodHandler // user middleware, then lists and go-sdk
	sdk   mcp.MethodHandler // go-sdk alone
}

// Serve implements [guard.Backend]: it passes an admitted message to user middleware and go-sdk.
func (b *backend) Serve(ctx context.Context, m *guard.Message) (guard.Answer, error) {
	c := m.Origin.(*carrier) // Receiving sets it
	res, err := b.inner(ctx, m.Method, c.withParams(m.Params))
	if errors.Is(err, worker.ErrAbandoned) || errors.Is(err, worker.ErrGoexit) {
		return guard.Answer{}, err // what was abandoned may still write to the carrier
	}
	a := guard.Answer{Result: res, Report: c.report}
	if err == nil && c.report != nil {
		a.Encoded = b.preencoded(c, res)
	}
	return a, err
}

// Refuse implements [guard.Backend]. The refusal has to come out of a handler of go-sdk's, which
// adds the resultType that clients of 2026-07-28 need, and past user middleware.
func (b *backend) Refuse(ctx context.Context, m *guard.Message,
	refusal *mcp.CallToolResult) (guard.Answer, error) {
	c := m.Origin.(*carrier)
	call := m.Params.(*mcp.CallToolParamsRaw) // the guard refuses only tools this way
	params := &mcp.CallToolParamsRaw{Name: call.Name, Meta: call.Meta}
	if b.Guard.Tools[call.Name] == nil {
		params.Name, params.Arguments = refusalTool, refusalArguments(refusal)
	}
	res, err := b.sdk(ctx, m.Method, c.withParams(params))
	return guard.Answer{Result: res}, err
}

// withParams returns the message's request, with the params that the chain has left it.
func (c *carrier) withParams(params mcp.Params) mcp.Request {
	if params == c.request.GetParams() {
		return c.request
	}
	switch p := params.(type) {
	case *mcp.InitializeParams:
		return replaced(c.request, p)
	case *mcp.SubscriptionsListenParams:
		return replaced(c.request, p)
	case *mcp.CallToolParamsRaw:
		return replaced(c.request, p)
	case *mcp.GetPromptParams:
		return replaced(c.request, p)
	case *mcp.ReadResourceParams:
		return replaced(c.request, p)
	}
	return c.request
}

func replaced[P mcp.Params](req mcp.Request, params P) mcp.Request {
	r, ok := req.(*mcp.ServerRequest[P])
	if !ok {
		return req
	}
	return &mcp.ServerRequest[P]{Session: r.Session, Params: params, Extra: r.Extra}
}

// contain runs what is inside the guard on a worker. User middleware and the handlers of an
// adopted server may end their goroutine, which no recover sees, or run on after their context
// has ended. A server with neither does not need it: invoke supervises its handlers.
func (b *Bridge) contain(next mcp.MethodHandler) mcp.MethodHandler {
	if len(b.Middleware) == 0 && !b.Adopted {
		return next
	}
	type result struct {
		res mcp.Result
		err error
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		panicked := func(c *worker.Crash) {
			if c != nil && c.Panicked {
				b.Guard.Log.ErrorContext(ctx, "a request panicked", "method", method,
					request.From(ctx).IDs(), "panic", c.Value, "stack", c.Stack)
			}
		}
		o := worker.Run(b.Guard.Pool, worker.Job[result]{
			Context: ctx,
			Grace:   2 * worker.Grace, // a handler's own grace period ends before
			Do: func(context.Context) result {
				res, err := next(ctx, method, req)
				return result{res, err}
			},
			Late: panicked,
		})
		panicked(o.Crash)
		switch {
		case o.Abandoned:
			return nil, worker.ErrAbandoned
		case o.Crash == nil:
			return o.Value.res, o.Value.err
		case o.Crash.Panicked:
			return nil, wire.InternalError()
		}
		return nil, worker.ErrGoexit
	}
}

// answer stands inside user middleware: the table answers lists, the toolsets' own funcs
// completions, and go-sdk the rest.
func (b *Bridge) answer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest, *mcp.ListPromptsRequest,
			*mcp.ListResourcesRequest, *mcp.ListResourceTemplatesRequest:
			c := carrierOf(req.GetExtra())
			if c == nil {
				return nil, wire.InternalError()
			}
			res, _, err := b.Guard.Lists.Answer(c.info.Principal, c.message.Filter, req.GetParams())
			return res, err
		case *mcp.ReadResourceRequest:
			ctx, req = b.redirect(ctx, r)
		case *mcp.CompleteRequest:
			if res, own, err := b.complete(ctx, r); own {
				if err != nil {
					return nil, err
				}
				return res, nil
			}
		}
		return next(ctx, method, req)
	}
}
