// Package credential holds what an identity source gives the handlers of one message.
package credential

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Held is the caller's value of one message, until the message has its answer. A nil *Held holds
// nothing. It is safe for concurrent use.
type Held struct {
	requestID string
	load      func(context.Context) (identity.Value, error) // nil for a value that is there
	loading   sync.Mutex

	mu    sync.Mutex
	id    identity.Identity // the zero Identity once the message has its answer
	ended bool
	texts []string // secrets of the message; logs need them also after its end
}

// Hold returns nil for an identity without a value.
func Hold(id identity.Identity, requestID string) *Held {
	if id.Value.IsZero() {
		return nil
	}
	return &Held{requestID: requestID, id: id, texts: id.Value.Secrets()}
}

// Later returns what a handler's first use loads. A failed load is repeated by the next use.
func Later(id identity.Identity, requestID string,
	load func(context.Context) (identity.Value, error)) *Held {
	return &Held{requestID: requestID, id: id, load: load}
}

// Fork returns another holder of the same value, with an end of its own. It is nil without a value,
// and once the message has its answer.
func (h *Held) Fork() *Held {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil
	}
	return &Held{requestID: h.requestID, load: h.load, id: h.id, texts: slices.Clone(h.texts)}
}

// RequestID is the id of the message in the log.
func (h *Held) RequestID() string { return h.requestID }

// Identity returns the caller of the message with its value. It reports false without a value, and
// once the message has its answer.
func (h *Held) Identity(ctx context.Context) (identity.Identity, bool) {
	if h == nil {
		return identity.Identity{}, false
	}
	if h.load != nil {
		h.loading.Lock()
		defer h.loading.Unlock()
		if !h.loaded() {
			v, err := h.load(ctx)
			if err != nil {
				return identity.Identity{}, false
			}
			h.mu.Lock()
			h.texts = append(h.texts, v.Secrets()...)
			if !h.ended {
				h.id.Value = v
			}
			h.mu.Unlock()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id, !h.ended && !h.id.Value.IsZero()
}

// loaded reports whether nothing is to be loaded, or not any more.
func (h *Held) loaded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended || !h.id.Value.IsZero()
}

// Hide adds a secret that the message has got. It reports false once the message has its answer.
func (h *Held) Hide(secret string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.texts, secret) {
		h.texts = append(h.texts, secret)
	}
	return !h.ended
}

// End drops the value: the message has its answer.
func (h *Held) End() {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.id, h.ended = identity.Identity{}, true
	}
}

// Mask returns a masker that also masks the secrets of the message, those that it gets later too.
func (h *Held) Mask(m redact.Masker) redact.Masker {
	if h == nil {
		return m
	}
	return m.WithTexts(h.secrets)
}

func (h *Held) secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.texts) // items are added only
}

type key struct{}

// Key is the key of the *Held in a context.
var Key any = key{}

// With returns a context in which h is found, and whose log lines mask its secrets. A nil h hides
// what the context has.
func With(ctx context.Context, h *Held) context.Context {
	ctx = context.WithValue(ctx, Key, h)
	if h == nil {
		return ctx
	}
	return redact.WithTexts(ctx, h.secrets)
}

// From returns what the message of a context holds, nil for nothing.
func From(ctx context.Context) *Held {
	h, _ := ctx.Value(Key).(*Held)
	return h
}
