package guard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/tasks"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A task is a call whose handler runs after the response (SEP-2663). The call passes the whole
// chain up to the handler, and a run passes the rest: middleware and the handler. A run that asks a
// question ends; the next run starts from the beginning when the answers are there. So each run is
// decided by the permissions of its time, and belongs to one request, whose credential it has.

// taskRun is one run that a request starts.
type taskRun struct {
	record task.Record
	info   *request.Info
	params *mcp.CallToolParamsRaw
}

// discovered returns the MCP capabilities for server/discover. Clients of versions with sessions do
// not know the extension.
func (g *Guard) discovered() *mcp.ServerCapabilities {
	if g.Tasks == nil {
		return g.Capabilities
	}
	c := *g.Capabilities
	c.Extensions = map[string]any{wire.TasksExtension: struct{}{}}
	maps.Copy(c.Extensions, g.Capabilities.Extensions)
	return &c
}

// ServesTask reports whether the server and the version of a message have tasks. Without them
// go-sdk refuses the methods of the extension, as any unknown method.
func (g *Guard) ServesTask(m *Message) bool { return g.Tasks != nil && !m.HasSessions() }

// takesTasks reports whether the client of a message takes a task in place of a result.
func takesTasks(m *Message) bool { return !m.HasSessions() && wire.DeclaresTasks(m.Meta) }

// needsTasks refuses an allowed call of a tool that runs as a task only.
func needsTasks(m *Message) (Answer, error) {
	err := wire.MissingTasks()
	if !m.HasSessions() {
		return Answer{}, invalid{err}
	}
	// Clients of older versions do not know the code.
	text := "this tool needs a client of MCP " + request.Stateless + " with the extension " +
		wire.TasksExtension
	return Answer{Result: wire.ErrorResult(text),
		Report: &invoke.Report{Failure: audit.Invalid, Err: errors.New(text)}}, nil
}

// ownerOf returns the owner of the tasks that a principal creates.
func ownerOf(p access.Principal) task.Owner {
	o := request.OwnerOf(p)
	return task.Owner{Issuer: o.Issuer, Subject: o.Subject, Client: o.Client,
		ActorIssuer: o.Actor.Issuer, Actor: o.Actor.Subject}
}

// callerOf returns a digest of what a credential lets its owner do: nil and empty lists, and other
// orders, are equal.
func callerOf(p access.Principal) string {
	text := fmt.Sprintf("%q %q %q %q %q %q", p.User, sorted(p.Roles), sorted(p.Scopes),
		sorted(p.Groups),
		sorted(p.Orgs), sorted(p.Teams))
	if p.Bounds != nil {
		bounds, _ := p.Bounds.AppendText(nil)
		text += " " + string(bounds)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

func sorted[T any](list []T) (texts []string) {
	for _, item := range list {
		texts = append(texts, fmt.Sprintf("%q", any(item)))
	}
	slices.Sort(texts)
	return texts
}

// createTask answers an allowed call with a task if the tool and the client take tasks.
func (g *Guard) createTask(next Next) Next {
	if g.Tasks == nil {
		return next
	}
	return func(ctx context.Context, m *Message) (Answer, error) {
		call, ok := m.Params.(*mcp.CallToolParamsRaw)
		if !ok || !takesTasks(m) {
			return next(ctx, m)
		}
		t := g.Tools[call.Name]
		if t == nil || t.Task == "" || t.Task == toolset.TaskAnswered &&
			call.InputResponses == nil && call.RequestState == "" {
			return next(ctx, m)
		}
		id, record, err := g.Tasks.Create(ctx, task.Record{Owner: ownerOf(m.Bounded()),
			Tool: t.Name, RequestID: m.ID, Arguments: call.Arguments, Authority: m.Expires,
			Caller: callerOf(m.Principal)}, t.Timeout)
		switch {
		case errors.Is(err, task.ErrFull) && t.Task != toolset.TaskRequired:
			return next(ctx, m) // others may have all tasks: as for a client without tasks
		case errors.Is(err, task.ErrFull):
			return limitedTask(taskCount, "too many tasks: wait until one has expired, or try again later")
		case errors.Is(err, tasks.ErrTooLarge):
			return limitedTask(taskSize, "the arguments are too large for a task")
		case err != nil:
			err = g.unavailable(ctx, m, err)
			return Answer{Report: &invoke.Report{Failure: audit.Errored, Err: err}}, err
		}
		m.run = &taskRun{record: record, info: m.Info.ForTask(nil), params: call}
		m.run.info.Unsolicited = m.Unsolicited
		if err := ctx.Err(); err != nil { // its client has gone, and cannot read the task
			return Answer{Report: &invoke.Report{Failure: audit.Errored, Err: err}}, err
		}
		e, err := wire.EncodeTask(id, record, tasks.PollInterval, true)
		return Answer{Encoded: e, Report: &invoke.Report{}}, err
	}
}

// The limits of tasks in events.
const taskSize, taskCount = "task size", "tasks"

func limitedTask(limit, text string) (Answer, error) {
	return Answer{Result: wire.ErrorResult(text), Report: &invoke.Report{
		Failure: audit.Limited, Axis: audit.AxisLimit, Missing: limit, Err: errors.New(text)}}, nil
}

// launch makes the change of a task that a message requests, and starts its run, once the message
// is recorded.
func (g *Guard) launch(next Next) Next {
	if g.Tasks == nil {
		return next
	}
	return func(ctx context.Context, m *Message) (Answer, error) {
		defer func() { // also if the program's log handler panics
			if m.run != nil {
				m.run.info.Credential.End()
				g.Tasks.Drop(ctx, m.run.record)
			}
		}()
		a, err := next(ctx, m)
		if err == nil && a.change != nil {
			err = g.changeTask(ctx, m, a.change)
		}
		if run := m.run; run != nil && err == nil {
			m.run = nil
			g.start(ctx, run)
		}
		return a, err
	}
}

// start starts a run, for which a shutdown waits.
func (g *Guard) start(ctx context.Context, run *taskRun) {
	g.Active.Enter()
	go g.work(context.WithoutCancel(ctx), run)
}

// changeTask makes a change whose event is durable. If the store refuses it, a second event has the
// failure.
func (g *Guard) changeTask(ctx context.Context, m *Message,
	change func(context.Context) error) error {
	err := change(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tasks.ErrTooLarge):
		m.limited(taskSize)
		err = wire.InvalidParams("%v", err)
	case errors.Is(err, task.ErrFull):
		m.limited(taskCount)
		err = wire.InvalidParams("%v", err)
	case errors.Is(err, task.ErrUnknown): // it has expired
		m.event.End(audit.Denied)
		err = wire.UnknownTask()
	default:
		m.event.End(audit.Errored)
		err = g.unavailable(ctx, m, err)
	}
	m.conclude()
	g.durable(ctx, m, *m.event, "a failed change of a task could not be recorded")
	return err
}

// durable records an event, and reports whether it is durable. It logs what the loss means.
func (g *Guard) durable(ctx context.Context, m *Message, e audit.Event, loss string) bool {
	err := g.record(ctx, m, e)
	if err != nil {
		g.Log.ErrorContext(ctx, loss, m.IDs(), "error", err)
		g.probeSink(err)
	}
	return err == nil
}

// taskNotifier turns the progress of a run into the status message of its task. Log messages have
// no place there.
type taskNotifier struct{ run *tasks.Run }

func (n taskNotifier) Notify(_ string, params any) error {
	p, ok := params.(*mcp.ProgressNotificationParams)
	if !ok {
		return nil
	}
	text := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		text = fmt.Sprintf("%v of %v", p.Progress, p.Total)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	n.run.Progress(text)
	return nil
}

// work does one run of a task, records how the task ended, and keeps the result.
func (g *Guard) work(ctx context.Context, r *taskRun) {
	defer g.Active.End()
	info := r.info
	defer info.Credential.End()
	if !info.Expires.IsZero() && info.Credential != nil {
		defer time.AfterFunc(time.Until(info.Expires), info.Credential.End).Stop()
	}
	defer func() { _ = recover() }() // of the program's log handler
	ctx, leave := g.Rights.Enter(ctx, info)
	defer leave()
	run, ctx := g.Tasks.Start(ctx, r.record, func(ctx context.Context) bool {
		p, _ := g.Rights.Refresh(ctx, info)
		return g.Policy.Decide(p, info.Catalog.ReadOnly, access.Tools, r.record.Tool).Allowed
	})
	defer run.Release()
	if g.TasksLocal { // nobody can read them afterwards
		defer context.AfterFunc(g.Active.Draining(), func() { run.Cancel(tasks.ErrStopped) })()
	}
	defer context.AfterFunc(g.Closing, func() { run.Cancel(tasks.ErrStopped) })()
	event := NewEvent(info, audit.TaskEnded)
	event.RequestID, event.Tool = r.record.RequestID, r.record.Tool
	event.End(audit.Crashed)
	m := &Message{Info: info, Method: "tools/call", Params: r.params, Meta: r.params.Meta,
		event: &event}
	out := internalFailure()
	defer func() {
		if p := recover(); p != nil {
			stack := string(debug.Stack())
			defer func() {
				g.Log.ErrorContext(ctx, "a task panicked", m.IDs(), "panic", fmt.Sprint(p),
					"stack", stack)
			}()
		}
		g.endTask(ctx, m, run, out)
	}()
	out = g.outcome(request.With(ctx, info), m, run, r)
	if !run.Fits(out) {
		m.limited(taskSize)
		out = stopped(tasks.ErrTooLarge)
	}
}

// stopped is the outcome of a run that ends with an error of package tasks.
func stopped(err error) tasks.Outcome {
	return tasks.Outcome{Status: task.Failed, Text: err.Error(), Result: tasks.ErrorOf(err)}
}

func internalFailure() tasks.Outcome {
	return tasks.Outcome{Status: task.Failed, Result: errorText(wire.InternalError())}
}

// outcome runs the handler of a task.
func (g *Guard) outcome(ctx context.Context, m *Message, run *tasks.Run,
	r *taskRun) (out tasks.Outcome) {
	m.Notifier = taskNotifier{run: run}
	m.Meta = map[string]any{}
	maps.Copy(m.Meta, r.params.Meta)
	m.Meta["progressToken"] = "task"
	target := request.Target{Kind: access.Tools, Name: r.record.Tool}
	var a Answer
	var err error
	why := run.Why()
	if why == nil { // or the client has cancelled the task before its run
		a, err = g.runTask(ctx, m)
		a, err = g.classify(m, subject{target, target.Name, true, nil}, a, err)
		if a.Report != nil {
			m.noteReport(a.Report, err)
		}
		why = run.Why()
	}
	if why == nil && a.Report != nil && a.Report.Cancelled && g.Closing.Err() != nil {
		why = tasks.ErrStopped // the handler was ahead of the run
	}
	if why != nil {
		m.event.End(audit.Errored)
		m.event.Axis, m.event.Missing = audit.AxisCancelled, why.Error()
		if errors.Is(why, principal.ErrBlocked) {
			m.event.Axis, m.event.Missing = string(access.AxisBoundary), blocked
		}
		return stopped(why)
	}
	failed := func(err error) tasks.Outcome {
		err = g.errorFor(ctx, m, err)
		return tasks.Outcome{Status: task.Failed, Text: err.Error(), Result: errorText(err)}
	}
	if err != nil {
		return failed(err)
	}
	if requests, state := wire.InputOf(a.Result); requests != nil {
		err = wire.CheckDeclared(m.Inputs, slices.Collect(maps.Values(requests))...)
		if undeclared := (wire.NotDeclared{}); errors.As(err, &undeclared) {
			m.event.End(audit.Errored)
			return failed(undeclared.RPC())
		}
		out.Status, out.State = task.InputRequired, state
		out.Requests, err = wire.EncodeRequests(requests, r.record.Rounds+1)
	} else {
		if out.Status = task.Completed; a.Encoded == nil {
			if a.Encoded, err = wire.EncodeResult(a.Result); err == nil {
				err = g.cutIntercepted(m, target, a)
			}
		}
		if err == nil {
			out.Result = a.Encoded.Append(nil)
		}
	}
	if err != nil {
		m.event.End(audit.Crashed)
		return failed(err)
	}
	return out
}

// endTask records how a run ended, and then keeps the outcome: questions or a result without a
// record are withheld. A run that has lost its task records nothing: the replica that has ended the
// task does.
func (g *Guard) endTask(ctx context.Context, m *Message, run *tasks.Run, out tasks.Outcome) {
	const loss = "the end of a run of a task could not be recorded; the server withholds its outcome"
	patience := g.Closing                             // the store may return
	own, err := run.Claim(patience, 2*g.AuditTimeout) // for two events, if the first one is lost
	if own {
		asked := *m.event
		asked.Type = audit.TaskAsked
		if out.Status == task.InputRequired && !g.durable(ctx, m, asked, loss) {
			m.event.End(audit.Crashed)
			out = internalFailure()
		}
		if out.Status != task.InputRequired && !g.durable(ctx, m, *m.event, loss) {
			out = internalFailure()
		}
		err = run.End(patience, out)
		if err == nil && out.Status == task.InputRequired && m.Blocked() {
			err = g.CancelBlocked(patience)
		}
	}
	if err != nil {
		g.Log.ErrorContext(ctx, "the outcome of a task could not be kept", m.IDs(), "error", err)
	}
	if out.Status != task.InputRequired && m.event.Failure != "" {
		g.logFailed(ctx, m, nil)
	}
}

// CancelBlocked cancels the tasks that wait for input of clients that are blocked.
func (g *Guard) CancelBlocked(ctx context.Context) error {
	return g.Tasks.CancelWaiting(ctx, principal.ErrBlocked,
		func(ctx context.Context, o task.Owner) (bool, error) {
			return g.Rights.Boundaries.Stops(ctx, access.Principal{Issuer: o.Issuer, Subject: o.Subject,
				Client: o.Client, Actor: access.Actor{Issuer: o.ActorIssuer, Subject: o.Actor}})
		})
}

// TaskLost records the end of a task whose run has died with its server.
func (g *Guard) TaskLost(ctx context.Context, r task.Record) {
	if g.Audit == nil {
		return
	}
	event := audit.Event{Time: r.Created, Type: audit.TaskEnded, RequestID: r.RequestID,
		Issuer: r.Owner.Issuer, Principal: r.Owner.Subject, Client: r.Owner.Client, Tool: r.Tool,
		Missing: r.Message, Axis: audit.AxisCancelled}
	if r.Owner.Actor != "" {
		event.Actor = &access.Actor{Issuer: r.Owner.ActorIssuer, Subject: r.Owner.Actor}
	}
	if r.Message == principal.ErrBlocked.Error() {
		event.Axis, event.Missing = string(access.AxisBoundary), blocked
	}
	event.End(audit.Errored)
	// The request that has found it may have a value for a handler, and no sink gets one.
	ctx = credential.With(context.WithoutCancel(ctx), nil)
	if err := g.write(ctx, event); err != nil {
		g.Log.ErrorContext(ctx, "the end of a task could not be recorded",
			"request_id", r.RequestID, "error", err)
	}
}

// invokeTask is the end of the chain for runs of tasks.
func (g *Guard) invokeTask(ctx context.Context, m *Message) (Answer, error) {
	if call, ok := m.Params.(*mcp.CallToolParamsRaw); ok {
		if t := g.Tools[call.Name]; t != nil && t.SDK {
			req, err := g.TaskRequest(ctx, m.Info, call)
			if err != nil {
				return Answer{}, err
			}
			defer func() { _ = req.Session.Close() }()
			return g.callTool(ctx, m, t, *req)
		}
	}
	a, own, err := g.TryInvoke(ctx, m)
	if !own {
		return Answer{Report: &invoke.Report{Failure: audit.Denied}}, Unknown(m.Params)
	}
	return a, err
}

// errorText returns an error as a failed task has it.
func errorText(err error) json.RawMessage {
	var rpc *jsonrpc.Error
	if !errors.As(wire.WireError(err), &rpc) {
		return tasks.ErrorOf(err)
	}
	text, _ := wire.Marshal(rpc) // its data is valid JSON
	return text
}

// find returns the task of a message. All reasons why the caller cannot reach it are one error: it
// does not exist, it is of another principal or client, or its tool may not be used any more.
func (g *Guard) find(ctx context.Context, m *Message) (task.Record, error) {
	params := m.Params.(*wire.TaskParams)
	failure := func(f audit.Failure) {
		if m.event != nil {
			m.event.End(f)
		}
	}
	switch {
	case m.HTTP != nil && !wire.HeaderNames(m.HTTP.Header(), params.ID):
		failure(audit.Invalid)
		return task.Record{}, wire.TaskHeaderMismatch()
	case !wire.DeclaresTasks(m.Meta):
		failure(audit.Invalid)
		return task.Record{}, wire.MissingTasks()
	}
	found, err := g.Tasks.Find(ctx, ownerOf(m.Bounded()), params.ID)
	d := g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, access.Tools, found.Tool)
	switch {
	case err != nil && !errors.Is(err, task.ErrUnknown):
		failure(audit.Errored)
		return task.Record{}, g.unavailable(ctx, m, err)
	case (err != nil || !d.Allowed) && m.Permissions != nil && m.Permissions.Unavailable:
		failure(audit.Errored) // alike for all ids
		return task.Record{}, wire.Unavailable("permissions")
	case err != nil || !d.Allowed:
		if m.event != nil {
			m.event.Axis = string(d.Axis)
		}
		return task.Record{}, wire.UnknownTask()
	}
	failure("")
	m.Target = request.Target{Kind: access.Tools, Name: found.Tool}
	m.outcome.Kind, m.outcome.Name = access.Tools, found.Tool
	if m.event != nil {
		m.event.Tool, m.event.Object = found.Tool, "task of request "+found.RequestID
	}
	return found, nil
}

// getTask is tasks/get.
func (g *Guard) getTask(ctx context.Context, m *Message, _ Next) (Answer, error) {
	found, err := g.find(ctx, m)
	if err != nil {
		return Answer{}, err
	}
	if err = g.Tasks.Extend(ctx, found, callerOf(m.Principal), m.Expires); err != nil {
		return Answer{}, g.unavailable(ctx, m, err)
	}
	// The caller may see less than the one of the run.
	if cut := g.cutFor(m.Principal, m.Target); cut != nil && found.Status == task.Completed {
		if found.Result, err = cut(found.Result); err != nil {
			return Answer{}, err
		}
	}
	e, err := wire.EncodeTask(m.Params.(*wire.TaskParams).ID, found, tasks.PollInterval, false)
	return Answer{Encoded: e}, err
}

// cancelTask is tasks/cancel.
func (g *Guard) cancelTask(ctx context.Context, m *Message, _ Next) (Answer, error) {
	found, err := g.find(ctx, m)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Encoded: wire.Acknowledgement(),
		change: func(ctx context.Context) error {
			return g.Tasks.Cancel(ctx, found,
				tasks.ErrCancelled)
		}}, nil
}

// updateTask is tasks/update.
func (g *Guard) updateTask(ctx context.Context, m *Message, _ Next) (Answer, error) {
	found, err := g.find(ctx, m)
	if err != nil {
		return Answer{}, err
	}
	answers, err := wire.CheckAnswers(found, m.Params.(*wire.TaskParams).Responses)
	if err != nil {
		m.event.End(audit.Invalid)
		return Answer{}, wire.InvalidParams("%v", err)
	}
	if !tasks.HasRoom(found, answers) {
		m.limited(taskSize)
		return Answer{}, wire.InvalidParams("%v", tasks.ErrTooLarge)
	}
	a := Answer{Encoded: wire.Acknowledgement()}
	if len(answers) > 0 {
		a.change = func(ctx context.Context) error { return g.answerTask(ctx, m, found, answers) }
	}
	return a, nil
}

// answerTask keeps answers. The last one starts the next run, which can be after the response: see
// [tasks.Registry.Answer]. The permissions that the message has read do not count for such a run,
// and its credential waits no longer than it is valid.
func (g *Guard) answerTask(ctx context.Context, m *Message, found task.Record,
	answers map[string]json.RawMessage) error {
	run := &taskRun{info: m.Info.ForTask(nil), params: &mcp.CallToolParamsRaw{Meta: m.Meta}}
	var failed error
	var late atomic.Bool
	err := g.Tasks.Answer(ctx, found, answers, callerOf(m.Principal), m.Expires,
		func(answered *task.Record) {
			if answered == nil {
				run.info.Credential.End()
				return
			}
			run.params.InputResponses, failed = wire.DecodeAnswers(*answered)
			if failed != nil || g.Closing.Err() != nil {
				run.info.Credential.End()
				g.Tasks.Drop(ctx, *answered)
				return
			}
			if late.Load() {
				run.info.Permissions.Spend()
			}
			run.record, run.params.Name = *answered, answered.Tool
			run.params.Arguments, run.params.RequestState = answered.Arguments, answered.State
			g.start(ctx, run)
		})
	if err != nil { // failed may be set later
		if late.Store(true); !m.Expires.IsZero() && run.info.Credential != nil {
			time.AfterFunc(time.Until(m.Expires), run.info.Credential.End)
		}
		return err
	}
	return failed
}

// unavailable returns the error for a client whose task could not be read or changed, and logs the
// cause.
func (g *Guard) unavailable(ctx context.Context, m *Message, err error) error {
	if errors.Is(err, task.ErrUnknown) {
		return wire.UnknownTask() // it has expired
	}
	if errors.Is(err, tasks.ErrPanicked) || ctx.Err() != nil {
		return err
	}
	g.Log.ErrorContext(ctx, "the store of tasks has failed", "method", m.Method, m.IDs(),
		"error", err)
	return wire.Unavailable("tasks")
}
