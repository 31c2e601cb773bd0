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
)

// Sandbox contains workspaces if [Options] name a folder for them, and a pool after the start of a
// server with isolated tools. Set it as runtime.Options.Sandbox. Several
// servers may share one. It is safe for concurrent use.
type Sandbox struct {
	options Options
	root    *os.Root    // nil if spaces is
	spaces  *workspaces // nil without workspaces
	shares  shares
	pool    atomic.Pointer[pool]        // nil until a server with isolated tools starts
	logger  atomic.Pointer[slog.Logger] // also nil until then
	granted func() []granted            // Programs, found once

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
	s := &Sandbox{options: o, granted: sync.OnceValue(programs)}
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
	if s.spaces, err = openSpaces(s.root, w); err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox.Options.Workspaces %s: %w", o.Workspaces, err),
			s.root.Close())
	}
	return s, nil
}

// Start makes helpers ready if the server has isolated tools. Servers that start later share the
// helpers.
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
	errs := []error{ready()}
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
	for _, part := range p.Missing() {
		start.Logger.Warn("isolated calls run with incomplete isolation", "missing",
			part)
	}
	return nil
}

func (s *Sandbox) start(start isolate.Start) (*pool, error) {
	o := s.options
	if start.Network {
		fill(&o.WarmNet, 2)
	}
	if o.Log == nil {
		o.Log = func(name, message string) { start.Logger.Error("sandbox: "+message, "tool", name) }
	}
	p, err := startPool(o)
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

// Enter begins a call. [Workspace] needs the returned context. The handler takes a workspace when
// it requests one, and leave gives it back. leave may be called more than once.
func (s *Sandbox) Enter(ctx context.Context, client isolate.Client) (context.Context, func()) {
	if s.spaces == nil && s.pool.Load() == nil {
		return ctx, func() {} // the client of the call is not needed
	}
	v := &visit{Context: ctx, spaces: s.spaces, client: client}
	return v, v.leave
}

// shares counts the running calls of each client. The zero value is ready.
type shares struct {
	mu      sync.Mutex
	running map[isolate.Client]int
}

// enter counts a call of a client unless most of its calls are running, and reports whether it
// does. leave ends the count.
func (s *shares) enter(client isolate.Client, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[isolate.Client]int{}
	}
	if s.running[client] >= most {
		return false
	}
	s.running[client]++
	return true
}

func (s *shares) leave(client isolate.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[client]--; s.running[client] == 0 {
		delete(s.running, client)
	}
}

// clientID returns a text that is unique for a client.
func clientID(c isolate.Client) string {
	return strconv.Itoa(len(c.Issuer)) + ":" + c.Issuer + c.ID
}

// Isolate runs a call in its own helper. It returns a [*limitError] if the client, or all clients
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
	client := clientOf(ctx)
	if !s.shares.enter(client, p.options.Share) {
		return nil, &limitError{Limit: limitCalls,
			Bound: fmt.Sprintf("%d isolated ones of one client", p.options.Share)}
	}
	defer s.shares.leave(client)
	r := request{
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
		var err error
		if r.quota, err = r.space.watchQuota(ctx, p.options.Limits.FileSize); err != nil {
			refuse(ctx)
			return nil, err
		}
		inside, r.Limits.FileSize = r.quota.ctx, r.quota.fileSize
		r.Dir = r.space.Dir()
	}
	r.soon = func(a response) {
		r.quota.gone()
		s.printed(context.WithoutCancel(ctx), call.Name, a)
	}
	answer, err := p.Run(inside, r)
	r.quota.stop()
	if !answer.begun {
		refuse(ctx)
	}
	if err != nil {
		r.quota.gone()
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

// printed logs the standard output and error of a call.
func (s *Sandbox) printed(ctx context.Context, tool string, a response) {
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
	return s.spaces.clear(ctx, clientID(client))
}

// named returns the error of a call with the limit as the client sees it.
func (r request) named(err error, standard Limits) error {
	var limit *limitError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		// Any deadline counts: the server's own is the call's.
		return &limitError{Limit: limitTime, Bound: bound(limitTime, r.Limits.over(standard))}
	case errors.As(err, &limit) && limit.Limit == limitFileSize && r.space != nil &&
		r.Limits.FileSize < standard.FileSize:
		return r.space.full()
	}
	return err
}

// Options configure a [Sandbox] and its pool of helpers. The zero value is the safe one.
type Options struct {
	// Workspaces is the folder of the clients' workspaces. It contains nothing else, and belongs to
	// this sandbox alone. It is created if it does not exist. A pool without a sandbox does not use
	// it. Empty gives clients no workspaces.
	Workspaces string
	// Workspace has the quota of each workspace, and how long it is kept. Its owner is UID and GID
	// unless it has its own. Zero is the defaults of [WorkspaceOptions].
	Workspace WorkspaceOptions
	// Warm is the number of helpers that are kept ready. Each has the memory of the program just
	// started, some 10 MB. Zero is 4.
	Warm int
	// WarmNet is the number of further helpers that are kept ready for calls that connect.
	// Other such calls wait some milliseconds for a helper. Zero is none, or 2 in a sandbox of a
	// server with isolated tools that connect.
	WarmNet int
	// Max is the number of calls that run at a time. A further call waits a quarter of a second, or
	// two seconds if processes of an ended call are still ending. If no call has ended by then,
	// it ends with an error that names this limit. Zero is 64.
	Max int
	// Share is the number of calls of one client that run at a time, over all tools. A further call
	// ends with such an error at once. Anonymous callers are one client. A pool without a sandbox
	// does not know clients. Zero is half of Max, and at least 1.
	Share int
	// Limits are those of requests that have none of their own. Zero is the defaults of [Limits].
	Limits Limits
	// Grace is the time that a handler has to return after its time limit. Zero is 100 ms.
	Grace time.Duration
	// Printed is the number of bytes that are kept of the output of a call. More output is lost,
	// and no error. Zero is 64 KiB.
	Printed int
	// UID and GID are the user and group of helpers if the server runs as root, without any further
	// groups. Without root the server cannot change them: helpers then have its user and all its
	// groups. Zero is 65534 (nobody).
	UID, GID int
	// Env is the whole environment of helpers. Nil is PATH=/usr/local/bin:/usr/bin:/bin and
	// GOMAXPROCS=2: a call that keeps every processor busy delays the others, and fewer threads are
	// confined faster.
	Env []string
	// NetPaths are files and folders that calls that connect may read. Paths that do not exist
	// are left out. Nil is the files that resolve names, and the certificates of authorities, but
	// no folders that contain private keys.
	NetPaths []string
	// Cgroup is the path of a cgroup (version 2) that is delegated to the server, without processes
	// of its own, and with the controllers memory and pids enabled for its children. Each call then
	// has a cgroup, and Limits.Memory and Limits.Processes bound all processes of a call together.
	// Empty bounds them as the comments of these limits describe.
	Cgroup string
	// BestEffort starts without the parts that the system lacks, which the log lists.
	BestEffort bool
	// RequireMountNamespace refuses to start on a system without mount namespaces. Without it such
	// a server starts, and logs that they are missing. A handler then can read names and attributes
	// of files that it cannot open (stat), and a program that it may start can run files of the
	// workspace through ld.so.
	RequireMountNamespace bool
	// Log receives panics with their stacks, and helpers that could not be started. The name is
	// that of a handler, or empty. It may be called concurrently. Nil drops these messages, or in a
	// sandbox logs them as errors of the server.
	Log func(name, message string)
}

func (o Options) filled() (Options, error) {
	if o.Warm < 0 || o.WarmNet < 0 || o.Max < 0 || o.Share < 0 || o.Grace < 0 || o.Printed < 0 ||
		o.UID < 0 || o.GID < 0 {
		return o, errors.New("sandbox.Options must not have negative numbers")
	}
	if err := o.Limits.check(); err != nil {
		return o, err
	}
	fill(&o.Warm, 4)
	fill(&o.Max, 64)
	fill(&o.Share, max(1, o.Max/2))
	fill(&o.Grace, 100*time.Millisecond)
	fill(&o.Printed, 64<<10)
	fill(&o.UID, 65534)
	fill(&o.GID, 65534)
	o.Limits = o.Limits.over(standard)
	if o.Env == nil {
		o.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "GOMAXPROCS=2"}
	}
	if o.NetPaths == nil {
		o.NetPaths = []string{
			"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services",
			"/etc/gai.conf",
			"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
			"/etc/pki/tls/certs", "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted",
			"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/localtime",
		}
	}
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	return o, nil
}
