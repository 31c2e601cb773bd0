package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// emission is one thing that a handler in a process of its own says while it runs, on its way to the server.
type emission struct {
	Log      *emittedLog      `json:"log,omitempty"`
	Progress *emittedProgress `json:"progress,omitempty"`
	Advice   *emittedAdvice   `json:"advice,omitempty"`
}

type emittedLog struct {
	Time    time.Time       `json:"time"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"msg"`
	Attrs   json.RawMessage `json:"attrs,omitempty"` // a JSON object
}

type emittedProgress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

type emittedAdvice struct {
	Priority float64 `json:"priority"`
	Text     string  `json:"text"`
}

// emitter is where a handler in a process of its own says what goes to the server.
type emitter struct {
	send     func(emission)
	level    *slog.Level       // from which on log records are wanted; nil for none
	progress *ProgressReporter // nil where no client asked
}

type emitterKey struct{}

// emitterOf returns nil in the server's own process.
func emitterOf(ctx context.Context) *emitter {
	e, _ := ctx.Value(emitterKey{}).(*emitter)
	return e
}

func (e *emitter) handler() slog.Handler { return slog.DiscardHandler }

func (e *emitter) advise(priority float64, text string) bool {
	e.send(emission{Advice: &emittedAdvice{priority, text}})
	return true
}
