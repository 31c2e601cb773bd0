package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// The values of options that are zero, and the time limit of handlers that declare none.
const (
	DefaultTimeout           = invoke.DefaultTimeout // of handlers
	DefaultIdentityTimeout   = 10 * time.Second
	DefaultAuditTimeout      = 5 * time.Second
	DefaultCapabilityTimeout = 5 * time.Second
	DefaultCapabilityRecheck = time.Minute
	DefaultMaxCapabilities   = 4096
	DefaultPageSize          = 1000
	DefaultMaxBodyBytes      = 4 << 20
	DefaultSessionTimeout    = 30 * time.Minute
	DefaultKeepAlive         = transport.KeepAlive
	DefaultMaxSessions       = 1024
	DefaultTaskTTL           = 30 * time.Minute
	DefaultMaxTasks          = 1024
)

// Options configure a server. The zero value is the safe one: no caller is admitted over HTTP, and
// refused tools are concealed. The comment of each field states its zero value. A negative number
// or duration is an error of [New].
//
// A server for HTTP needs Identity or Anonymous. All other fields are optional, unless a tool needs
// one of them: New then fails, and its error names the tool and the field.
//
// The server calls sources, sinks and checks from many goroutines at once. New reads the fields
// once: do not change the values that they point to.
type Options struct {
	// Identity authenticates callers over HTTP. Stdio has a principal of its own, see
	// [Server.RunStdio]. Nil refuses each request that has a credential; without
	// Anonymous too, the server answers each HTTP request with 503.
	Identity identity.Source
	// IdentityTimeout bounds each call of Identity. A request that exceeds it gets 503. Zero is
	// DefaultIdentityTimeout.
	IdentityTimeout time.Duration
	// StdioValue returns what [CallerValue] gives the handlers of a message on stdio. Over HTTP,
	// Identity provides it (identity.Identity.Value). The server calls it when a handler of the
	// message first uses the value, with the handler's context. If it fails, the handler gets no
	// value. Nil is no value.
	StdioValue func(context.Context) (identity.Value, error)
	// Anonymous admits callers without credentials. They see and use public tools only. An invalid
	// credential is refused all the same.
	Anonymous bool
	// TrustedProxies are the networks of the proxies in front of the server. Failed authentications
	// count for the address of the client, and get 429 with Retry-After if they are too many. That
	// is the address of the peer, or the one that a trusted proxy appends to X-Forwarded-For. Each
	// of these proxies must append to that header. A valid credential is admitted from any address.
	// Empty ignores X-Forwarded-For.
	TrustedProxies []netip.Prefix

	// Audit receives one event for each call and each list. Without a durable event, the server
	// refuses the request. While the sink is down, the server refuses every call and list at once,
	// and probes the sink until it works again. Nil records nothing.
	Audit audit.Sink
	// AuditTimeout bounds each record. A request whose record exceeds it is refused. Zero is
	// DefaultAuditTimeout.
	AuditTimeout time.Duration
	// AuditIntent selects the calls that have a durable event before their handler starts, so that
	// a call without a record does not run. Empty is audit.IntentNonReadonly.
	AuditIntent audit.IntentPolicy

	// Denial is how a refusal looks for tools, prompts and resources without a denial= of their
	// own. Zero is access.Conceal.
	Denial access.Denial
	// ListAll lists all tools, prompts and resources to every caller, except tools that are
	// switched off. Uses are refused as before, with access.Forbid in place of access.Conceal.
	// Names, descriptions and schemas are then no secret.
	ListAll bool

	// LenientArguments makes the arguments of all tools lenient, as lenient in //mcp:tool does.
	// Tools with lenient=false, or that the schema validator decodes, stay strict. So do arguments
	// that a decision depends on: those with //mcp:allow, //mcp:rule or an HTTP header. The listed
	// schemas stay strict. Clients that send wrong types then go unnoticed, except in telemetry.
	LenientArguments bool

	// PermissionAware enforces the permissions of the host: a caller without a permission neither
	// sees nor uses the tools, prompts and resources that need it, whatever the role. Every rule
	// that is not public then needs a permission (action=, object=) or action=none. Without
	// PermissionAware, permissions are recorded only.
	PermissionAware bool
	// Capabilities reads the host's permissions; PermissionAware needs it. New checks the host, by
	// Check of a [capability.Checker] or by a query, and fails if a table, column or grant is
	// missing. If the host cannot be reached, the server starts and is not ready. It repeats the
	// checks until they pass, and callers may use only what is public until then. Nil reads no
	// permissions.
	Capabilities capability.Source
	// CapabilityTimeout bounds each query of Capabilities. A caller whose permissions take longer
	// may use only what is public. Zero is DefaultCapabilityTimeout.
	CapabilityTimeout time.Duration
	// CapabilityTTL is how long permissions are kept. With a positive duration, a revoked
	// permission counts until then, or until [Server.InvalidateCapabilities] is called. Messages of
	// one principal that arrive during a query share one further query. Zero keeps no permissions:
	// each message of a caller reads the host once, and a revoked permission is gone with the next
	// message.
	CapabilityTTL time.Duration
	// CapabilityRecheck is how often the server reads the permissions of clients that wait for
	// notifications, and sends list_changed if their lists have changed. These are sessions with a
	// stream, and subscriptions/listen requests. Permissions that CapabilityTTL keeps count here.
	// Over HTTP, the server also authenticates the request of the stream again: Identity may return
	// another role, or refuse the credential. Zero is DefaultCapabilityRecheck.
	CapabilityRecheck time.Duration
	// MaxCapabilities is the number of principals whose permissions CapabilityTTL keeps. Together
	// they have at most 64 MiB of memory. Zero is DefaultMaxCapabilities.
	MaxCapabilities int
	// ServiceUsers are the host's users of OAuth clients whose principals name none. It needs
	// PermissionAware. Empty maps no client.
	ServiceUsers []ServiceUser

	// Instructions is a text for models, which clients get with the handshake. It must not name a
	// tool, prompt or resource that some callers do not see; see InstructionsFor. Empty sends none.
	Instructions string
	// InstructionsFor makes the instructions for a caller, from the names of the tools that the
	// caller is listed. A caller gets no instructions if the text has the name of a tool, prompt or
	// resource that the server hides from the caller, and the log has the name. A name counts if it
	// is between backticks or has an underscore. The URI of a resource always counts. Nil uses
	// Instructions.
	InstructionsFor func(caller access.Principal, tools []string) string
	// Descriptions replaces the descriptions of tools, by their names. New refuses a name that no
	// tool has. Empty replaces none.
	Descriptions map[string]string

	// Catalogs has the named catalogs that clients may request, and the tools that are switched
	// off. Package catalog/stored keeps both in a database. Nil has only the catalogs that code
	// declares (//mcp:tool catalog=), and all tools are on.
	Catalogs catalog.Source
	// CatalogStrict refuses a list of tools if none of the requested catalogs exists for the
	// caller. By default the list is whole, with a note in _meta: a catalog is no boundary.
	CatalogStrict bool
	// ReadOnly serves no tools but those that are marked readonly: of the toolsets as
	// [toolset.Toolset.ReadOnly] does, and with [Adopt] those whose annotations have readOnlyHint.
	// All others are unknown to everybody. Prompts and resources stay.
	ReadOnly bool
	// Extensions are extensions of the protocol that the server declares to every caller, with
	// their settings, which may be nil. The server adds that of MCP Apps if a tool has one, and
	// those that an adopted server declares. Nil declares no other.
	Extensions map[string]map[string]any
	// Experimental are experimental MCP capabilities, declared as Extensions are. Nil declares
	// none but those of an adopted server.
	Experimental map[string]map[string]any
	// Adopt has the options of [Adopt]; [New] refuses them. Zero has none.
	Adopt AdoptOptions

	// ResourceUpdates passes updates of resources between replicas; see [Server.ResourceUpdated].
	// A *store.Store on PostgreSQL, or on one SQLite file, is one. Nil notifies the clients of this
	// process only.
	ResourceUpdates ResourceUpdates

	// Grants has the resources that clients may use. Each call of a tool with //mcp:allow reads it,
	// within the time limit of the tool, and an error denies. Package grant/stored keeps grants in
	// a database, and grant.NewMemory in memory. Nil has no grants but GrantDefaults; without
	// either, New refuses tools with //mcp:allow.
	Grants grant.Source
	// GrantDefaults are permissions that every client has in addition to Grants; see grant.Minimal.
	// Empty adds none.
	GrantDefaults []grant.Permission
	// OfferRequests lets people request a missing permission: a client that supports elicitation
	// asks its user for a reason. Grants must be a grant.Requests.
	OfferRequests bool
	// Roots are the folders in which tools open files, by the first part of their paths. Nil has no
	// folder, and New refuses tools with a file permission.
	Roots *grant.Roots
	// Sandbox limits how often clients call, keeps their workspaces, and runs calls in processes of
	// their own. sandbox.New makes one. Nil has none, and New refuses tools with concurrency=,
	// rate= or isolate=.
	Sandbox isolate.Sandbox
	// SandboxBestEffort starts the server without the parts of the isolation that the system lacks,
	// and logs them. Without it New fails.
	SandboxBestEffort bool

	// Tasks keeps the tasks of tools with task in their //mcp:tool: calls that go on after their
	// request, for clients of MCP 2026-07-28. With a database (Store.Tasks of package store), all
	// replicas serve a task, and a task of a dead replica fails. Runs outlive an outage of the
	// database, and their results wait for it. Nil keeps tasks in memory: they end with the
	// process, and replicas need requests routed by the Mcp-Name header.
	Tasks task.Store
	// TaskTTL is how long a task is kept beyond the time limit of its handler, from its creation
	// on. Clients read results until then. Zero is DefaultTaskTTL.
	TaskTTL time.Duration
	// MaxTasks bounds the tasks that are kept, ended ones included; a call that exceeds it waits for
	// its result, and gets an error result with task=required. Zero is DefaultMaxTasks.
	MaxTasks int
	// MaxUserTasks bounds the tasks of one user; all anonymous callers are one. Zero is an eighth of
	// MaxTasks.
	MaxUserTasks int

	// Admin makes the handler below [PathAPI] and [PathConsole]; see package admin. It is called
	// once, when the server has been made. Its handler runs behind the checks of Host and Origin,
	// and authenticates callers with [Server.Identify]. Nil serves neither.
	Admin func(*Server) (http.Handler, error)
	// AdminRole is the lowest role of administrators; see [Server.IsAdmin]. Empty is the highest
	// role.
	AdminRole string

	// Logger receives the server's log: filtered lists at debug level, refusals at info level, and
	// what needs a person at warn and error level. Package redact masks secrets in it. Nil is
	// slog.Default(), and the record of the start is short if that writes to a terminal.
	Logger *slog.Logger
	// Masker has the secrets that package redact does not know by itself. It applies to logs,
	// errors, the audit, and debug tools. Zero adds none.
	Masker redact.Masker
	// Observer observes messages; package telemetry has one. Nil observes nothing.
	Observer observe.Observer
	// Readiness are checks of what the server depends on, by a name for the log: a database, a
	// directory of users. While one fails, [PathReadyz] reports that the server is not ready, and
	// nothing else changes. Each has two seconds, and a result is kept for one. New adds the check
	// of an Audit that is an [audit.ReadySink], of an Identity that is an [identity.ReadySource],
	// and of Capabilities, by the names Options.Audit, Options.Identity and Options.Capabilities.
	// Nil has these only.
	Readiness map[string]func(context.Context) error

	// Interceptors run inside the guard, the first one outermost. They get allowed messages only,
	// and the guard encodes their results. Empty runs none.
	Interceptors []intercept.Middleware
	// PageSize is the number of entries of one page of a list. Zero is DefaultPageSize.
	PageSize int
	// ListTTL is how long a client of 2026-07-28 may keep a list (ttlMs). For that long it may show a
	// tool that the caller may no longer use; a call of it is refused at once. Zero keeps none.
	ListTTL time.Duration

	// Path is where [Server.Handler] serves MCP. Its segments have ASCII letters, digits and
	// - . _ ~ only. With a slash at the end, as in "/mcp/", it is served without that slash too, and
	// otherwise exactly as it is. "/" alone is the root and nothing below. It cannot be one of the
	// other paths of the handler, nor below one. The resource's URL of an identity source that is
	// [identity.ResourceDescriber] ends with it, unless a proxy in front rewrites paths. Empty is
	// [PathMCP].
	Path string
	// AllowedOrigins are the browser origins, besides the server's own, whose pages may call, as in
	// "https://inspector.example". "*" is not accepted. Empty allows the server's own only.
	AllowedOrigins []string
	// AllowedHosts are the host names, without port, under which the server may be called. Empty
	// checks connections over a loopback address only: they must name a loopback host, so that a
	// web page cannot reach the server by rebinding its own name.
	AllowedHosts []string
	// MaxBodyBytes bounds the body of a request, and on stdio a line. Zero is DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// SessionTimeout is the time without a request after which a session ends. Zero is
	// DefaultSessionTimeout.
	SessionTimeout time.Duration
	// KeepAlive is how long an event stream over HTTP is quiet before a comment is sent on it, since
	// proxies end streams without traffic. Zero is DefaultKeepAlive.
	KeepAlive time.Duration
	// MaxSessions bounds open HTTP sessions, idle ones included; more get 503. In 2026-07-28, which
	// has no sessions, each subscriptions/listen request counts as one, over stdio as well; more
	// get the JSON-RPC error 429. Zero is DefaultMaxSessions.
	MaxSessions int
	// MaxUserSessions bounds the sessions of one user; all anonymous callers are one. A new session
	// ends the one of the same user that was used least recently, if that had no request for a
	// minute. Otherwise, and for anonymous callers, the response is 429, or the JSON-RPC error
	// above. Zero is an eighth of MaxSessions, or all of them if there are only anonymous callers.
	MaxUserSessions int
	// StateKey signs the requestState of multi-round-trip requests. Replicas behind one address
	// need the same key, of at least 32 random bytes. Empty is a random key of this process.
	StateKey []byte
}

// AdoptOptions are the options of [Adopt] about the tools, prompts and resources of the server.
type AdoptOptions struct {
	// Conditional has the keys of rules for tools, prompts and resources that the server need not
	// list when Adopt is called. It adds them later, or lists them to some clients only, as to those
	// that support elicitation. Such a tool counts as one without readOnlyHint. Empty has none.
	Conditional []string
	// Replace removes from the server what a toolset has as well: a tool or prompt of this name, or
	// a resource of this URI. The toolset's rule counts, and one in the rules of Adopt is dropped.
	// Without Replace that is an error.
	Replace bool
}

// hostCheck is the name of the check of Options.Capabilities.
const hostCheck = "Options.Capabilities"

// ServiceUser maps an OAuth client to a user of the host.
type ServiceUser = access.ServiceUser

// withDefaults fills in the defaults and reports every setting that cannot work.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c, ok := o.Identity.(identity.Checker); ok {
		if err := c.Check(); err != nil {
			bad("Options.Identity: %w", err)
		}
	}
	for _, option := range []struct {
		name  string
		value any
		what  string
	}{
		{"Identity", o.Identity, "a source that works"}, {"Audit", o.Audit, "a sink that works"},
		{"Catalogs", o.Catalogs, "a source that works"},
		{"ResourceUpdates", o.ResourceUpdates, "one that works"},
		{"Grants", o.Grants, "a source that works"},
		{"Tasks", o.Tasks, "a store that works"},
		{"Sandbox", o.Sandbox, "one that works"}, {"Observer", o.Observer, "one that works"},
	} {
		if option.value != nil && request.IsNil(option.value) {
			bad("Options.%s is a nil %T: pass %s, or remove the option",
				option.name, option.value, option.what)
		}
	}
	if _, ok := o.Grants.(grant.Requests); o.OfferRequests && !ok {
		bad(
			"Options.OfferRequests is set, but Options.Grants does not accept requests: pass stored.New " +
				"of package grant/stored, or remove Options.OfferRequests")
	}
	if o.Instructions != "" && o.InstructionsFor != nil {
		bad("Options.Instructions and Options.InstructionsFor are both set: remove one")
	}
	o.Denial = cmp.Or(o.Denial, access.Conceal)
	if o.Denial < access.Conceal || o.Denial > access.Challenge {
		bad("Options.Denial is %d: use access.Conceal, access.Forbid or access.Challenge",
			int(o.Denial))
	}
	switch o.AuditIntent = cmp.Or(o.AuditIntent, audit.IntentNonReadonly); o.AuditIntent {
	case audit.IntentNonReadonly, audit.IntentAll, audit.IntentNone:
	default:
		bad("Options.AuditIntent is %q: use audit.IntentNonReadonly, audit.IntentAll or "+
			"audit.IntentNone", o.AuditIntent)
	}
	o.Logger = slog.New(o.Masker.Handler(cmp.Or(o.Logger, slog.Default()).Handler()))
	for _, name := range slices.Sorted(maps.Keys(o.Readiness)) {
		if name == "" {
			bad(`Options.Readiness has a check named "": ` +
				`give it a name for the log, for example "store"`)
		} else if o.Readiness[name] == nil {
			bad("Options.Readiness[%q] is nil: give it a check, or remove it", name)
		}
	}
	o.Readiness = o.checks()
	const number, duration = "number", "duration"
	errs = append(errs,
		bound("PageSize", number, &o.PageSize, DefaultPageSize),
		bound("MaxBodyBytes", number, &o.MaxBodyBytes, DefaultMaxBodyBytes),
		bound("MaxSessions", number, &o.MaxSessions, DefaultMaxSessions))
	if o.ListTTL < 0 || o.ListTTL > 24*time.Hour {
		bad("Options.ListTTL is %v: use a duration of at most 24h, or 0 so that clients keep no list",
			o.ListTTL)
	}
	if o.CapabilityTTL < 0 {
		bad("Options.CapabilityTTL is %v: use a positive duration, or 0 to read the permissions "+
			"for each message", o.CapabilityTTL)
	}
	if o.MaxUserSessions < 0 {
		bad(
			"Options.MaxUserSessions is %d: use a positive number, or 0 for an eighth of "+
				"MaxSessions",
			o.MaxUserSessions)
	} else if o.MaxUserSessions == 0 && o.Identity == nil {
		o.MaxUserSessions = o.MaxSessions
	} else if o.MaxUserSessions == 0 {
		o.MaxUserSessions = max(1, o.MaxSessions/8)
	}
	if o.MaxUserTasks < 0 {
		bad("Options.MaxUserTasks is %d: use a positive number, or 0 for an eighth of MaxTasks",
			o.MaxUserTasks)
	}
	errs = append(errs,
		bound("TaskTTL", duration, &o.TaskTTL, DefaultTaskTTL),
		bound("MaxTasks", number, &o.MaxTasks, DefaultMaxTasks))
	o.MaxUserTasks = cmp.Or(o.MaxUserTasks, max(1, o.MaxTasks/8))
	errs = append(errs,
		bound("IdentityTimeout", duration, &o.IdentityTimeout, DefaultIdentityTimeout),
		bound("CapabilityTimeout", duration, &o.CapabilityTimeout, DefaultCapabilityTimeout),
		bound("CapabilityRecheck", duration, &o.CapabilityRecheck, DefaultCapabilityRecheck),
		bound("MaxCapabilities", number, &o.MaxCapabilities, DefaultMaxCapabilities),
		errors.Join(principal.CheckOptions(o.PermissionAware, o.Capabilities, o.ServiceUsers)...),
		bound("AuditTimeout", duration, &o.AuditTimeout, DefaultAuditTimeout),
		bound("SessionTimeout", duration, &o.SessionTimeout, DefaultSessionTimeout),
		bound("KeepAlive", duration, &o.KeepAlive, DefaultKeepAlive))
	o.Path = cmp.Or(o.Path, PathMCP)
	if err := checkPath(o.Path); err != nil {
		bad("Options.Path is %q: %w", o.Path, err)
	}
	for i, m := range o.Interceptors {
		if m == nil {
			bad("Options.Interceptors[%d] is nil: remove it", i)
		}
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			bad("Options.AllowedOrigins has %q, which is not an origin: write scheme, host and port "+
				"only, for example https://app.example", origin)
		}
	}
	for _, host := range o.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/*@") || transport.HostName(host) != host {
			bad("Options.AllowedHosts has %q: write a host name or address without a port, for example "+
				"mcp.example", host)
		}
	}
	for _, p := range o.TrustedProxies {
		if !p.IsValid() || p.Bits() == 0 || p.Addr().Is4In6() {
			bad("Options.TrustedProxies has %q: write a network of your proxies, for example "+
				"10.1.2.0/24 or 2001:db8::/64", p)
		}
	}
	if n := len(o.StateKey); n > 0 && n < invoke.MinStateKey {
		bad("Options.StateKey has %d bytes: use at least %d random bytes, or remove it",
			n, invoke.MinStateKey)
	}
	return o, errors.Join(errs...)
}

var pathForm = regexp.MustCompile(`^/([A-Za-z0-9._~-]+/?)*$`)

// checkPath refuses a path that requests can have in two forms, that is a pattern to net/http, or
// that the handler serves already.
func checkPath(p string) error {
	if path.Clean(p) != cmp.Or(strings.TrimSuffix(p, "/"), "/") || !pathForm.MatchString(p) {
		return errors.New("write a path such as /mcp or /tools/mcp, with ASCII letters, digits " +
			"and - . _ ~ in its segments, which are not empty")
	}
	for _, taken := range []string{PathHealthz, PathReadyz, PathAPI, PathConsole,
		PathResourceMetadata} {
		if strings.HasPrefix(p+"/", strings.TrimSuffix(taken, "/")+"/") {
			return fmt.Errorf("the server serves %s itself: use another path", taken)
		}
	}
	return nil
}

// bound sets a zero option to its default, and refuses a negative one. unit names its values.
func bound[N int | int64 | time.Duration](name, unit string, value *N, initial N) error {
	if *value < 0 {
		return fmt.Errorf("%s is %v: use a positive %s, or 0 for %v",
			"Options."+name, *value, unit, initial)
	}
	*value = cmp.Or(*value, initial)
	return nil
}

// serves returns the toolsets, narrowed if the server is read-only.
func (o Options) serves(toolsets []toolset.Toolset) []toolset.Toolset {
	if !o.ReadOnly {
		return toolsets
	}
	narrowed := make([]toolset.Toolset, len(toolsets))
	for i, set := range toolsets {
		narrowed[i] = set.ReadOnly()
	}
	return narrowed
}

// listsChange reports whether lists can change while the server runs.
func (o Options) listsChange() bool { return o.PermissionAware || o.Catalogs != nil }

// checks returns the checks of readiness, with those that need no entry in Options.Readiness.
func (o Options) checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{}
	if source, ok := o.Identity.(identity.ReadySource); ok {
		checks["Options.Identity"] = source.Ready
	}
	if sink, ok := o.Audit.(audit.ReadySink); ok {
		checks["Options.Audit"] = sink.Ready
	}
	maps.Copy(checks, o.Readiness)
	return checks
}
