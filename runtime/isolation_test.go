package runtime_test

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// box is a sandbox without walls, which keeps what it was asked for.
type box struct {
	start   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	mu      sync.Mutex
	started []isolate.Start
	inside  int
}

type insideKey struct{}

func (b *box) Start(s isolate.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
	return b.start
}

func (b *box) Enter(ctx context.Context, _ isolate.Client) (context.Context, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inside--
	}
}

func (b *box) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	return b.isolate(ctx, call)
}

// reached is a [toolset.LimitError].
type reached string

func (r reached) Error() string   { return "the tool reached its limit on " + string(r) }
func (r reached) Reached() string { return string(r) }

// apart is a toolset whose one tool runs in a process of its own, as generated code has it.
func apart(tool toolset.Tool) toolset.Toolset {
	tool.Isolate = "example.com/apart." + tool.Name
	tool.Input = `{"type":"object"}`
	tool.Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		return toolset.Structured(call.Isolated(ctx))
	}
	return toolsetOf([]toolset.Tool{tool}, access.Rule{Tool: tool.Name, Authenticated: true})
}
