package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

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

// contained runs what is inside the guard in a goroutine of its own. Middleware and the handlers of an
// adopted server may end their goroutine, which no recover sees and which would leave the
// caller waiting, or run on after their context has ended.
func (s *Server) contained(next mcp.MethodHandler) mcp.MethodHandler {
	type outcome struct {
		res mcp.Result
		err error
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		done := make(chan outcome, 1)
		go func() {
			o := outcome{err: errGoexit}
			defer func() {
				if p := recover(); p != nil {
					s.log.ErrorContext(ctx, "a request panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
					o = outcome{err: internalError()}
				}
				done <- o
			}()
			o.res, o.err = next(ctx, method, req)
		}()
		select {
		case o := <-done:
			return o.res, o.err
		case <-ctx.Done():
		}
		// Longer than a dispatch closure waits for its handler, which answers for itself.
		wait := time.NewTimer(2 * grace)
		defer wait.Stop()
		select {
		case o := <-done:
			return o.res, o.err
		case <-wait.C:
			return nil, errAbandoned
		}
	}
}

// bounded is the context of one message: it ends with the caller's credential and carries who
// is calling, for the middleware that sends.
func (r *record) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithValue(ctx, recordKey{}, r)
	if r.expires.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, r.expires)
}
