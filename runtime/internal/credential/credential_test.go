package credential

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

func TestValueIsLoadedByItsFirstUse(t *testing.T) {
	loads, fails := 0, errors.New("down")
	h := Later(identity.Identity{}, "x", func(context.Context) (identity.Value, error) {
		loads++
		return identity.NewValue("a secret"), fails
	})
	if _, ok := h.Identity(t.Context()); ok || loads != 1 {
		t.Errorf("a load that fails gives a value: %d", loads)
	}
	fails = nil
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if id, ok := h.Identity(t.Context()); !ok || id.Value.Content() != "a secret" {
				t.Error("no value")
			}
		})
	}
	if all.Wait(); loads != 2 || !slices.Contains(h.secrets(), "a secret") {
		t.Errorf("%d loads", loads)
	}
	if h.End(); h.Hide("late") || !slices.Contains(h.secrets(), "late") {
		t.Error("what comes late is not masked, or counts")
	}
	if _, ok := h.Identity(t.Context()); ok || loads != 2 {
		t.Error("the value outlives its message")
	}
}

// A load that is on its way when the message ends gives nothing.
func TestValueThatComesAfterTheEndIsNone(t *testing.T) {
	var h *Held
	h = Later(identity.Identity{}, "x", func(context.Context) (identity.Value, error) {
		h.End()
		return identity.NewValue("a secret"), nil
	})
	if id, ok := h.Identity(t.Context()); ok || !id.Value.IsZero() || len(h.secrets()) != 1 {
		t.Error("it has a value")
	}
}
