package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Sandbox contains a [Limiter], [Workspaces] if [Options] name a folder for them, and a [Pool]
// after the start of a server with isolated tools. Set it as runtime.Options.Sandbox. Several
// servers may share one. It is safe for concurrent use.
type Sandbox struct {
	options Options
	root    *os.Root    // nil where spaces is
	spaces  *Workspaces // nil where none are kept
	limiter Limiter
	shares  Limiter                     // of the pool, for each client
	pool    atomic.Pointer[Pool]        // nil until a server with isolated tools starts
	logger  atomic.Pointer[slog.Logger] // nil until then as well
	granted func() []Path               // Programs, found once

	mu     sync.Mutex // one Start or Close at a time
	closed bool
}

var (
	_ isolate.Sandbox    = (*Sandbox)(nil)
	_ isolate.Workspaces = (*Sandbox)(nil)
)

// New returns a sandbox without processes. The error names an option that cannot work. A missing
// folder of workspaces is created.
func New(o Options) (*Sandbox, error) {
	if _, err := o.filled(); err != nil {
		return nil, err
	}
	s := &Sandbox{options: o, granted: sync.OnceValue(Programs)}
	if o.Workspaces == "" {
		return s, nil
	}
	if err := os.MkdirAll(o.Workspaces, 0o700); err != nil {
		return nil, fmt.Errorf("sandbox.Options.Workspaces: %w", err)
	}
	var err error
	if s.root, err = os.OpenRoot(o.Workspaces); err != nil {
		return nil, fmt.Errorf("sandbox.Options.Workspaces: %w", err)
	}
	w := o.Workspace
	fill(&w.UID, o.UID)
	fill(&w.GID, o.GID)
	if s.spaces, err = NewWorkspaces(s.root, w); err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox.Options.Workspaces %s: %w", o.Workspaces, err),
			s.root.Close())
	}
	return s, nil
}

// Start makes helpers ready if the server has isolated tools. Servers that start later share the
// helpers. Each server accepts the missing parts of the system for itself.
func (s *Sandbox) Start(start isolate.Start) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if len(start.Isolated) == 0 {
		return nil
	}
	if unsupported != nil {
		return unsupported
	}
	errs := []error{Ready()}
	for _, name := range start.Isolated {
		if _, found := handlerOf(name); !found {
			errs = append(errs, notRegistered(name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p := s.pool.Load()
	if p == nil {
		var err error
		if p, err = s.start(start); err != nil {
			return err
		}
	}
	if missing := p.required(); len(missing) > 0 && !start.BestEffort && !s.options.BestEffort {
		return &MissingError{Parts: missing}
	}
	for _, part := range p.Missing() {
		start.Logger.Warn("isolated calls run with incomplete isolation", "missing",
			part)
	}
	return nil
}

func (s *Sandbox) start(start isolate.Start) (*Pool, error) {
	o := s.options
	o.BestEffort = o.BestEffort || start.BestEffort
	if start.Network {
		fill(&o.WarmNet, 2)
	}
	if o.Log == nil {
		o.Log = func(name, message string) { start.Logger.Error("sandbox: "+message, "tool", name) }
	}
	p, err := NewPool(o)
	if err != nil {
		return nil, err
	}
	s.logger.Store(start.Logger)
	s.pool.Store(p)
	return p, nil
}

// Close ends all helpers and their calls, and waits for them. Later calls get an error, and so do
// calls that still use a workspace. It may be called more than once. Servers do not call it.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if p := s.pool.Load(); p != nil {
		errs = append(errs, p.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	return errors.Join(errs...)
}

// Enter admits a call, or returns a [*LimitError]. [Workspace] needs the returned context. The
// handler takes a workspace when it requests one, and leave gives it back. leave may be called
// more than once.
func (s *Sandbox) Enter(ctx context.Context, client isolate.Client, tool string,
	l toolset.Limits) (context.Context, func(), error) {
	leave := func() {}
	if l.Concurrency != 0 || l.Rate != (toolset.Rate{}) {
		var err error
		if leave, err = s.limiter.Enter(spelled(client), tool, boundsOf(l)); err != nil {
			var limit *LimitError
			if errors.As(err, &limit) && limit.Limit == Rate {
				limit.Bound = spelledRate(l.Rate)
			}
			return ctx, nil, err
		}
	}
	if s.spaces == nil && s.pool.Load() == nil {
		return ctx, leave, nil // nobody is going to ask whose call it is
	}
	v := &visit{Context: ctx, spaces: s.spaces, client: client, limits: leave}
	return v, v.leave, nil
}

// boundsOf returns the bounds that a limiter takes. As many calls as the rate names may begin at
// once, after as long a pause.
func boundsOf(l toolset.Limits) Bounds {
	b := Bounds{Concurrency: l.Concurrency}
	if l.Rate.Calls != 0 || l.Rate.Per != 0 {
		b.Burst, b.Rate = l.Rate.Calls, float64(l.Rate.Calls)/l.Rate.Per.Seconds()
	}
	return b
}

// spelledRate is a rate for people: "100 a minute".
func spelledRate(r toolset.Rate) string {
	per := "in " + r.Per.String()
	switch r.Per {
	case time.Second:
		per = "a second"
	case time.Minute:
		per = "a minute"
	case time.Hour:
		per = "an hour"
	}
	return strconv.Itoa(r.Calls) + " " + per
}

// spelled is a client as one text that no other client has.
func spelled(c isolate.Client) string {
	return strconv.Itoa(len(c.Issuer)) + ":" + c.Issuer + c.ID
}

// Isolate runs a call in its own helper. It returns a [*LimitError] if the client, or all clients
// together, have the maximum number of running calls. ctx is the one from Enter. The handler
// works in the client's workspace, if the sandbox keeps them. If the workspace exceeds its quota
// of bytes, files or nested folders, the handler can remove files there, and neither create nor
// write any.
func (s *Sandbox) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	p := s.pool.Load()
	if p == nil {
		return nil, fmt.Errorf("%s cannot be isolated: its sandbox was not started with it",
			call.Name)
	}
	finish, err := s.shares.Enter(spelled(clientOf(ctx)), "", Bounds{Concurrency: p.options.Share})
	if err != nil {
		return nil, shared(err)
	}
	defer finish()
	r := Request{
		Name:      call.Name,
		Arguments: call.Arguments,
		Caller:    call.Caller,
		Files:     call.Files,
		Net:       call.Network,
		Limits: Limits{Timeout: call.Timeout, Memory: call.Limits.Memory,
			Output: call.Limits.Output},
		emitted: call.Emitted,
	}
	if call.Programs {
		r.Paths = s.granted()
	}
	r.space, r.noSpace = Workspace(ctx)
	if errors.Is(r.noSpace, errLeft) {
		return nil, r.noSpace
	}
	inside := ctx
	if r.space != nil {
		if r.hold, err = r.space.hold(ctx, p.options.Limits.FileSize); err != nil {
			refuse(ctx)
			return nil, err
		}
		inside, r.Limits.FileSize = r.hold.ctx, r.hold.fileSize
		r.Dir = r.space.Dir()
	}
	r.soon = func(a Answer) {
		r.hold.gone()
		s.printed(context.WithoutCancel(ctx), call.Name, a)
	}
	answer, err := p.Run(inside, r)
	r.hold.stop()
	if !answer.begun {
		refuse(ctx)
	}
	if err != nil {
		r.hold.gone()
		s.printed(ctx, call.Name, answer)
	}
	if answer.journal != nil {
		if failed := r.space.apply(*answer.journal); failed != nil && err == nil {
			err = failed
		}
	}
	if err != nil {
		return nil, r.named(err, p.options.Limits)
	}
	return answer.Result, nil
}

// shared says that a limit is on isolated calls.
func shared(err error) error {
	var limit *LimitError
	if errors.As(err, &limit) {
		limit.Bound += " isolated ones of one client"
	}
	return err
}

// printed logs what a call wrote to its standard output and error.
func (s *Sandbox) printed(ctx context.Context, tool string, a Answer) {
	if logger := s.logger.Load(); len(a.Printed) > 0 && logger.Enabled(ctx, slog.LevelDebug) {
		logger.DebugContext(ctx, "an isolated call printed", "tool", tool, "printed",
			string(a.Printed))
	}
}

// Folder returns the folder of the workspaces, or "" without workspaces. The server checks that
// no client can be granted it.
func (s *Sandbox) Folder() string { return s.options.Workspaces }

// ClearWorkspace removes the files and the variables of a client's workspace, and reports whether
// there was one. The client's isolated calls end with an error before. If ctx ends first, removal
// continues.
func (s *Sandbox) ClearWorkspace(ctx context.Context, client isolate.Client) (
	found bool, err error) {
	switch {
	case s.spaces == nil:
		return false, errKeepsNone
	case client.ID == "":
		return false, errAnonymous
	}
	return s.spaces.clear(ctx, spelled(client))
}

// named returns the error of a call with the limit in it that the client knows.
func (r Request) named(err error, standard Limits) error {
	var limit *LimitError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		// Whose ever deadline it was: the server's own is the call's.
		return &LimitError{Limit: Timeout, Bound: bound(Timeout, r.Limits.over(standard))}
	case errors.As(err, &limit) && limit.Limit == FileSize && r.space != nil &&
		r.Limits.FileSize < standard.FileSize:
		return r.space.full()
	}
	return err
}
