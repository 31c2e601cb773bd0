package bridge

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// callTool is go-sdk's handler of a tool. It may run twice for one message: go-sdk runs it again
// behind the guard for a multi-round-trip request of an older client. The last report counts.
func (b *Bridge) callTool(t *invoke.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req == nil || req.Params == nil {
			return nil, wire.InvalidParams("missing params")
		}
		c := b.carried(ctx, req.Extra, "tool", t.Name)
		if c == nil {
			return nil, wire.UnknownTool(t.Name)
		}
		res, report, err := b.Runner.Tool(ctx, c.info, t, req)
		c.report = &report
		return res, err
	}
}

// carried returns the carrier of a request. Without one the handler does not run.
func (b *Bridge) carried(ctx context.Context, extra *mcp.RequestExtra, kind, name string) *carrier {
	c := carrierOf(extra)
	if c == nil {
		b.Guard.Log.ErrorContext(ctx, "a request reached a handler without a caller; refused", kind, name)
	}
	return c
}

// getPrompt is go-sdk's handler of a prompt.
func (b *Bridge) getPrompt(p *invoke.Prompt) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req == nil || req.Params == nil {
			return nil, wire.InvalidParams("missing params")
		}
		c := b.carried(ctx, req.Extra, "prompt", p.Name)
		if c == nil {
			return nil, wire.UnknownPrompt(p.Name)
		}
		res, report, err := b.Runner.Prompt(ctx, c.info, p, req.Params.Arguments)
		c.report = &report
		return res, err
	}
}

// resourceURI is the one resource of toolsets that go-sdk has. go-sdk would take the first
// template that matches, by rules of its own; invoke.Resources finds the resource instead. No
// table has this URI, so that it is unknown to every caller.
const resourceURI = "io.github.mcpgen:read"

type uriKey struct{}

// redirect returns the request for a toolset's resource as go-sdk gets it, with the requested URI
// in the context.
func (b *Bridge) redirect(ctx context.Context,
	req *mcp.ReadResourceRequest) (context.Context, *mcp.ReadResourceRequest) {
	if req.Params == nil {
		return ctx, req
	}
	r, _ := b.Guard.Resources.Find(req.Params.URI)
	if r == nil || r.Adopted {
		return ctx, req
	}
	params := *req.Params
	params.URI = resourceURI
	return context.WithValue(ctx, uriKey{}, req.Params.URI),
		&mcp.ReadResourceRequest{Session: req.Session, Params: &params, Extra: req.Extra}
}

// readResource is go-sdk's handler of all resources of toolsets.
func (b *Bridge) readResource(ctx context.Context,
	req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri, _ := ctx.Value(uriKey{}).(string)
	r, _ := b.Guard.Resources.Find(uri)
	if req == nil || r == nil || r.Adopted {
		return nil, wire.UnknownResource(uri)
	}
	c := b.carried(ctx, req.Extra, "resource", r.URI)
	if c == nil {
		return nil, wire.UnknownResource(uri)
	}
	res, report, err := b.Runner.Resource(ctx, c.info, r, uri)
	c.report = &report
	return res, err
}

// complete answers the completion of a toolset's prompt or resource. own is false for what an
// adopted server has to answer.
func (b *Bridge) complete(ctx context.Context,
	req *mcp.CompleteRequest) (res *mcp.CompleteResult, own bool, err error) {
	if req.Params == nil || req.Params.Ref == nil {
		return nil, true, wire.InvalidParams("missing params")
	}
	c := b.carried(ctx, req.Extra, "completion", req.Params.Ref.Type)
	if c == nil {
		return nil, true, wire.InternalError()
	}
	res, own, report, err := b.Runner.Complete(ctx, c.info, req.Params)
	if own {
		c.report = &report
	}
	return res, own, err
}

// refusalTool words the refusals of an adopted server's tools; see backend.Refuse. It has no
// rule, so that it is unknown to every caller.
const refusalTool = "io.github.mcpgen.refused"

type refusalText struct {
	Text string `json:"text"`
}

func refuse(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a refusalText
	if req == nil || req.Params == nil || json.Unmarshal(req.Params.Arguments, &a) != nil {
		return nil, wire.InternalError()
	}
	return wire.ErrorResult(a.Text), nil
}

// refusalArguments are the arguments by which refuse returns a refusal.
func refusalArguments(refusal *mcp.CallToolResult) json.RawMessage {
	out, err := json.Marshal(refusalText{refusal.Content[0].(*mcp.TextContent).Text})
	if err != nil { // of a string
		return nil
	}
	return out
}
