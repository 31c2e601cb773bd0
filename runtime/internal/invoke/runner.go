// Package invoke runs one handler: of a tool, a prompt, a resource or a completion. A [Runner]
// decides again, runs the handler on a worker under its time limit, and turns what it returns into
// a result that can be sent. The [Report] of the run goes to the guard, which records it.
package invoke

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/guardedtype"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/limit"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// DefaultTimeout is the time limit of a handler that declares none.
const DefaultTimeout = 30 * time.Second

// Config is what a runner reads.
type Config struct {
	Policy *discovery.Policy
	Rights principal.Rights
	Pool   *worker.Pool
	Stop   <-chan struct{} // is closed when running handlers have to stop
	Log    *slog.Logger
	Masker redact.Masker

	Prompts   map[string]*Prompt // for completions
	Resources *Resources         // for completions
	Grants    *Grants            // nil if nothing is granted
	Roots     *grant.Roots       // nil without folders
	Sandbox   isolate.Sandbox    // nil without one

	Requests grant.Requests                  // nil if refusals offer no permission requests
	Event    func(*request.Info) audit.Event // of a permission request, about the caller
	Unread   bool                            // only go-sdk reads results before the guard

	Contained bool // messages are handled on a worker, which may be locked to its thread
}

// Runner runs handlers. It is safe for concurrent use.
type Runner struct {
	Config
	calls   limit.Calls
	guarded *guardedtype.Types // nil if no field has a rule
}

// NewRunner returns a runner.
func NewRunner(c Config) *Runner {
	r := &Runner{Config: c}
	if c.Policy != nil {
		r.guarded = guardedtype.New(c.Policy.Fields())
	}
	return r
}

// Report describes one run for the audit, the log and the observer.
type Report struct {
	Failure   audit.Failure // "" for success
	Axis      string        // a constant of package audit, if that refused or ended the run
	Missing   string        // the permission or the limit of that axis
	Killed    bool          // the sandbox ended the call's processes for a limit
	Cancelled bool          // by the client, or because the server stops
	Grants    []audit.Use
	Coerced   decode.Coercions // of lenient arguments
	Err       error            // why the run failed, for the log; nil if unknown
	Content   *wire.Content    // the structured content, if that is the whole result
}

// job is one run of a handler.
type job struct {
	*Runner
	info     *request.Info
	label    string      // of the handler, in the log
	kind     access.Kind // of its rule
	name     string      // that its rule has
	timeout  time.Duration
	deadline time.Time         // of the time limit; set by run, zero if nonBlocking
	caller   *access.Principal // set by authorize, as handling
	handling request.Handling

	nonBlocking bool // the handler only computes

	mayAsk   bool    // the handler may ask its client
	ownState bool    // the handler may return a requestState of its own
	asking   *asking // of the handler's goroutine; nil if it may not ask
}

// mask returns the masker of the message.
func (j *job) mask() redact.Masker { return j.info.Mask(j.Masker) }

func (j *job) log(ctx context.Context, level slog.Level, message string, attrs ...any) {
	j.Log.Log(ctx, level, message, append([]any{j.label, j.name, j.info.IDs()}, attrs...)...)
}

// authorize decides again: go-sdk may run a handler twice, and middleware may change the name.
func (j *job) authorize(ctx context.Context) (context.Context, access.Decision) {
	held := j.info.Permissions
	j.caller = &j.info.Principal
	if !j.Rights.Empty() {
		var refreshed access.Principal
		refreshed, held = j.Rights.Refresh(ctx, j.info)
		j.caller = &refreshed
	}
	d := j.Policy.Decide(*j.caller, j.info.Catalog.ReadOnly, j.kind, j.name)
	if j.info.Expired() {
		d = access.Decision{}
	}
	if rule, ok := j.Policy.Table.Of(j.kind).Tool(j.name); ok && d.Allowed && j.Rights.Host != nil {
		ctx = j.Rights.Host.Constrain(ctx, held, rule)
	}
	handled := j.caller
	if handled.Bounds != nil {
		within := handled.Within()
		handled = &within
	}
	j.handling = request.Handling{Context: ctx, Info: j.info, Caller: handled}
	return &j.handling, d
}

// Decide decides again on the target of a message that was allowed, after a client has answered a
// question. It reads the permissions of the host again: those of the message count for its first
// run, which a handler of an adopted server has without this package.
func (r *Runner) Decide(ctx context.Context, info *request.Info) access.Decision {
	info.Permissions.Spend()
	j := &job{Runner: r, info: info, kind: info.Target.Kind, name: info.Target.Name}
	_, d := j.authorize(ctx)
	return d
}

// Conceals reports whether a refusal has to look like an unknown name.
func (r *Runner) Conceals(d access.Decision) bool {
	return d.Axis == "" || d.Axis == access.AxisUnknown || r.Policy.DenialOf(d) == access.Conceal
}

// returned is the outcome of one run. If it failed or crashed, the caller of run words the result.
type returned[R any] struct {
	result R
	err    error // a JSON-RPC error that the handler chose
	Report
}

// run runs a handler on a worker, and returns at its time limit even if the handler does not. For
// a handler that only computes it needs neither.
func run[R any](ctx context.Context, j *job, do func(context.Context) returned[R]) returned[R] {
	if j.nonBlocking {
		return compute(ctx, j, do)
	}
	j.deadline = time.Now().Add(j.timeout)
	o := worker.Run(j.Pool, worker.Job[returned[R]]{
		Context: ctx, Timeout: j.timeout, Stop: j.Stop, Grace: worker.Grace,
		Do: do, Late: func(c *worker.Crash) { j.logLate(ctx, c) }})
	switch {
	case o.Abandoned:
		_ = j.info.HTTP.Header() // made from the request, which ends before the handler
		j.log(ctx, slog.LevelWarn, "a handler did not stop when its context ended; "+
			"its goroutine is still running", "timeout", j.timeout)
		o.Value.Report = j.stopped(o.Ended)
	case o.Crash != nil:
		o.Value.Report = j.crashed(ctx, o.Crash)
	}
	return o.Value
}

// quick is the longest that a handler with nonblocking may take without a warning.
const quick = time.Second

// compute runs a handler that only computes, and waits until it has ended.
func compute[R any](ctx context.Context, j *job,
	do func(context.Context) returned[R]) returned[R] {
	wait := worker.Inline[returned[R]]
	if j.Contained {
		wait = worker.Await
	}
	begun := time.Now()
	out, crash := wait(j.Pool, ctx, do)
	if took := time.Since(begun); took > quick {
		j.log(ctx, slog.LevelWarn, "a handler with nonblocking took longer than "+quick.String()+
			": remove nonblocking from its //mcp:limit", "took", took)
	}
	if crash != nil {
		out.Report = j.crashed(ctx, crash)
	}
	return out
}

// crashed logs a panic, and describes a run that has not returned.
func (j *job) crashed(ctx context.Context, c *worker.Crash) Report {
	if c.Panicked {
		j.log(ctx, slog.LevelError, "a handler panicked", "panic", c.Value, "stack", c.Stack)
	}
	return Report{Failure: audit.Crashed}
}

var (
	errCancelled = errors.New("the call was cancelled")
	errStopped   = errors.New("the server is shutting down; the call may have had an effect")
	errExpired   = errors.New("the credential expired during the call")
)

// stopped describes a run that failed because its context has ended.
func (j *job) stopped(ended error) Report {
	if errors.Is(ended, context.DeadlineExceeded) {
		if j.nonBlocking || time.Now().Before(j.deadline) {
			return Report{Failure: audit.Errored, Err: errExpired}
		}
		text := fmt.Sprintf("timed out after %s", j.timeout)
		return Report{Failure: audit.Timeout, Axis: audit.AxisLimit, Missing: "timeout",
			Err: &limitError{"timeout", text}}
	}
	cancelled := errCancelled
	select {
	case <-j.Stop:
		cancelled = errStopped
	default:
	}
	return Report{
		Failure: audit.Errored, Axis: audit.AxisCancelled, Err: cancelled, Cancelled: true}
}

// logLate logs the end of a handler that was abandoned.
func (j *job) logLate(ctx context.Context, c *worker.Crash) {
	after := time.Since(j.info.Started)
	if c == nil || !c.Panicked {
		j.log(ctx, slog.LevelWarn, "a handler returned after the response to its call", "after", after)
		return
	}
	j.log(ctx, slog.LevelError, "a handler panicked after the response to its call",
		"after", after, "panic", c.Value, "stack", c.Stack)
}

// limitError is a [toolset.LimitError].
type limitError struct{ limit, text string }

func (e *limitError) Error() string   { return e.text }
func (e *limitError) Reached() string { return e.limit }

// failed returns the outcome of an error, on the worker: the error's methods are foreign code. A
// question is not a failure: its outcome is the result that asks it.
func failed[R any](ctx context.Context, j *job, err error) (out returned[R]) {
	if inputs, state, asked, unfit := j.asked(err); asked && unfit == nil {
		out.result = wire.InputRequired[R](inputs, state)
		return out
	} else if asked {
		err = unfit
	}
	var undeclared wire.NotDeclared
	ended := ctx.Err()
	if deadline, ok := ctx.Deadline(); ok && ended == nil && !time.Now().Before(deadline) {
		ended = context.DeadlineExceeded // the handler was ahead of the context's timer
	}
	var rpc *jsonrpc.Error
	var limit toolset.LimitError
	out.Failure = audit.Errored
	switch {
	case errors.Is(err, errCrashed):
		out.Failure = audit.Crashed
	case errors.Is(err, errCannotAsk):
		_ = j.crash(ctx, "a handler called runtime.Elicit, Sample or Roots", errCannotAsk)
		out.Failure = audit.Crashed
	case errors.As(err, &undeclared) && !j.info.HasSessions():
		out.err = undeclared.RPC()
	case errors.As(err, &rpc) && rpc != nil:
		out.err = wire.WireError(err)
	case errors.Is(ended, context.DeadlineExceeded), ended != nil &&
		errors.Is(err, context.Canceled):
		out.Report = j.stopped(ended)
	default:
		if errors.As(err, &limit) {
			out.Failure, out.Axis, out.Missing = audit.Limited, audit.AxisLimit, limit.Reached()
		} else if errors.As(err, new(*decode.Error)) {
			out.Failure, out.Axis = audit.Invalid, audit.AxisArguments
		}
		out.Err = handlerError{err.Error(), err}
	}
	return out
}

// handlerError is an error whose text was read.
type handlerError struct {
	text string
	err  error
}

func (e handlerError) Error() string { return e.text }
func (e handlerError) Unwrap() error { return e.err }

// errCrashed ends a run without a result. The cause is in the log.
var errCrashed = errors.New("internal error")

const notSendable = "a handler returned a result that cannot be sent"

// crash logs a cause and returns errCrashed, or nil for a nil cause.
func (j *job) crash(ctx context.Context, message string, cause error) error {
	if cause == nil {
		return nil
	}
	j.log(ctx, slog.LevelError, message, "error", cause)
	return errCrashed
}

// serve runs a handler whose results are never errors. unknown is for callers of a concealed one.
// params have the client's answers, if the handler may ask.
func serve[R any](ctx context.Context, j *job, params mcp.Params, unknown error,
	handle func(context.Context) (R, error)) (none R, _ Report, _ error) {
	ctx, d := j.authorize(ctx)
	if !d.Allowed {
		denied := Report{Failure: audit.Denied}
		if j.Conceals(d) {
			return none, denied, unknown
		}
		return none, denied, wire.Forbidden(j.kind, j.name, d)
	}
	out := run(ctx, j, func(ctx context.Context) returned[R] {
		var res R
		asking, err := ctx, error(nil)
		if j.mayAsk {
			asking, err = j.asks(ctx, params)
		}
		if err == nil {
			res, err = handle(asking)
		}
		if err != nil {
			return failed[R](ctx, j, err)
		}
		return returned[R]{result: res}
	})
	switch {
	case out.Err != nil:
		rpc := &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
		if errors.As(out.Err, new(*decode.Error)) {
			rpc.Code = jsonrpc.CodeInvalidParams
		}
		rpc.Message = wire.MaskedWords(j.mask(), out.Err)
		return none, out.Report, wire.MaskedError{RPC: rpc}
	case out.Failure == audit.Crashed:
		out.err = wire.InternalError()
	}
	out.Err = out.err
	return out.result, out.Report, out.err
}
