package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// jsonHandler sends records as JSON. A masking handler before it has resolved their values.
type jsonHandler struct {
	*jsonOutput
	full    slog.Handler // bare, and the attributes of loggers
	grouped bool         // a group is open
}

// jsonOutput is what the handlers of a message share.
type jsonOutput struct {
	child bool   // of an isolated handler: each object is a childLog
	id    string // of the message, in each object; not used by a child
	limit int    // bytes of an object
	wants func(slog.Level) bool
	send  func(slog.Level, json.RawMessage)
	bare  slog.Handler // writes to line
	mu    sync.Mutex   // guards line
	line  bytes.Buffer
}

func newJSONHandler(out *jsonOutput) slog.Handler {
	h := slog.NewJSONHandler(&out.line, &slog.HandlerOptions{ReplaceAttr: out.replace})
	if out.child {
		out.bare = h.WithGroup("attrs")
	} else {
		out.bare = h.WithAttrs([]slog.Attr{slog.String(idKey, out.id)})
	}
	return jsonHandler{out, out.bare, out.child}
}

func (o *jsonOutput) replace(groups []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindTime:
		// For other years, slog.JSONHandler would write invalid JSON.
		if at := v.Time(); at.Year() < 0 || at.Year() > 9999 {
			a.Value = slog.StringValue(at.String())
		}
	case slog.KindDuration:
		if o.child { // the server could not tell a number from a duration
			a.Value = slog.StringValue(v.Duration().String())
		}
	case slog.KindAny:
		if _, ok := v.Any().(slog.Level); ok && !o.child && len(groups) == 0 && a.Key == slog.LevelKey {
			return slog.Attr{} // the notification has it outside of its data
		}
	}
	return a
}

func (h jsonHandler) Enabled(_ context.Context, level slog.Level) bool { return h.wants(level) }

func (h jsonHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.full = h.full.WithAttrs(h.renamed(attrs))
	return h
}

func (h jsonHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h.full, h.grouped = h.full.WithGroup(h.renamed([]slog.Attr{{Key: name}})[0].Key), true
	return h
}

// Handle sends a record, and without its attributes if it is too large.
func (h jsonHandler) Handle(_ context.Context, r slog.Record) error {
	named := slog.NewRecord(r.Time, r.Level, r.Message, 0)
	named.AddAttrs(h.renamed(slices.Collect(r.Attrs))...)
	text := h.encode(h.full, named)
	if size := len(text); size > h.limit || !json.Valid(text) {
		short := slog.NewRecord(r.Time, r.Level, redact.Shorten(r.Message, maxMessage), 0)
		short.AddAttrs(slog.String("note", fmt.Sprintf(
			"its attributes were dropped: %d bytes are more than %d, or not JSON", size, h.limit)))
		text = h.encode(h.bare, short)
	}
	h.send(r.Level, text)
	return nil
}

func (o *jsonOutput) encode(h slog.Handler, r slog.Record) json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Reset()
	_ = h.Handle(context.Background(), r) // it writes to memory, which cannot fail
	return bytes.Clone(bytes.TrimSuffix(o.line.Bytes(), []byte{'\n'}))
}

// renamed renames attributes with the name of a fixed member, of which readers ignore the case.
func (h jsonHandler) renamed(attrs []slog.Attr) []slog.Attr {
	if h.grouped {
		return attrs
	}
	attrs = slices.Clone(attrs)
	for i, a := range attrs {
		switch {
		case strings.EqualFold(a.Key, slog.TimeKey), strings.EqualFold(a.Key, slog.MessageKey),
			strings.EqualFold(a.Key, idKey):
			attrs[i].Key = "attr_" + a.Key
		case a.Key == "" && a.Value.Kind() == slog.KindGroup: // JSONHandler inlines it
			attrs[i].Value = slog.GroupValue(h.renamed(a.Value.Group())...)
		}
	}
	return attrs
}
