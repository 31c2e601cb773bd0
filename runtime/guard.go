package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// receiving is the guard: the outermost middleware of everything that clients send. It reads
// the caller from the carrier, decides, and lets nothing leave that is not finished.
func (s *Server) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	inner := s.answering(next)
	for _, m := range slices.Backward(s.opts.Middleware) {
		inner = m(inner)
	}
	g := guard{Server: s, sdk: next, inner: s.contained(inner)}
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		notification := strings.HasPrefix(method, "notifications/")
		var (
			rec  *record
			seen Observation
		)
		defer func() {
			if seen != nil {
				s.watching.ended(seen, rec.ended(err))
			}
		}()
		defer func() {
			if p := recover(); p != nil {
				s.log.ErrorContext(ctx, "a request panicked", "method", method, rec.ids(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, internalError()
				if rec != nil {
					rec.told.Status = audit.Crashed
				}
			}
		}()
		if isNil(req) {
			return nil, internalError()
		}
		rec = recordOf(req.GetExtra())
		if rec == nil {
			s.log.ErrorContext(ctx, "a message came without a caller; refused", "method", method)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "unauthenticated"}
		}
		ctx, seen = s.begun(ctx, method, req, rec)
		ctx, cancel := rec.bounded(ctx)
		defer cancel()
		rec.talk.ctx = ctx
		defer rec.talk.end()
		if s.project(ctx, rec) != nil {
			return nil, errNobody()
		}
		rec.caller = rec.principal
		s.watch.observe(req, rec)
		if !gated(method) {
			rec.gate.open()
		}
		res, err = g.handle(ctx, method, req, rec)
		switch {
		case rec.expired():
			return nil, errExpired()
		case err != nil:
			return nil, g.refusal(ctx, method, rec, err)
		case notification && isNil(res):
			return nil, nil
		}
		if _, ok := res.(*finished); ok {
			return res, nil
		}
		done, err := finish(s.declared(res))
		if err != nil {
			s.log.ErrorContext(ctx, "a result cannot be sent", "method", method, rec.ids(), "error", err)
			return nil, internalError()
		}
		return done, nil
	}
}

// guard is what one pass through the guard needs.
type guard struct {
	*Server
	sdk   mcp.MethodHandler // go-sdk itself
	inner mcp.MethodHandler // Options.Middleware, then answering
}

// refusal makes an error fit to leave and logs what is taken out of it.
func (g guard) refusal(ctx context.Context, method string, rec *record, err error) error {
	out := wireError(err)
	if !errors.As(err, new(wordedRefusal)) {
		out = g.maskedRefusal(out)
	}
	if e, ok := out.(*jsonrpc.Error); ok && e.Code == jsonrpc.CodeInternalError && e.Message == "internal error" && err.Error() != e.Message {
		g.log.ErrorContext(ctx, "a request failed", "method", method, rec.ids(), "error", withoutValue(err))
	}
	return out
}

// withoutValue is an error fit for the log. One of decoding repeats what it could not decode, such as a
// client's answer to an elicitation.
func withoutValue(err error) error {
	var misfit *json.UnmarshalTypeError
	if !errors.As(err, &misfit) {
		return err
	}
	return fmt.Errorf("what the client answered does not fit a %v (field %q)", misfit.Type, misfit.Field)
}

// handle lets through what is listed here and nothing else. A method that go-sdk learns later,
// or that somebody registers, is refused until it is written down.
func (g guard) handle(ctx context.Context, method string, req mcp.Request, rec *record) (mcp.Result, error) {
	switch r := req.(type) {
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		if method == "initialize" && r.Params != nil {
			if rec.slot != nil && !rec.slot.keep(r.Session) {
				return nil, internalError()
			}
			return g.inner(ctx, method, clamped(r))
		}
	case *mcp.CallToolRequest:
		if method == "tools/call" {
			return g.call(ctx, r, rec)
		}
	case *mcp.ListToolsRequest:
		if method == "tools/list" {
			return g.list(ctx, method, req, rec)
		}
	case *mcp.ListPromptsRequest:
		if method == "prompts/list" {
			return g.list(ctx, method, req, rec)
		}
	case *mcp.ListResourcesRequest:
		if method == "resources/list" {
			return g.list(ctx, method, req, rec)
		}
	case *mcp.ListResourceTemplatesRequest:
		if method == "resources/templates/list" {
			return g.list(ctx, method, req, rec)
		}
	case *mcp.SubscriptionsListenRequest:
		if method == "subscriptions/listen" && r.Params != nil {
			return g.listen(ctx, r, rec)
		}
	case *mcp.GetPromptRequest:
		if method == "prompts/get" && r.Params != nil {
			return g.getPrompt(ctx, r, rec)
		}
	case *mcp.ReadResourceRequest:
		if method == "resources/read" && r.Params != nil {
			return g.readResource(ctx, r, rec)
		}
	case *mcp.CompleteRequest:
		if method == "completion/complete" && r.Params != nil {
			return g.complete(ctx, r, rec)
		}
	//lint:ignore SA1019 clients of the versions with sessions ask handlers for log messages by it
	case *mcp.ServerRequest[*mcp.SetLoggingLevelParams]:
		if method == "logging/setLevel" && r.Params != nil {
			return g.setLevel(ctx, r)
		}
	}
	switch method {
	case "ping", "server/discover",
		"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed":
		return g.inner(ctx, method, req)
	}
	return nil, methodNotFound(method)
}

// clamped keeps a session at what it negotiated: go-sdk answers a handshake that asks for
// 2026-07-28 with 2025-11-25 and then treats the session as if it had said yes.
func clamped(r *mcp.ServerRequest[*mcp.InitializeParams]) mcp.Request {
	params := *r.Params
	if params.ProtocolVersion > newestWithSessions {
		params.ProtocolVersion = newestWithSessions
	}
	return &mcp.ServerRequest[*mcp.InitializeParams]{Session: r.Session, Params: &params, Extra: r.Extra}
}

// declared sets what a handshake says that the server can do.
func (s *Server) declared(res mcp.Result) mcp.Result {
	switch r := res.(type) {
	case *mcp.DiscoverResult:
		if r != nil {
			c := *r
			c.Capabilities = capabilities(s.opts.changes())
			return &c
		}
	case *mcp.InitializeResult:
		if r != nil {
			c := *r
			c.Capabilities = capabilities(s.opts.changes())
			return &c
		}
	}
	return res
}

// listen answers a subscription with what there is to subscribe to: that a list has changed, with
// permission-aware discovery or Options.Catalogs, and nothing without, since tools, prompts and resources do not
// change while a server runs. Where there is nothing it ends at once, and so it does for callers whose
// lists never change, and in sessions, which are told without it. The URIs that it names
// are dropped unread, since go-sdk would subscribe to them past this guard; resources/subscribe itself
// is refused to everybody.
func (g guard) listen(ctx context.Context, r *mcp.SubscriptionsListenRequest, rec *record) (mcp.Result, error) {
	params := *r.Params
	if asked := params.Notifications; asked != nil {
		params.Notifications = &mcp.NotificationSubscriptions{}
		lists := asked.ToolsListChanged || asked.PromptsListChanged || asked.ResourcesListChanged
		if lists && g.watch.tells(rec.principal) && !legacy(r.Session) {
			params.Notifications.ToolsListChanged = asked.ToolsListChanged
			params.Notifications.PromptsListChanged = asked.PromptsListChanged
			params.Notifications.ResourcesListChanged = asked.ResourcesListChanged
			slot, status := rec.seats.take(userOf(rec.principal))
			if status != 0 {
				g.log.WarnContext(ctx, "no room is left to listen: see Options.MaxSessions and Options.MaxUserSessions",
					"principal", rec.principal.Subject, "status", status, rec.ids())
				return nil, errCrowded(status)
			}
			defer slot.leave()
			if rec.streams != nil {
				rec.streams()
			}
			if rec.asked.said {
				var err error
				if rec.narrowing, err = g.narrow(ctx, rec); err != nil {
					return nil, unfiltered(err)
				}
			}
			defer g.watch.listen(ctx, r.Session, rec)()
		}
	}
	return g.inner(ctx, "subscriptions/listen", &mcp.SubscriptionsListenRequest{Session: r.Session, Params: &params, Extra: r.Extra})
}

// answering is what stands inside Options.Middleware: lists are answered from the table,
// completions by their own funcs, and go-sdk is asked for the rest.
func (s *Server) answering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if res, ok, err := s.lists.answer(req); ok {
			return res, err
		}
		switch r := req.(type) {
		case *mcp.ReadResourceRequest:
			ctx, req = s.readable(ctx, r)
		case *mcp.CompleteRequest:
			if res, ok, err := s.dispatchCompletion(ctx, r); ok {
				if err != nil {
					return nil, err
				}
				return res, nil
			}
		}
		return next(ctx, method, req)
	}
}

func (g guard) list(ctx context.Context, method string, req mcp.Request, rec *record) (mcp.Result, error) {
	var (
		res mcp.Result
		err error
	)
	if method == "tools/list" && rec.asked.said {
		if rec.narrowing, err = g.narrow(ctx, rec); err != nil {
			err = unfiltered(err)
		}
	}
	if err == nil {
		res, err = g.inner(ctx, method, req)
	}
	kind, visible, total := g.lists.counts(method, rec)
	event := g.event(rec, kind)
	if kind == audit.ToolList {
		event.Catalog = g.recordedAsk(rec.asked.Ask)
		g.watch.listed(req, rec)
	}
	event.Visible, event.Total = visible, total
	event.Status = audit.OK
	if err != nil {
		event.Status = audit.Invalid
	}
	g.log.LogAttrs(ctx, slog.LevelDebug, "list filtered", slog.String("method", method),
		slog.String("role", rec.principal.Role), slog.Int("visible", event.Visible), slog.Int("total", event.Total),
		rec.ids())
	rec.concluded(event)
	if !g.recorded(ctx, event, rec) {
		return nil, internalError()
	}
	return res, err
}

// call decides a call. A concealed tool and one that does not exist take the same way, and
// take it before anything else of the request is looked at.
func (g guard) call(ctx context.Context, req *mcp.CallToolRequest, rec *record) (mcp.Result, error) {
	if req.Params == nil {
		return nil, invalidParams("missing params")
	}
	g.enter()
	defer g.end()
	name := req.Params.Name
	d := g.decide(rec.principal, access.Tools, name)
	event := g.event(rec, audit.ToolCall)
	event.Tool, event.Axis, event.Missing = g.recordedName(name, 128, d), string(d.Axis), g.missing(rec, d)
	if d.Axis != access.AxisUnknown {
		rec.told.Kind, rec.told.Name = access.Tools, name
		rec.doing = work{kind: access.Tools.String(), name: name}
	}
	if g.catalogs.isOff(access.Tools, name) {
		event.Missing = "the tool is switched off"
	}
	event.Arguments = g.arguments(req.Params.Arguments)
	event.Status = audit.Denied

	var (
		res mcp.Result
		err error
	)
	g.trace(ctx, rec, access.Tools, name)
	challenged := g.challengeable(rec, d)
	rec.awaited, rec.recorded = nil, false
	switch {
	case challenged:
		err = internalError() // nobody reads it
	case d.Allowed:
		if g.opts.Audit != nil && g.alone() {
			rec.awaited = &event
		}
		res, event.Status, err = g.allowed(ctx, req, rec)
		rec.ran(&event, err)
		if rec.expired() {
			// It ran, and its answer does not leave.
			event.Missing = "the credential expired during the call"
			if event.Status == audit.OK {
				event.Status = audit.Failed
			}
		}
	case d.Axis != access.AxisUnknown && g.denial(d) != access.Conceal:
		res, err = g.forbid(ctx, req, d)
	default:
		err = unknownTool(name)
	}
	g.logRefused(ctx, rec, &event)
	rec.concluded(event)
	stands := false
	if event.Status == audit.OK && rec.recorded { // in this order: the worker of an abandoned call may write rec.recorded
		stands = g.stands(ctx, rec, rec.unrecorded)
	} else {
		// Also where it was written already and something came in between since: the last one counts.
		stands = g.recorded(ctx, event, rec)
	}
	g.logFailed(ctx, rec, &event, err)
	if !stands {
		return nil, internalError()
	}
	if challenged {
		rec.challenged = rec.gate.challenge(g.insufficientScope(d))
	}
	return res, err
}

// denial is how a refusal looks: a challenge to those who lack nothing but scopes, which is
// concealed from the rest. Where there is no HTTP answer to give, a challenge is a Forbid.
func (s *Server) denial(d access.Decision) access.Denial {
	denial := d.Denial
	if denial == access.DenialDefault {
		denial = s.opts.Denial
	}
	if denial == access.Challenge && !d.LacksScopesOnly() {
		denial = access.Conceal
	}
	if denial == access.Conceal && s.opts.ListAll {
		denial = access.Forbid
	}
	return denial
}

// allowed passes a call on.
func (g guard) allowed(ctx context.Context, req *mcp.CallToolRequest, rec *record) (mcp.Result, audit.Status, error) {
	params, err := g.sealer.unsealed(rec, req)
	if err != nil {
		return nil, audit.Invalid, invalidParams("%v", err)
	}
	t := g.tools[params.Name]
	if t != nil && len(t.headers) > 0 && rec.header != nil && !legacy(req.Session) {
		if err := checkHeaders(t.headers, rec.header, params.Arguments); err != nil {
			return nil, audit.Invalid, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: err.Error()}
		}
	}
	if params != req.Params {
		req = &mcp.CallToolRequest{Session: req.Session, Params: params, Extra: req.Extra}
	}
	res, err := g.inner(ctx, "tools/call", req)
	switch {
	case errors.Is(err, errAbandoned): // it may still write to rec
		return nil, audit.Failed, fmt.Errorf("tool %q: %w", params.Name, err)
	case errors.Is(err, errGoexit):
		return nil, audit.Crashed, fmt.Errorf("tool %q: %w", params.Name, err)
	}
	status := rec.outcome
	if !rec.reached {
		// Middleware answered, or a tool of an adopted server.
		if t != nil && len(g.opts.Middleware) == 0 && err == nil {
			return nil, audit.Crashed, fmt.Errorf("tool %q was replaced in the adopted server; its answer is withheld", params.Name)
		}
		status = audit.OK
		if r, ok := res.(*mcp.CallToolResult); err != nil || ok && r != nil && r.IsError {
			status = audit.Failed
		}
	}
	if err != nil {
		if status == audit.OK {
			status = audit.Failed // the closure answered, and its answer got lost behind it
		}
		return nil, status, err
	}
	if !rec.reached {
		if res, err = g.maskedAnswer(res); err != nil {
			return nil, audit.Crashed, fmt.Errorf("tool %q: %w", params.Name, err)
		}
		if r, ok := res.(*mcp.CallToolResult); ok {
			rec.failure = failureOf(nil, r)
		}
	}
	if res, err = g.sealer.sealed(rec, params, res); err != nil {
		return nil, audit.Crashed, fmt.Errorf("tool %q: %w", params.Name, err)
	}
	if quick := g.quick(rec, res); quick != nil {
		return quick, status, nil
	}
	done, err := finish(shown(res))
	if err != nil {
		return nil, audit.Crashed, fmt.Errorf("tool %q: %w", params.Name, err)
	}
	return done, status, nil
}

// forbid lets go-sdk build the refusal in a dispatch closure, past Options.Middleware: one
// that is built here would lack the resultType that clients of 2026-07-28 ask for.
func (g guard) forbid(ctx context.Context, req *mcp.CallToolRequest, d access.Decision) (mcp.Result, error) {
	params := &mcp.CallToolParamsRaw{Name: req.Params.Name, Meta: req.Params.Meta}
	if g.tools[params.Name] == nil {
		params.Name, params.Arguments = refusalTool, refusalArguments(req.Params.Name, d)
	}
	return g.sdk(ctx, "tools/call", &mcp.CallToolRequest{Session: req.Session, Params: params, Extra: req.Extra})
}

// sending wraps everything that the server sends of its own accord.
func (s *Server) sending(next mcp.MethodHandler) mcp.MethodHandler {
	if s.watch != nil {
		s.watch.send = next
	}
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.ErrorContext(ctx, "sending panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, fmt.Errorf("sending %s: internal error", method)
			}
		}()
		switch method {
		case "notifications/tools/list_changed", "notifications/prompts/list_changed",
			"notifications/resources/list_changed", "notifications/resources/updated":
			// Told to every session, these would say that something changed which not every
			// session may see. Who sees something else than before is told by watch.
			return nil, nil
		}
		rec, ok := ctx.Value(recordKey{}).(*record)
		if method == "notifications/subscriptions/acknowledged" {
			s.watch.acknowledged(rec, req)
		}
		expired := func() bool { return ok && rec.expired() }
		if !expired() {
			res, err = next(ctx, method, req)
		}
		if expired() {
			// A person may take long to answer; what holds by then is decided again.
			return nil, fmt.Errorf("sending %s: the caller's credential has expired", method)
		}
		return res, err
	}
}
