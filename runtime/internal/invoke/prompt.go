package invoke

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const unhandled = "it has no handler: run go generate"

var errNativeInput = errors.New("it has input requests: write elicits in the directive, and ask " +
	"by runtime.Elicit, Sample or Roots")

// Prompt is one prompt of a server. Its Timeout is set, unless NonBlocking is.
type Prompt struct {
	toolset.Prompt
	Public *mcp.Prompt // as lists show it; shared, and never written to
}

// NewPrompt checks a prompt.
func NewPrompt(p toolset.Prompt) (*Prompt, error) {
	built := &Prompt{Prompt: p, Public: &mcp.Prompt{
		Name: p.Name, Title: p.Title, Description: p.Description}}
	for _, a := range p.Arguments {
		built.Public.Arguments = append(built.Public.Arguments, &mcp.PromptArgument{
			Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	return built, errors.Join(
		checkName(p.Name), errorIf(p.Get == nil, unhandled),
		setTimeout(&built.Timeout, p.NonBlocking),
		onlyComputes(p.NonBlocking, map[string]bool{"Elicits": p.Elicits}))
}

// Prompt runs the handler of a prompt.
func (r *Runner) Prompt(ctx context.Context, info *request.Info, p *Prompt,
	params *mcp.GetPromptParams) (*mcp.GetPromptResult, Report, error) {
	j := &job{Runner: r, info: info, mayAsk: p.Elicits,
		label: "prompt", kind: access.Prompts, name: p.Name, timeout: p.Timeout,
		nonBlocking: p.NonBlocking}
	return serve(ctx, j, params, wire.UnknownPrompt(p.Name),
		func(ctx context.Context) (*mcp.GetPromptResult, error) {
			arguments := params.Arguments
			if arguments == nil {
				arguments = map[string]string{}
			}
			raw, err := wire.Marshal(arguments)
			if err != nil {
				return nil, err
			}
			made, err := p.Get(ctx, toolset.NewCall(raw, nil))
			if err != nil {
				return nil, err
			}
			res, err := p.result(made)
			return res, j.crash(ctx, notSendable, err)
		})
}

// result makes a copy on the worker: go-sdk writes into it, and contents marshal themselves.
func (p *Prompt) result(made toolset.PromptResult) (*mcp.GetPromptResult, error) {
	if !made.Native {
		return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: made.Text}}}}, nil
	}
	own, isResult := made.Result.(*mcp.GetPromptResult)
	if !isResult && made.Result != nil {
		contents, err := contentsOf(made.Result)
		if err != nil {
			return nil, err
		}
		own = &mcp.GetPromptResult{Description: p.Description}
		for _, c := range contents {
			own.Messages = append(own.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
	}
	if own == nil {
		return nil, wire.ErrNilResult
	}
	res := *own
	if res.InputRequests != nil {
		return nil, errNativeInput
	}
	if res.Messages == nil {
		res.Messages = []*mcp.PromptMessage{}
	}
	for _, m := range res.Messages {
		if m == nil || request.IsNil(m.Content) {
			return nil, errors.New("a nil message or content: remove it")
		}
	}
	_, err := wire.EncodeResult(&res)
	return &res, err
}

const maxCompletions = 100 // values (specification 2025-11-25, server/utilities/completion)

// Complete completes an argument of a prompt, or a variable of a resource template. own is false
// if the adopted server has to complete it.
func (r *Runner) Complete(ctx context.Context, info *request.Info,
	params *mcp.CompleteParams) (res *mcp.CompleteResult, own bool, report Report, err error) {
	j := &job{Runner: r, info: info, label: "completion", timeout: DefaultTimeout}
	var unknown error
	var arguments []toolset.Argument
	if params.Ref.Type == "ref/prompt" {
		j.kind, j.name, unknown = access.Prompts, params.Ref.Name,
			wire.UnknownPrompt(params.Ref.Name)
		if p := r.Prompts[j.name]; p != nil {
			own, arguments = true, p.Arguments
		}
	} else {
		j.kind, j.name, unknown = access.Resources, params.Ref.URI,
			wire.UnknownResource(params.Ref.URI)
		if res := r.Resources.Named(j.name); res != nil && !res.Adopted {
			own, arguments = true, res.completable
		}
	}
	if !own {
		_, adopted := r.Policy.Table.Of(j.kind).Tool(j.name)
		return nil, !adopted, Report{Failure: audit.Errored}, unknown
	}
	res, report, err = serve(ctx, j, params, unknown,
		func(ctx context.Context) (*mcp.CompleteResult, error) {
			ctx = withResolved(ctx, arguments, params)
			values, err := complete(ctx, arguments, params.Argument)
			if err != nil {
				return nil, err
			}
			res := &mcp.CompleteResult{}
			res.Completion.Total = len(values)
			res.Completion.HasMore = len(values) > maxCompletions
			res.Completion.Values = append([]string{}, values[:min(len(values), maxCompletions)]...)
			return res, nil
		})
	return res, true, report, err
}

// complete returns the values of an argument with a beginning, of any case.
func complete(ctx context.Context, arguments []toolset.Argument,
	begun mcp.CompleteParamsArgument) (values []string, err error) {
	i := slices.IndexFunc(arguments, func(a toolset.Argument) bool { return a.Name == begun.Name })
	if i < 0 {
		return nil, nil
	}
	if custom := arguments[i].Complete; custom != nil {
		return custom(ctx, begun.Value)
	}
	for _, v := range arguments[i].Values {
		if n := len(begun.Value); len(v) >= n && strings.EqualFold(v[:n], begun.Value) {
			values = append(values, v)
		}
	}
	return values, nil
}

type resolvedKey struct{} // of a completion's context.arguments

// withResolved returns the context of a completion's handler, with the values of the other
// arguments that the client has sent. Names that the prompt or template does not have are left out.
func withResolved(ctx context.Context, arguments []toolset.Argument,
	params *mcp.CompleteParams) context.Context {
	if params.Context == nil {
		return ctx
	}
	var resolved map[string]string
	for _, a := range arguments {
		value, ok := params.Context.Arguments[a.Name]
		if !ok || a.Name == params.Argument.Name {
			continue
		}
		if resolved == nil {
			resolved = map[string]string{}
		}
		resolved[a.Name] = value
	}
	return context.WithValue(ctx, resolvedKey{}, resolved)
}

// CompletionArguments returns the resolved arguments of a completion; nil for none. Nobody writes
// to the map.
func CompletionArguments(ctx context.Context) map[string]string {
	resolved, _ := ctx.Value(resolvedKey{}).(map[string]string)
	return resolved
}
