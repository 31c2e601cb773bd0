package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// What is recorded of what a client made up is bounded.
const (
	maxRecordedArguments = 64
	maxRecordedName      = 64 // bytes
)

// event is the part of a record that is known beforehand.
func (s *Server) event(rec *record, kind audit.Type) audit.Event {
	p := rec.principal
	return audit.Event{
		Type: kind, RequestID: rec.requestID, TraceID: rec.traceID,
		Issuer: p.Issuer, Principal: p.Subject, Client: p.ClientID(), Role: p.Role,
	}
}

// ran notes what was ruled while a handler ran, for the audit and Options.Observer.
func (r *record) ran(event *audit.Event, err error) {
	if errors.Is(err, errAbandoned) {
		return // it may still be written to
	}
	event.Grants = r.ruled.uses
	if r.ruled.axis != "" {
		event.Axis, event.Missing = r.ruled.axis, r.ruled.missing
	}
	r.told.Isolated, r.told.Cancelled = r.ruled.killed, r.ruled.cancelled || errors.Is(err, context.Canceled)
}

// concluded notes what came of a message, for Options.Observer.
func (r *record) concluded(event audit.Event) {
	r.told.Status, r.told.Axis = event.Status, event.Axis
	r.told.Listed, r.told.Total = event.Visible, event.Total
	switch {
	case event.Status == audit.Timeout:
		r.told.Limit = timedOut{}.Reached()
	case event.Axis == audit.AxisLimit:
		r.told.Limit = event.Missing
	}
}

// arguments is what may be kept of a call's arguments: names, sizes and digests.
func (s *Server) arguments(raw json.RawMessage) []audit.Argument {
	if s.opts.Audit == nil || len(raw) == 0 {
		return nil
	}
	if string(raw) == "null" {
		return nil
	}
	type member struct{ name, value []byte }
	var few [12]member
	members := few[:0]
	err := decode.Members(raw, messageLimits, func(name, value []byte) {
		members = append(members, member{name, value})
	})
	if err != nil {
		members = append(members[:0], member{nil, raw}) // not an object: one nameless value
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	members = members[:min(len(members), maxRecordedArguments)]

	// The names are parts of one string. Clients make names up as well, so they are looked at before they are cut.
	var room [128]byte
	names := room[:0]
	for i := range members {
		m := &members[i]
		if len(m.name) > maxRecordedName {
			m.name = []byte(s.recordedArgument(string(shortened(m.name, 4<<10))))
		}
		names = append(names, m.name...)
	}
	rest := string(names)
	list := make([]audit.Argument, len(members))
	for i := range members {
		m, argument := &members[i], &list[i]
		argument.Name, rest = s.recordedArgument(rest[:len(m.name)]), rest[len(m.name):]
		argument.Bytes, argument.Digest = len(m.value), audit.DigestOf(m.value)
	}
	return list
}

// maxRecording bounds the records that are written at a time, and so the goroutines that a sink
// can hold which does not come back.
const maxRecording = 256

var (
	errAuditBusy  = errors.New("too many records are waiting for the sink")
	errSinkSilent = fmt.Errorf("the sink gave %w", errNoAnswer)
)

// recorded writes an event and reports whether it stands. Where it does not, what the event
// is about must not be answered. It waits for Options.AuditTimeout at most, whether the sink
// heeds its context or not.
func (s *Server) recorded(ctx context.Context, event audit.Event, rec *record) bool {
	if s.opts.Audit == nil {
		return true
	}
	return s.stands(ctx, rec, s.write(ctx, event, rec))
}

// stands reports whether an event was written, and logs why it was not.
func (s *Server) stands(ctx context.Context, rec *record, err error) bool {
	if err != nil {
		s.log.ErrorContext(ctx, "an audit record could not be written; the request is refused", rec.ids(), "error", err)
	}
	return err == nil
}

// write hands an event to the sink on a worker, and does not wait for a sink
// that does not come back.
func (s *Server) write(ctx context.Context, event audit.Event, rec *record) error {
	e := &writing{}
	e.prepare(s, ctx, rec, &event)
	e.event = event
	select {
	case s.recording <- struct{}{}:
	default:
		select {
		case s.recording <- struct{}{}:
		case <-e.ctx.Done():
			return errAuditBusy
		}
	}
	w := s.workers.take(e)
	for {
		now := time.Now()
		w.wake(e.ctx.deadline, now)
		select {
		case <-w.done:
			err := e.err
			s.workers.give(w)
			return err
		case <-w.alarm:
			w.rang()
		}
		if !time.Now().Before(e.ctx.deadline) && e.abandon() {
			return errSinkSilent
		}
	}
}

// entry is an event on its way to the sink. It has a place in Server.recording.
type entry struct {
	server *Server
	ctx    bounded
	err    error // why it does not stand; for the waiting side once the worker is done
}

// prepare fills in what is known when the sink is asked. The record is written even where the caller has
// gone away.
func (e *entry) prepare(s *Server, ctx context.Context, rec *record, event *audit.Event) {
	now := time.Now()
	event.Time = rec.started
	event.Milliseconds = float64(now.Sub(rec.started)) / float64(time.Millisecond)
	e.server = s
	e.ctx.values, e.ctx.deadline = ctx, now.Add(s.opts.AuditTimeout)
}

func (e *entry) hand(event *audit.Event) {
	if err := e.server.opts.Audit.Record(&e.ctx, *event); err != nil {
		// Asked for its words here, where a panic of them is recovered.
		e.err = errors.New(err.Error())
	}
}

// closed notes how the sink ended and gives the place back.
func (e *entry) closed(c *crash) {
	switch {
	case c == nil:
	case c.panicked:
		e.err = fmt.Errorf("the audit sink panicked: %s", c.value)
	default:
		e.err = errGoexit
	}
	e.ctx.end(context.Canceled)
	<-e.server.recording
}

// writing is an entry as a job of its own.
type writing struct {
	waited
	entry
	event audit.Event
}

func (e *writing) on() context.Context { return &e.ctx }

func (e *writing) run() { e.hand(&e.event) }

func (e *writing) ended(c *crash) bool {
	e.closed(c)
	return e.turn(running, over)
}

// recordedArgument is what is recorded of an argument's name.
func (s *Server) recordedArgument(name string) string {
	return shortened(s.opts.Masker.Text(name), maxRecordedName)
}

// recordedName is what is recorded of a name that was asked for: at most n bytes. One that nothing has may
// be anything, a token that went astray included; it is looked at before it is cut.
func (s *Server) recordedName(name string, n int, d access.Decision) string {
	if d.Axis == access.AxisUnknown {
		return s.recordedText(name, n)
	}
	return shortened(name, n)
}

// recordedText is what is recorded or logged of a client's own words: at most n bytes, without secrets. It is looked at before it is cut,
// since half a secret does not look like one.
func (s *Server) recordedText(text string, n int) string {
	return shortened(s.opts.Masker.Text(shortened(text, 4<<10)), n)
}

// shortened cuts text from a client to at most n bytes, at a character's edge.
func shortened[T string | []byte](text T, n int) T {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
