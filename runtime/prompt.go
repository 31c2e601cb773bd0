package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// prompt is one prompt as the server keeps it.
type prompt struct {
	Prompt
	public *mcp.Prompt // what lists show; shared and never written to
}

func newPrompt(p Prompt) (*prompt, error) {
	var errs []error
	if err := checkName(p.Name); err != nil {
		errs = append(errs, err)
	}
	if p.Get == nil {
		errs = append(errs, errors.New("nothing answers for it: run go generate"))
	}
	timeout, err := timeoutOf(p.Timeout)
	errs = append(errs, err)
	built := &prompt{Prompt: p, public: &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}}
	built.Timeout = timeout
	for _, a := range p.Arguments {
		built.public.Arguments = append(built.public.Arguments,
			&mcp.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	return built, errors.Join(errs...)
}

// timeoutOf is the time limit of a prompt or a resource.
func timeoutOf(written time.Duration) (time.Duration, error) {
	switch {
	case written < 0:
		return 0, fmt.Errorf("its timeout is %s: use a positive one, or 0 for %s", written, DefaultTimeout)
	case written == 0:
		return DefaultTimeout, nil
	}
	return written, nil
}

// getPrompt decides one prompts/get.
func (g guard) getPrompt(ctx context.Context, req *mcp.GetPromptRequest, rec *record) (mcp.Result, error) {
	name := req.Params.Name
	event := g.event(rec, audit.PromptGet)
	event.Prompt = name
	event.Arguments = g.texts(req.Params.Arguments)
	return g.decided(ctx, rec, event, item{access.Prompts, name}, unknownPrompt(name), func() (mcp.Result, audit.Status, error) {
		// Without answers to questions: those are made up, as no prompt asks any.
		params := &mcp.GetPromptParams{Meta: req.Params.Meta, Name: name, Arguments: req.Params.Arguments}
		res, err := g.inner(ctx, "prompts/get", &mcp.GetPromptRequest{Session: req.Session, Params: params, Extra: req.Extra})
		if r, ok := res.(*mcp.GetPromptResult); ok && r != nil && r.InputRequests != nil {
			res, err = nil, errAsksForInput
		}
		return g.finished(rec, item{access.Prompts, name}, g.prompts[name] != nil, res, err)
	})
}

var errAsksForInput = errors.New("it asks the caller for input, which only tools may")

// dispatchPrompt is the closure that go-sdk calls for one prompt. It decides again.
func (s *Server) dispatchPrompt(p *prompt) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req == nil || req.Params == nil {
			return nil, invalidParams("missing params")
		}
		rec, err := s.again(ctx, req.Extra, item{access.Prompts, p.Name}, unknownPrompt(p.Name))
		if err != nil {
			return nil, err
		}
		arguments := req.Params.Arguments
		if arguments == nil {
			arguments = map[string]string{}
		}
		raw, err := marshal(arguments)
		if err != nil {
			return nil, err
		}
		ctx = s.constrained(ctx, rec, access.Prompts, p.Name)
		return ran(ctx, s, work{"prompt", p.Name, p.Timeout}, rec, func(ctx context.Context) (*mcp.GetPromptResult, error, error) {
			made, err := p.Get(ctx, toolset.NewCall(raw, nil))
			if err != nil {
				return nil, err, nil
			}
			res, err := p.result(made)
			return res, nil, err
		})
	}
}

// result makes the result of a prompt: one of its own, since go-sdk writes into it and a
// *mcp.GetPromptResult that the handler returned may be shared.
//
// It must run under recover: contents marshal themselves.
func (p *prompt) result(made PromptAnswer) (*mcp.GetPromptResult, error) {
	if !made.Native {
		return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: made.Text}},
		}}, nil
	}
	if made.Result == nil {
		return nil, errNilResult
	}
	res := *made.Result
	if res.InputRequests != nil {
		return nil, errAsksForInput
	}
	if res.Messages == nil {
		res.Messages = []*mcp.PromptMessage{}
	}
	for _, m := range res.Messages {
		if m == nil || isNil(m.Content) {
			return nil, errors.New("a nil message or content: leave it out")
		}
	}
	_, err := finish(&res)
	return &res, err
}
