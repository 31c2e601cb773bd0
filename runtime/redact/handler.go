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
	masked, _ := h.attrs(newWalk(h.m), attrs, h.all, 0)
	return handler{h.next.WithAttrs(masked), h.m, h.all}
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if texts, ok := ctx.Value(textsKey{}).(func() []string); ok {
		h.m = h.m.WithTexts(texts)
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	message := h.m.Text(r.Message)
	attrs, changed := h.attrs(newWalk(h.m), attrs, h.all, 0)
	if !changed && message == r.Message {
		return h.next.Handle(ctx, r)
	}
	masked := slog.NewRecord(r.Time, r.Level, message, r.PC)
	masked.AddAttrs(attrs...)
	return h.next.Handle(ctx, masked)
}

// attrs masks attributes and reports whether one has changed; otherwise it returns the same ones.
// With all it masks any name.
func (h handler) attrs(w walk, attrs []slog.Attr, all bool, depth int) (masked []slog.Attr,
	changed bool) {
	labelled := slices.ContainsFunc(attrs, h.m.labelledBy)
	masked = attrs
	for i, a := range attrs {
		key := h.m.Text(a.Key)
		secret := all || labelled && isLabelled(a.Key) || h.m.Name(a.Key) ||
			alone(a.Key) && a.Value.Kind() == slog.KindString
		value, other := h.value(w, a.Value, secret, depth)
		if !other && key == a.Key {
			continue
		}
		if !changed {
			masked, changed = slices.Clone(attrs), true
		}
		masked[i] = slog.Attr{Key: key, Value: value}
	}
	return masked, changed
}

func (h handler) value(w walk, v slog.Value, all bool, depth int) (slog.Value, bool) {
	switch v.Kind() {
	case slog.KindBool, slog.KindTime, slog.KindDuration:
		return v, false
	case slog.KindLogValuer:
		masked, _ := h.value(w, v.Resolve(), all, depth)
		return masked, true // or it would be resolved again, and could change
	case slog.KindGroup:
		if w.over(depth) {
			return slog.StringValue(Mask), true
		}
		masked, changed := h.attrs(w, v.Group(), all, depth+1)
		if !changed {
			return v, false
		}
		return slog.GroupValue(masked...), true
	case slog.KindString:
		masked := v.String()
		if all && masked != "" {
			masked = Mask
		} else {
			masked = h.m.Text(masked)
		}
		return slog.StringValue(masked), masked != v.String()
	case slog.KindAny:
		if v.Any() == nil {
			return v, false
		}
	}
	if all {
		return slog.StringValue(Mask), true
	}
	if v.Kind() != slog.KindAny {
		return v, false // a number
	}
	if err, is := v.Any().(error); is {
		return slog.AnyValue(masked{w.text(err)}), true
	}
	return slog.AnyValue(w.any(v.Any(), depth)), true
}

// text is the masked text of an error.
func (m walk) text(err error) string {
	s, _ := m.any(err, 0).(string) // as any makes of every error
	return s
}

// masked is an error with masked text. It wraps nothing, which could reveal the hidden text.
type masked struct{ text string }

func (m masked) Error() string { return m.text }
