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
		if t != nil && t.SDK && g.allows(m, call.Name) {
			return Answer{}, errNoSession
		}
	}
	a, own, err := g.TryInvoke(ctx, m)
	if !own {
		return Answer{Report: &invoke.Report{Failure: audit.Denied}}, unknownTo(m.Params)
	}
	r, ok := a.Result.(*mcp.CallToolResult)
	if ok && r != nil && r.InputRequests != nil && m.HasSessions() {
		return Answer{Report: a.Report}, errNoSession
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

var errNoSession = errors.New("it requests input, which needs a go-sdk session: set SDK on the " +
	"tool, or run go generate")

// TryInvoke is [Guard.Invoke]. own is false for what a go-sdk server has to answer.
func (g *Guard) TryInvoke(ctx context.Context, m *Message) (a Answer, own bool, err error) {
	switch params := m.Params.(type) {
	case *mcp.ListToolsParams, *mcp.ListPromptsParams,
		*mcp.ListResourcesParams, *mcp.ListResourceTemplatesParams:
		a, err = g.answerList(m)
		return a, true, err
	case *mcp.CallToolParamsRaw:
		t := g.Tools[params.Name]
		if t == nil {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Tool(ctx, m.Info, t, &mcp.CallToolRequest{Params: params})
		if c := report.Content; c != nil && g.Runner.Unread && c.Encoded.Body != nil {
			return Answer{Encoded: &c.Encoded, Report: &report}, true, err
		}
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.GetPromptParams:
		p := g.Prompts[params.Name]
		if p == nil {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Prompt(ctx, m.Info, p, params.Arguments)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.ReadResourceParams:
		r, _ := g.Resources.Find(params.URI)
		if r == nil || r.Adopted {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Resource(ctx, m.Info, r, params.URI)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.CompleteParams:
		if params.Ref == nil {
			return Answer{}, true, wire.InvalidParams("missing params")
		}
		res, own, report, err := g.Runner.Complete(ctx, m.Info, params)
		return Answer{Result: res, Report: &report}, own, err
	}
	return Answer{}, false, nil
}

// NeedsSDK reports whether an allowed call has to run in a session of go-sdk's: the handler has
// go-sdk's shape, or it may ask the client's person in a version with sessions. The decision is
// made for every name, so that a hidden tool takes as long as an unknown one.
func (g *Guard) NeedsSDK(m *Message) bool {
	call, ok := m.Params.(*mcp.CallToolParamsRaw)
	if !ok {
		return false
	}
	name := g.toolName(call.Name)
	t := g.Tools[name]
	return g.allows(m, name) && t != nil && (t.SDK || m.HasSessions() && g.asks(t))
}

// allows reports whether the caller of a message may call a tool.
func (g *Guard) allows(m *Message, tool string) bool {
	return g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, access.Tools, tool).Allowed
}

// asks reports whether a call of a tool may ask the person at the client: its handler does, or a
// refusal offers a permission request.
func (g *Guard) asks(t *invoke.Tool) bool {
	return t.Elicits || len(t.Allow) > 0 && g.Runner.Requests != nil
}
