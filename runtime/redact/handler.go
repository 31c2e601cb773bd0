package redact

import (
	"context"
	"log/slog"
	"slices"
)

// Handler returns a handler that masks the secrets of each record before it reaches next.
func Handler(next slog.Handler) slog.Handler { return Masker{}.Handler(next) }

// Handler returns a handler that masks the secrets of each record before it reaches next. It
// masks the message and the attributes, by name and by value, in groups, errors and
// slog.LogValuers too. A group with a secret name is masked as a whole. Numbers are masked by
// name only. Booleans, times and durations are never masked. A record without a secret is passed
// on unchanged.
//
// Values reach next as slog's own kinds, or as the types that [Masker.Any] returns. Errors stay
// errors, with masked text. In all texts, characters that hide or reorder text, or that control a
// terminal, become \u escapes: a client's name must not change how a line is displayed. Line feeds
// and tabs stay.
func (m Masker) Handler(next slog.Handler) slog.Handler {
	m.escapes = true
	return handler{next: next, m: m}
}

// WithTexts returns a context whose records [Masker.Handler] masks with further Masker.Texts.
func WithTexts(ctx context.Context, texts func() []string) context.Context {
	return context.WithValue(ctx, textsKey{}, texts)
}

type textsKey struct{}

type handler struct {
	next slog.Handler
	m    Masker
	all  bool // a group is open whose name is a secret's
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.next.WithGroup(h.m.Text(name)), h.m, h.all || h.m.Name(name)}
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	w := newWalk(h.m)
	labelled := slices.ContainsFunc(attrs, h.m.labelledBy)
	for i, a := range attrs {
		masked[i], _ = h.attr(w, a, h.all || labelled && isLabelled(a.Key), 0)
	}
	return handler{h.next.WithAttrs(masked), h.m, h.all}
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if texts, ok := ctx.Value(textsKey{}).(func() []string); ok {
		h.m = h.m.WithTexts(texts)
	}
	labelled := false
	r.Attrs(func(a slog.Attr) bool {
		labelled = h.m.labelledBy(a)
		return !labelled
	})
	message := h.m.Text(r.Message)
	changed := message != r.Message
	if !changed {
		w := newWalk(h.m)
		r.Attrs(func(a slog.Attr) bool {
			_, other := h.attr(w, a, h.all || labelled && isLabelled(a.Key), 0)
			changed = other
			return !changed
		})
	}
	if !changed {
		return h.next.Handle(ctx, r)
	}
	masked := slog.NewRecord(r.Time, r.Level, message, r.PC)
	w := newWalk(h.m)
	r.Attrs(func(a slog.Attr) bool {
		a, _ = h.attr(w, a, h.all || labelled && isLabelled(a.Key), 0)
		masked.AddAttrs(a)
		return true
	})
	return h.next.Handle(ctx, masked)
}

// attr masks an attribute and reports whether it has changed. With all it masks any name.
func (h handler) attr(w walk, a slog.Attr, all bool, depth int) (slog.Attr, bool) {
	key := h.m.Text(a.Key)
	all = all || h.m.Name(a.Key) || alone(a.Key) && a.Value.Kind() == slog.KindString
	value, changed := h.value(w, a.Value, all, depth)
	return slog.Attr{Key: key, Value: value}, changed || key != a.Key
}

func (h handler) value(w walk, v slog.Value, all bool, depth int) (slog.Value, bool) {
	switch v.Kind() {
	case slog.KindBool, slog.KindTime, slog.KindDuration:
		return v, false
	case slog.KindLogValuer:
		masked, _ := h.value(w, v.Resolve(), all, depth)
		return masked, true // or it would be resolved again, and could change
	case slog.KindGroup:
		return h.group(w, v, all, depth)
	case slog.KindString:
		if s := v.String(); s == "" {
			return v, false
		} else if all {
			return slog.StringValue(Mask), true
		} else if masked := h.m.Text(s); masked != s {
			return slog.StringValue(masked), true
		}
		return v, false
	case slog.KindAny:
		switch a := v.Any().(type) {
		case nil:
			return v, false
		case error:
			if all {
				return slog.StringValue(Mask), true
			}
			return slog.AnyValue(masked{w.text(a)}), true
		default:
			if all {
				return slog.StringValue(Mask), true
			}
			return slog.AnyValue(w.any(a, depth)), true
		}
	}
	if all {
		return slog.StringValue(Mask), true
	}
	return v, false // a number
}

func (h handler) group(w walk, v slog.Value, all bool, depth int) (slog.Value, bool) {
	if w.over(depth) {
		return slog.StringValue(Mask), true
	}
	attrs := v.Group()
	labelled := slices.ContainsFunc(attrs, h.m.labelledBy)
	for i := range attrs {
		a, changed := h.attr(w, attrs[i], all || labelled && isLabelled(attrs[i].Key), depth+1)
		if !changed {
			continue
		}
		copied := append([]slog.Attr(nil), attrs...)
		copied[i] = a
		for j := i + 1; j < len(attrs); j++ {
			copied[j], _ = h.attr(w, attrs[j], all || labelled && isLabelled(attrs[j].Key), depth+1)
		}
		return slog.GroupValue(copied...), true
	}
	return v, false
}

// text is the masked text of an error.
func (m walk) text(err error) string {
	s, _ := m.any(err, 0).(string) // as any makes of every error
	return s
}

// masked is an error with masked text. It wraps nothing, which could reveal the hidden text.
type masked struct{ text string }

func (m masked) Error() string { return m.text }
