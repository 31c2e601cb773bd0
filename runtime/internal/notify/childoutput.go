package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// ChildOutput forwards the events of an isolated handler, within bounds: it can forge events.
type ChildOutput struct {
	ctx     context.Context // of the handler
	info    *request.Info
	advice  *Advice
	logs    slog.Handler
	invalid int // events
}

const (
	minChildLevel  slog.Level = -64
	maxChildLevel             = slog.LevelError   // a higher level may alert people
	maxChildKey               = 200               // bytes of an attribute's name
	maxChildDepth             = 16                // groups within groups; a deeper object is one value
	maxChildValues            = 1024              // attributes and items of lists in an event
	inLists                   = maxChildDepth + 1 // in lists, objects are maps and numbers stay
)

// NewChildOutput returns the output of the isolated call that ctx belongs to.
func NewChildOutput(ctx context.Context, advice *Advice) *ChildOutput {
	// In the group, no attribute can pass for one of the server: its ids, the principal.
	logs := handlerOf(ctx, "isolated")
	return &ChildOutput{ctx: ctx, info: request.From(ctx), advice: advice, logs: logs}
}

// Wants returns the events that the handler should send.
func (o *ChildOutput) Wants(ctx context.Context) Wants {
	wants := Wants{Progress: Progress(o.ctx) != nil}
	const below = slog.LevelDebug - 4 // the levels of the protocol; it stands for all of them
	for level := below; level <= maxChildLevel && wants.Log == nil; level++ {
		if o.logs.Enabled(ctx, level) {
			wants.Log = &level
		}
	}
	if wants.Log != nil && *wants.Log == below {
		*wants.Log = minChildLevel
	}
	return wants
}

// Take forwards one event. It is not safe for concurrent use.
func (o *ChildOutput) Take(ctx context.Context, raw json.RawMessage) {
	var e childEvent
	if json.Unmarshal(raw, &e) != nil {
		o.invalid++
		return
	}
	if e.Log != nil {
		o.log(ctx, e.Log)
	}
	if p := e.Progress; p != nil {
		Progress(o.ctx).Report(p.Done, p.Total, legible(p.Message))
	}
	if a := e.Advice; a != nil {
		mask := o.info.Mask(o.info.Server.Masker)
		o.advice.Add(wire.ForModel(a.Priority, mask.Text(legible(a.Text))))
	}
	if e.Dropped > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn,
			"dropped log messages of an isolated call: it sent more than allowed", 0)
		o.write(ctx, r, slog.Int("messages", e.Dropped))
	}
}

// Close logs how many events were invalid.
func (o *ChildOutput) Close(ctx context.Context) {
	if o.invalid > 0 {
		o.info.Server.Log.WarnContext(ctx, "cannot read a message of an isolated call: its handler "+
			"forged it, or logged a value without a JSON representation",
			"tool", o.info.Target.Name, o.info.IDs(), "messages", o.invalid)
	}
}

func (o *ChildOutput) log(ctx context.Context, l *childLog) {
	p := attrParser{json.NewDecoder(bytes.NewReader(l.Attrs)), maxChildValues}
	p.UseNumber()
	value := p.value(0)
	attrs, ok := value.([]slog.Attr)
	if !ok && value != nil {
		o.invalid++
		return
	}
	if p.left < 0 {
		attrs = append(attrs, slog.String("note", fmt.Sprintf(
			"attributes and list items after the first %d were dropped", maxChildValues)))
	}
	at := l.Time
	if now := time.Now(); at.After(now) {
		at = now
	} else if at.Before(o.info.Started) {
		at = o.info.Started
	}
	level := max(minChildLevel, min(l.Level, maxChildLevel))
	o.write(ctx, slog.NewRecord(at, level, legible(l.Message), 0), attrs...)
}

func (o *ChildOutput) write(ctx context.Context, r slog.Record, attrs ...slog.Attr) {
	if o.logs.Enabled(ctx, r.Level) {
		r.AddAttrs(attrs...)
		_ = o.logs.Handle(ctx, r) // an error would be reported to this very log
	}
}

// legible replaces the characters that could make a terminal or a log display another text.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

type attrParser struct {
	*json.Decoder     // of valid JSON
	left          int // of maxChildValues; below zero when the rest is left out
}

// value parses a value, or the name of a member.
func (p *attrParser) value(depth int) any {
	token, _ := p.Token()
	switch t := token.(type) {
	case string:
		return legible(t)
	case json.Number:
		if depth == inLists {
			return t
		} else if i, err := t.Int64(); err == nil {
			return i
		} else if f, err := t.Float64(); err == nil {
			return f
		}
		return t.String()
	case json.Delim:
		switch {
		case t == '[':
			items := []any{}
			p.each(func() { items = append(items, p.value(inLists)) })
			return items
		case depth < maxChildDepth:
			var group []slog.Attr
			p.each(func() {
				key, _ := p.value(depth).(string)
				key = redact.Shorten(key, maxChildKey)
				group = append(group, slog.Any(key, p.value(depth+1)))
			})
			return group
		}
		members := map[string]any{}
		p.each(func() {
			key, _ := p.value(depth).(string)
			members[key] = p.value(inLists)
		})
		return members
	}
	return token
}

func (p *attrParser) each(parse func()) {
	for p.left >= 0 && p.More() {
		if p.left--; p.left >= 0 {
			parse()
		}
	}
	_, _ = p.Token()
}
