package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/audit"
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
		Type: kind, RequestID: rec.requestID,
		Issuer: p.Issuer, Principal: p.Subject, Client: p.ClientID(), Role: p.Role,
	}
}

// arguments is what may be kept of a call's arguments: names, sizes and digests.
func (s *Server) arguments(raw json.RawMessage) []audit.Argument {
	if s.opts.Audit == nil || len(raw) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return []audit.Argument{argument("", raw)} // not an object: one nameless value
	}
	list := make([]audit.Argument, 0, min(len(object), maxRecordedArguments))
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxRecordedArguments)] {
		list = append(list, argument(name, object[name]))
	}
	return list
}

func argument(name string, value json.RawMessage) audit.Argument {
	sum := sha256.Sum256(value)
	return audit.Argument{Name: shortened(name, maxRecordedName), Bytes: len(value), Digest: "sha256:" + hex.EncodeToString(sum[:])}
}

// maxRecording bounds the records that are written at a time, and so the goroutines that a sink
// can hold which does not come back.
const maxRecording = 256

var errAuditBusy = errors.New("too many records are waiting for the sink")

// recorded writes an event and reports whether it stands. Where it does not, what the event
// is about must not be answered. It waits for Options.AuditTimeout at most, whether the sink
// heeds its context or not.
func (s *Server) recorded(ctx context.Context, event audit.Event, rec *record) bool {
	if s.opts.Audit == nil {
		return true
	}
	event.Time = rec.started
	event.Milliseconds = float64(time.Since(rec.started)) / float64(time.Millisecond)
	// The record is written even where the caller has gone away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.AuditTimeout)
	defer cancel()
	if err := s.write(ctx, event); err != nil {
		s.log.ErrorContext(ctx, "an audit record could not be written; the request is refused", "request_id", rec.requestID, "error", err)
		return false
	}
	return true
}

// write hands an event to the sink in a goroutine of its own, and does not wait for a sink
// that does not come back.
func (s *Server) write(ctx context.Context, event audit.Event) error {
	select {
	case s.recording <- struct{}{}:
	case <-ctx.Done():
		return errAuditBusy
	}
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the audit sink panicked: %v", p)
			}
			<-s.recording
			done <- err
		}()
		err = s.opts.Audit.Record(ctx, event)
		if err != nil {
			// Asked for its words here, where a panic of them is recovered.
			err = fmt.Errorf("%s", err.Error())
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the sink gave %w", errNoAnswer)
	}
}

// shortened cuts text from a client to at most n bytes, at a character's edge.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
