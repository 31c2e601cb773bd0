package runtime

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// maxCompletions is how many values one completion may have (specification 2025-11-25,
// server/utilities/completion).
const maxCompletions = 100

// completed is what a completion refers to.
func completed(ref *mcp.CompleteReference) (what item, unknown error) {
	if ref.Type == "ref/prompt" {
		return item{access.Prompts, ref.Name}, unknownPrompt(ref.Name)
	}
	return item{access.Resources, ref.URI}, unknownResource(ref.URI)
}

// complete decides one completion, by the rule of what it refers to.
func (g guard) complete(ctx context.Context, req *mcp.CompleteRequest, rec *record) (mcp.Result, error) {
	if req.Params.Ref == nil || req.Params.Argument.Name == "" {
		return nil, invalidParams("a completion needs ref and argument.name")
	}
	what, unknown := completed(req.Params.Ref)
	event := g.event(rec, audit.Completion)
	event.Arguments = g.texts(map[string]string{req.Params.Argument.Name: req.Params.Argument.Value})
	switch {
	case what.kind == access.Prompts:
		event.Prompt = what.name
	case g.resources.named(what.name) != nil:
		event.Resource = what.name
	}
	return g.decided(ctx, rec, event, what, unknown, func() (mcp.Result, audit.Status, error) {
		res, err := g.inner(ctx, "completion/complete", req)
		r := g.resources.named(what.name)
		own := what.kind == access.Prompts && g.prompts[what.name] != nil || what.kind == access.Resources && r != nil && !r.adopted
		return g.finished(rec, what, own, res, err)
	})
}

// dispatchCompletion answers a completion of a toolset's prompt or resource. It decides again,
// as middleware may have changed the request. ok is false for what an adopted server has to answer.
func (s *Server) dispatchCompletion(ctx context.Context, req *mcp.CompleteRequest) (res *mcp.CompleteResult, ok bool, err error) {
	if req.Params == nil || req.Params.Ref == nil {
		return nil, true, invalidParams("missing params")
	}
	what, unknown := completed(req.Params.Ref)
	var candidates []completable
	if what.kind == access.Prompts {
		p := s.prompts[what.name]
		if p == nil {
			_, adopted := s.lists.prompts.items[what.name]
			return nil, !adopted, unknown
		}
		for _, a := range p.Arguments {
			candidates = append(candidates, completable{a.Name, a.Values, a.Complete})
		}
	} else {
		r := s.resources.named(what.name)
		if r == nil || r.adopted {
			return nil, r == nil, unknown
		}
		for _, v := range r.Variables {
			candidates = append(candidates, completable{v.Name, v.Values, v.Complete})
		}
	}
	rec, err := s.again(ctx, req.Extra, what, unknown)
	if err != nil {
		return nil, true, err
	}
	var found completable
	for _, a := range candidates {
		if a.name == req.Params.Argument.Name {
			found = a
		}
	}
	ctx = s.constrained(ctx, rec, what.kind, what.name)
	values, err := ran(ctx, s, work{"completion", what.name, DefaultTimeout}, rec, func(ctx context.Context) ([]string, error, error) {
		values, err := found.values(ctx, req.Params.Argument.Value)
		return values, err, nil
	})
	if err != nil {
		return nil, true, err
	}
	res = &mcp.CompleteResult{}
	res.Completion.Total = len(values)
	res.Completion.HasMore = len(values) > maxCompletions
	res.Completion.Values = append([]string{}, values[:min(len(values), maxCompletions)]...)
	return res, true, nil
}

// completable is what is completed: an argument of a prompt or a variable of a template.
type completable struct {
	name   string
	known  []string
	custom Completer
}

// values completes a beginning: by the author's own func, or from the known values, whatever
// their case. Nothing completes what has neither.
func (a completable) values(ctx context.Context, begun string) ([]string, error) {
	if a.custom != nil {
		return a.custom(ctx, begun)
	}
	var values []string
	for _, v := range a.known {
		if len(v) >= len(begun) && strings.EqualFold(v[:len(begun)], begun) {
			values = append(values, v)
		}
	}
	return values, nil
}
