package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Server serves toolsets. It is made by [New] or [Adopt] and safe for concurrent use.
type Server struct {
	opts        Options
	info        ServerInfo
	table       access.Table
	tools       map[string]*tool   // by name, without those of an adopted server
	prompts     map[string]*prompt // likewise
	resources   resources
	lists       lists
	catalogs    *catalogs
	sealer      sealer
	log         *slog.Logger
	mcp         *mcp.Server // behind the guard, and never handed out
	admin       access.Role
	host        *host         // nil without Options.PermissionAware
	watch       *watch        // nil where what callers see does not change
	beside      http.Handler  // what Options.Admin made
	patience    time.Duration // bodyTimeout, or a test's
	parting     time.Duration // as patience
	deaf        bool          // changes of Options.Catalogs are not heard; for follow alone
	metadata    *metadata     // published of Options.Identity; nil where there is none
	challenging bool          // some refusals are challenges
	adopted     bool          // others had, and may have, their hands on mcp

	grants *grants // nil where nothing is granted

	watching  watching
	levels    sessionLevels
	readiness *readiness

	workers   workers
	recording chan struct{} // a place for each record that is being written

	closing context.Context // ends when calls that still run are told to stop
	close   context.CancelFunc

	mu       sync.Mutex
	draining bool
	active   int           // HTTP requests that are no streams, and calls, under way
	idle     chan struct{} // closed once, when draining and active is 0
}

// New makes a server of toolsets. The first one names it that is not of the runtime's own packages, as debugtools; where there are
// none but those, the first. Its error tells what is wrong, a line each that names
// the setting or the tool, and the cure. It does so in two stages: all that is wrong with options and toolsets
// by themselves; and where nothing is, all that does not go together, as roles that no toolset has, and
// with Options.PermissionAware what the host says.
//
// The toolsets must have equal role hierarchies; toolsets without roles of their own fit any.
//
// Handlers, sinks and middleware run in goroutines that are used again, as net/http's are: what one does to
// its goroutine or its thread (runtime.LockOSThread, pprof labels) it undoes before it returns.
// Goroutines that are not needed leave within some ten seconds, or by [Server.Shutdown].
func New(options Options, toolsets ...Toolset) (*Server, error) {
	opts, optsErr := options.withDefaults()
	c, err := compose(toolsets, opts.PermissionAware)
	if err = errors.Join(optsErr, err); err != nil {
		return nil, startError(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: c.info.Name, Title: c.info.Title, Version: c.info.Version},
		&mcp.ServerOptions{Capabilities: capabilities(opts.changes())})
	s, err := assemble(opts, c, server, adopted{})
	if err != nil {
		return nil, startError(err)
	}
	return s, nil
}

// startFailure is what keeps a server from starting, a line each.
type startFailure struct{ err error }

func startError(err error) error { return startFailure{err} }

func (e startFailure) Error() string {
	const whose = "mcp server: "
	return whose + strings.ReplaceAll(e.err.Error(), "\n", "\n"+whose)
}

func (e startFailure) Unwrap() error { return e.err }

// checkKnown looks at the roles of principals that are written down: a misspelt one counts as
// no role, which would be noticed by whoever misses it only.
func (s *Server) checkKnown() error {
	var errs []error
	if mapper, ok := s.opts.Identity.(identity.RoleMapper); ok {
		for _, role := range mapper.MappedRoles() {
			if s.table.Rank(role) == 0 {
				errs = append(errs, fmt.Errorf("Options.Identity: its mapping of roles leads to %q, which is not a role of %s: use one of them", role, strings.Join(s.table.Hierarchy(), " < ")))
			}
		}
	}
	known, ok := s.opts.Identity.(identity.Known)
	if !ok {
		return errors.Join(errs...)
	}
	for _, p := range known.Principals() {
		if err := s.checkRole(p); err != nil {
			errs = append(errs, fmt.Errorf("Options.Identity: principal %q: %w", p.Subject, err))
		}
	}
	return errors.Join(errs...)
}

// checkRole refuses a role that the hierarchy does not know.
func (s *Server) checkRole(p access.Principal) error {
	if p.Role == "" || s.table.Rank(p.Role) != 0 {
		return nil
	}
	return fmt.Errorf("the principal's role is %q, which is not a role of %s: use one of them", p.Role, strings.Join(s.table.Hierarchy(), " < "))
}

// capabilities are the same for everybody and for every server: what is declared only where
// there is something would tell callers that see none of it that there is. changes says that what
// callers see may change while the server runs.
func capabilities(changes bool) *mcp.ServerCapabilities {
	//lint:ignore SA1019 clients of the versions with sessions ask handlers for log messages by it
	c := &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}
	c.Tools, c.Prompts, c.Resources = &mcp.ToolCapabilities{ListChanged: changes}, &mcp.PromptCapabilities{ListChanged: changes}, &mcp.ResourceCapabilities{ListChanged: changes}
	c.Completions = &mcp.CompletionCapabilities{}
	return c
}

// assemble puts the guard around server. own is what server serves already.
func assemble(opts Options, c composed, server *mcp.Server, own adopted) (*Server, error) {
	s := &Server{
		opts: opts, info: c.info, table: c.table, tools: c.tools, prompts: c.prompts, resources: c.resources, log: opts.Logger,
		mcp: server, sealer: newSealer(opts.StateKey), idle: make(chan struct{}), adopted: own.info != nil,
		recording: make(chan struct{}, maxRecording), patience: bodyTimeout, parting: parting,
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.watching = watching{opts.Observer, func(p any, stack []byte) {
		s.log.Error("Options.Observer panicked", "panic", fmt.Sprint(p), "stack", string(stack))
	}}
	s.readiness = newReadiness(opts.Readiness, s.log)
	errs := []error{s.checkKnown()}
	var err error
	if s.metadata, err = metadataOf(opts.Identity); err != nil {
		errs = append(errs, err)
	}
	if s.grants, err = newGrants(opts); err != nil {
		errs = append(errs, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		errs = append(errs, opts.checkGuarded(s.tools[name]))
	}
	s.challenging = challenges(s.table, opts.Denial)
	roles := s.table.Hierarchy()
	s.admin = access.Role(len(roles))
	if opts.AdminRole != "" {
		if s.admin = s.table.Rank(opts.AdminRole); s.admin == 0 {
			errs = append(errs, fmt.Errorf("Options.AdminRole is %q, which is not a role of %s: use one of them, or leave it out for %s",
				opts.AdminRole, strings.Join(roles, " < "), roles[len(roles)-1]))
		}
	}
	if opts.PermissionAware {
		s.table = s.table.Aware()
		if isNil(opts.Capabilities) {
			errs = append(errs, errNoAdapter(s.table))
		} else if s.host, err = newHost(opts, s.table); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.warnOfUntaken()
	if err := s.startSandbox(); err != nil {
		return nil, err
	}
	s.catalogs = newCatalogs(s.table.Of(access.Tools), opts.Catalogs, s.tools)
	s.catalogs.masker = opts.Masker
	if err := s.startCatalogs(); err != nil {
		return nil, err
	}
	if opts.changes() {
		s.watch = newWatch(s)
	}
	if s.host != nil {
		s.host.cache.answered, s.host.cache.looked = s.watch.answered, s.watching.cached
	}
	s.lists = newLists(s.table, opts, s.catalogs.off.Load, s.watching.cached)
	own.list(s)
	for name, t := range s.tools {
		s.lists.tools.items[name] = t.public
		server.AddTool(t.registered(), s.dispatch(t))
	}
	for name, p := range s.prompts {
		s.lists.prompts.items[name] = p.public
		server.AddPrompt(&mcp.Prompt{Name: name}, s.dispatchPrompt(p))
	}
	for _, r := range c.served {
		if r.exact {
			s.lists.resources.items[r.URI] = &mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}
		} else {
			s.lists.templates.items[r.URI] = &mcp.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}
		}
	}
	if len(c.served) > 0 {
		server.AddResource(&mcp.Resource{URI: dispatchURI, Name: dispatchURI}, s.dispatchResource)
	}
	server.AddReceivingMiddleware(s.receiving)
	server.AddSendingMiddleware(s.sending)
	if len(c.permissions) > 0 && s.host == nil {
		s.log.Info("action= is recorded and not enforced: only permission-aware discovery enforces it", "names", c.permissions)
	}
	if opts.Admin != nil {
		if s.beside, err = opts.Admin(s); err != nil {
			s.close()
			return nil, fmt.Errorf("Options.Admin: %w", err)
		}
	}
	s.logStart(c.packages)
	if opts.Catalogs != nil {
		go s.follow()
	}
	return s, nil
}

// Catalogs is Options.Catalogs: nil where there is none.
func (s *Server) Catalogs() catalog.Source { return s.opts.Catalogs }

// Audit is Options.Audit: nil where there is none.
func (s *Server) Audit() audit.Sink { return s.opts.Audit }

// Info is what the server calls itself.
func (s *Server) Info() ServerInfo { return s.info }

// Table is what the server decides by.
func (s *Server) Table() access.Table { return s.table }

// IsAdmin reports whether a principal has the admin role: Options.AdminRole or a higher one.
func (s *Server) IsAdmin(p access.Principal) bool {
	return !p.Anonymous() && s.table.Rank(p.Role) >= s.admin
}

// begin counts a request in, unless the server is shutting down.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.active++
	return true
}

// enter counts in a call that was let in already.
func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.settled()
}

// settled closes idle where nothing is under way any more. s.mu is held.
func (s *Server) settled() {
	if !s.draining || s.active > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

// Shutdown ends the server gracefully: new requests are refused with 503, /readyz says so,
// calls under way are waited for, and then all sessions and all streams are closed, those of requests
// that listen and stdio included. Where ctx ends first, calls that still run have their contexts cancelled, and
// Shutdown returns ctx's error.
//
// Call it before http.Server.Shutdown, which waits for open streams and does not close them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.settled()
	s.mu.Unlock()
	var err error
	select {
	case <-s.idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.close()
	s.workers.close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var wg sync.WaitGroup
		for session := range s.mcp.Sessions() {
			wg.Go(func() {
				if err := session.Close(); err != nil {
					s.log.Debug("closing a session", "error", err)
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		if err == nil {
			err = ctx.Err()
		}
	}
	return err
}

func (s *Server) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.draining
}
