package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"
)

// Sandbox bounds what clients do at a time, keeps their workspaces, and runs calls in processes of their own.
// *sandbox.Sandbox is one; it is an interface so that a server which needs none links none. All its
// methods but Start are called from many goroutines at once.
type Sandbox interface {
	// Start makes it ready, before the server serves anything. Its error says what is in the way, and the cure.
	Start(SandboxStart) error

	// Enter lets a call in, and returns the context for its handler, by which that finds the client's workspace, and
	// what is to be called when the call is over. It does not wait: what exceeds a bound of
	// the limits, which Concurrency and Rate are here, is a [LimitError] at once.
	Enter(ctx context.Context, client Client, tool string, limits Limits) (inside context.Context, leave func(), err error)

	// Isolate runs a call in a process of its own, and returns what its handler did, by [Encoded]. ctx is one that Enter
	// has returned. All of the call's processes have been killed when it returns. An error that is a [LimitError]
	// says which limit was reached; one that has a method HandlerError() string has the words of the handler's
	// own error, for the client; all others are for the log.
	Isolate(ctx context.Context, call IsolatedCall) (json.RawMessage, error)
}

// SandboxStart is what a server asks of its sandbox.
type SandboxStart struct {
	// Isolated are the names by which the handlers of tools with isolate=process are registered (Tool.Isolate). Without
	// any, no processes are needed.
	Isolated []string
	// Network and Programs say whether some of these tools connect and start programs.
	Network, Programs bool
	// BestEffort is Options.SandboxBestEffort.
	BestEffort bool
	// Logger is the server's.
	Logger *slog.Logger
}

// Client is whose call it is, for limits and workspaces. The zero Client is all anonymous callers together, who
// have no workspace.
type Client struct{ Issuer, ID string }

// IsolatedCall is a call to be run in a process of its own.
type IsolatedCall struct {
	Name      string          // by which the handler is registered
	Arguments json.RawMessage // as the client sent them
	Caller    json.RawMessage // for [Inherit]
	// Files are what was opened for the call, by a name each, for [Inherit]. They stay open and the server's.
	Files map[string]*os.File
	// Network says that the handler may connect to where the caller's grants let it, and Programs that it may start the programs that
	// systems have.
	Network, Programs bool
	// Emitted takes what the handler says while it runs, as [Emitting] has it sent. It is called from one goroutine, in order, and not any more when
	// Isolate has returned. Nil: nothing is taken.
	Emitted func(emission json.RawMessage)
	// Timeout is how long it may take, and Limits.Memory and Limits.Output bound it; zero is the sandbox's default.
	Timeout time.Duration
	Limits  Limits
}

// LimitError is an error that says which limit a call has reached: sandbox.LimitError is one.
type LimitError interface {
	error
	// Reached names the limit: "timeout", "memory", "output", "calls at a time", "rate" and so on.
	Reached() string
}
