package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// MaxEmission bounds one event that an isolated handler sends while it runs, in bytes.
const MaxEmission = 64 << 10

type childEvent struct {
	Log      *childLog    `json:"log,omitempty"`
	Progress *progress    `json:"progress,omitempty"`
	Advice   *childAdvice `json:"advice,omitempty"`
	Dropped  int          `json:"dropped,omitempty"` // log messages that were not sent
}

// childLog is a record as slog.JSONHandler writes it, with its attributes in a group.
type childLog struct {
	Time    time.Time       `json:"time,omitzero"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"msg"`
	Attrs   json.RawMessage `json:"attrs,omitempty"` // a JSON object
}

type childAdvice struct {
	Priority float64 `json:"priority"`
	Text     string  `json:"text"`
}

func (e childEvent) encode() json.RawMessage {
	raw, _ := json.Marshal(e) // JSON can express its texts and finite numbers
	return raw
}

// Wants describes the events that an isolated handler should send to the server.
type Wants struct {
	Log      *slog.Level `json:"log,omitempty"` // the least level; nil for no records
	Progress bool        `json:"progress,omitempty"`
}

// Emitting returns a context in which an isolated handler's process emits events, one at a time.
// emit reports whether it sent the event. The returned func emits the rest, with last set.
func Emitting(ctx context.Context,
	emit func(event json.RawMessage, last bool) bool) (context.Context, func()) {
	n := &childNotifier{emit: emit, logs: slog.DiscardHandler}
	return context.WithValue(ctx, key[childNotifier]{}, n), n.close
}

// Inherit configures the notifier in the context of an isolated handler.
func Inherit(ctx context.Context, wants Wants) {
	n := from[childNotifier](ctx)
	if n == nil {
		return
	}
	if wants.Log != nil {
		// The values can be resolved only here. The server masks once more, by its own rules.
		n.logs = redact.Handler(newJSONHandler(&jsonOutput{
			child: true, limit: MaxEmission - len(`{"log":}`), send: n.log,
			wants: func(level slog.Level) bool { return level >= *wants.Log }}))
	}
	if wants.Progress {
		n.reporter = newReporter(redact.Masker{}, func(p progress, last bool) bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.emit(childEvent{Progress: &p}.encode(), last)
		})
	}
}

// childNotifier exists only in the process of an isolated handler.
type childNotifier struct {
	emit     func(event json.RawMessage, last bool) bool
	logs     slog.Handler // discards unless the server wants records
	reporter *Reporter    // nil unless the client wants progress
	mu       sync.Mutex   // held while an event is sent
	closed   bool
	advised  int
	dropped  int
}

func (n *childNotifier) log(_ slog.Level, record json.RawMessage) {
	event := fmt.Appendf(nil, `{"log":%s}`, record)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed && !n.emit(event, false) {
		n.dropped++
	}
}

// advise sends as much of a text as fits into an event.
func (n *childNotifier) advise(priority float64, text string) bool {
	advice := &childAdvice{wire.Priority(priority), redact.Text(text)}
	event := childEvent{Advice: advice}.encode()
	for rest := advice.Text; len(event) > MaxEmission; event = (childEvent{Advice: advice}).encode() {
		rest = redact.Shorten(rest, min(len(rest)/2, MaxEmission))
		advice.Text = rest + "…"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.advised >= maxAdvice || !n.emit(event, false) {
		return false
	}
	n.advised++
	return true
}

func (n *childNotifier) close() {
	if n.reporter != nil {
		n.reporter.close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed && n.dropped > 0 {
		n.emit(childEvent{Dropped: n.dropped}.encode(), true)
	}
	n.closed = true
}
