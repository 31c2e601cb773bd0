package guard

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Unknown returns the error for what does not exist. Middleware may have asked for it.
func Unknown(params mcp.Params) error {
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

// TryInvoke answers a message by what the toolsets serve: the table answers lists, and handlers
// run. own is false for what they do not have.
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
		a, err = g.callTool(ctx, m, t, mcp.CallToolRequest{Params: params})
		return a, true, err
	case *mcp.GetPromptParams:
		p := g.Prompts[params.Name]
		if p == nil {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Prompt(ctx, m.Info, p, params)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.ReadResourceParams:
		r := g.resource(m.Principal, params.URI)
		if r == nil || r.Adopted {
			return Answer{}, false, nil
		}
		res, report, err := g.Runner.Resource(ctx, m.Info, r, params)
		return Answer{Result: res, Report: &report}, true, err
	case *mcp.SubscribeParams: // subscribeResource has subscribed
		r := g.resource(m.Principal, params.URI)
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
	req mcp.CallToolRequest) (Answer, error) {
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
	case m.Target.Alias != "":
		return wire.UnknownTool(m.Target.Alias)
	}
	return Unknown(m.Params)
}
