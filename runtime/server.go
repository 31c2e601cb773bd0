// Package runtime serves toolsets over MCP. It shows each caller the tools, prompts and resources
// that the rules of its toolsets allow ([access.Table]), and enforces the same rules on every call.
//
// A toolset comes from functions with a //mcp:tool comment: the command mcpgen, a tool of the
// module github.com/mcpgen/mcpgen/cmd/mcpgen, generates the function Toolset of their package.
// "mcpgen explain" describes the directives. Tools that are known only at run time have
// [toolset.NewToolset], and an existing go-sdk server has [Adopt].
//
// Packages with more dependencies are modules of their own, below this package's path:
// identity/oidc, store, boundary/stored, catalog/stored, grant/stored, admin, telemetry and
// sandbox.
//
// [New] makes a server of toolsets, and [Adopt] makes one around an existing go-sdk server.
// [Server.Handler] serves it over HTTP, and [Server.RunStdio] over stdio. Handlers find their
// caller and their client with [Caller], [CallerValue], [Logger], [Progress] and [Advise].
package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/tasks"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Server serves toolsets. [New] or [Adopt] makes it. It is safe for concurrent use.
type Server struct {
	opts Options
	composed
	observer *guard.Observer
	pool     *worker.Pool
	active   *worker.Group
	closing  context.Context // ends when running calls have to stop
	close    context.CancelFunc

	authenticator *principal.Authenticator
	host          *principal.Host       // nil without Options.Host.Source
	boundaries    *principal.Boundaries // nil without Options.Access.Boundaries
	grants        *invoke.Grants        // nil without grants
	policy        *discovery.Policy
	catalogs      *discovery.Catalogs
	lists         *discovery.Lists
	changes       *discovery.ListChanged // nil if lists do not change
	updates       *discovery.Updates     // nil if no resource has updates
	unpublished   unpublished
	instructions  *discovery.Instructions
	guard         *guard.Guard
	sessions      *session.Server
	facts         *request.Server
	transport     transport.Config
	admin         string       // the lowest role of admins
	brief         bool         // the record of the start
	beside        http.Handler // of Options.Admin, nil without it
}

// New returns a server of the toolsets of generated packages:
//
//	server, err := runtime.New(runtime.Options{Identity: source}, shop.Toolset(service))
//
// Serve it with [ListenAndServe] or [Server.Handler] over HTTP, or with [Server.RunStdio] over
// stdio.
//
// The first toolset names the server, except that a toolset of mcpgen's own packages, such as
// debugtools, names it only if there is no other. Each toolset must declare the same role
// hierarchy, or none. No name of a tool may occur twice.
//
// New checks all of this, the options, and the host of Options.Host.Source. Its error has a line
// for each problem, with the field or the tool, and the cure. New opens no port and calls no
// handler. It may be called several times.
//
// The server runs handlers, sinks and middleware in goroutines that it reuses, as net/http does.
// They must undo changes to their goroutine or thread, such as pprof labels and LockOSThread of the
// standard library's runtime. Unused goroutines end within ten seconds, and by [Server.Shutdown].
func New(options Options, toolsets ...toolset.Toolset) (*Server, error) {
	opts, optsErr := options.withDefaults()
	if options.Adopt.Replace || len(options.Adopt.Conditional) > 0 {
		optsErr = errors.Join(optsErr,
			errors.New("Options.Adopt is for runtime.Adopt only: remove it"))
	}
	c, err := compose(opts, toolsets)
	if err = errors.Join(optsErr, err, c.describe(opts.Texts.Descriptions)); err != nil {
		return nil, startError{err}
	}
	c.info.Version = cmp.Or(c.info.Version, versionOf(debug.ReadBuildInfo()))
	// For the sessions of handlers in go-sdk's shape: it has no tools of its own.
	server := mcp.NewServer(c.implementation(),
		&mcp.ServerOptions{Capabilities: c.capabilities(opts)})
	return assemble(opts, c, server, onTerminal(options.Logger))
}

// versionOf returns the version of the program's main module, or the go command's word for a module
// without a version: MCP requires one. Such programs are those of go run and -buildvcs=false.
func versionOf(build *debug.BuildInfo, ok bool) string {
	if !ok {
		return "(devel)"
	}
	return cmp.Or(build.Main.Version, "(devel)")
}

// implementation returns the server's name in go-sdk's type.
func (c *composed) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: c.info.Name, Title: c.info.Title, Version: c.info.Version,
		WebsiteURL: c.info.WebsiteURL, Icons: invoke.Icons(c.info.Icons)}
}

func assemble(opts Options, c composed, server *mcp.Server, brief bool) (*Server, error) {
	s := &Server{
		opts: opts, composed: c, brief: brief, pool: worker.NewPool(), active: worker.NewGroup(),
		observer: guard.NewObserver(opts.Observe.Observer, opts.Logger)}
	s.closing, s.close = context.WithCancel(context.Background())
	if err := s.build(server); err != nil {
		s.close()
		return nil, startError{err}
	}
	return s, nil
}

// build makes the packages of the kernel from the ground up, and then what needs a whole server.
func (s *Server) build(server *mcp.Server) error {
	opts := s.opts
	if opts.Host.Source != nil {
		s.table = s.table.Aware()
	}
	err := errors.Join(s.buildIdentity(), s.buildGrants(), s.buildAdminRole(), s.buildHost())
	if err != nil {
		return err
	}
	s.warnOfUnusedDefaults()
	start := isolate.Start{Logger: opts.Logger}
	if err := invoke.StartSandbox(opts.Sandbox, start, opts.Grants.Roots, s.tools); err != nil {
		return err
	}
	if err := s.buildDiscovery(); err != nil {
		return err
	}
	s.instructions, err = discovery.NewInstructions(discovery.InstructionsConfig{
		Policy: s.policy, Text: opts.Texts.Instructions, Func: opts.Texts.InstructionsFor,
		Aliases: s.aliases, Hidden: s.hiddenNames, Pool: s.pool, Log: opts.Logger}, opts.Anonymous)
	if err != nil {
		return err
	}
	tasks, err := s.buildTasks()
	if err != nil {
		return err
	}
	s.buildGuard(tasks)
	s.buildSessions(server)
	s.buildTransport()
	if names := s.table.RecordedPermissions(); len(names) > 0 {
		opts.Logger.Info("action= is recorded and not enforced: "+
			"Options.Host.RecordOnly is set", "names", names)
	}
	if opts.Admin != nil {
		if s.beside, err = opts.Admin(administered{Server: s}); err != nil {
			return fmt.Errorf("Options.Admin: %w", err)
		}
	}
	s.logStart()
	if s.host.Pending() != nil {
		go s.awaitHost()
	}
	if opts.Catalogs.Source != nil {
		go s.catalogs.Follow(s.closing, s.changes.RecheckSwitches, s.changes.RecheckCatalogs)
	}
	if s.boundaries != nil {
		changed := make(chan struct{}, 1)
		changed <- struct{}{} // clients may have been blocked while no server ran
		go s.cancelBlocked(changed)
		go s.boundaries.Follow(s.closing, func(concerns func(access.Principal) bool) {
			select {
			case changed <- struct{}{}:
			default:
			}
			s.changes.RecheckBoundaries(concerns)
		})
	}
	if opts.Protocol.ResourceUpdates != nil && s.updates != nil {
		go s.followUpdates()
	}
	return nil
}

// hiddenNames returns the names that callers see only by a rule, or never: those of the adopted
// server, and those of tools that narrowing has removed.
func (s *Server) hiddenNames(k access.Kind) []string {
	names := slices.Clone(s.own.listed[k])
	if k == access.Tools {
		names = append(names, s.removed...)
	}
	return names
}

// buildIdentity checks Options.Identity, and makes the authenticator of callers over HTTP.
func (s *Server) buildIdentity() error {
	opts := s.opts
	metadata, err := principal.MetadataOf(opts.Identity, s.table)
	s.authenticator = principal.NewAuthenticator(principal.Config{
		Identity: opts.Identity, Timeout: opts.HTTP.IdentityTimeout, Table: s.table,
		Realm: s.info.Name, Metadata: metadata, Pool: s.pool, Log: opts.Logger,
		Masker:         opts.Observe.Masker,
		TrustedProxies: opts.HTTP.TrustedProxies,
		Audit:          opts.Audit.Sink, AuditTimeout: opts.Audit.Timeout, Active: s.active})
	return errors.Join(principal.CheckKnown(opts.Identity, s.table), err)
}

// buildGrants makes the grants, and checks that each tool has what its directives need.
func (s *Server) buildGrants() (err error) {
	opts := s.opts
	s.grants, err = invoke.NewGrants(opts.Grants.Source, opts.Grants.Defaults, opts.Grants.Roots)
	has := invoke.Dependencies{
		Grants: opts.Grants.Source != nil || len(opts.Grants.Defaults) > 0,
		Roots:  opts.Grants.Roots != nil, Sandbox: opts.Sandbox != nil}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		err = errors.Join(err, invoke.CheckGuarded(s.tools[name], has))
	}
	return err
}

// warnOfUnusedDefaults warns of defaults that allow nothing: those of a kind of your own that no
// tool uses, and restricted ones of a kind that no isolated tool uses.
func (s *Server) warnOfUnusedDefaults() {
	var used, isolated []string
	for _, t := range s.tools {
		for _, a := range t.Allow {
			used = append(used, a.Kind)
			if t.Isolate != "" {
				isolated = append(isolated, a.Kind)
			}
		}
	}
	for _, p := range s.opts.Grants.Defaults {
		text := "Options.Grants.Defaults: "
		switch {
		case slices.Contains(used, p.Type):
			if bool(p.Unrestricted) || slices.Contains(isolated, p.Type) {
				continue
			}
			text += p.String() + " has no effect, because no tool with " + p.Type +
				" is isolated: set Unrestricted"
		case pattern.FamilyOf(p.Type) != pattern.Customs:
			continue
		default:
			text += "no tool has " + p.Type
			if near := editdistance.Nearest(p.Type, used, 2); near != "" {
				text += "; did you mean " + near + "?"
			}
		}
		s.opts.Logger.Warn(text)
	}
}

func (s *Server) buildAdminRole() error {
	s.admin = cmp.Or(s.opts.Access.AdminRole, s.highestRole())
	if !slices.Contains(s.table.Hierarchy(), s.admin) {
		return fmt.Errorf("Options.Access.AdminRole is %q, which is not a role of %s: use one "+
			"of them, or leave it empty for %s",
			s.admin, roleorder.Text(s.table.Roles), s.highestRole())
	}
	return nil
}

// highestRole returns the end of the main chain, which is never empty.
func (s *Server) highestRole() string {
	chain := s.table.MainChain()
	return chain[len(chain)-1]
}

func (s *Server) buildHost() (err error) {
	opts := s.opts
	if opts.Host.RecordOnly {
		return nil
	} else if opts.Host.Source == nil {
		return principal.CheckUnaware(s.table)
	}
	s.host, err = principal.NewHost(principal.HostConfig{
		Source: opts.Host.Source, Timeout: opts.Host.Timeout, TTL: opts.Host.TTL,
		Max: maxHostUsers, ServiceUsers: opts.Host.ServiceUsers, Identity: opts.Identity,
		Table: s.table, Anonymous: opts.Anonymous,
		Pool: s.pool, Log: opts.Logger, Masker: opts.Observe.Masker, Looked: s.observer.Cached(),
		Loaded: func(p access.Principal) { s.changes.Loaded(p) }})
	if err != nil {
		return err
	}
	s.table = s.host.Table
	if _, own := opts.Observe.Readiness[hostCheck]; !own {
		opts.Observe.Readiness[hostCheck] = s.host.Ready
	}
	if _, maps := opts.Host.Source.(capability.VerbMapper); maps {
		return s.resources.CheckOverlaps(s.table) // equal permissions may differ now
	}
	return nil
}

// awaitHost repeats the checks of the host that New could not make, until they pass. The checks of
// readiness log both.
func (s *Server) awaitHost() {
	const least, most = time.Second, 8 * time.Second
	logged := ""
	sleep := func(d time.Duration) {
		select {
		case <-s.closing.Done():
		case <-time.After(d):
		}
	}
	for wait := least; s.host.Pending() != nil && s.closing.Err() == nil; wait = min(2*wait, most) {
		s.transport.Ready.Holds(s.closing)
		sleep(wait)
		err := s.host.Start(s.closing)
		if err != nil && !principal.Unreachable(err) && err.Error() != logged {
			logged = err.Error()
			s.opts.Logger.Error("the host is reachable, but does not fit the server", "error", err)
		}
	}
	sleep(time.Second) // an earlier result of readiness counts until then
	s.transport.Ready.Holds(s.closing)
}

// buildDiscovery makes what each caller is listed, and reads which tools are switched off.
func (s *Server) buildDiscovery() error {
	opts := s.opts
	readOnly := s.own.readOnly()
	for name, t := range s.tools {
		if t.Annotations.ReadOnlyHint {
			readOnly = append(readOnly, name)
		}
	}
	s.policy = &discovery.Policy{Table: s.table, Denial: opts.Access.Denial,
		ListAll:  opts.Lists.ListAll,
		ReadOnly: s.table.Named(readOnly), Apps: s.apps}
	s.catalogs = discovery.NewCatalogs(discovery.CatalogsConfig{
		Source: opts.Catalogs.Source, Declared: s.composed.catalogs, Policy: s.policy,
		Strict: opts.Catalogs.Strict, Pool: s.pool, Log: opts.Logger, Masker: opts.Observe.Masker})
	if err := s.buildBoundaries(); err != nil {
		return err
	}
	s.lists = discovery.NewLists(discovery.ListsConfig{
		Policy: s.policy, PageSize: opts.Lists.PageSize, TTLMs: int(opts.Lists.TTL.Milliseconds()),
		Clone:   len(opts.Interceptors) > 0,
		Adopted: s.isAdopted()})
	s.list(s.lists)
	if all, own := request.Kinds[:], s.ownChanges(); opts.listsChange() || len(own) > 0 {
		if !opts.listsChange() {
			all = own
		}
		s.changes = discovery.NewListChanged(discovery.ListChangedConfig{
			Lists: s.lists, Catalogs: s.catalogs, Host: s.host, Boundaries: s.boundaries,
			Interval: opts.Host.Recheck,
			Log:      opts.Logger, Kinds: all, Adopted: s.listedByAdopted(own)})
	}
	if s.haveUpdates() {
		s.updates = discovery.NewUpdates(discovery.UpdatesConfig{
			Host: s.host, Boundaries: s.boundaries, Log: opts.Logger,
			MayFollow: func(p access.Principal, uri string) bool { return s.guard.MayFollow(p, uri) }})
	}
	return s.catalogs.Start(s.closing)
}

// buildBoundaries makes the boundaries of clients, and checks the names of their source.
func (s *Server) buildBoundaries() (err error) {
	opts := s.opts.Access
	if opts.Boundaries == nil {
		return nil
	}
	var issuers []string
	if lister, ok := s.opts.Identity.(identity.IssuerLister); ok {
		issuers = lister.Issuers()
	}
	catalogs := map[string][]string{}
	for _, c := range s.catalogs.Declared() {
		catalogs[c.Name] = c.Tools
	}
	s.boundaries, err = principal.NewBoundaries(principal.BoundariesConfig{
		Source: opts.Boundaries, Optional: opts.BoundariesOptional, Table: s.table,
		ReadOnly: s.policy.ReadOnly, Catalogs: catalogs, Aliases: s.aliases,
		Shadowed: s.resources.Shadowed(), Issuers: issuers, Identity: s.opts.Identity,
		Pool: s.pool, Log: s.opts.Logger, Masker: s.opts.Observe.Masker})
	return err
}

func (s *Server) rights() principal.Rights {
	return principal.Rights{Host: s.host, Boundaries: s.boundaries}
}

// guardedTools returns the func of [request.Server]. It decides on every tool for every caller, so
// that its time does not depend on how many the caller may use.
func (s *Server) guardedTools() func(access.Principal, bool) []toolset.GuardedTool {
	var all []toolset.GuardedTool
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		if t := s.tools[name]; len(t.Allow) > 0 {
			all = append(all, toolset.GuardedTool{
				Name: name, Allow: t.Allow, Isolated: t.Isolate != ""})
		}
	}
	return func(p access.Principal, readOnly bool) (usable []toolset.GuardedTool) {
		for _, t := range all {
			if s.policy.Decide(p, readOnly, access.Tools, t.Name).Allowed {
				t.Allow = slices.Clone(t.Allow)
				usable = append(usable, t)
			}
		}
		return usable
	}
}

// buildGuard makes the runner of handlers and the guard.
func (s *Server) buildGuard(registry *tasks.Registry) {
	opts, adopted := s.opts, s.own.info != nil
	intercepted := len(opts.Interceptors) > 0
	var requests grant.Requests
	if opts.Grants.Offer {
		requests = opts.Grants.Source.(grant.Requests) // withDefaults has checked it
	}
	s.facts = &request.Server{
		Name: s.info.Name, Title: s.info.Title, Version: s.info.Version,
		Log: opts.Logger, Masker: opts.Observe.Masker, GuardedTools: s.guardedTools(),
		Protocols: mcp.SupportedProtocolVersions()}
	implementation := s.own.info
	if !adopted {
		implementation = s.implementation()
	}
	capabilities := s.capabilities(opts)
	s.guard = guard.New(guard.Config{
		Deciding: guard.Deciding{Policy: s.policy, Catalogs: s.catalogs, Rights: s.rights(),
			Authenticator: s.authenticator, Aliases: s.aliases,
			Sealer: invoke.NewSealer(opts.Protocol.StateKey)},
		Recording: guard.Recording{Audit: opts.Audit.Sink, AuditTimeout: opts.Audit.Timeout,
			AuditIntent: opts.Audit.Intent, Observer: s.observer, Log: opts.Logger,
			Masker: opts.Observe.Masker, Closing: s.closing},
		Listing: guard.Listing{Server: implementation, Capabilities: capabilities,
			Instructions: s.instructions, Lists: s.lists, Changes: s.changes, Updates: s.updates},
		Running: guard.Running{Tools: s.tools, Prompts: s.prompts, Resources: s.resources,
			//lint:ignore SA1019 clients of the versions with sessions ask for log messages by it
			Notify:       notify.Config{FlushTimeout: 2 * time.Second, Quiet: capabilities.Logging == nil},
			Interceptors: opts.Interceptors,
			Adopted:      adopted, Pool: s.pool, Active: s.active,
			Tasks: registry, TasksLocal: opts.Tasks.Store == nil, TaskRequest: upstream.TaskRequest,
			Runner: invoke.NewRunner(invoke.Config{
				Policy: s.policy, Rights: s.rights(), Stop: s.closing.Done(),
				Grants: s.grants, Roots: opts.Grants.Roots, Sandbox: opts.Sandbox, Requests: requests,
				Event:   func(info *request.Info) audit.Event { return guard.NewEvent(info, "") },
				Prompts: s.prompts, Resources: s.resources, Unread: !intercepted,
				Contained: intercepted || adopted,
				Pool:      s.pool, Log: opts.Logger, Masker: opts.Observe.Masker})},
	})
}

// buildSessions puts the guard in front of the go-sdk server and of what the toolsets serve.
func (s *Server) buildSessions(server *mcp.Server) {
	c := session.Config{Guard: s.guard, Upstream: upstream.New(server, s.pool),
		Versions: s.facts.Protocols}
	if s.own.info != nil {
		c.Adopted = &session.Adopted{Instructions: s.own.instructions, Tools: s.own.tools,
			Descriptions: s.opts.Texts.Descriptions}
	}
	s.sessions = session.New(c)
}

// buildTransport configures the transports; [Server.Handler] and [Server.RunIO] make them.
func (s *Server) buildTransport() {
	opts := s.opts
	s.transport = transport.Config{
		Sessions: s.sessions, Authenticator: s.authenticator, Rights: s.rights(),
		Observer: s.observer, Active: s.active, Log: opts.Logger, Masker: opts.Observe.Masker,
		Anonymous: opts.Anonymous, Closed: opts.Identity == nil && !opts.Anonymous,
		Challenges: s.policy.Challenges(), AllowedOrigins: opts.HTTP.Origins,
		AllowedHosts: opts.HTTP.Hosts, MaxBodyBytes: opts.HTTP.MaxBody,
		BodyReadTimeout: transport.BodyReadTimeout, StreamAfter: transport.StreamAfter,
		SessionTimeout: opts.HTTP.SessionTimeout, KeepAlive: opts.HTTP.KeepAlive,
		StdioValue: opts.Protocol.StdioValue,
		Recheck:    opts.Host.Recheck,
		Limits:     session.Limits{Total: opts.HTTP.MaxSessions, PerUser: opts.HTTP.MaxPerUser},
		Ready:      transport.NewReadiness(opts.Observe.Readiness, s.pool, opts.Logger),
		Guard:      s.guard, Facts: s.facts, Events: resume.NewStore()}
}

// startError is why a server does not start. Each line of its text begins with its origin.
type startError struct{ error }

func (e startError) Error() string {
	const prefix = "mcp server: "
	return prefix + strings.ReplaceAll(e.error.Error(), "\n", "\n"+prefix)
}

func (e startError) Unwrap() error { return e.error }

// Shutdown ends the server gracefully. It refuses new requests with 503, /readyz included, waits
// for running calls, and closes all sessions and streams, stdio included. A call that waits for its
// client ends with an error. If ctx ends first, Shutdown cancels running calls, waits up to two
// seconds until they are answered with an error, and returns ctx's error. A client that has not
// read for two seconds is not waited for. Call Shutdown before http.Server.Shutdown, which waits
// for open streams and does not close them, and give that a context of its own: responses may still
// be leaving.
func (s *Server) Shutdown(ctx context.Context) error {
	s.authenticator.ReportFailures()
	var err error
	drained := s.active.Drain()
	s.sessions.EndQuestions() // no client can respond any more
	select {
	case <-drained:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.logUnpublished()
	s.close()
	if err != nil {
		select {
		case <-s.active.Drain():
		case <-time.After(2 * time.Second):
		}
	}
	s.pool.Close()
	s.sessions.CloseSessions()
	return err
}
