package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const maxRecording = 256 // records at a time, and goroutines that a hanging sink can hold

var (
	errAuditBusy  = errors.New("too many records are waiting for the sink")
	errSinkSilent = fmt.Errorf("the sink gave %w", worker.ErrNoAnswer)
)

// NewEvent returns an event about a message, without what a decision adds.
func NewEvent(info *request.Info, kind audit.Type) audit.Event {
	p := info.Principal
	return audit.Event{
		Type: kind, RequestID: info.ID, TraceID: info.TraceID,
		Issuer: p.Issuer, Principal: p.Subject, Client: p.ClientID(), Role: p.Role,
	}
}

// errChallenged stands for an answer that left as an HTTP status.
var errChallenged = fmt.Errorf("challenged: %w", wire.InternalError())

// challenge answers a caller who lacks only scopes with an HTTP status (RFC 6750, section 3).
func (g *Guard) challenge(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		a, err := next(ctx, m)
		if m.authority != "" && errors.Is(err, errChallenged) && !m.Conn.Challenge(m.authority) {
			err = wire.InternalError()
		}
		return a, err
	}
}

// audit writes one event about a message. Without the event there is no answer.
func (g *Guard) audit(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		known := methods[m.Method]
		if known.event == "" {
			return next(ctx, m)
		}
		if known.decides {
			g.Active.Enter()
			defer g.Active.End()
		}
		event := NewEvent(m.Info, known.event)
		event.Status = audit.Denied
		m.event = &event
		a, err := next(ctx, m)
		if event.Status == audit.Denied {
			g.logDenied(ctx, m)
		}
		m.conclude()
		failed := g.record(ctx, m)
		if known.decides && event.Status != audit.OK {
			g.logFailed(ctx, m, err)
		}
		if failed != nil {
			g.Log.ErrorContext(ctx, "an audit record could not be written; the request is refused",
				m.IDs(), "error", failed)
			return Answer{}, wire.InternalError()
		}
		return a, err
	}
}

// conclude copies what the event has to the outcome for the observer.
func (m *Message) conclude() {
	o, e := &m.outcome, m.event
	o.Status, o.Axis, o.Listed, o.Total = e.Status, e.Axis, e.Visible, e.Total
	switch {
	case e.Status == audit.Timeout:
		o.Limit = "timeout"
	case e.Axis == audit.AxisLimit:
		o.Limit = e.Missing
	}
}

// record writes the event of a message, and returns why it is not durable. It waits at most for
// Options.AuditTimeout, and writes also if the caller has gone.
func (g *Guard) record(ctx context.Context, m *Message) error {
	if g.Audit == nil {
		return nil
	}
	event := m.event // not written from now on: an abandoned sink may still read it
	event.Time = m.Started
	event.Milliseconds = float64(time.Since(m.Started)) / float64(time.Millisecond)
	ctx = request.ForHandler(context.WithoutCancel(ctx), m.Info, &m.Principal) // without TokenInfo
	ctx, cancel := context.WithTimeout(ctx, g.AuditTimeout)
	defer cancel()
	select {
	case g.recording <- struct{}{}:
	case <-ctx.Done():
		return errAuditBusy
	}
	o := worker.Run(g.Pool, worker.Job[error]{Context: ctx, Do: func(ctx context.Context) error {
		defer func() { <-g.recording }()
		if err := g.Audit.Record(ctx, *event); err != nil {
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
