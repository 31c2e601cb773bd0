package main

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
)

// The suite does not cancel calls; the clients of testdata/clients do, with these tools.

var cancelled = make(chan struct{})

// TestWait reports progress, and waits until its call is cancelled.
//
//mcp:tool readonly
func TestWait(ctx context.Context) error {
	runtime.Progress(ctx).Report(1, 0, "waiting")
	<-ctx.Done()
	if ctx.Err() == context.Canceled {
		cancelled <- struct{}{}
	}
	return ctx.Err()
}

// TestWaited waits until a call of test_wait has been cancelled.
//
//mcp:tool readonly
func TestWaited(ctx context.Context) error {
	select {
	case <-cancelled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
