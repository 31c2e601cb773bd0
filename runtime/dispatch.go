package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// grace is how long a handler may take to return once its context has ended, before the call
// is answered without it.
const grace = 200 * time.Millisecond

// dispatch is the closure that go-sdk calls for one tool. It decides again, because go-sdk
// calls it behind the guard's back too: a multi-round-trip request of an older client runs
// it twice for one message.
func (s *Server) dispatch(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req == nil || req.Params == nil {
			return nil, invalidParams("missing params")
		}
		rec := recordOf(req.Extra)
		if rec == nil {
			s.log.ErrorContext(ctx, "a call reached a handler without a caller; refused", "tool", t.Name)
			return nil, unknownTool(t.Name)
		}
		rec.reached, rec.body, rec.recorded, rec.failure = true, nil, false, nil
		s.renew(ctx, rec)
		d := s.decide(rec.principal, access.Tools, t.Name)
		if rec.expired() {
			d = access.Decision{}
		}
		if !d.Allowed {
			rec.outcome = audit.Denied
			if d.Axis != "" && d.Axis != access.AxisUnknown && s.denial(d) != access.Conceal {
				return forbidden(t.Name, d), nil
			}
			return nil, unknownTool(t.Name)
		}
		res, outcome, err := s.run(s.constrained(ctx, rec, access.Tools, t.Name), t, rec, req)
		rec.outcome = outcome
		return res, err
	}
}

// answer is what came of one run of a handler.
type answer[R any] struct {
	res     R
	err     error // a JSON-RPC error that the handler chose to answer with
	outcome audit.Status
	failure error // what the handler returned, where it is not an answer
	body    *body // the structured content, where that is all of the answer
	ruled   ruled
}

// ruled is what was decided behind the table, for the audit.
type ruled struct {
	axis      string // "grant" or "limit", where that refused or ended the call
	killed    bool   // its processes were killed for a limit
	cancelled bool   // by the client, or since the server shuts down
	missing   string
	uses      []audit.Use // the grants that allowed what the call named
}

// work is a handler to run, as the log names it.
type work struct {
	kind    string // "tool", "prompt" or "resource"
	name    string
	timeout time.Duration
}

// within runs do as a handler. crashed makes what is answered where do does not return.
func within[R any](ctx context.Context, s *Server, w work, rec *record, crashed func() answer[R], do func(context.Context) answer[R]) answer[R] {
	e := &execution[R]{}
	return e.within(ctx, s, w, rec, handlerFuncs[R]{do, crashed})
}

// handlerFuncs are a [handler].
type handlerFuncs[R any] struct {
	do   func(context.Context) answer[R]
	lost func() answer[R]
}

func (h handlerFuncs[R]) handle(ctx context.Context) answer[R] { return h.do(ctx) }
func (h handlerFuncs[R]) crashed() answer[R]                   { return h.lost() }

// within runs a handler on a worker, so that the call is answered at its time
// limit whether the handler heeds its context or not. An execution is used once.
func (e *execution[R]) within(ctx context.Context, s *Server, w work, rec *record, do handler[R]) answer[R] {
	now := time.Now()
	e.server, e.work, e.ctx, e.record, e.do = s, w, ctx, rec, do
	e.call.values, e.call.record, e.call.caller, e.call.deadline = ctx, rec, rec.principal, now.Add(w.timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(e.call.deadline) {
		e.call.deadline = earlier
	}
	defer e.call.end(context.Canceled)

	worker := s.workers.take(e)
	switch e.wait(worker, now) {
	case running:
		s.log.LogAttrs(ctx, slog.LevelWarn, "a handler did not stop when its context ended; its goroutine is still running",
			slog.String(w.kind, w.name), rec.ids(), slog.Duration("timeout", w.timeout))
		return settle(&e.call, w, answer[R]{failure: e.call.Err()})
	case recording:
		rec.recorded, rec.unrecorded = true, errSinkSilent
		return e.answer
	}
	s.workers.give(worker)
	if e.begun {
		rec.recorded, rec.unrecorded = true, e.entry.err
	}
	if e.crash == nil {
		return e.answer
	}
	if e.crash.panicked {
		s.log.ErrorContext(ctx, "a handler panicked", w.kind, w.name, rec.ids(),
			"panic", e.crash.value, "stack", e.crash.stacktrace)
	}
	return settle(&e.call, w, do.crashed())
}

// settle words the failure of a run for the caller.
func settle[R any](call *bounded, w work, a answer[R]) answer[R] {
	if a.failure == nil {
		return a
	}
	// The handler may have kept an eye on the clock itself and be ahead of the context.
	if !time.Now().Before(call.deadline) {
		call.end(context.DeadlineExceeded)
	}
	var limit LimitError
	switch ended := call.Err(); {
	case errors.Is(ended, context.DeadlineExceeded):
		a.failure, a.outcome = timedOut{w.timeout}, audit.Timeout
	case ended != nil && errors.Is(a.failure, context.Canceled):
		a.failure, a.outcome, a.ruled.cancelled = errors.New("the call was cancelled"), audit.Failed, true
	case errors.As(a.failure, &limit):
		a.outcome, a.ruled.axis, a.ruled.missing = audit.Limited, audit.AxisLimit, limit.Reached()
	default:
		a.outcome = audit.Failed
	}
	return a
}

// timedOut says that a call has reached its time limit.
type timedOut struct{ after time.Duration }

func (e timedOut) Error() string { return fmt.Sprintf("timed out after %s", e.after) }

// Reached implements [LimitError].
func (e timedOut) Reached() string { return "timeout" }

type toolAnswer = answer[*mcp.CallToolResult]

// crashedTool is the answer of a tool's handler that did not return.
func crashedTool() toolAnswer {
	return toolAnswer{outcome: audit.Crashed, res: errorResult("internal error")}
}

// run calls a tool's handler.
func (s *Server) run(ctx context.Context, t *tool, rec *record, req *mcp.CallToolRequest) (*mcp.CallToolResult, audit.Status, error) {
	r := &toolRun{tool: t, req: mcp.CallToolRequest{Session: req.Session, Params: req.Params}}
	// A handler of go-sdk's own shape gets a copy of the request, without TokenInfo and with the headers that
	// hold no credential.
	r.extra.Header, r.req.Extra = rec.header, &r.extra
	if req.Extra != nil {
		r.extra.CloseSSEStream = req.Extra.CloseSSEStream
	}
	a := r.within(ctx, s, work{"tool", t.Name, t.Timeout}, rec, r)
	rec.ruled = a.ruled
	rec.ruled.uses, rec.ruled.killed = r.used(), r.killed.Load()
	if rec.failure = a.failure; a.failure != nil {
		return advised(s.failureResult(a.failure), r.call.taken()), a.outcome, nil
	}
	rec.body, rec.failure = a.body, failureOf(a.err, a.res)
	return a.res, a.outcome, a.err
}

// toolRun is the execution of a tool's handler with what that needs, all of it in one piece.
type toolRun struct {
	execution[*mcp.CallToolResult]
	tool  *tool
	req   mcp.CallToolRequest
	extra mcp.RequestExtra

	arguments json.RawMessage // of the Call
	// The handler's goroutine's.
	decided grant.Decided // what its arguments name; nil where nothing was decided
	refused *grant.Denied // by Allow, so that the handler did not begin

	killed atomic.Bool // its processes, for a limit

	uses atomic.Pointer[[]audit.Use] // the grants that allowed it
}

// Request returns the request, for [toolset.Request].
func (r *toolRun) Request() *mcp.CallToolRequest { return &r.req }

// used are the grants that allowed the call, as far as it has come.
func (r *toolRun) used() []audit.Use {
	if uses := r.uses.Load(); uses != nil {
		return *uses
	}
	return nil
}

func (r *toolRun) crashed() toolAnswer { return crashedTool() }

// handle calls the handler and finishes what it returns. It runs under recover: a typed nil
// error panics when it is asked for its words, and results when they are marshalled.
func (r *toolRun) handle(ctx context.Context) toolAnswer {
	arguments := r.req.Params.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		// Some clients spell "no arguments" as null.
		arguments = []byte("{}")
	}
	if s := r.server.opts.Sandbox; s != nil {
		inside, leave, err := s.Enter(ctx, clientOf(&r.call.caller), r.tool.Name, r.tool.Limits)
		if err != nil {
			return r.failed(ctx, err)
		}
		defer leave()
		ctx = inside
	}
	defer r.close(ctx)
	r.arguments = arguments
	r.call.takes()
	result, err := r.tool.Call(ctx, toolset.NewCall(arguments, r))
	advice := r.call.taken()
	if err != nil {
		return r.failed(ctx, err)
	}
	res, body, err := r.tool.result(result, r.server.alone())
	if err != nil {
		r.server.log.ErrorContext(ctx, "a handler returned what cannot be sent", "tool", r.tool.Name,
			r.record.ids(), "error", err)
		return toolAnswer{res: errorResult("internal error"), outcome: audit.Crashed}
	}
	if res.IsError {
		if res, err = r.server.maskedFailure(res); err != nil {
			return r.failed(ctx, err)
		}
		body = nil
	}
	if len(advice) > 0 && res.InputRequests == nil {
		res, body = advised(res, advice), nil
	}
	if err := r.tool.fits(res, body); err != nil {
		return r.failed(ctx, err)
	}
	outcome := audit.OK
	if res.IsError {
		outcome = audit.Failed
	}
	return toolAnswer{res: res, outcome: outcome, body: body, ruled: ruled{uses: r.used()}}
}

// close closes what was opened for the call.
func (r *toolRun) close(ctx context.Context) {
	if err := r.decided.Close(); err != nil {
		r.server.log.WarnContext(ctx, "closing what a call was allowed", "tool", r.tool.Name, r.record.ids(), "error", err)
	}
}

// failed is the answer of a call that came to an error.
func (r *toolRun) failed(ctx context.Context, err error) toolAnswer {
	var (
		rpc     *jsonrpc.Error
		denied  *grant.Denied
		unread  *unreadGrants
		process *isolationError
	)
	switch {
	case errors.As(err, &rpc) && rpc != nil:
		return toolAnswer{err: wireError(err), outcome: audit.Failed}
	case errors.As(err, &denied) && denied != nil:
		return r.ungranted(ctx, denied)
	case errors.As(err, &unread):
		r.server.log.ErrorContext(ctx, "what a client may use could not be read; the call is refused", "tool", r.tool.Name,
			r.record.ids(), "error", unread.err)
		return toolAnswer{res: errorResult(unread.Error()), outcome: audit.Denied, ruled: ruled{
			axis: audit.AxisGrant, missing: "the grants could not be read"}}
	case errors.As(err, &process):
		r.server.log.ErrorContext(ctx, "an isolated call came to no answer", "tool", r.tool.Name,
			r.record.ids(), "error", process.err)
		return crashedTool()
	}
	// Asking for the words here keeps a panic of Error() inside the recover.
	text := err.Error()
	return toolAnswer{failure: handlerError{text, err}, outcome: audit.Failed}
}

// handlerError is an error whose words are known already.
type handlerError struct {
	text string
	err  error
}

func (e handlerError) Error() string { return e.text }
func (e handlerError) Unwrap() error { return e.err }
