package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// MaxEmission is how many bytes one thing may have that a handler in a process of its own says while it runs.
const MaxEmission = 64 << 10

// emission is one such thing, on its way to the process of the server.
type emission struct {
	Log      *emittedLog      `json:"log,omitempty"`
	Progress *emittedProgress `json:"progress,omitempty"`
	Advice   *emittedAdvice   `json:"advice,omitempty"`
	Dropped  int              `json:"dropped,omitempty"` // how many log messages were not sent
}

// emittedLog is a record as slog.JSONHandler writes it, with its attributes in a group.
type emittedLog struct {
	Time    time.Time       `json:"time,omitzero"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"msg"`
	Attrs   json.RawMessage `json:"attrs,omitempty"` // a JSON object
}

// emittedAttrs is that group's name.
const emittedAttrs = "attrs"

type emittedProgress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

type emittedAdvice struct {
	Priority float64 `json:"priority"`
	Text     string  `json:"text"`
}

// Emitting returns a context for a handler in a process of its own, where [Inherit] and then [Logger], [Progress] and
// [Advise] find what takes to the server what is said there. Package sandbox calls it. send is given one emission after the other, of
// at most [MaxEmission] bytes; last says that no handler can say anything any more, and send reports whether it was sent.
// The func that Emitting returns is to be called when the handler has returned, before its result is sent: it sends what is left, and
// nothing after it.
func Emitting(ctx context.Context, send func(emission json.RawMessage, last bool) bool) (context.Context, func()) {
	e := &emitter{to: send, logs: slog.DiscardHandler}
	return context.WithValue(ctx, emitterKey{}, e), e.end
}

// emitter is where a handler in a process of its own says what goes to the server.
type emitter struct {
	to       func(json.RawMessage, bool) bool
	logs     slog.Handler      // discards where nobody wants any
	progress *ProgressReporter // nil where no client asked

	mu      sync.Mutex // held while something is sent
	over    bool
	advised int
	dropped int
	unsent  *emittedProgress // the newest, nil for none
	next    time.Time        // when progress may be sent again
	waiting bool             // a timer is going to send it
}

type emitterKey struct{}

// emitterOf returns nil in the server's own process.
func emitterOf(ctx context.Context) *emitter {
	e, _ := ctx.Value(emitterKey{}).(*emitter)
	return e
}

// inherit readies it for what is wanted.
func (e *emitter) inherit(from inherited) {
	if from.Log != nil {
		// What a value shows is found out where the value is: the server masks by its own rules once more.
		e.logs = emitLog{e, newJSONLog(redact.Masker{}, MaxEmission-len(emittedAs), emittedAttrs, paper{least: *from.Log, replace: spelledDuration})}
	}
	if from.Progress {
		e.progress = &ProgressReporter{redact: redact.Text, send: e.report}
	}
}

// spelledDuration has durations stay legible, which else are numbers.
func spelledDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// emitLog sends each record.
type emitLog struct {
	e    *emitter
	json jsonLog
}

// emittedAs is what stands around a record.
const emittedAs = `{"log":}`

func (h emitLog) Enabled(ctx context.Context, level slog.Level) bool {
	return h.json.whole.Enabled(ctx, level)
}

func (h emitLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return emitLog{h.e, h.json.withAttrs(attrs)}
}

func (h emitLog) WithGroup(name string) slog.Handler { return emitLog{h.e, h.json.withGroup(name)} }

func (h emitLog) Handle(_ context.Context, r slog.Record) error {
	h.e.log(slices.Concat([]byte(emittedAs[:len(emittedAs)-1]), h.json.object(r), []byte{'}'}))
	return nil
}

func (e *emitter) log(text json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over && !e.to(text, false) {
		e.dropped++
	}
}

func (e *emitter) advise(priority float64, text string) bool {
	raw, ok := fitting(redact.Text(text), func(text string) emission { return emission{Advice: &emittedAdvice{priorityOf(priority), text}} })
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok || e.over || e.advised >= maxAdvice || !e.to(raw, false) {
		return false
	}
	e.advised++
	return true
}

// fitting is an emission with as much of a text as there is room for.
func fitting(text string, with func(string) emission) (json.RawMessage, bool) {
	for whole := text; ; {
		raw, err := json.Marshal(with(text))
		if err != nil {
			return nil, false
		}
		if len(raw) <= MaxEmission {
			return raw, true
		}
		whole = shortened(whole, min(len(whole)/2, MaxEmission))
		text = whole + "…"
	}
}

// report sends progress: at once where none was sent for a while, and else the newest when it may.
func (e *emitter) report(p *mcp.ProgressNotificationParams) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsent = &emittedProgress{p.Progress, p.Total, p.Message}
	if e.over || e.waiting {
		return
	}
	if wait := time.Until(e.next); wait > 0 {
		e.waiting = true
		time.AfterFunc(wait, e.waited)
		return
	}
	e.flush(false)
}

// waited sends the progress that had to wait.
func (e *emitter) waited() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = false
	if !e.over {
		e.flush(false)
	}
}

// flush sends the newest progress. e.mu is held.
func (e *emitter) flush(last bool) {
	if e.unsent == nil {
		return
	}
	if raw, err := json.Marshal(emission{Progress: e.unsent}); err == nil {
		e.to(raw, last) // or there is newer progress soon
	}
	e.unsent, e.next = nil, time.Now().Add(progressInterval)
}

// end sends what is left.
func (e *emitter) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	e.over = true
	e.flush(true)
	if e.dropped > 0 {
		if raw, err := json.Marshal(emission{Dropped: e.dropped}); err == nil {
			e.to(raw, true)
		}
	}
}
