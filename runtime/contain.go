package runtime

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	errGoexit    = errors.New("its goroutine ended (runtime.Goexit) without an answer")
	errAbandoned = errors.New("it did not stop when its context ended; its goroutine is still running")
)

// errExpired tells a caller whose credential has ended that its answer is withheld.
func errExpired() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the credential has expired"}
}

// contained runs what is inside the guard on a worker. Middleware and the handlers of an
// adopted server may end their goroutine, which no recover sees and which would leave the
// caller waiting, or run on after their context has ended.
//
// Where there is neither, everything in there that is not go-sdk's or the guard's own is run by within.
func (s *Server) contained(next mcp.MethodHandler) mcp.MethodHandler {
	if s.alone() {
		return next
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		var (
			res mcp.Result
			err error
		)
		job := &task{ctx: ctx, do: func() { res, err = next(ctx, method, req) }, late: func(c *crash) {
			if c != nil && c.panicked {
				s.panicked(ctx, method, c)
			}
		}}
		w := s.workers.take(job)
		select {
		case <-w.done:
		case <-ctx.Done():
			// Longer than a dispatch closure waits for its handler, which answers for itself.
			if !w.ends(2 * grace) {
				if job.abandon() {
					return nil, errAbandoned
				}
				<-w.done
			}
		}
		crash := job.crash
		s.workers.give(w)
		switch {
		case crash == nil:
			return res, err
		case crash.panicked:
			s.panicked(ctx, method, crash)
			return nil, internalError()
		}
		return nil, errGoexit
	}
}

func (s *Server) panicked(ctx context.Context, method string, c *crash) {
	rec, _ := ctx.Value(recordKey{}).(*record)
	s.log.ErrorContext(ctx, "a request panicked", "method", method, rec.ids(), "panic", c.value, "stack", c.stacktrace)
}

// alone reports whether only toolsets are served, and nothing stands between the guard and go-sdk.
func (s *Server) alone() bool { return len(s.opts.Middleware) == 0 && !s.adopted }

// carrying is a context with a record in it: context.WithValue of one key.
type carrying struct {
	context.Context
	record *record
}

// Value implements context.Context.
func (c *carrying) Value(key any) any {
	if _, ok := key.(recordKey); ok {
		return c.record
	}
	return c.Context.Value(key)
}

// bounded is the context of one message: it ends with the caller's credential and carries who
// is calling, for the middleware that sends.
func (r *record) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = &carrying{ctx, r}
	if r.expires.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, r.expires)
}
