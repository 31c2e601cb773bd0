package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// jsonLog makes a JSON object of each record, in which secrets are masked. It holds no lock while it does: what a record holds is asked
// what it shows, which may take its time, and may log.
type jsonLog struct {
	whole  slog.Handler // with what loggers add, and bare without; both mask, and write to the page of their context
	bare   slog.Handler
	masker redact.Masker
	most   int // bytes of an object
}

// newJSONLog makes objects of at most so many bytes. Attributes stand in a group, or where that is "" beside time, msg and what else
// is named.
func newJSONLog(masker redact.Masker, most int, group string, p paper) jsonLog {
	h := masker.Handler(p)
	if group != "" {
		h = h.WithGroup(group)
	}
	return jsonLog{whole: h, bare: h, masker: masker, most: most}
}

func (l jsonLog) withAttrs(attrs []slog.Attr) jsonLog {
	l.whole = l.whole.WithAttrs(attrs)
	return l
}

func (l jsonLog) withGroup(name string) jsonLog {
	l.whole = l.whole.WithGroup(name)
	return l
}

// object is a record as JSON; without its attributes where that is too large.
func (l jsonLog) object(r slog.Record) json.RawMessage {
	text, size := l.written(l.whole, r)
	if size <= l.most && json.Valid(text) {
		return text
	}
	short := slog.NewRecord(r.Time, r.Level, shortened(l.masker.Text(r.Message), maxMessage), 0)
	short.AddAttrs(slog.String("note", fmt.Sprintf("its attributes were left out: %d bytes are more than %d, or no JSON", size, l.most)))
	text, _ = l.written(l.bare, short)
	return text
}

// written is what a handler writes of a record, nil where that is too large, and its size.
func (l jsonLog) written(h slog.Handler, r slog.Record) (text json.RawMessage, size int) {
	p := &page{most: l.most}
	_ = h.Handle(context.WithValue(context.Background(), pageKey{}, p), r) // which writes to the page, and that does not fail
	return p.text, p.size
}

// page is what one record is written to.
type page struct {
	most int
	size int
	text []byte // nil where it is more
}

type pageKey struct{}

// Write keeps what slog.JSONHandler writes of a record, which it does at once.
func (p *page) Write(text []byte) (int, error) {
	line := bytes.TrimSuffix(text, []byte{'\n'})
	if p.size = len(line); p.size <= p.most {
		p.text = bytes.Clone(line)
	}
	return len(text), nil
}

// paper is a handler that has a slog.JSONHandler of its own for each record, which writes to the page of the context. It stands
// behind the one that masks, which has asked all values what they show, also those that a logger keeps: once, and not for each record.
type paper struct {
	least   slog.Level
	replace func([]string, slog.Attr) slog.Attr
	beside  []slog.Attr // which are in each object

	grouped bool // a group is open
	added   []func(slog.Handler) slog.Handler
}

// Enabled implements [slog.Handler].
func (p paper) Enabled(_ context.Context, level slog.Level) bool { return level >= p.least }

// WithAttrs implements [slog.Handler].
func (p paper) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = p.renamed(attrs)
	return p.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (p paper) WithGroup(name string) slog.Handler {
	if name == "" {
		return p
	}
	name = p.name(name)
	p.grouped = true
	return p.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (p paper) with(more func(slog.Handler) slog.Handler) paper {
	p.added = append(slices.Clip(p.added), more)
	return p
}

// Handle implements [slog.Handler].
func (p paper) Handle(ctx context.Context, r slog.Record) error {
	to := ctx.Value(pageKey{}).(*page) // written puts it there
	h := slog.NewJSONHandler(to, &slog.HandlerOptions{ReplaceAttr: p.replaced}).WithAttrs(p.beside)
	for _, more := range p.added {
		h = more(h)
	}
	if p.grouped {
		return h.Handle(ctx, r)
	}
	named := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		named.AddAttrs(p.renamed([]slog.Attr{a})...)
		return true
	})
	return h.Handle(ctx, named)
}

// replaced is what replace makes of an attribute. A time of a year that JSON has no form for (RFC 3339) is a text: slog.JSONHandler
// writes what is no JSON.
func (p paper) replaced(groups []string, a slog.Attr) slog.Attr {
	a = p.replace(groups, a)
	if a.Value.Kind() == slog.KindTime {
		if at := a.Value.Time(); at.Year() < 0 || at.Year() > 9999 {
			a.Value = slog.StringValue(at.String())
		}
	}
	return a
}

// renamed are attributes of which none has the name of what stands beside them: of two with one name readers take the last.
func (p paper) renamed(attrs []slog.Attr) []slog.Attr {
	if p.grouped {
		return attrs
	}
	named := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		if a.Key == "" && a.Value.Kind() == slog.KindGroup { // whose attributes stand for it
			a.Value = slog.GroupValue(p.renamed(a.Value.Group())...)
		}
		named[i] = slog.Attr{Key: p.name(a.Key), Value: a.Value}
	}
	return named
}

// name is what an attribute is called that is in no group. Some readers do not tell capitals
// from small letters, as encoding/json where it fills a struct.
func (p paper) name(own string) string {
	taken := strings.EqualFold(own, slog.TimeKey) || strings.EqualFold(own, slog.MessageKey) ||
		slices.ContainsFunc(p.beside, func(a slog.Attr) bool { return strings.EqualFold(own, a.Key) })
	if taken && !p.grouped {
		return "attr_" + own
	}
	return own
}
