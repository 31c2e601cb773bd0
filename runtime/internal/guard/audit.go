package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const maxRecording = 256 // records at a time, and goroutines that a hanging sink can hold

var (
	errAuditBusy  = errors.New("too many records are waiting for the sink")
	errSinkSilent = fmt.Errorf("the sink returned %w", worker.ErrNoResponse)
)

// NewEvent returns an event about a message, without what a decision adds.
func NewEvent(info *request.Info, kind audit.Type) audit.Event {
	p := info.Principal
	e := audit.Event{
		Type: kind, RequestID: info.ID, TraceID: info.TraceID,
		Issuer: p.Issuer, Principal: p.Subject, Client: p.ClientID(), Roles: p.Roles,
	}
	if p.Actor.Subject != "" {
		e.Actor = new(p.Actor)
	}
	return e
}

// challenged stands for an answer that leaves as an HTTP status, with this WWW-Authenticate.
type challenged struct{ authenticate string }

func (challenged) Error() string { return "challenged" }
func (challenged) Unwrap() error { return wire.InternalError() }

func (m *Message) challenges() bool { return m.Conn != nil && m.Conn.Challenges() }

// unintended is why an intent is not durable, so that nothing was started.
type unintended struct{ error }

// challenge answers a caller who lacks only scopes with an HTTP status (RFC 6750, section 3).
func (g *Guard) challenge(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		a, err := next(ctx, m)
		if c, ok := errors.AsType[challenged](err); ok && !m.Conn.Challenge(c.authenticate) {
			err = wire.InternalError()
		}
		return a, err
	}
}

// audit records what became of a message. Without the event there is no answer. While the sink is
// known to be down, every message is refused alike, before its name is read.
func (g *Guard) audit(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		known := methods[m.Method]
		if known.event == "" {
			return next(ctx, m)
		}
		if g.sink.down.Load() {
			g.sink.lost.Add(1)
			return Answer{}, wire.InternalError()
		}
		if known.decides {
			g.Active.Enter()
			defer g.Active.End()
		}
		event := NewEvent(m.Info, known.event)
		event.End(audit.Denied)
		m.event = &event
		a, err := next(ctx, m)
		if m.Blocked() { // its answer does not leave
			event.Axis, event.Missing = string(access.AxisBoundary), blocked
			event.End(cmp.Or(event.Failure, audit.Errored))
		}
		m.conclude()
		lost, isLost := errors.AsType[unintended](err)
		failed, what := lost.error,
			"the intent of a call could not be recorded; the call was not started"
		if !isLost {
			// A value or field that is denied has no line, as one that does not exist has none: it
			// would take longer.
			of := a.Report != nil && (a.Report.Axis == string(access.AxisValues) ||
				a.Report.Axis == string(access.AxisFields))
			if event.Failure == audit.Denied && !of {
				g.logDenied(ctx, m)
			}
			failed, what = g.record(ctx, m, event), "an audit record could not be written; "+
				"the request is refused"
			if known.decides && event.Failure != "" {
				g.logFailed(ctx, m, err)
			}
		}
		if failed == nil {
			return a, err
		}
		if m.undo != nil {
			m.undo()
		}
		// A handler that has run can return the error of arguments that do not fit, too.
		ran := !isLost && event.Failure != audit.Denied &&
			(event.Failure != audit.Invalid || event.Axis == audit.AxisArguments)
		if ran && known.decides {
			what = "the outcome of a call could not be recorded; the call has run, and the server " +
				"withholds its response"
		}
		g.Log.ErrorContext(ctx, what, m.IDs(), "error", failed)
		g.probeSink(failed)
		return Answer{}, wire.InternalError()
	}
}

// blocked is what a blocked client lacks.
const blocked = "blocked"

// Refused records the refusal of a request by its error, if the error is [principal.ErrBlocked].
// The name of the requested item is not read.
func (g *Guard) Refused(ctx context.Context, info *request.Info, action string, err error) {
	if !errors.Is(err, principal.ErrBlocked) || g.Audit == nil {
		return
	}
	if g.sink.down.Load() {
		g.sink.lost.Add(1)
		return
	}
	e := NewEvent(info, audit.Refused)
	e.Action = g.Masker.TextWithin(action, 128)
	e.Axis, e.Missing = string(access.AxisBoundary), blocked
	e.End(audit.Denied)
	g.durable(ctx, &Message{Info: info}, e, "the refusal of a blocked client could not be recorded")
}

// intend records the intent of an allowed call, as Options.Audit.Intent has it, and lets the HTTP
// status leave. Until then an allowed call is answered as a refused one.
func (g *Guard) intend(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		if !methods[m.Method].decides {
			return next(ctx, m)
		}
		if g.intends(m) {
			intent := *m.event
			intent.Status, intent.Failure = audit.Intent, ""
			if err := g.record(ctx, m, intent); err != nil {
				return Answer{}, unintended{err}
			}
			m.event.Intended = true
		}
		m.Conn.Release()
		return next(ctx, m)
	}
}

// intends reports whether an allowed call has an intent. Middleware has effects of its own, and may
// change the name.
func (g *Guard) intends(m *Message) bool {
	call, isCall := m.Params.(*mcp.CallToolParamsRaw)
	switch {
	case g.Audit == nil || g.AuditIntent == audit.IntentNone:
		return false
	case g.AuditIntent == audit.IntentAll || !isCall || g.intercepts():
		return isCall || g.AuditIntent == audit.IntentAll
	}
	t := g.Tools[call.Name] // nil for one of an adopted server
	return t == nil || !t.Annotations.ReadOnlyHint
}

// limited notes the limit that ended an allowed message.
func (m *Message) limited(limit string) {
	m.event.End(audit.Limited)
	m.event.Axis, m.event.Missing = audit.AxisLimit, limit
}

// conclude copies what the event has to the outcome for the observer.
func (m *Message) conclude() {
	o, e := &m.outcome, m.event
	o.Failure, o.Axis, o.Listed, o.Total = e.Failure, e.Axis, e.Visible, e.Total
	if e.Axis == audit.AxisLimit {
		o.Limit = e.Missing
	}
}

// record writes an event about a message, and returns why it is not durable. It writes also if the
// caller has gone.
func (g *Guard) record(ctx context.Context, m *Message, e audit.Event) error {
	if g.Audit == nil {
		return nil
	}
	if e.Time = m.Started; e.Status != audit.Intent {
		e.Milliseconds = float64(time.Since(m.Started)) / float64(time.Millisecond)
	}
	ctx = request.ForHandler(context.WithoutCancel(ctx), m.Info, nil) // without TokenInfo
	if m.Credential != nil {
		ctx = credential.With(ctx, nil)
	}
	return g.write(ctx, e)
}

// write writes an event. It waits at most for Options.Audit.Timeout.
func (g *Guard) write(ctx context.Context, e audit.Event) error {
	if _, waits := g.Audit.(audit.WaitingSink); waits && ctx.Done() == nil {
		return g.waited(ctx, e)
	}
	ctx, cancel := context.WithTimeout(ctx, g.AuditTimeout)
	defer cancel()
	select {
	case g.recording <- struct{}{}:
	case <-ctx.Done():
		return errAuditBusy
	}
	return g.supervised(ctx, e)
}

// waited calls a sink that only waits.
func (g *Guard) waited(ctx context.Context, e audit.Event) (err error) {
	now := time.Now()
	limited := &recordContext{Context: ctx, at: now.Add(g.AuditTimeout), done: make(chan struct{})}
	g.records.Begin(&limited.limit, limited, now)
	defer g.records.End(&limited.limit)
	select {
	case g.recording <- struct{}{}:
	case <-limited.done:
		return errAuditBusy
	}
	defer func() {
		if p := recover(); p != nil { // of the error's method
			err = fmt.Errorf("the audit sink panicked: %v", p)
		}
		<-g.recording
	}()
	switch err := g.Audit.Record(limited, e); {
	case err == nil:
		return nil
	case limited.Err() != nil:
		return errSinkSilent
	default:
		return errors.New(err.Error())
	}
}

// recordContext is the context of a record: it ends at its deadline alone, by the timer that all
// records share.
type recordContext struct {
	context.Context
	at    time.Time
	done  chan struct{}
	limit worker.Deadline
}

// Deadline implements [context.Context].
func (c *recordContext) Deadline() (time.Time, bool) { return c.at, true }

// Done implements [context.Context].
func (c *recordContext) Done() <-chan struct{} { return c.done }

// Err implements [context.Context].
func (c *recordContext) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Reached implements [worker.Waiter].
func (c *recordContext) Reached() { close(c.done) }

// supervised calls a sink that may not return.
func (g *Guard) supervised(ctx context.Context, e audit.Event) error {
	o := worker.Run(g.Pool, worker.Job[error]{Context: ctx, Do: func(ctx context.Context) error {
		defer func() { <-g.recording }()
		if err := g.Audit.Record(ctx, e); err != nil {
			return errors.New(err.Error()) // its method may panic, which is contained here
		}
		return nil
	}})
	switch {
	case o.Abandoned:
		return errSinkSilent
	case o.Crash != nil && o.Crash.Panicked:
		return fmt.Errorf("the audit sink panicked: %s", o.Crash.Value)
	case o.Crash != nil:
		return worker.ErrGoexit
	}
	return o.Value
}

// sinkState is what is known of the sink since a record has failed.
type sinkState struct {
	probing atomic.Bool  // there is a goroutine that probes it
	down    atomic.Bool  // it has failed the last probe
	lost    atomic.Int64 // requests without a record, or without an outcome
}

const firstProbe, lastProbe = 100 * time.Millisecond, 5 * time.Second // the pauses between probes

// probeSink notes a request without a record, and probes the sink on one goroutine, until a probe
// is durable or the server stops. The probe is an event that counts such requests. One failed
// event alone does not take the sink for down: a client might have caused it.
func (g *Guard) probeSink(failed error) {
	s := &g.sink
	s.lost.Add(1)
	if !s.probing.CompareAndSwap(false, true) {
		return
	}
	since := time.Now()
	go func() {
		defer s.probing.Store(false)
		defer s.down.Store(false)
		defer func() { _ = recover() }() // of the program's log handler
		for pause := firstProbe; failed != nil; pause = min(2*pause, lastProbe) {
			lost := s.lost.Load()
			failed = g.write(g.Closing, audit.Event{Time: since, Type: audit.Outage,
				Status: audit.Success, Total: int(lost),
				Milliseconds: float64(time.Since(since)) / float64(time.Millisecond)})
			if failed == nil {
				s.lost.Add(-lost)
				if s.down.Load() {
					g.Log.Warn("the audit sink works again", "after", time.Since(since),
						"requests_without_record", lost)
				}
				return
			}
			if !s.down.Swap(true) {
				g.Log.Error("the audit sink is down: until it works again, "+
					"every call and list is refused at once", "error", failed)
			}
			select {
			case <-g.Closing.Done():
				return
			case <-time.After(pause):
			}
		}
	}()
}

// logDecision logs a decision with all of its verdicts, at debug level.
func (g *Guard) logDecision(ctx context.Context, m *Message, s subject) {
	table := g.Policy.Table.Of(s.Kind)
	var verdicts []string
	for _, v := range table.Explain(m.Principal, s.Name) {
		verdicts = append(verdicts, v.String())
	}
	allowed := g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, s.Kind, s.Name).Allowed
	g.Log.DebugContext(ctx, "decided", "kind", s.Kind.String(),
		"name", g.maskOf(m).TextWithin(s.Name, 256), "allowed", allowed,
		"verdicts", strings.Join(verdicts, "; "),
		"host_unanswered", m.Permissions != nil && m.Permissions.Unavailable,
		"principal", m.Principal.Subject, "user", m.Principal.User, m.IDs())
}

// roles returns the attribute of log lines: an empty list is [], and not null, in every format.
func (m *Message) roles() slog.Attr {
	return slog.Any("roles", append([]string{}, m.Principal.Roles...))
}

// logDenied logs what was denied. An unknown URI may contain values and is not logged.
func (g *Guard) logDenied(ctx context.Context, m *Message) {
	e := m.event
	message, about := "call refused", []slog.Attr{slog.String("tool", e.Tool)}
	if e.Type != audit.ToolCalled {
		message = "request refused"
		about = []slog.Attr{slog.String("event_type", string(e.Type)),
			slog.String("prompt", e.Prompt), slog.String("resource", e.Resource)}
	}
	g.Log.LogAttrs(ctx, slog.LevelInfo, message, append(about,
		slog.String("principal", m.Principal.Subject), m.roles(),
		slog.String("axis", e.Axis), slog.String("missing", e.Missing), m.IDs())...)
}

var failureLevels = map[audit.Failure]slog.Level{
	audit.Errored: slog.LevelInfo, audit.Limited: slog.LevelInfo,
	audit.Timeout: slog.LevelWarn, audit.Invalid: slog.LevelDebug,
}

// logFailed logs what was allowed and failed, unless another line has it. Words that repeat
// arguments are left out.
func (g *Guard) logFailed(ctx context.Context, m *Message, err error) {
	e := m.event
	level, logged := failureLevels[e.Failure]
	failure := cmp.Or(m.failure, err)
	// In this order: a denied value is like one that does not exist.
	misfit := errors.As(failure, new(*decode.Error)) || e.Failure == audit.Invalid
	if misfit {
		level, logged = slog.LevelDebug, true
	}
	elsewhere := errors.Is(err, worker.ErrAbandoned) || m.failure == nil && err != nil &&
		!errors.As(err, new(*jsonrpc.Error)) && !errors.Is(err, context.Canceled)
	if !logged || elsewhere || !g.Log.Enabled(ctx, level) {
		return
	}
	text := e.Missing // of a credential that ended
	switch {
	case misfit:
		text = "the arguments do not match the schema"
	case failure != nil:
		text = wire.MaskedWords(g.maskOf(m), wire.WithoutValues(failure))
		text = redact.Shorten(text, 4<<10)
	}
	attrs := []slog.Attr{slog.String("event_type", string(e.Type)),
		slog.String(m.Target.Kind.String(), m.Target.Name),
		slog.String("principal", m.Principal.Subject), slog.String("failure", string(e.Failure))}
	if m.outcome.Limit != "" {
		attrs = append(attrs, slog.String("limit", m.outcome.Limit))
	}
	g.Log.LogAttrs(ctx, level, "call failed",
		append(attrs, m.IDs(), slog.String("error", text))...)
}
