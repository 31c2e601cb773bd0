package commandline

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// grace is the time that a command has after a signal to end by itself.
const grace = time.Second / 2

// Process runs a command and ends the process with its exit code. The first SIGINT or SIGTERM ends
// the context of the command. A command that still computes or waits after the grace, such as for a
// pipe that a child of a child keeps open, ends with the process. Its files are whole.
func Process(run func(context.Context) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	code := make(chan int, 1)
	go func() { code <- run(ctx) }()
	select {
	case c := <-code:
		os.Exit(c)
	case <-signals:
		cancel()
	}
	select {
	case c := <-code:
		os.Exit(c)
	case <-time.After(grace):
		writefiles.Stop()
		os.Exit(exitFailure) // without a message: standard error may be a full pipe
	}
}
