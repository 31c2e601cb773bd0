package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/tasks"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Config is what the steps of the chain read.
type Config struct {
	Deciding
	Recording
	Listing
	Running
}

// Deciding is who may do what.
type Deciding struct {
	Policy        *discovery.Policy
	Catalogs      *discovery.Catalogs
	Rights        principal.Rights
	Authenticator *principal.Authenticator
	Aliases       map[string]string // of tools, to their names
	Sealer        invoke.Sealer
}

// Recording is where a message leaves a trace.
type Recording struct {
	Audit        audit.Sink // nil records nothing
	AuditTimeout time.Duration
	AuditIntent  audit.IntentPolicy
	Observer     *Observer
	Log          *slog.Logger
	Masker       redact.Masker
	Closing      context.Context // ends when the server stops
}

// Listing is what callers see of the server, and of its changes.
type Listing struct {
	Server       *mcp.Implementation
	Capabilities *mcp.ServerCapabilities // equal for every caller; not changed
	Instructions *discovery.Instructions
	Lists        *discovery.Lists
	Changes      *discovery.ListChanged // nil if lists never change
	Updates      *discovery.Updates     // nil if no resource has updates
}

// Running is what runs an allowed message.
type Running struct {
	Tools        map[string]*invoke.Tool
	Prompts      map[string]*invoke.Prompt
	Resources    *invoke.Resources
	Runner       *invoke.Runner
	Notify       notify.Config
	Interceptors []intercept.Middleware
	Adopted      bool // the handlers of an adopted server may answer
	Pool         *worker.Pool
	Active       *worker.Group
	Tasks        *tasks.Registry // nil if no tool runs as a task
	TasksLocal   bool            // the tasks end with the process
	// TaskRequest returns the request for a handler of go-sdk's shape in a run of a task.
	TaskRequest func(context.Context, *request.Info,
		*mcp.CallToolParamsRaw) (*mcp.CallToolRequest, error)
}

// Guard decides messages. It is safe for concurrent use.
type Guard struct {
	Config
	recording chan struct{} // holds one item for each record that is being written
	records   *worker.Deadlines
	sink      sinkState
	server    json.RawMessage // as results of 2026-07-28 name it
	discover  json.RawMessage // with its website and icons

	runTask Next // from a run of a task on
}

// New returns a guard.
func New(c Config) *Guard {
	full := cmp.Or(c.Server, &mcp.Implementation{})
	discover, _ := wire.ServerInfo(full) // texts alone
	server, _ := wire.ServerInfo(
		&mcp.Implementation{Name: full.Name, Title: full.Title, Version: full.Version})
	g := &Guard{Config: c, recording: make(chan struct{}, maxRecording),
		records: worker.NewDeadlines(c.AuditTimeout), server: server,
		discover: discover}
	g.runTask = chain(g.taskSteps(), g.invokeTask)
	return g
}

// recoverPanics answers a message whose handling panicked.
func (g *Guard) recoverPanics(next Next) Next {
	return func(ctx context.Context, m *Message) (a Answer, err error) {
		defer func() {
			if p := recover(); p != nil {
				g.Log.ErrorContext(ctx, "a request panicked", "method", m.Method, m.IDs(),
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				a, err = Answer{}, wire.InternalError()
			}
		}()
		return next(ctx, m)
	}
}

// observe reports the start and the end of a message to the observer.
func (g *Guard) observe(next Next) Next {
	return func(ctx context.Context, m *Message) (a Answer, err error) {
		ctx, seen := g.Observer.start(ctx, m)
		panicked := true
		defer func() {
			if m.Lasts != nil && !panicked {
				m.atEnd(g.Observer.later(seen, m))
				return
			}
			if panicked {
				m.outcome.Failure, err = audit.Crashed, wire.InternalError()
			}
			g.Observer.end(seen, m.observed(err))
		}()
		a, err = next(ctx, m)
		panicked = false
		return a, err
	}
}

// observed returns the outcome of a message for the observer.
func (m *Message) observed(err error) observe.Outcome {
	if err == nil {
		return m.outcome
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc != nil && !errors.As(err, new(challenged)) {
		m.outcome.Code = rpc.Code
	}
	if m.outcome.Failure == "" {
		m.outcome.Failure = audit.Errored
	}
	return m.outcome
}

// expire ends a message with the caller's credential, and words errors for the client.
func (g *Guard) expire(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		if m.Credential != nil {
			defer m.Credential.End() // also if a handler runs on
		}
		ctx = m.WithCredential(ctx)
		if !m.Expires.IsZero() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, m.Expires)
			defer m.Finally(cancel)
		}
		a, err := next(ctx, m)
		if m.Lasts != nil {
			m.atEnd(g.expireLater(ctx, m))
			return a, err
		}
		return g.expired(ctx, m, a, err)
	}
}

// expired returns the answer of a message unless the caller's credential has ended.
func (g *Guard) expired(ctx context.Context, m *Message, a Answer, err error) (Answer, error) {
	switch {
	case m.Expired():
		return Answer{}, wire.Ended(m.Info)
	case err != nil:
		return Answer{}, g.errorFor(request.With(ctx, m.Info), m, err)
	}
	return a, nil
}

func (g *Guard) expireLater(ctx context.Context, m *Message) func(*Answer, *error) {
	return func(a *Answer, err *error) { *a, *err = g.expired(ctx, m, *a, *err) }
}

// errorFor returns an error that may leave, and logs what it leaves out.
func (g *Guard) errorFor(ctx context.Context, m *Message, err error) error {
	if errors.As(err, new(challenged)) {
		return err
	}
	out := wire.WireError(err)
	if _, masked := err.(wire.MaskedError); !masked { // words around one are not masked
		out = wire.MaskError(g.maskOf(m), out)
	}
	var rpc *jsonrpc.Error
	if errors.As(out, &rpc) && rpc.Code == jsonrpc.CodeInternalError &&
		rpc.Message == "internal error" && err.Error() != rpc.Message {
		var misfit *json.UnmarshalTypeError
		if errors.As(err, &misfit) {
			err = misfit // words around it may repeat the client's value
		}
		g.Log.ErrorContext(ctx, "a request failed", "method", m.Method, m.IDs(),
			"error", wire.WithoutValues(err))
	}
	return out
}

// notify connects the handler with its client, and flushes before the answer leaves.
func (g *Guard) notify(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		client := &notify.Client{Config: g.Notify, Info: m.Info, Meta: m.Meta, Context: ctx}
		defer m.Finally(client.End)
		return next(client, m)
	}
}

// resolve attaches the boundary and the host's permissions, unless the transport has. The message
// ends if its client is blocked meanwhile.
func (g *Guard) resolve(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		if err := g.Rights.Attach(ctx, m.Info); err != nil {
			g.Refused(ctx, m.Info, m.Method, err)
			return Answer{}, wire.Refused()
		}
		ctx, leave := g.Rights.Enter(ctx, m.Info)
		defer m.Finally(leave)
		return next(ctx, m)
	}
}

// subscribe notes the newest caller of a session.
func (g *Guard) subscribe(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		g.Observe(m.Info)
		return next(ctx, m)
	}
}

// Observe notes the newest caller of a session.
func (g *Guard) Observe(info *request.Info) {
	if g.Changes != nil {
		g.Changes.Observe(info)
	}
	if g.Updates != nil {
		g.Updates.Observe(info)
	}
}
