package notify

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

const maxAdvice = 16 // contents that one run can add to its result

// Advice collects contents for the result of a handler's run, until the end of its context. It is
// the context itself, with itself as [AdviceKey].
type Advice struct {
	context.Context
	Given atomic.Bool // it has contents

	mu       sync.Mutex
	contents []mcp.Content
	taken    bool
}

type key[T any] struct{} // the context key of a *T

// from returns the value of a type in a context, nil without one.
func from[T any](ctx context.Context) *T {
	v, _ := ctx.Value(key[T]{}).(*T)
	return v
}

// AdviceKey is where [Advise] finds the [Advice] of a run.
var AdviceKey any = key[Advice]{}

// Advise adds a text for the model to the result of a call, and reports whether there is room.
func Advise(ctx context.Context, priority float64, text string) bool {
	if n := from[childNotifier](ctx); n != nil {
		return n.advise(priority, text)
	}
	a, info := from[Advice](ctx), request.From(ctx)
	return a != nil && info != nil &&
		a.Add(wire.ForModel(priority, info.Mask(info.Server.Masker).Text(text)))
}

// Value implements [context.Context].
func (a *Advice) Value(key any) any {
	if key == AdviceKey {
		return a
	}
	return a.Context.Value(key)
}

// Add adds a content. It reports false if the run is over or has too many.
func (a *Advice) Add(content mcp.Content) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken || len(a.contents) >= maxAdvice || a.Context != nil && a.Err() != nil {
		return false
	}
	a.contents = append(a.contents, content)
	a.Given.Store(true)
	return true
}

// Take returns the contents and closes a.
func (a *Advice) Take() []mcp.Content {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = true
	return a.contents
}
