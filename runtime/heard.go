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
// handler there had said it. Such a handler can write what it likes to the pipe, so nothing in it is believed: no level above
// error, no time before the call or to come, no name.
type heard struct {
	run    *toolRun
	logs   callHandler // zero before the first record
	unread int         // emissions that were none
}

// What one emission of a handler in a process of its own may hold, as far as its size does not bound it.
const (
	maxHeardKey    = 200  // bytes of an attribute's name
	maxHeardDepth  = 16   // groups within groups; what is deeper is a value
	maxHeardValues = 1024 // attributes, with those in groups, and items of lists: each costs more to mask and to write than it does to send
	minHeardLevel  = -64
	maxHeardLevel  = slog.LevelError // what is above calls people at night
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
// level; one that wants a level below all of the protocol's wants all, and one
// that wants none up to maxHeardLevel gets none.
func wanted(ctx context.Context, logs slog.Handler) *slog.Level {
	const below = slog.LevelDebug - 4
	for level := below; level <= maxHeardLevel; level++ {
		if !logs.Enabled(ctx, level) {
			continue
		}
		if level == below {
			level = minHeardLevel
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
		h.run.server.log.WarnContext(ctx, "what an isolated call said could not be read: its handler forged it, or said what has no form in JSON", "tool", h.run.record.doing.name,
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
	r := slog.NewRecord(at, max(minHeardLevel, min(l.Level, maxHeardLevel)), legible(l.Message), 0)
	attrs, err := heardAttrs(l.Attrs)
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

// heardAttrs makes attributes of a JSON object, in its order, and of the objects in it groups. What is more than maxHeardValues is left
// out.
func heardAttrs(object json.RawMessage) ([]slog.Attr, error) {
	if len(object) == 0 || string(object) == "null" {
		return nil, nil
	}
	r := reading{json.NewDecoder(bytes.NewReader(object)), maxHeardValues}
	r.UseNumber()
	if begin, err := r.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("attributes that are no object: %w", err)
	}
	attrs, err := r.group(1)
	if r.left < 0 {
		attrs = append(attrs, slog.String("note", fmt.Sprintf("what came after the first %d attributes and items of lists was left out", maxHeardValues)))
	}
	return attrs, err
}

// reading is one way through attributes, which reads each once.
type reading struct {
	*json.Decoder
	left int // of maxHeardValues; below zero where there was more, of which nothing is read
}

// each reads the members of an object or the items of a list whose beginning was read, and its end.
func (r *reading) each(read func() error) error {
	for r.More() {
		if r.left--; r.left < 0 {
			return nil
		}
		if err := read(); err != nil || r.left < 0 {
			return err
		}
	}
	_, err := r.Token()
	return err
}

// member reads a member of an object: its name, and the first token of its value.
func (r *reading) member() (key string, begin json.Token, err error) {
	name, err := r.Token()
	if err == nil {
		begin, err = r.Token()
	}
	key, _ = name.(string)
	return legible(key), begin, err
}

// group reads an object.
func (r *reading) group(depth int) (attrs []slog.Attr, err error) {
	err = r.each(func() error {
		key, begin, err := r.member()
		if err != nil {
			return err
		}
		value, err := r.attr(begin, depth)
		attrs = append(attrs, slog.Attr{Key: shortened(key, maxHeardKey), Value: value})
		return err
	})
	return attrs, err
}

func (r *reading) attr(begin json.Token, depth int) (slog.Value, error) {
	switch v := begin.(type) {
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
	case json.Delim:
		if v == '{' && depth < maxHeardDepth {
			attrs, err := r.group(depth + 1)
			return slog.GroupValue(attrs...), err
		}
	}
	v, err := r.value(begin)
	return slog.AnyValue(v), err
}

// value reads what JSON knows.
func (r *reading) value(begin json.Token) (any, error) {
	switch v := begin.(type) {
	case string:
		return legible(v), nil
	case json.Delim:
		if v == '{' {
			return r.object()
		}
		return r.list()
	}
	return begin, nil // a number, true, false or null
}

func (r *reading) object() (map[string]any, error) {
	members := map[string]any{}
	return members, r.each(func() error {
		key, begin, err := r.member()
		if err != nil {
			return err
		}
		members[key], err = r.value(begin)
		return err
	})
}

func (r *reading) list() ([]any, error) {
	items := []any{}
	err := r.each(func() error {
		begin, err := r.Token()
		if err != nil {
			return err
		}
		item, err := r.value(begin)
		items = append(items, item)
		return err
	})
	return items, err
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
