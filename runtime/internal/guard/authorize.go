package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// authorize lets a message through, or refuses it, by the rules of its method.
func (g *Guard) authorize(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		if handle := methods[m.Method].handle; handle != nil {
			return handle(g, ctx, m, next)
		}
		return next(ctx, m)
	}
}

// decide is the one decision about tools, prompts, resources and completions. A concealed one and
// one that does not exist take the same path.
func (g *Guard) decide(ctx context.Context, m *Message, next Next) (Answer, error) {
	s := g.subjectOf(m)
	d := g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, s.Kind, s.Name)
	if d.Axis != access.AxisUnknown {
		m.outcome.Kind, m.outcome.Name = s.Kind, s.Name
	}
	g.recordDecision(m, s, d)
	if g.Log.Enabled(ctx, slog.LevelDebug) {
		g.logDecision(ctx, m, s)
	}
	if !d.Allowed {
		return g.refuse(m, s, d)
	}
	m.Target = s.Target // not before: log messages to the client contain its name
	return g.allow(ctx, m, s, next)
}

// refuse returns the refusal in its denial mode: concealed, forbidden, or a challenge. The status
// is not released: a refusal leaves at its end, however long its record takes, and is never a
// stream.
func (g *Guard) refuse(m *Message, s subject, d access.Decision) (Answer, error) {
	denial := g.Policy.DenialOf(d)
	if denial == access.Challenge && m.challenges() {
		return Answer{}, challenged{g.Authenticator.InsufficientScope(d, m.HasSessions(), m.HTTP.Query)}
	}
	switch {
	case d.Axis == "" || d.Axis == access.AxisUnknown || denial == access.Conceal:
		return Answer{}, s.unknown()
	case s.Kind == access.Tools:
		return Answer{Result: wire.ForbiddenTool(s.Name, d)}, nil
	}
	return Answer{}, wire.Forbidden(s.Kind, s.Name, d)
}

// allow passes an allowed message on, and notes in the event what came of it.
func (g *Guard) allow(ctx context.Context, m *Message, s subject, next Next) (Answer, error) {
	call, ok := m.Params.(*mcp.CallToolParamsRaw)
	if ok && s.requested != s.Name { // by an alias, which nothing behind the decision knows
		named := *call
		named.Name = s.Name
		m.Params, m.Target.Alias = &named, s.requested
	}
	a, err := next(ctx, m)
	if m.event.Failure != audit.Crashed { // a result that cannot be sealed
		a, err = g.classify(m, s, a, err)
	}
	if a.Report != nil {
		m.noteReport(a.Report, err)
	}
	if s.Kind == access.Tools && m.Expired() {
		// It ran, and its answer does not leave.
		m.event.Missing = "the credential expired during the call"
		if m.event.Failure == "" {
			m.event.End(audit.Errored)
		}
	}
	return a, err
}

// classify sets the status and the failure of an allowed message. It withholds the answer of a
// handler that replaced a toolset's own, and masks an error result that no toolset's handler made.
func (g *Guard) classify(m *Message, s subject, a Answer, err error) (Answer, error) {
	switch {
	case err != nil && errors.As(err, new(invalid)):
		m.event.End(audit.Invalid)
	case errors.Is(err, worker.ErrAbandoned):
		m.event.End(audit.Errored)
		return Answer{}, fmt.Errorf("%s %q: %w", s.Kind, s.Name, err)
	case errors.Is(err, worker.ErrGoexit):
		m.event.End(audit.Crashed)
		return Answer{}, fmt.Errorf("%s %q: %w", s.Kind, s.Name, err)
	case a.Report != nil && (err == nil || a.Report.Failure != ""):
		m.event.End(a.Report.Failure)
	case err != nil: // of middleware or an adopted server, or the handler's answer was lost
		m.event.End(audit.Errored)
	case s.own && !g.intercepts():
		m.event.End(audit.Crashed)
		return Answer{}, fmt.Errorf(
			"%s %q was replaced in the adopted server; the server withholds its response", s.Kind, s.Name)
	default:
		m.event.End("")
		if r, ok := a.Result.(*mcp.CallToolResult); ok && r != nil && r.IsError {
			m.event.End(audit.Errored)
			if a.Result, err = wire.MaskResult(g.maskOf(m), r); err != nil {
				return Answer{}, notEncoded(m, err)
			}
			m.failure = wire.FailureOf(nil, a.Result.(*mcp.CallToolResult))
		}
	}
	return a, err
}

// noteReport notes what the handler's run has found.
func (m *Message) noteReport(r *invoke.Report, err error) {
	m.failure = r.Err
	m.event.Grants = r.Grants
	if r.Axis != "" {
		m.event.Axis, m.event.Missing = r.Axis, r.Missing
	}
	m.outcome.Isolated = r.Killed
	m.outcome.Coerced = r.Coerced
	m.outcome.Cancelled = r.Cancelled || errors.Is(err, context.Canceled)
}

// admit checks what a caller sends beside the arguments of an allowed call: the sealed state of a
// multi-round-trip request, and the headers that repeat arguments (SEP-2243).
func (g *Guard) admit(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		responses, state := wire.ResponsesOf(m.Params)
		params, err := g.Sealer.Open(m.Info, m.Params)
		if err != nil {
			return Answer{}, invalid{wire.InvalidParams("%v", err)}
		}
		m.Params = params
		if call, ok := m.Params.(*mcp.CallToolParamsRaw); ok && g.Tools[call.Name] != nil {
			t := g.Tools[call.Name]
			if err := t.Headers.Check(m.Info, call.Arguments); err != nil {
				return Answer{}, invalid{err}
			}
			if t.SDK && state == "" && !m.HasSessions() {
				m.Unsolicited = responses
			}
			if t.Task == toolset.TaskRequired && !takesTasks(m) {
				return needsTasks(m)
			}
		}
		a, err := next(ctx, m)
		if err != nil || a.Result == nil {
			return a, err
		}
		requests, _ := wire.InputOf(a.Result)
		if requests == nil {
			return a, nil
		}
		var undeclared wire.NotDeclared
		err = wire.CheckDeclared(m.Inputs, slices.Collect(maps.Values(requests))...)
		switch {
		case m.HasSessions(): // those of a handler are asked on the session, behind this step
			err = notEncoded(m, errAsksAgain)
		case errors.As(err, &undeclared): // of an adopted server or of middleware
			err = undeclared.RPC()
		default:
			if a.Result, err = g.Sealer.Seal(m.Info, m.Params, a.Result); err != nil {
				err = notEncoded(m, err)
			}
		}
		return a, err
	}
}

var errAsksAgain = errors.New("middleware returned input requests, which need " + request.Stateless)

// invalid is an error of the request, and not of its handler.
type invalid struct{ error }

func (e invalid) Unwrap() error { return e.error }
