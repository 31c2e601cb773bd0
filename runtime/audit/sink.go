package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/internal/escape"
)

// Slog writes events to a logger at level info, as the message "audit" with the event's fields.
// It is as safe as the logger's handler: slog does not report whether a line could be written, so
// choose [JSONLines] where a lost record must refuse the call.
func Slog(logger *slog.Logger) Sink {
	return SinkFunc(func(ctx context.Context, e Event) error {
		if logger == nil {
			return errors.New("audit.Slog has no logger")
		}
		attrs := make([]slog.Attr, 0, 20)
		attrs = append(attrs,
			slog.Time("timestamp", e.Time),
			slog.String("event_type", string(e.Type)),
			slog.String("request_id", e.RequestID),
		)
		text := func(key, value string) {
			if value != "" {
				attrs = append(attrs, slog.String(key, escape.Text(value)))
			}
		}
		text("trace_id", e.TraceID)
		text("issuer", e.Issuer)
		text("principal", e.Principal)
		text("client_id", e.Client)
		if len(e.Roles) > 0 {
			roles := make([]string, len(e.Roles))
			for i, role := range e.Roles {
				roles[i] = escape.Text(role)
			}
			attrs = append(attrs, slog.Any("roles", roles))
		}
		text("tool_name", e.Tool)
		text("prompt", e.Prompt)
		text("resource", e.Resource)
		text("action", e.Action)
		text("object", e.Object)
		if len(e.Arguments) > 0 {
			arguments := slices.Clone(e.Arguments)
			for i := range arguments {
				arguments[i].Name = escape.Text(arguments[i].Name)
			}
			attrs = append(attrs, slog.Any("arguments", arguments))
		}
		text("status", string(e.Status))
		text("failure", string(e.Failure))
		if e.Intended {
			attrs = append(attrs, slog.Bool("intended", true))
		}
		text("axis", e.Axis)
		text("missing", e.Missing)
		if len(e.Grants) > 0 {
			attrs = append(attrs, slog.Any("grants", e.Grants))
		}
		switch e.Type {
		case ToolList:
			text("catalog", e.Catalog)
			fallthrough
		case PromptList, ResourceList, TemplateList, Subscription, Checkpoint, Authentication, Outage:
			attrs = append(attrs, slog.Int("visible", e.Visible), slog.Int("total", e.Total))
		}
		attrs = append(attrs, slog.Float64("execution_time_ms", e.Milliseconds))
		if len(e.Cut) > 0 {
			attrs = append(attrs, slog.Any("cut", e.Cut))
		}
		if e.Chain != nil {
			attrs = append(attrs, slog.Any("chain", e.Chain))
		}
		logger.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
		return nil
	})
}

// JSONLines writes each event as one line of JSON. Lines of concurrent calls do not mix. A
// line that could be written only in part is reported as an error, and the next one starts
// on a line of its own. While a write does not return, other events wait for it until their
// contexts end, and are reported as errors then; none of them holds a goroutine but the write.
// It does not sync w: [Rotating] is for files.
func JSONLines(w io.Writer) Sink { return &jsonLines{w: w, turn: make(chan struct{}, 1)} }

type jsonLines struct {
	turn chan struct{} // a mutex with cancellable waiting
	w    io.Writer
	torn bool // the last line is incomplete
}

func (s *jsonLines) Record(ctx context.Context, e Event) error {
	line, err := e.Encode(1)
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("audit: the writer is busy with an earlier event: %w", ctx.Err())
	}
	if s.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := s.w.Write(append(line, '\n'))
	if err == nil && n <= len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.torn = s.torn || n > 0
		return fmt.Errorf("audit: write the event: %w", err)
	}
	s.torn = false
	return nil
}

// Multi writes each event to all sinks, in order, and reports the errors of all of them. It takes
// batches. It is ready if each of its sinks is ready.
func Multi(sinks ...Sink) Sink { return multi(sinks) }

type multi []Sink

func (m multi) Record(ctx context.Context, e Event) error {
	return m.each(func(sink Sink) error { return sink.Record(ctx, e) })
}

func (m multi) RecordBatch(ctx context.Context, events []Event) error {
	return m.each(func(sink Sink) error { return InOrder(ctx, sink, events) })
}

func (m multi) Ready(ctx context.Context) error {
	return m.each(func(sink Sink) error { return ready(ctx, sink) })
}

func (m multi) each(record func(Sink) error) error {
	var errs []error
	for _, sink := range m {
		if sink == nil {
			errs = append(errs, errors.New("audit.Multi has a nil sink"))
			continue
		}
		errs = append(errs, record(sink))
	}
	return errors.Join(errs...)
}

// Degrade returns a sink whose errors refuse no request: it logs them at error level and counts
// them. Without it, a server refuses a request whose record cannot be written. Use it as the
// outermost sink: within a chain, a lost record would be missing. The logger gets the errors of
// sink as they are. If these may contain a password, as those of database drivers may, use a logger
// over redact.Handler.
func Degrade(sink Sink, logger *slog.Logger) *Degraded {
	return &Degraded{sink: sink, logger: logger}
}

// Degraded is what [Degrade] makes. It may be used from many goroutines at once.
type Degraded struct {
	sink   Sink
	logger *slog.Logger
	lost   atomic.Int64
}

// Lost counts the events that the sink has failed to record so far.
func (d *Degraded) Lost() int64 { return d.lost.Load() }

// Record records an event, or logs that it could not. Its error is nil unless there is no sink or
// no logger.
func (d *Degraded) Record(ctx context.Context, e Event) error {
	if d.sink == nil || d.logger == nil {
		return errors.New(
			"audit.Degrade has no sink or no logger: pass both, because the logger reports lost records")
	}
	if err := d.sink.Record(ctx, e); err != nil {
		d.logger.ErrorContext(ctx,
			"an audit record is lost; the request continues because of audit.Degrade",
			"request_id", e.RequestID, "event_type", string(e.Type), "lost", d.lost.Add(1), "error",
			err)
	}
	return nil
}
