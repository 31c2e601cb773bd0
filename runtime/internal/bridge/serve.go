package bridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

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

// answer stands inside user middleware: toolsets answer what is theirs, and go-sdk the rest. A tool
// of a toolset runs as go-sdk's handler, since go-sdk asks older clients for a tool's input.
func (b *Bridge) answer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := carrierOf(req.GetExtra())
		if r, ok := req.(*mcp.CallToolRequest); ok {
			if t := b.Guard.Tools[nameOf(r)]; t != nil && c != nil {
				ctx, req = dispatched(ctx, t, r)
			}
			return next(ctx, method, req)
		}
		if c == nil || c.inside == nil {
			b.Guard.Log.ErrorContext(ctx, "refused a request that reached a handler without a caller",
				"method", method)
			return nil, wire.InternalError()
		}
		if params, ok := req.GetParams().(*mcp.ListToolsParams); ok && len(b.Conditional) > 0 {
			c.inside.Filter.More = b.listedNow(ctx, next, req, params)
		}
		m := *c.inside // middleware may have changed the params
		m.Method, m.Params = method, req.GetParams()
		if a, own, err := b.Guard.TryInvoke(ctx, &m); own {
			c.report = a.Report
			switch {
			case err != nil:
				return nil, err
			case a.Encoded != nil:
				return &encodedResult{encoded: a.Encoded}, nil
			}
			return a.Result, nil
		}
		return next(ctx, method, req)
	}
}

// listedNow returns the conditional tools that the adopted server lists to this client now. It
// reads all of the server's pages, because the client's page is one of the guard's list.
func (b *Bridge) listedNow(ctx context.Context, next mcp.MethodHandler, req mcp.Request,
	params *mcp.ListToolsParams) map[string]*mcp.Tool {
	found, page := map[string]*mcp.Tool{}, &mcp.ListToolsParams{}
	if params != nil {
		page.Meta = params.Meta
	}
	const maxPages = 1000
	for range maxPages {
		res, err := next(ctx, "tools/list", replaced(req, page))
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			b.Guard.Log.WarnContext(ctx, "the adopted server did not list its conditional tools",
				"error", err)
			return nil
		}
		for _, t := range list.Tools {
			if t != nil && slices.Contains(b.Conditional, t.Name) {
				found[t.Name] = t
			}
		}
		if list.NextCursor == "" {
			break
		}
		page.Cursor = list.NextCursor
	}
	return found
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

// dispatch is go-sdk's handler of all tools of toolsets. It may run twice for one message: go-sdk
// runs it again for a multi-round-trip request of an older client. The last report counts.
func (b *Bridge) dispatch(ctx context.Context,
	req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	t, _ := ctx.Value(toolKey{}).(*invoke.Tool)
	c := carrierOf(req.Extra)
	if t == nil || c == nil {
		return nil, wire.UnknownTool(dispatcher)
	}
	params := *req.Params
	params.Name = t.Name
	for range maxQuestions {
		for key, response := range params.InputResponses {
			schema, err := wire.ElicitSchema(c.requests[key])
			if err == nil { // go-sdk does not check an accepted form without content
				err = wire.CheckInputResponse(schema, response)
			}
			if err != nil {
				return nil, wire.InvalidParams("the answer to %q: %v", key, err)
			}
		}
		res, report, err := b.Guard.Runner.Tool(ctx, c.info, t,
			&mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra})
		if c.report = &report; res != nil {
			c.requests = res.InputRequests
		}
		if err != nil || res == nil || !t.Elicits || t.SDK || len(c.requests) == 0 ||
			!c.info.HasSessions() {
			return res, err
		}
		// go-sdk runs a handler again once only, and this one may have a second question.
		answers := mcp.InputResponseMap{}
		for key, question := range c.requests { // one, of runtime.Elicit or of a refusal
			form, ok := question.(*mcp.ElicitParams)
			if !ok {
				return nil, wire.InternalError()
			}
			answer, err := req.Session.Elicit(ctx, form)
			if err != nil {
				return nil, err
			}
			answers[key] = answer
		}
		params.InputResponses, params.RequestState = answers, res.RequestState
	}
	return nil, fmt.Errorf("tool %q has more than %d questions", t.Name, maxQuestions)
}

// maxQuestions bounds how often a handler runs for one message in a session.
const maxQuestions = 16
