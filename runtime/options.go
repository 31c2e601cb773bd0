package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// What the zero value of an option means.
const (
	DefaultPageSize        = 1000
	DefaultTimeout         = 30 * time.Second
	DefaultIdentityTimeout = 10 * time.Second
	DefaultSessionTimeout  = 30 * time.Minute
	DefaultMaxBodyBytes    = 4 << 20
	DefaultAuditTimeout    = 5 * time.Second
	DefaultMaxSessions     = 1024

	DefaultCapabilityTimeout = 5 * time.Second
	DefaultCapabilityTTL     = time.Minute
	DefaultMaxCapabilities   = 4096
)

// minStateKey is what HMAC-SHA-256 makes full use of.
const minStateKey = 32

// Options configure a server. The zero value is the safe one: nobody is admitted over HTTP,
// refused tools are concealed, and what is left out has the documented bound.
type Options struct {
	// Identity tells who is calling over HTTP. Without it, and without Anonymous, the server
	// answers no HTTP request; stdio has its own principal.
	Identity identity.Source
	// IdentityTimeout is how long Identity may take; longer is answered with 503. Zero is
	// DefaultIdentityTimeout.
	IdentityTimeout time.Duration
	// Anonymous admits callers without credentials, who see and use the public tools only.
	// A credential that does not hold is refused all the same.
	Anonymous bool

	// Audit receives one event for each call and each list. A call whose event it does not
	// take is refused. Nil records nothing.
	Audit audit.Sink
	// AuditTimeout is how long Audit may take; longer refuses the request. Zero is
	// DefaultAuditTimeout.
	AuditTimeout time.Duration

	// Denial is how refusals look where a tool does not say. The default is access.Conceal.
	Denial access.Denial
	// ListAll switches filtering off: everybody is shown all tools. Calls are refused as
	// before, and since there is nothing left to conceal, what would be is access.Forbid.
	ListAll bool

	// PermissionAware projects the permissions of the host onto the server: whoever is not let do
	// something by the host neither sees nor uses the tools, prompts and resources that do it, whatever
	// the role. Every rule that is not public then names a permission (action=, object=) or says
	// action=none. Off, permissions are recorded and not asked for.
	PermissionAware bool
	// Capabilities reads the host's permissions; PermissionAware needs it.
	Capabilities capability.Source
	// CapabilityTimeout is how long Capabilities may take; longer denies all but what is public. Zero
	// is DefaultCapabilityTimeout.
	CapabilityTimeout time.Duration
	// CapabilityTTL is how long an answer of Capabilities counts: a permission that the host takes
	// away is gone after it, or as soon as [Server.InvalidateCapabilities] is called. Zero is
	// DefaultCapabilityTTL.
	CapabilityTTL time.Duration
	// MaxCapabilities bounds the answers that are kept, one for each principal. Zero is
	// DefaultMaxCapabilities.
	MaxCapabilities int
	// ServiceUsers are the users of the host for OAuth clients whose principals name none. They count
	// for tokens that are the client's own (identity.Identity.ClientItself), and for those of people
	// where the entry says so.
	ServiceUsers []ServiceUser

	// Catalogs is where named groups of tools are kept that clients may ask for, and which tools are
	// switched off; package catalog/stored has one over a database. Without it there are the catalogs that
	// code declares (//mcp:tool catalog=), and all tools are on.
	Catalogs catalog.Source
	// CatalogStrict refuses a list of tools that asks for a catalog which there is not for the caller. Without
	// it the whole list is answered, with a note in _meta: a catalog is a convenience and no boundary.
	CatalogStrict bool

	// Grants is where it is kept which resources clients may use; tools with //mcp:allow need it. It is asked for each of
	// their calls, within the time that the tool has, and an error denies. Package grant/stored has
	// one over a database, and grant.NewMemory one that forgets.
	Grants grant.Source
	// GrantDefaults are permissions that everybody has, besides those of Grants; see grant.Minimal.
	GrantDefaults []grant.Permission
	// OfferRequests has a refusal offer to ask for what was lacking: the person at a client that supports elicitation is
	// asked for a reason, and a request is made. Grants must be a grant.Requests for that.
	OfferRequests bool
	// Roots are the folders below which tools open files, by the name that paths begin with. Tools with a file
	// permission need them.
	Roots *grant.Roots
	// Sandbox bounds how often clients call, keeps their workspaces, and runs calls in processes of their own; tools
	// with concurrency=, rate= or isolate= need it. sandbox.New makes one.
	Sandbox Sandbox
	// SandboxBestEffort starts where the system lacks a part of what isolates processes, and says in the log which. Without it
	// such a server does not start.
	SandboxBestEffort bool

	// Admin makes the handler of what is under [PathAPI] and [PathConsole]; see package admin. It is called once, when
	// the server has been made. The handler is asked behind the checks of Host and Origin, and asks
	// [Server.Identify] itself who is calling.
	Admin func(*Server) (http.Handler, error)
	// AdminRole is the role from which on a caller is an admin (see [Server.IsAdmin]). Empty
	// is the highest role of the hierarchy.
	AdminRole string

	// Logger receives the server's own log. At debug level it says what each list was
	// filtered to, at info level what was refused, at warn and error level what needs a
	// person. Nil is slog.Default(). Secrets that hosts, sources and handlers put into what they say
	// are masked on the way to it; see package redact.
	Logger *slog.Logger

	// Masker knows what is secret, besides what package redact does by itself: in logs, in errors, in the audit, and in what
	// debug tools show.
	Masker redact.Masker
	// Observer watches what the server does; see package telemetry. Nil watches nothing.
	Observer Observer
	// Readiness are checks of what the server cannot do without, by a name for the log: a database, a directory of
	// users. While one fails, [PathReadyz] says that the server is not ready, and nothing else changes. Each has two
	// seconds, and an answer counts for one.
	Readiness map[string]func(context.Context) error

	// PageSize is the largest number of tools in one page of a list. Zero is DefaultPageSize.
	PageSize int

	// Middleware runs inside the guard, the first one outermost: it sees only requests that
	// were allowed, and what it answers is finished by the guard. An error of it that is not a
	// *jsonrpc.Error reaches the caller as an internal error.
	Middleware []mcp.Middleware

	// AllowedOrigins are the browser origins, besides the server's own, whose pages may
	// call, as in "https://inspector.example". "*" is not accepted.
	AllowedOrigins []string
	// AllowedHosts are the host names, without port, under which the server may be called. Where it
	// is empty, a connection over a loopback address must name a loopback host, so that a
	// web page cannot reach the server by rebinding its own name; others are not checked.
	AllowedHosts []string
	// MaxBodyBytes bounds a request's body, on stdio a line. Zero is DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// SessionTimeout ends sessions that have sent nothing for so long. Zero is
	// DefaultSessionTimeout.
	SessionTimeout time.Duration
	// MaxSessions bounds the sessions over HTTP that are open at a time, those that idle
	// included; more are refused with 503. Clients of 2026-07-28 have none, and each of their requests
	// that listens counts as one, over stdio as well; more are refused with JSON-RPC error -32029. Zero is
	// DefaultMaxSessions.
	MaxSessions int
	// MaxUserSessions bounds the sessions of one user, all anonymous callers counting as one;
	// more are refused with 429, and those that listen as above. Zero is an eighth of MaxSessions, or all of them where
	// anonymous callers are the only ones.
	MaxUserSessions int

	// StateKey signs the requestState of multi-round-trip requests. Replicas that answer one
	// client in turn need the same one, of at least 32 random bytes. Empty is a key of this
	// process's own.
	StateKey []byte
}

// changes reports whether what a caller sees may change while the server runs.
func (o Options) changes() bool { return o.PermissionAware || o.Catalogs != nil }

// withDefaults fills the zero values in and reports every setting that cannot work.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if c, ok := o.Identity.(identity.Checker); ok {
		if err := c.Check(); err != nil {
			bad("Options.Identity: %w", err)
		}
	}
	if isNil(o.Identity) && o.Identity != nil {
		bad("Options.Identity is a nil %T: pass a source that works, or leave the option out", o.Identity)
	}
	if isNil(o.Audit) && o.Audit != nil {
		bad("Options.Audit is a nil %T: pass a sink that works, or leave the option out", o.Audit)
	}
	if isNil(o.Catalogs) && o.Catalogs != nil {
		bad("Options.Catalogs is a nil %T: pass a source that works, or leave the option out", o.Catalogs)
	}
	if isNil(o.Grants) && o.Grants != nil {
		bad("Options.Grants is a nil %T: pass a source that works, or leave the option out", o.Grants)
	}
	if _, ok := o.Grants.(grant.Requests); o.OfferRequests && !ok {
		bad("Options.OfferRequests is set, and Options.Grants takes no requests: pass one that does, as to stored.New of package grant/stored, or leave it out")
	}
	if isNil(o.Sandbox) && o.Sandbox != nil {
		bad("Options.Sandbox is a nil %T: pass one that works, or leave the option out", o.Sandbox)
	}
	switch o.Denial {
	case access.DenialDefault:
		o.Denial = access.Conceal
	case access.Conceal, access.Forbid, access.Challenge:
	default:
		bad("Options.Denial is %d: use access.Conceal, access.Forbid or access.Challenge", int(o.Denial))
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = slog.New(o.Masker.Handler(o.Logger.Handler()))
	if isNil(o.Observer) && o.Observer != nil {
		bad("Options.Observer is a nil %T: pass one that works, or leave the option out", o.Observer)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Readiness)) {
		if name == "" {
			bad(`Options.Readiness has a check named "": give it a name, as "store", by which the log tells that it fails`)
		} else if o.Readiness[name] == nil {
			bad("Options.Readiness[%q] is nil: give it a check, or remove it", name)
		}
	}
	if o.PageSize < 0 {
		bad("Options.PageSize is %d: use a positive number, or 0 for %d", o.PageSize, DefaultPageSize)
	}
	if o.PageSize == 0 {
		o.PageSize = DefaultPageSize
	}
	if o.MaxBodyBytes < 0 {
		bad("Options.MaxBodyBytes is %d: use a positive number, or 0 for %d", o.MaxBodyBytes, DefaultMaxBodyBytes)
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.MaxSessions < 0 {
		bad("Options.MaxSessions is %d: use a positive number, or 0 for %d", o.MaxSessions, DefaultMaxSessions)
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.MaxUserSessions < 0 {
		bad("Options.MaxUserSessions is %d: use a positive number, or 0 for an eighth of MaxSessions", o.MaxUserSessions)
	}
	if o.MaxUserSessions == 0 {
		o.MaxUserSessions = max(1, o.MaxSessions/8)
		if o.Identity == nil {
			o.MaxUserSessions = o.MaxSessions
		}
	}
	duration := func(name string, d *time.Duration, zero time.Duration) {
		if *d < 0 {
			bad("Options.%s is %s: use a positive duration, or 0 for %s", name, *d, zero)
		}
		if *d == 0 {
			*d = zero
		}
	}
	duration("IdentityTimeout", &o.IdentityTimeout, DefaultIdentityTimeout)
	duration("CapabilityTimeout", &o.CapabilityTimeout, DefaultCapabilityTimeout)
	duration("CapabilityTTL", &o.CapabilityTTL, DefaultCapabilityTTL)
	if o.MaxCapabilities < 0 {
		bad("Options.MaxCapabilities is %d: use a positive number, or 0 for %d", o.MaxCapabilities, DefaultMaxCapabilities)
	}
	if o.MaxCapabilities == 0 {
		o.MaxCapabilities = DefaultMaxCapabilities
	}
	errs = append(errs, o.checkCapabilities()...)
	duration("AuditTimeout", &o.AuditTimeout, DefaultAuditTimeout)
	duration("SessionTimeout", &o.SessionTimeout, DefaultSessionTimeout)
	for i, m := range o.Middleware {
		if m == nil {
			bad("Options.Middleware[%d] is nil: remove it", i)
		}
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			bad("Options.AllowedOrigins has %q, which is no origin: write scheme, host and port only, as in https://app.example", origin)
		}
	}
	for _, host := range o.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/*@") || hostName(host) != host {
			bad("Options.AllowedHosts has %q: write a host name or address without port, as in mcp.example", host)
		}
	}
	if n := len(o.StateKey); n > 0 && n < minStateKey {
		bad("Options.StateKey has %d bytes: use at least %d random ones, or leave it out", n, minStateKey)
	}
	return o, errors.Join(errs...)
}
