package bridge

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
)

// A client that keeps its connection, and does not respond, ends its call after maxWait.
func TestQuestionWaitsForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		b := New(Config{Server: server,
			Guard: guard.New(guard.Config{Log: slog.New(slog.DiscardHandler)})})
		answer := make(chan struct{})
		send := b.sending(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			select {
			case <-answer:
				return &mcp.ElicitResult{}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		ask := func(ctx context.Context) error {
			_, err := send(ctx, "elicitation/create",
				requestOf(&mcp.ServerSession{}, &mcp.ElicitParams{Message: "?"}))
			return err
		}
		start := time.Now()
		if err := ask(t.Context()); err == nil || !strings.Contains(err.Error(), "within 1h") ||
			time.Since(start) != maxWait {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that waits less: %v", err)
		}
		time.AfterFunc(59*time.Minute, func() { close(answer) })
		if err := ask(t.Context()); err != nil {
			t.Errorf("a late answer: %v", err)
		}
		if b.EndAllQuestions(); ask(t.Context()) == nil {
			t.Error("a question after the end of all")
		}
		if len(b.waiting) != 0 {
			t.Errorf("%d sessions are kept", len(b.waiting))
		}
	})
}
