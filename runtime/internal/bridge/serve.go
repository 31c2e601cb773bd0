package bridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// withParams returns a request with other params: those that the chain has left, or those of a
// further round.
func withParams(req mcp.Request, params mcp.Params) mcp.Request {
	if params == req.GetParams() {
		return req
	}
	switch p := params.(type) {
	case *mcp.InitializeParams:
		return replaced(req, p)
	case *mcp.SubscriptionsListenParams:
		return replaced(req, p)
	case *mcp.CallToolParamsRaw:
		return replaced(req, p)
	case *mcp.GetPromptParams:
		return replaced(req, p)
	case *mcp.ReadResourceParams:
		return replaced(req, p)
	}
	return req
}

func replaced[P mcp.Params](req mcp.Request, params P) mcp.Request {
	r, ok := req.(*mcp.ServerRequest[P])
	if !ok {
		return req
	}
	return &mcp.ServerRequest[P]{Session: r.Session, Params: params, Extra: r.Extra}
}

// serve is inside user middleware: toolsets serve their own items, and go-sdk the rest. A tool
// of a toolset runs as go-sdk's handler, and gets its session.
func (b *Bridge) serve(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := carrierOf(req.GetExtra())
		if r, ok := req.(*mcp.CallToolRequest); ok {
			switch t := b.Guard.Tools[nameOf(r)]; {
			case c == nil:
				return next(ctx, method, req)
			case t == nil:
				return b.adopted(ctx, c, next, method, req)
			default:
				ctx, req = dispatched(ctx, t, r)
				return next(ctx, method, req)
			}
		}
		if c == nil || c.inside == nil {
			b.Guard.Log.ErrorContext(ctx, "refused a request that reached a handler without a caller",
				"method", method)
			return nil, wire.InternalError()
		}
		if adopted := c.inside.Filter.Adopted; adopted != nil {
			items, err := b.listed(ctx, next, method, req)
			if err != nil {
				return nil, err
			}
			adopted.Store(items)
		}
		own := true
		res, err := b.rounds(ctx, c.info, req.GetSession(), req.GetParams(),
			func(params mcp.Params) (mcp.Result, error) {
				m := *c.inside // middleware may have changed the params
				m.Method, m.Params = method, params
				a, is, err := b.Guard.TryInvoke(ctx, &m)
				if own = is; !own {
					return nil, nil
				}
				c.report = a.Report
				if err == nil && a.Encoded != nil {
					return &encodedResult{encoded: a.Encoded}, nil
				}
				return a.Result, err
			})
		if !own {
			return b.adopted(ctx, c, next, method, req)
		}
		if err != nil {
			return nil, err
		}
		return res, nil
	}
}

// dispatcher is the one tool of toolsets that go-sdk has. go-sdk looks registered tools up before
// the guard, which would distinguish a hidden tool from an unknown one by time. No table has this
// name, so that it is unknown to every caller.
const dispatcher = "io.github.mcpgen.call"

type toolKey struct{}

func nameOf(req *mcp.CallToolRequest) string {
	if req.Params == nil {
		return ""
	}
	return req.Params.Name
}

// dispatched returns the request for a toolset's tool as go-sdk gets it, with the tool in the
// context.
func dispatched(ctx context.Context, t *invoke.Tool,
	req *mcp.CallToolRequest) (context.Context, *mcp.CallToolRequest) {
	params := *req.Params
	params.Name = dispatcher
	return context.WithValue(ctx, toolKey{}, t),
		&mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra}
}

// dispatch is go-sdk's handler of all tools of toolsets. The last report counts.
func (b *Bridge) dispatch(ctx context.Context,
	req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	t, _ := ctx.Value(toolKey{}).(*invoke.Tool)
	c := carrierOf(req.Extra)
	if t == nil || c == nil {
		return nil, wire.UnknownTool(dispatcher)
	}
	params := *req.Params
	params.Name = t.Name
	res, err := b.rounds(ctx, c.info, req.Session, &params,
		func(params mcp.Params) (mcp.Result, error) {
			res, report, err := b.Guard.Runner.Tool(ctx, c.info, t, &mcp.CallToolRequest{
				Session: req.Session, Params: params.(*mcp.CallToolParamsRaw), Extra: req.Extra})
			c.report = &report
			return res, err
		})
	result, _ := res.(*mcp.CallToolResult)
	return result, err
}
