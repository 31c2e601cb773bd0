package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// box is a sandbox without walls, which keeps what it was asked for.
type box struct {
	start   error
	enter   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	mu      sync.Mutex
	started []isolate.Start
	entered []string
	inside  int
}

type insideKey struct{}

func (b *box) Start(s isolate.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
	return b.start
}

func (b *box) Enter(ctx context.Context, client isolate.Client, tool string,
	limits toolset.Limits) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entered = append(b.entered, fmt.Sprint(client, " ", tool, " ", limits.Concurrency))
	if b.enter != nil {
		return nil, nil, b.enter
	}
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inside--
	}, nil
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
