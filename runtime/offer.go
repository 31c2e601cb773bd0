package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// item is a prompt or a resource, by the name that its rule has.
type item struct {
	kind access.Kind
	name string
}

// decided answers one request for a prompt, a resource or a completion and records it. A
// concealed item and one that does not exist take the same way, and take it before anything
// else of the request is looked at.
func (g guard) decided(ctx context.Context, rec *record, event audit.Event, what item, unknown error,
	allowed func() (mcp.Result, audit.Status, error)) (mcp.Result, error) {
	g.enter()
	defer g.end()
	d := g.table.Of(what.kind).Decide(rec.principal, what.name)
	event.Axis, event.Missing, event.Status = string(d.Axis), g.missing(rec, d), audit.Denied
	event.Prompt, event.Resource = g.recordedName(event.Prompt, 128, d), g.recordedName(event.Resource, 256, d)
	res, err := mcp.Result(nil), g.refused(d, what, unknown)
	if d.Axis != access.AxisUnknown {
		rec.told.Kind, rec.told.Name = what.kind, what.name
		rec.doing = work{kind: what.kind.String(), name: what.name}
	}
	g.trace(ctx, rec, what.kind, what.name)
	challenged := g.challengeable(rec, d)
	if d.Allowed {
		res, event.Status, err = allowed()
		rec.ran(&event, err)
	}
	g.logRefused(ctx, rec, &event)
	rec.concluded(event)
	stands := g.recorded(ctx, event, rec)
	g.logFailed(ctx, rec, &event, err)
	if !stands {
		return nil, internalError()
	}
	if challenged {
		rec.challenged = rec.gate.challenge(g.insufficientScope(d))
	}
	return res, err
}

// refused is how a refusal of a prompt or a resource looks.
func (s *Server) refused(d access.Decision, what item, unknown error) error {
	if d.Axis != "" && d.Axis != access.AxisUnknown && s.denial(d) != access.Conceal {
		return forbiddenItem(what, d)
	}
	return unknown
}

// again decides a second time, in the closure that go-sdk calls: it is called behind the
// guard's back too.
func (s *Server) again(ctx context.Context, extra *mcp.RequestExtra, what item, unknown error) (*record, error) {
	rec := recordOf(extra)
	if rec == nil {
		s.log.ErrorContext(ctx, "a request reached a handler without a caller; refused", what.kind.String(), what.name)
		return nil, unknown
	}
	rec.reached, rec.failure = true, nil
	s.renew(ctx, rec)
	d := s.table.Of(what.kind).Decide(rec.principal, what.name)
	if rec.expired() {
		d = access.Decision{}
	}
	if !d.Allowed {
		rec.outcome = audit.Denied
		return nil, s.refused(d, what, unknown)
	}
	return rec, nil
}

// finished is what leaves of an allowed request. own says that a toolset's closure should have
// answered it.
func (g guard) finished(rec *record, what item, own bool, res mcp.Result, err error) (mcp.Result, audit.Status, error) {
	status := rec.outcome
	if !rec.reached {
		// Middleware answered, or an item of an adopted server.
		if own && len(g.opts.Middleware) == 0 && err == nil {
			return nil, audit.Crashed, fmt.Errorf("%s %q was replaced in the adopted server; its answer is withheld", what.kind, what.name)
		}
		if status = audit.OK; err != nil {
			status = audit.Failed
		}
	}
	if err != nil {
		return nil, status, err
	}
	done, err := finish(res)
	if err != nil {
		return nil, audit.Crashed, fmt.Errorf("%s %q: %w", what.kind, what.name, err)
	}
	return done, status, nil
}

// ran runs the handler of a prompt, a resource or a completion. do returns the result, or what
// the handler failed with, or why its result cannot be sent.
func ran[R any](ctx context.Context, s *Server, w work, rec *record, do func(context.Context) (res R, failure, unfit error)) (R, error) {
	crashed := func() answer[R] { return answer[R]{outcome: audit.Crashed, err: internalError()} }
	a := within(ctx, s, w, rec, crashed, func(ctx context.Context) answer[R] {
		res, failure, unfit := do(ctx)
		switch {
		case unfit != nil:
			s.log.ErrorContext(ctx, "a handler returned what cannot be sent", w.kind, w.name, rec.ids(), "error", unfit)
			return crashed()
		case failure != nil:
			var rpc *jsonrpc.Error
			if errors.As(failure, &rpc) && rpc != nil {
				return answer[R]{err: wireError(failure), outcome: audit.Failed}
			}
			// Asking for the words here keeps a panic of Error() inside the recover.
			return answer[R]{failure: handlerError{failure.Error(), failure}}
		}
		return answer[R]{res: res, outcome: audit.OK}
	})
	rec.outcome, rec.ruled, rec.failure = a.outcome, a.ruled, a.failure
	if a.failure == nil {
		rec.failure = a.err
		return a.res, a.err
	}
	var none R
	var malformed *decode.Error
	if errors.As(a.failure, &malformed) {
		return none, wordedRefusal{&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.masked(a.failure)}}
	}
	return none, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.masked(a.failure)}
}

// texts is what may be kept of arguments that are texts.
func (s *Server) texts(arguments map[string]string) []audit.Argument {
	if s.opts.Audit == nil || len(arguments) == 0 {
		return nil
	}
	raw, err := marshal(arguments)
	if err != nil { // of strings
		return nil
	}
	return s.arguments(raw)
}
