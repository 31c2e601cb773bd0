package guard

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Invoke is the end of the chain for what the toolsets serve: the table answers lists, and handlers
// run.
func (g *Guard) Invoke(ctx context.Context, m *Message) (Answer, error) {
	call, isCall := m.Params.(*mcp.CallToolParamsRaw)
	if isCall && g.SomeNeedSDK { // middleware may have changed the name to one of go-sdk's door
		t := g.Tools[call.Name]
		if t != nil && t.SDK && g.allows(m, access.Tools, call.Name) {
			return Answer{}, errNoSession
		}
	}
	a, own, err := g.TryInvoke(ctx, m)
	if !own {
		return Answer{Report: &invoke.Report{Failure: audit.Denied}}, unknownTo(m.Params)
	}
	if m.HasSessions() && a.Result != nil {
		if requests, _ := wire.InputOf(a.Result); requests != nil {
			return Answer{Report: a.Report}, errNoSession
		}
	}
	return a, err
}

// unknownTo returns the error for what does not exist. Middleware may have asked for it.
func unknownTo(params mcp.Params) error {
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		return wire.UnknownTool(p.Name)
	case *mcp.GetPromptParams:
		return wire.UnknownPrompt(p.Name)
	case *mcp.ReadResourceParams:
		return wire.UnknownResource(p.URI)
	}
	return wire.InternalError()
}

var errNoSession = errors.New("it requests input, which needs a go-sdk session: set Elicits, or " +
	"SDK on a tool, or run go generate")

// TryInvoke is [Guard.Invoke]. own is false for what a go-sdk server has to answer.
func (g *Guard) TryInvoke(ctx context.Context, m *Message) (a Answer, own bool, err error) {
	switch params := m.Params.(type) {
	case *mcp.ListToolsParams, *mcp.ListPromptsParams,
		*mcp.ListResourcesParams, *mcp.ListResourceTemplatesParams:
		a, err = g.listResult(m)
		return a, true, err
	case *mcp.CallToolParamsRaw:
		t := g.Tools[params.Name]
		if t == nil {
			return Answer{}, false, nil
		}
		a, err = g.callTool(ctx, m, t, &mcp.CallToolRequest{Params: params})
		return a, true, err
	case *mcp.GetPromptParams:
		p := g.Prompts[params.Name]
		if p == nil {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Prompt(ctx, m.Info, p, params)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.ReadResourceParams:
		r := g.Resources.Find(params.URI)
		if r == nil || r.Adopted {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Resource(ctx, m.Info, r, params)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.SubscribeParams: // subscribeResource has subscribed
		r := g.Resources.Find(params.URI)
		if r == nil || r.Adopted {
			return Answer{}, false, nil
		}
		return Answer{Result: &wire.Empty{}, Report: &invoke.Report{}}, true, nil
	case *mcp.CompleteParams:
		if params.Ref == nil {
			return Answer{}, true, wire.InvalidParams("missing params")
		}
		res, own, report, err := g.Runner.Complete(ctx, m.Info, params)
		return Answer{Result: res, Report: &report}, own, err
	}
	return Answer{}, false, nil
}

func (g *Guard) callTool(ctx context.Context, m *Message, t *invoke.Tool,
	req *mcp.CallToolRequest) (Answer, error) {
	res, report, err := g.Runner.Tool(ctx, m.Info, t, req)
	if c := report.Content; c != nil && g.Runner.Unread && c.Encoded.Body != nil {
		return Answer{Encoded: &c.Encoded, Report: &report}, err
	}
	return Answer{Result: res, Report: &report}, err
}

// Reauthorize decides again on a message whose client has answered a question. It returns the
// refusal, or nil.
func (g *Guard) Reauthorize(ctx context.Context, m *Message) error {
	switch d := g.Runner.Decide(ctx, m.Info); {
	case d.Allowed:
		return nil
	case !g.Runner.Conceals(d):
		return wire.Forbidden(m.Target.Kind, m.Target.Name, d)
	case m.Alias != "":
		return wire.UnknownTool(m.Alias)
	}
	return unknownTo(m.Params)
}

// NeedsSDK reports whether an allowed message has to run in a session of go-sdk's: the handler has
// go-sdk's shape, or it may ask the client in a version with sessions. The decision is made for
// every name, so that a hidden tool, prompt or resource takes as long as an unknown one.
func (g *Guard) NeedsSDK(m *Message) bool {
	switch params := m.Params.(type) {
	case *mcp.CallToolParamsRaw:
		name := g.toolName(params.Name)
		t := g.Tools[name]
		return g.allows(m, access.Tools, name) && t != nil &&
			(t.SDK || m.HasSessions() && g.asks(t))
	case *mcp.GetPromptParams:
		p := g.Prompts[params.Name]
		return g.allows(m, access.Prompts, params.Name) && p != nil && p.Elicits && m.HasSessions()
	case *mcp.ReadResourceParams:
		r := g.Resources.Find(params.URI)
		name := params.URI
		if r != nil {
			name = r.URI
		}
		return g.allows(m, access.Resources, name) && r != nil && r.Elicits && m.HasSessions()
	}
	return false
}

// allows reports whether the caller of a message may use a tool, prompt or resource.
func (g *Guard) allows(m *Message, kind access.Kind, name string) bool {
	return g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, kind, name).Allowed
}

// asks reports whether a call of a tool may ask the person at the client: its handler does, or a
// refusal offers a permission request.
func (g *Guard) asks(t *invoke.Tool) bool {
	return t.Elicits || len(t.Allow) > 0 && g.Runner.Requests != nil
}
