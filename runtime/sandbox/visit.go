package sandbox

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// What is in the way of a workspace.
var (
	errKeepsNone = errors.New("this server has no workspaces: set sandbox.Options.Workspaces, " +
		"pass this sandbox as runtime.Options.Sandbox, and use the context of the handler")
	errAnonymous = errors.New("an anonymous caller has no workspace: make the tool authenticated, " +
		"or use no workspace")
	errLeft = errors.New("the call has ended and has no workspace any more: use the " +
		"workspace before the handler returns")
)

// Workspace returns the client's workspace, a directory and variables, for the call of a handler.
// ctx is the context of the handler, or derived from it. In an isolated call (isolate=process)
// the directory is also the working directory. Changes of variables reach the server when the
// handler has returned, also with an error. Calls that run at the same time share files, but not
// variables.
//
// The workspace is valid until the handler returns. Workspace returns an error if the server
// keeps no workspaces, for anonymous callers, and after the call. The error is a [*LimitError] if
// the server has the maximum number of workspaces.
func Workspace(ctx context.Context) (*ClientWorkspace, error) {
	if from, found := ctx.Value(workspaceKey{}).(workspaceSource); found {
		return from.workspace()
	}
	return nil, errKeepsNone
}

// WithWorkspace returns a context that carries a workspace, for tests of handlers.
func WithWorkspace(ctx context.Context, space *ClientWorkspace) context.Context {
	return context.WithValue(ctx, workspaceKey{}, given{space, nil})
}

// workspaceKey is the key of a context's workspaceSource.
type workspaceKey struct{}

type workspaceSource interface {
	workspace() (*ClientWorkspace, error)
}

// given is a workspace that is there already, or the reason why none is.
type given struct {
	space *ClientWorkspace
	err   error
}

func (g given) workspace() (*ClientWorkspace, error) { return g.space, g.err }

// visit is a call in the server, and its handler's context: one thing, since each call pays for it
// and few ask for a workspace.
type visit struct {
	context.Context
	spaces *Workspaces // nil where none are kept
	client isolate.Client
	limits func() // leaves the limiter

	mu      sync.Mutex
	space   *ClientWorkspace // nil until it is asked for
	release func(used bool)
	refused bool // the call did not begin
	left    bool
}

func (v *visit) Value(key any) any {
	switch key.(type) {
	case workspaceKey, clientKey:
		return v
	}
	return v.Context.Value(key)
}

// clientKey is the key of a context's visit.
type clientKey struct{}

// clientOf returns whose call a context is of; the zero Client where it is of none.
func clientOf(ctx context.Context) isolate.Client {
	if v, found := ctx.Value(clientKey{}).(*visit); found {
		return v.client
	}
	return isolate.Client{}
}

// refuse says that a call did not begin: it does not keep its client's workspace from expiring.
func refuse(ctx context.Context) {
	if v, found := ctx.Value(clientKey{}).(*visit); found {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.refused = true
	}
}

func (v *visit) workspace() (*ClientWorkspace, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.spaces == nil:
		return nil, errKeepsNone
	case v.left:
		return nil, errLeft
	case v.space != nil:
		return v.space, nil
	case v.client.ID == "":
		return nil, errAnonymous // without a name all would share one
	}
	var err error
	v.space, v.release, err = v.spaces.acquire(spelled(v.client))
	return v.space, err
}

// leave ends the call: the workspace first, so that a call that is let in next does not find it in
// use.
func (v *visit) leave() {
	v.mu.Lock()
	release, used := v.release, !v.refused
	v.left, v.space, v.release = true, nil, nil
	v.mu.Unlock()
	if release != nil {
		release(used)
	}
	v.limits()
}
