package guard

import (
	"context"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// contain runs the rest on a worker if foreign code is in it: middleware and the handlers of an
// adopted server may end their goroutine, which no recover sees, or run on after their context has
// ended. A server with neither does not need it: invoke supervises its handlers.
func (g *Guard) contain(next Next) Next {
	if !g.Contains() {
		return next
	}
	type result struct {
		answer Answer
		err    error
	}
	return func(ctx context.Context, m *Message) (Answer, error) {
		panicked := func(c *worker.Crash) {
			if c != nil && c.Panicked {
				g.Log.ErrorContext(ctx, "a request panicked", "method", m.Method, m.IDs(),
					"panic", c.Value, "stack", c.Stack)
			}
		}
		own := *m // an abandoned run may still write to it
		o := worker.Run(g.Pool, worker.Job[result]{
			Context: ctx,
			Grace:   2 * worker.Grace, // a handler's own grace period ends before
			Do: func(ctx context.Context) result {
				a, err := next(ctx, &own)
				return result{a, err}
			},
			Late: panicked,
		})
		panicked(o.Crash)
		switch {
		case o.Abandoned:
			return Answer{}, worker.ErrAbandoned
		case o.Crash == nil:
			return o.Value.answer, o.Value.err
		case o.Crash.Panicked:
			return Answer{}, wire.InternalError()
		}
		return Answer{}, worker.ErrGoexit
	}
}

// Contains reports whether messages pass through foreign code, which has to wait for their end.
func (g *Guard) Contains() bool { return g.intercepts() || g.Adopted }

// intercepts reports whether there are interceptors, which may answer.
func (r *Running) intercepts() bool { return len(r.Interceptors) > 0 }

// interceptedKey is the key of the message that interceptors pass on.
type interceptedKey struct{}

// intercept passes a message through Options.Interceptors.
func (g *Guard) intercept(next Next) Next {
	if len(g.Interceptors) == 0 {
		return next
	}
	type passed struct {
		message *Message

		mu   sync.Mutex
		over bool          // the middleware has returned
		last invoke.Report // of the rest, the last time that it ran
		ran  bool
	}
	chain := intercept.Next(func(ctx context.Context, i intercept.Message) (mcp.Result, error) {
		p, ok := ctx.Value(interceptedKey{}).(*passed)
		if !ok {
			return nil, wire.InternalError() // a context of its own
		}
		m := *p.message
		m.Method, m.Params = i.Method, i.Params
		p.mu.Lock()
		over := p.over
		p.mu.Unlock()
		if over {
			return nil, wire.InternalError() // the message has its answer
		}
		a, err := next(ctx, &m)
		p.mu.Lock()
		defer p.mu.Unlock()
		if a.Report != nil {
			p.last, p.ran = *a.Report, true
		}
		return a.Result, err
	})
	for _, middleware := range slices.Backward(g.Interceptors) {
		chain = middleware(chain)
	}
	return func(ctx context.Context, m *Message) (Answer, error) {
		p := &passed{message: m}
		ctx = context.WithValue(ctx, interceptedKey{}, p)
		res, err := chain(ctx, intercept.Message{Method: m.Method, Params: m.Params})
		if rpc, ok := err.(*jsonrpc.Error); ok && rpc == nil {
			err = wire.InternalError() // a nil pointer has no text
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over = true
		a := Answer{Result: res}
		if p.ran {
			report := p.last
			a.Report = &report
		}
		return a, err
	}
}
