// Package isolate is the contract between a server and its sandbox.
//
// runtime.Options.Sandbox takes a [Sandbox]. Package sandbox has the only implementation. The
// contract is an interface so that a server without a sandbox does not link one.
package isolate

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Sandbox keeps the clients' workspaces, and runs isolated calls in processes of their own. All
// methods except Start are called from many goroutines at once.
type Sandbox interface {
	// Start prepares the sandbox before the server serves anything. Its error contains the reason
	// and the cure.
	Start(Start) error

	// Enter begins a call, and does not wait. It returns the context for the handler, which holds
	// the client's workspace, and a function to call when the call is over.
	Enter(ctx context.Context, client Client) (inside context.Context, leave func())

	// Isolate runs a call in a process of its own, and returns the handler's result as
	// [Encoded] makes it. ctx is a context that Enter returned. When Isolate returns, it has
	// killed all processes of the call.
	//
	// An error that is a [toolset.LimitError] names the limit that the call reached. An error with
	// a method HandlerError() string holds the text of the handler's own error, for the client. All
	// other errors are for the log only.
	Isolate(ctx context.Context, call Call) (json.RawMessage, error)
}

// Workspaces is a [Sandbox] that keeps workspaces.
type Workspaces interface {
	// Folder returns the folder of the workspaces, which is empty if the sandbox keeps none.
	Folder() string
	// ClearWorkspace ends the isolated calls in a client's workspace, removes its files and its
	// variables, and reports whether there was one. If ctx ends first, removing goes on.
	ClearWorkspace(ctx context.Context, client Client) (found bool, err error)
}

// Start is what a server needs from its sandbox.
type Start struct {
	// Isolated are the names of the handlers of isolated tools, as in toolset.Tool.Isolate. If it
	// is empty, the sandbox needs no processes.
	Isolated []string
	// Network is set if one of these tools may connect, Programs if one may start programs.
	Network, Programs bool
	// Logger is the server's.
	Logger *slog.Logger
}

// Client identifies the client of a call, for limits and workspaces. The zero Client stands for all
// anonymous callers together, who have no workspace.
type Client struct{ Issuer, ID string }

// Call is a call to run in a process of its own.
type Call struct {
	Name      string          // of the registered handler
	Arguments json.RawMessage // as the client sent them

	// Caller describes the call to its process: the caller and the decisions of the server. Package
	// sandbox reads it there and makes the handler's context from it.
	Caller json.RawMessage
	// Files are the files that the server opened for the call, by argument. They stay open, and the
	// server closes them.
	Files map[string]*os.File

	// Network is set if the handler may connect to the hosts of the caller's grants. Programs is
	// set if it may start the system's programs.
	Network, Programs bool

	// Emitted takes the log messages, progress and advice of the handler while it runs. Isolate
	// calls it from one goroutine, in order, and not after it has returned. If it is nil, the
	// process sends none.
	Emitted func(emission json.RawMessage)

	// Timeout bounds the duration, and Limits.Memory and Limits.Output bound the call. Zero means
	// the sandbox's default.
	Timeout time.Duration
	Limits  toolset.Limits
}
