package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/guardedtype"
	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// call is one run of a tool's handler, and the server's side of its [toolset.Call].
type call struct {
	job
	tool    *Tool
	request mcp.CallToolRequest
	extra   mcp.RequestExtra
	headers sync.Once // sets those of extra
	advice  notify.Advice

	// Of the handler's goroutine alone.
	ctx       context.Context // without what the sandbox adds
	arguments json.RawMessage // with the coercions of lenient arguments
	choices   *decode.Choices // nil for a tool without rules of its values or arguments
	hidden    []string        // the guarded fields of the result that the caller may not see
	decided   grant.Decided   // the resources that the arguments name; nil before the decision
	refused   *grant.Denied   // set if Allow refused, so that the handler did not start

	grants atomic.Pointer[[]audit.Use] // read also if the handler was abandoned, as killed
	killed atomic.Bool

	coerced atomic.Pointer[decode.Coercions] // of lenient arguments
}

type toolReturned = returned[*mcp.CallToolResult]

// Tool runs the handler of a tool.
func (r *Runner) Tool(ctx context.Context, info *request.Info, t *Tool,
	req mcp.CallToolRequest) (*mcp.CallToolResult, Report, error) {
	c := &call{tool: t, job: job{Runner: r, info: info, mayAsk: t.Elicits, ownState: t.SDK,
		label: "tool", kind: access.Tools, name: t.Name, timeout: t.Timeout,
		nonBlocking: t.NonBlocking}}
	ctx, d := c.authorize(ctx)
	if !d.Allowed {
		denied := Report{Failure: audit.Denied}
		if r.Conceals(d) {
			return nil, denied, wire.UnknownTool(cmp.Or(info.Target.Alias, t.Name))
		}
		return wire.ForbiddenTool(t.Name, d), denied, nil
	}
	if of := r.Policy.Table.Choices(*c.caller, t.Name); of != nil || len(t.guards) > 0 {
		c.choices = t.choices(of)
		c.choices.Hidden = r.Policy.Table.Hidden(*c.caller, t.guards)
	}
	if len(t.Fields) > 0 {
		c.hidden = r.Policy.Table.Hidden(*c.caller, t.Fields)
	}
	// The handler gets a copy of the request, without TokenInfo and headers with credentials.
	c.request = mcp.CallToolRequest{Session: req.Session, Params: req.Params, Extra: &c.extra}
	if req.Extra != nil {
		c.extra.CloseSSEStream = req.Extra.CloseSSEStream
	}
	out := run(ctx, &c.job, c.handle)
	if grants := c.grants.Load(); grants != nil {
		out.Grants = *grants
	}
	out.Killed = c.killed.Load()
	if coerced := c.coerced.Load(); coerced != nil {
		out.Coerced = *coerced
	}
	switch {
	case out.Err != nil:
		return withAdvice(wire.FailureResult(c.mask(), out.Err), c.advice.Take()), out.Report, nil
	case out.Failure == audit.Crashed:
		out.result = wire.ErrorResult("internal error")
	}
	out.Err = out.err
	if out.result != nil && out.result.IsError {
		out.Err = wire.FailureOf(nil, out.result)
	}
	if info.Unsolicited == nil {
		return out.result, out.Report, out.err
	}
	if answers := c.solicited(out.result); answers != nil {
		again := req
		again.Params, _ = wire.WithResponses(req.Params, answers,
			out.result.RequestState).(*mcp.CallToolParamsRaw)
		res, report, err := r.Tool(ctx, info, t, again)
		uses := slices.Clone(out.Grants)
		for _, u := range report.Grants {
			if !slices.Contains(uses, u) {
				uses = append(uses, u)
			}
		}
		report.Grants = uses                        // of both runs
		if report.Coerced == (decode.Coercions{}) { // the arguments are the same
			report.Coerced = out.Coerced
		}
		return res, report, err
	}
	return out.result, out.Report, out.err
}

// handle runs on the worker, because a typed nil error panics in Error.
func (c *call) handle(ctx context.Context) toolReturned {
	c.arguments = c.request.Params.Arguments
	if len(c.arguments) == 0 || string(c.arguments) == "null" { // as some clients send no arguments
		c.arguments = []byte("{}")
	}
	if c.tool.lenient != nil {
		var done decode.Coercions
		var hidden []string
		if c.choices != nil {
			hidden = c.choices.Hidden
		}
		c.arguments, done = c.tool.lenient.Coerce(c.arguments, hidden)
		c.coerced.Store(&done)
	}
	c.advice.Context = ctx
	ctx = &c.advice
	c.ctx = ctx
	if c.mayAsk {
		var err error
		if ctx, err = c.asks(ctx, c.request.Params); err != nil {
			return c.failed(ctx, err)
		}
	}
	if l := c.tool.Limits; l.Concurrency > 0 || l.Rate.Calls > 0 {
		leave, err := c.calls.Enter(request.ClientOf(c.caller), c.name, l)
		if err != nil {
			return c.failed(ctx, err)
		}
		defer leave()
	}
	if c.Sandbox != nil {
		inside, leave := c.Sandbox.Enter(ctx, request.ClientOf(c.caller))
		defer leave()
		ctx = inside
	}
	if len(c.tool.Allow) > 0 {
		defer func() {
			if err := c.decided.Close(); err != nil {
				c.log(ctx, slog.LevelWarn, "the files of a call could not be closed", "error", err)
			}
		}()
	}
	made, err := c.tool.Call(ctx, toolset.NewCall(c.arguments, c))
	var advice []mcp.Content
	if c.advice.Given.Load() || c.nonBlocking { // whose context does not end with the run
		advice = c.advice.Take()
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	out, err := c.result(made)
	switch {
	case err == nil:
	case errors.Is(err, structured.ErrNull):
		return c.failed(ctx, fmt.Errorf("tool %s returned %w", c.name, err))
	case errors.As(err, new(wire.NotDeclared)), errors.As(err, new(*guardedtype.Unguarded)):
		return c.failed(ctx, err)
	default:
		return c.failed(ctx, c.crash(ctx, notSendable, err))
	}
	if len(advice) > 0 && out.result.InputRequests == nil {
		out.result, out.Content = withAdvice(out.result, advice), nil
	}
	if c.tool.Limits.Output > 0 {
		if err := c.checkOutput(out); err != nil {
			return c.failed(ctx, err)
		}
	}
	return out
}

// callOf returns the function Handle of a tool as its Call.
func callOf(t toolset.Tool) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		out, err := t.Handle(ctx, decode.Begin(call.Arguments).Choose(call.Choices()))
		if t.Returns == toolset.Nothing {
			return toolset.Done(err)
		}
		return toolset.Result{Out: out, HasOut: true}, err
	}
}

// Choices implements what [toolset.Call.Choices] needs.
func (c *call) Choices() *decode.Choices { return c.choices }

// Request implements what [toolset.Request] needs.
func (c *call) Request() *mcp.CallToolRequest {
	c.headers.Do(func() { c.extra.Header = c.info.HTTP.Header() })
	return &c.request
}

// result makes a result on the worker, and does not write to values, which calls may share.
func (c *call) result(made toolset.Result) (out toolReturned, err error) {
	res, isNative := made.Native.(*mcp.CallToolResult)
	if made.Native != nil && !isNative {
		return out, fmt.Errorf("a result of type %T", made.Native)
	}
	// A handler of go-sdk's shape may make its whole result itself, and return nil beside it.
	without := made.SDK && request.IsNil(made.Out) &&
		(c.tool.output == nil || c.tool.form == structured.AsObject || res != nil && res.IsError)
	if made.HasOut && !without && (res == nil || res.InputRequests == nil) {
		encoded := wire.Output{Schema: c.tool.output, Only: c.tool.Omits, Form: c.form(),
			Guarded: c.tool.result, Without: c.hidden}
		switch c.tool.Returns {
		case toolset.Contents, toolset.SDKResult, toolset.Bytes:
			res, err = c.contents(made.Out)
		case toolset.Text:
			var text string
			text, err = textIn(made.Out)
			out.Content = wire.NewText(text)
		case toolset.JSON:
			out.Content, err = encoded.EncodeText(made.Out)
		default:
			out.Content, err = encoded.Encode(made.Out)
		}
	}
	if err == nil && c.guarded != nil { // encoding/json has refused cycles
		err = errors.Join(c.guarded.Check(made.Out, c.tool.Fields),
			c.guarded.Check(made.Native, nil))
	}
	switch {
	case err != nil:
	case res != nil:
		out.result, err = c.native(*res, out.Content)
		out.Content = nil
	case out.Content != nil:
		out.result = out.Content.Result(c.Unread)
	default:
		out.result = &mcp.CallToolResult{Content: []mcp.Content{}}
	}
	if err == nil && out.result.IsError {
		var masked mcp.Result
		masked, err = wire.MaskResult(c.mask(), out.result)
		out.result, _ = masked.(*mcp.CallToolResult)
		out.Failure = audit.Errored
	}
	return out, err
}

// CheckIntercepted returns an error if a result of a tool that an interceptor may have made has a
// guarded field where no schema guards it.
func (r *Runner) CheckIntercepted(t *Tool, res mcp.Result) error {
	if made, ok := res.(*mcp.CallToolResult); !ok || made == nil {
		return nil
	}
	return r.guarded.CheckMember(res, "structuredContent", t.Fields)
}

// form returns how the version of the call has the structured content.
func (c *call) form() structured.Form {
	if c.info.HasSessions() {
		return c.tool.form
	}
	return c.tool.form.Stateless()
}

// native returns a copy of a result that the handler made itself, with its encoded output.
func (c *call) native(res mcp.CallToolResult,
	output *wire.Content) (_ *mcp.CallToolResult, err error) {
	switch {
	case res.InputRequests == nil:
		encoded := &mcp.CallToolResult{}
		if output != nil {
			encoded = output.Result(false)
		}
		if encoded.StructuredContent != nil { // in the form of the version
			res.StructuredContent = encoded.StructuredContent
		} else if c.info.HasSessions() {
			own, err := wire.InSession(&res, c.tool.form)
			if err != nil {
				return nil, err
			}
			res = *own.(*mcp.CallToolResult)
		}
		if res.Content == nil {
			res.Content = encoded.Content
		}
		res.Content = append([]mcp.Content{}, res.Content...)
	case len(res.Content) > 0 || res.StructuredContent != nil:
		// go-sdk would refuse it behind all middleware, with an error of its own.
		return nil, errors.New("a result with both content and input requests: return one of them")
	default:
		if res.InputRequests, err = c.inputs(res.InputRequests); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(res.Content, func(c mcp.Content) bool { return request.IsNil(c) }) {
		return nil, errors.New("a nil content: remove it")
	}
	_, err = wire.EncodeResult(&res) // here, where values that marshal themselves may hang
	return &res, err
}

// checkOutput compares a result with the tool's limit on output.
func (c *call) checkOutput(out toolReturned) error {
	var encoded []byte
	var err error
	if out.Content != nil {
		encoded = out.Content.JSON
	} else {
		encoded, err = wire.Marshal(out.result)
	}
	if limit := c.tool.Limits.Output; err == nil && int64(len(encoded)) > limit {
		const format = "the tool reached its limit on output (%s): request less"
		return &limitError{"output", fmt.Sprintf(format, sizeOf(limit))}
	}
	return err
}

// sizeOf writes a size as directives do.
func sizeOf(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d %s", n/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// failed returns the outcome of a call whose handler returned an error, or did not start.
func (c *call) failed(ctx context.Context, err error) toolReturned {
	var denied *grant.Denied
	unguarded, isUnguarded := errors.AsType[*guardedtype.Unguarded](err)
	if isUnguarded {
		err = c.crash(ctx, notSendable, unguarded)
	}
	out := failed[*mcp.CallToolResult](c.ctx, &c.job, err)
	switch {
	case isUnguarded:
		out.Axis, out.Missing = string(access.AxisFields), unguarded.Error()
	case out.Err == nil:
	case c.choices != nil && out.Axis == audit.AxisArguments:
		c.refuseChoice(&out.Report)
	case errors.As(err, &denied) && denied != nil:
		return c.refuse(ctx, denied)
	case errors.Is(err, errNoGrants):
		return toolReturned{result: wire.ErrorResult(errNoGrants.Error()), Report: Report{
			Failure: audit.Denied, Axis: audit.AxisGrant, Missing: "the grants could not be read"}}
	}
	return out
}

// withAdvice returns a copy of a result with more contents.
func withAdvice(res *mcp.CallToolResult, advice []mcp.Content) *mcp.CallToolResult {
	changed := *wire.Shown(res).(*mcp.CallToolResult)
	changed.Content = slices.Concat(changed.Content, advice)
	return &changed
}
