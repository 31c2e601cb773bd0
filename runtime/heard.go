package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode"
)

// heard takes what a handler in a process of its own says while it runs, in the process of the server, and passes it on as if a
// handler there had said it. Such a handler can write what it likes to the pipe, so nothing in it is believed: no level, no
// time, no name.
type heard struct {
	run    *toolRun
	logs   callHandler // zero before the first record
	unread int         // emissions that were none
}

// What one emission of a handler in a process of its own may hold, as far as its size does not bound it.
const (
	maxHeardKey   = 200 // bytes of an attribute's name
	maxHeardDepth = 16  // groups within groups; what is deeper is a value
	maxHeardLevel = 64
)

// isolatedGroup is the group in the server's log that such a handler's attributes stand in, so that none can pass for
// one of the server's: its ids, the principal.
const isolatedGroup = "isolated"

// wants adds to what the process of a call is told what is wanted of it.
func (h *heard) wants(ctx context.Context, what *inherited) {
	what.Log = wanted(ctx, Logger(&h.run.call).Handler())
	what.Progress = Progress(&h.run.call) != nil
}

// wanted is from which level on a handler wants records, nil where it wants none. Handlers do not say it, so they are asked level by
// level; one that wants a level below all of the protocol's wants all.
func wanted(ctx context.Context, logs slog.Handler) *slog.Level {
	const below = slog.LevelDebug - 4
	for level := below; level <= logLevels[len(logLevels)-1].level; level++ {
		if !logs.Enabled(ctx, level) {
			continue
		}
		if level == below {
			level = -maxHeardLevel
		}
		return &level
	}
	return nil
}

// take takes one emission.
func (h *heard) take(ctx context.Context, raw json.RawMessage) {
	var e emission
	if json.Unmarshal(raw, &e) != nil {
		h.unread++
		return
	}
	if l := e.Log; l != nil {
		h.log(ctx, l)
	}
	if p := e.Progress; p != nil {
		Progress(&h.run.call).Report(p.Done, p.Total, legible(p.Message))
	}
	if a := e.Advice; a != nil {
		h.run.call.advise(ForModel(a.Priority, h.run.server.opts.Masker.Text(legible(a.Text))))
	}
	if e.Dropped > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "log messages of an isolated call were left out: it said more than it may", 0)
		r.AddAttrs(slog.Int("messages", e.Dropped))
		h.write(ctx, r)
	}
}

// end says what could not be made out.
func (h *heard) end(ctx context.Context) {
	if h.unread > 0 {
		h.run.server.log.WarnContext(ctx, "what an isolated call said could not be read: its handler forged it", "tool", h.run.record.doing.name,
			h.run.record.ids(), "messages", h.unread)
	}
}

func (h *heard) log(ctx context.Context, l *emittedLog) {
	at, now := l.Time, time.Now()
	if at.After(now) {
		at = now
	} else if begun := h.run.record.started; at.Before(begun) {
		at = begun
	}
	r := slog.NewRecord(at, max(-maxHeardLevel, min(l.Level, maxHeardLevel)), legible(l.Message), 0)
	attrs, err := heardAttrs(l.Attrs, 0)
	if err != nil {
		h.unread++
		return
	}
	r.AddAttrs(attrs...)
	h.write(ctx, r)
}

// write writes a record as the handler of a tool in the server's process would, but for the group.
func (h *heard) write(ctx context.Context, r slog.Record) {
	if h.logs.server == nil {
		caller, _ := Caller(&h.run.call)
		h.logs = (&callLog{record: h.run.record, principal: caller.Subject}).made()
		h.logs.server = h.logs.server.WithGroup(isolatedGroup) // the client knows whose words they are
	}
	if h.logs.Enabled(ctx, r.Level) {
		_ = h.logs.Handle(ctx, r) // where it could be said is the log itself
	}
}

// heardAttrs makes attributes of a JSON object, in its order, and of the objects in it groups.
func heardAttrs(object json.RawMessage, depth int) ([]slog.Attr, error) {
	if len(object) == 0 || string(object) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("attributes that are no object: %w", err)
	}
	var attrs []slog.Attr
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		value, err := heardValue(raw, depth+1)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, slog.Attr{Key: shortened(legible(fmt.Sprint(key)), maxHeardKey), Value: value})
	}
	return attrs, nil
}

func heardValue(raw json.RawMessage, depth int) (slog.Value, error) {
	if raw[0] == '{' && depth < maxHeardDepth {
		attrs, err := heardAttrs(raw, depth)
		return slog.GroupValue(attrs...), err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return slog.Value{}, err
	}
	switch v := v.(type) {
	case string:
		return slog.StringValue(legible(v)), nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return slog.Int64Value(n), nil
		}
		if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) {
			return slog.Float64Value(f), nil
		}
		return slog.StringValue(v.String()), nil
	}
	return slog.AnyValue(legibleAll(v)), nil
}

// legibleAll is legible for all texts in what JSON knows.
func legibleAll(v any) any {
	switch v := v.(type) {
	case string:
		return legible(v)
	case []any:
		for i := range v {
			v[i] = legibleAll(v[i])
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, value := range v {
			all[legible(key)] = legibleAll(value)
		}
		return all
	}
	return v
}

// legible is a text without what could make a terminal or a log show something else than it says: control characters but tabs and
// line ends, and those that turn the direction of writing.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
