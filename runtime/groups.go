package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/task"
)

// The values of options that are zero.
const (
	defaultIdentityTimeout = 10 * time.Second
	defaultAuditTimeout    = 5 * time.Second
	defaultHostTimeout     = 5 * time.Second
	defaultRecheck         = time.Minute
	defaultPageSize        = 1000
	defaultMaxBody         = 4 << 20
	defaultSessionTimeout  = 30 * time.Minute
	defaultMaxSessions     = 1024
	defaultTaskTTL         = 30 * time.Minute
	defaultMaxTasks        = 1024
	maxHostUsers           = 4096 // whose permissions Host.TTL keeps
	maxListTTL             = 24 * time.Hour
)

// AccessOptions are about refusals, boundaries and administrators.
type AccessOptions struct {
	// Denial is how a refusal looks for tools, prompts and resources without a denial= of their
	// own. Zero is access.Conceal.
	Denial access.Denial
	// AdminRole is the lowest role of administrators; see [Administered]. Empty is the end of the
	// main chain of roles.
	AdminRole string
	// Boundaries has the permission boundary of each client: the most that the client may do, for
	// whichever caller. A client without a boundary may use public items only. On stdio the program
	// names the client, and a principal without one has no boundary. Package boundary/static reads a
	// file, and boundary/stored a database. Nil bounds no client.
	Boundaries boundary.Source
	// BoundariesOptional lifts the boundary of clients without one. It stops no client that can
	// register again, since its new id has no boundary.
	BoundariesOptional bool
}

func (o *AccessOptions) withDefaults(p *problems) {
	p.nilPointer("Options.Access.Boundaries", o.Boundaries)
	if o.BoundariesOptional && o.Boundaries == nil {
		p.add("Options.Access.BoundariesOptional is set without Options.Access.Boundaries: set " +
			"Boundaries, or remove BoundariesOptional")
	}
	o.Denial = cmp.Or(o.Denial, access.Conceal)
	if o.Denial < access.Conceal || o.Denial > access.Challenge {
		p.add("Options.Access.Denial is %d: use access.Conceal, access.Forbid or access.Challenge",
			int(o.Denial))
	}
}

// HostOptions are about the permissions of the host, which is your existing application.
type HostOptions struct {
	// Source reads the host's permissions, and the server enforces them: a caller without a
	// permission neither sees nor uses the tools, prompts and resources that need it, whatever the
	// role. Every rule that is not public then needs a permission (action=, object=) or
	// action=none.
	//
	// New checks the host, by Check of a [capability.Checker] or by a query, and fails if a table,
	// column or grant is missing. If the host cannot be reached, the server starts and is not
	// ready. It repeats the checks until they pass, and callers may use only what is public until
	// then. Nil reads no permissions, and New refuses rules that need one; see RecordOnly.
	Source capability.Source
	// RecordOnly serves rules with a permission without a Source. The permission is in lists,
	// documentation and the manifest, and is not enforced: the other requirements of the rule
	// decide alone.
	RecordOnly bool
	// Timeout bounds each query of Source. A caller whose permissions take longer may use only what
	// is public. Zero is 5 seconds.
	Timeout time.Duration
	// TTL is how long permissions are kept. With a positive duration, a revoked permission counts
	// until then, or until [Server.InvalidateCapabilities] is called. Messages of one principal
	// that arrive during a query share one further query. The permissions of at most 4,096
	// principals are kept, with at most 64 MiB of memory. Zero keeps none: each message of a caller
	// reads the host once, and a revoked permission is gone with the next message.
	TTL time.Duration
	// Recheck is how often the server reads the permissions of clients that wait for notifications,
	// and sends list_changed if their lists have changed. These are sessions with a stream, and
	// subscriptions/listen requests. Permissions that TTL keeps count here. Over HTTP, the server
	// also authenticates the request of the stream again: Identity may return other roles, or
	// refuse the credential. Zero is a minute.
	Recheck time.Duration
	// ServiceUsers are the host's users of OAuth clients whose principals name none. Empty maps no
	// client.
	ServiceUsers []ServiceUser
}

func (o *HostOptions) withDefaults(p *problems) {
	p.nilPointer("Options.Host.Source", o.Source)
	if o.Source != nil && o.RecordOnly {
		p.add("Options.Host.Source and Options.Host.RecordOnly are both set: remove one")
	}
	if o.TTL < 0 {
		p.add("Options.Host.TTL is %v: use a positive duration, or 0 to read the permissions for "+
			"each message", o.TTL)
	}
	bound(p, "Options.Host.Timeout", duration, &o.Timeout, defaultHostTimeout)
	bound(p, "Options.Host.Recheck", duration, &o.Recheck, defaultRecheck)
	if len(o.ServiceUsers) > 0 && o.Source == nil {
		p.add("Options.Host.ServiceUsers is set without Options.Host.Source, so no user would be " +
			"looked up: set Source, or remove ServiceUsers")
	}
	seen := map[[2]string]bool{}
	for i, u := range o.ServiceUsers {
		key := [2]string{u.Issuer, u.Client}
		switch {
		case u.Client == "" || u.User == "":
			p.add("Options.Host.ServiceUsers[%d] has no Client or no User: set both, or remove it", i)
		case seen[key] && u.Issuer == "":
			p.add("Options.Host.ServiceUsers has client %q of any issuer twice: remove one", u.Client)
		case seen[key]:
			p.add("Options.Host.ServiceUsers has client %q of issuer %q twice: remove one",
				u.Client, u.Issuer)
		}
		seen[key] = true
	}
}

// AuditOptions are about the record of calls and lists.
type AuditOptions struct {
	// Sink receives an event for each list and each call, and another one before calls that Intent
	// selects. [audit.Rotating] writes a file, and Store.Audit of package store a database.
	// Package audit/chain makes later changes of a trail visible. Without a durable event, the
	// server refuses the request. While the sink is down, the server refuses every call and list at
	// once, and probes the sink until it works again. Nil records nothing.
	Sink audit.Sink
	// Timeout bounds each record. A request whose record exceeds it is refused. Zero is 5 seconds.
	Timeout time.Duration
	// Intent selects the calls that have a durable event before their handler starts, so that a
	// call without a record does not run. Empty is audit.IntentNonReadonly.
	Intent audit.IntentPolicy
}

func (o *AuditOptions) withDefaults(p *problems) {
	p.nilPointer("Options.Audit.Sink", o.Sink)
	bound(p, "Options.Audit.Timeout", duration, &o.Timeout, defaultAuditTimeout)
	switch o.Intent = cmp.Or(o.Intent, audit.IntentNonReadonly); o.Intent {
	case audit.IntentNonReadonly, audit.IntentAll, audit.IntentNone:
	default:
		p.add("Options.Audit.Intent is %q: use audit.IntentNonReadonly, audit.IntentAll or "+
			"audit.IntentNone", o.Intent)
	}
}

// CatalogOptions are about named sets of tools.
type CatalogOptions struct {
	// Source has the named catalogs that clients may request, and the tools that are switched off.
	// The catalogs that code declares (//mcp:tool catalog=, toolset.Tool.Catalogs) exist as well.
	// Package catalog/stored keeps both in a database. [MetaCatalog] has the ways to request a
	// catalog. Nil has only the catalogs that code declares, and all tools are on.
	Source catalog.Source
	// Strict refuses a list of tools if none of the requested catalogs exists for the caller. By
	// default the list is whole, with a note in _meta: a catalog is no boundary.
	Strict bool
}

func (o *CatalogOptions) check(p *problems) { p.nilPointer("Options.Catalogs.Source", o.Source) }

// GrantOptions are about the resources that clients may use.
type GrantOptions struct {
	// Source has the resources that clients may use. Each call of a tool with //mcp:allow reads it,
	// within the time limit of the tool, and an error denies. Package grant/stored keeps grants in
	// a database, and grant.NewMemory in memory. Nil has no grants but Defaults; without either,
	// New refuses tools with //mcp:allow.
	Source grant.Source
	// Defaults are permissions that every client has in addition to Source; see grant.Minimal.
	// Empty adds none.
	Defaults []grant.Permission
	// Offer lets people request a missing permission: a client that supports elicitation asks its
	// user for a reason. Source must be a grant.Requests.
	Offer bool
	// Roots are the folders in which tools open files, by the first part of their paths. Nil has no
	// folder, and New refuses tools with a file permission.
	Roots *grant.Roots
}

func (o *GrantOptions) check(p *problems) {
	p.nilPointer("Options.Grants.Source", o.Source)
	if _, ok := o.Source.(grant.Requests); o.Offer && !ok {
		p.add("Options.Grants.Offer is set, but Options.Grants.Source does not accept requests: pass " +
			"stored.New of package grant/stored, or remove Options.Grants.Offer")
	}
}

// TaskOptions are about tools with task in their //mcp:tool: calls that go on after their request,
// for clients of MCP 2026-07-28.
type TaskOptions struct {
	// Store keeps the tasks. With a database (Store.Tasks of package store), all replicas serve a
	// task, and a task of a dead replica fails. Runs outlive an outage of the database, and their
	// results wait for it. Nil keeps tasks in memory: they end with the process, and replicas need
	// requests routed by the Mcp-Name header.
	Store task.Store
	// TTL is how long a task is kept beyond the time limit of its handler, from its creation on.
	// Clients read results until then. Zero is 30 minutes.
	TTL time.Duration
	// Max bounds the tasks that are kept, ended ones included; a call that exceeds it waits for its
	// result, and gets an error result with task=required. Zero is 1,024.
	Max int
	// MaxPerUser bounds the tasks of one user; all anonymous callers are one. Zero is an eighth of
	// Max.
	MaxPerUser int
}

func (o *TaskOptions) withDefaults(p *problems) {
	p.nilPointer("Options.Tasks.Store", o.Store)
	bound(p, "Options.Tasks.TTL", duration, &o.TTL, defaultTaskTTL)
	bound(p, "Options.Tasks.Max", number, &o.Max, defaultMaxTasks)
	bound(p, "Options.Tasks.MaxPerUser", number, &o.MaxPerUser, max(1, o.Max/8))
}

// ListOptions are about lists of tools, prompts and resources.
type ListOptions struct {
	// ListAll lists all tools, prompts and resources to every caller, except tools that are
	// switched off. Uses are refused as before, with access.Forbid in place of access.Conceal.
	// Names, descriptions and schemas are then no secret, but for fields with a rule: the schemas of
	// each caller have those that the caller may see.
	ListAll bool
	// PageSize is the number of entries of one page of a list. Zero is 1,000.
	PageSize int
	// TTL is how long a client of 2026-07-28 may keep a list (ttlMs). For that long it may show a
	// tool that the caller may no longer use; a call of it is refused at once. Zero keeps none.
	TTL time.Duration
}

func (o *ListOptions) withDefaults(p *problems) {
	bound(p, "Options.Lists.PageSize", number, &o.PageSize, defaultPageSize)
	if o.TTL < 0 || o.TTL > maxListTTL {
		p.add("Options.Lists.TTL is %v: use a duration of at most 24h, or 0 so that clients keep no "+
			"list", o.TTL)
	}
}

// TextOptions are about texts for models.
type TextOptions struct {
	// Instructions is a text that clients get with the handshake. It must not name a tool, prompt
	// or resource that some callers do not see; see InstructionsFor. Empty sends none.
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
}

func (o *TextOptions) check(p *problems) {
	if o.Instructions != "" && o.InstructionsFor != nil {
		p.add("Options.Texts.Instructions and Options.Texts.InstructionsFor are both set: remove one")
	}
}

// HTTPOptions are about requests, and sessions of the protocol versions that have them.
type HTTPOptions struct {
	// Path is where [Server.Handler] serves MCP. Its segments have ASCII letters, digits and
	// - . _ ~ only. With a slash at the end, as in "/mcp/", it is served without that slash too, and
	// otherwise exactly as it is. "/" alone is the root and nothing below. It cannot be one of the
	// other paths of the handler, nor below one. The resource's URL of an identity source that is
	// [identity.ResourceDescriber] ends with it, unless a proxy in front rewrites paths. Empty is
	// [PathMCP].
	Path string
	// Origins are the browser origins, besides the server's own, whose pages may call, as in
	// "https://inspector.example". "*" is not accepted. Empty allows the server's own only.
	Origins []string
	// Hosts are the host names, without port, under which the server may be called. Empty checks
	// connections over a loopback address only: they must name a loopback host, so that a web page
	// cannot reach the server by rebinding its own name.
	Hosts []string
	// TrustedProxies are the networks of the proxies in front of the server. Failed authentications
	// count for the address of the client, and get 429 with Retry-After if they are too many. That
	// is the address of the peer, or the one that a trusted proxy appends to X-Forwarded-For. Each
	// of these proxies must append to that header. A valid credential is admitted from any address.
	// Empty ignores X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// IdentityTimeout bounds each call of Options.Identity. A request that exceeds it gets 503.
	// Zero is 10 seconds.
	IdentityTimeout time.Duration
	// MaxBody bounds the bytes of a request's body, and on stdio of a line. Zero is 4 MiB.
	MaxBody int64
	// SessionTimeout is the time without a request after which a session ends. Zero is 30 minutes.
	SessionTimeout time.Duration
	// MaxSessions bounds open HTTP sessions, idle ones included; more get 503. In 2026-07-28, which
	// has no sessions, each subscriptions/listen request counts as one, over stdio as well; more
	// get the JSON-RPC error 429. Zero is 1,024.
	MaxSessions int
	// MaxPerUser bounds the sessions of one user; all anonymous callers are one. A new session ends
	// the one of the same user that was used least recently, if that had no request for a minute.
	// Otherwise, and for anonymous callers, the response is 429, or the JSON-RPC error above. Zero
	// is an eighth of MaxSessions, or all of them if there are only anonymous callers.
	MaxPerUser int
	// KeepAlive is how long an event stream is quiet before a comment is sent on it, since proxies
	// end streams without traffic. Zero is 15 seconds.
	KeepAlive time.Duration
}

func (o *HTTPOptions) withDefaults(p *problems, onlyAnonymous bool) {
	o.Path = cmp.Or(o.Path, PathMCP)
	if err := checkPath(o.Path); err != nil {
		p.add("Options.HTTP.Path is %q: %w", o.Path, err)
	}
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			p.add("Options.HTTP.Origins has %q, which is not an origin: write scheme, host and port "+
				"only, for example https://app.example", origin)
		}
	}
	for _, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, "/*@") || transport.HostName(host) != host {
			p.add("Options.HTTP.Hosts has %q: write a host name or address without a port, for example "+
				"mcp.example", host)
		}
	}
	for _, proxy := range o.TrustedProxies {
		if !proxy.IsValid() || proxy.Bits() == 0 || proxy.Addr().Is4In6() {
			p.add("Options.HTTP.TrustedProxies has %q: write a network of your proxies, for example "+
				"10.1.2.0/24 or 2001:db8::/64", proxy)
		}
	}
	bound(p, "Options.HTTP.IdentityTimeout", duration, &o.IdentityTimeout, defaultIdentityTimeout)
	bound(p, "Options.HTTP.MaxBody", number, &o.MaxBody, defaultMaxBody)
	bound(p, "Options.HTTP.SessionTimeout", duration, &o.SessionTimeout, defaultSessionTimeout)
	bound(p, "Options.HTTP.MaxSessions", number, &o.MaxSessions, defaultMaxSessions)
	most := max(1, o.MaxSessions/8)
	if onlyAnonymous {
		most = o.MaxSessions
	}
	bound(p, "Options.HTTP.MaxPerUser", number, &o.MaxPerUser, most)
	bound(p, "Options.HTTP.KeepAlive", duration, &o.KeepAlive, transport.KeepAlive)
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

// ObserveOptions are about the operation of a server.
type ObserveOptions struct {
	// Observer observes messages; package telemetry has one. Nil observes nothing.
	Observer observe.Observer
	// Masker has the secrets that package redact does not know by itself. It applies to logs,
	// errors, the audit, and debug tools. Zero adds none.
	Masker redact.Masker
	// Readiness are checks of dependencies of the server, by a name for the log: a database, a
	// directory of users. While one fails, [PathReadyz] reports that the server is not ready, and
	// nothing else changes. Each has two seconds, and a result is kept for one. New adds the check
	// of a sink that is an [audit.ReadySink], of an Identity that is an [identity.ReadySource], and
	// of the host, by the names Options.Audit.Sink, Options.Identity and Options.Host.Source. Nil
	// has these only.
	Readiness map[string]func(context.Context) error
}

func (o *ObserveOptions) check(p *problems) {
	p.nilPointer("Options.Observe.Observer", o.Observer)
	for _, name := range slices.Sorted(maps.Keys(o.Readiness)) {
		if name == "" {
			p.add(`Options.Observe.Readiness has a check named "": ` +
				`give it a name for the log, for example "store"`)
		} else if o.Readiness[name] == nil {
			p.add("Options.Observe.Readiness[%q] is nil: give it a check, or remove it", name)
		}
	}
}

// ProtocolOptions are about details of MCP.
type ProtocolOptions struct {
	// LenientArguments makes the arguments of all tools lenient, as lenient in //mcp:tool does.
	// Tools with lenient=false, or that the schema validator decodes, stay strict. So do arguments
	// that a decision depends on: those with //mcp:allow, //mcp:rule or an HTTP header. The listed
	// schemas stay strict. Clients that send wrong types then go unnoticed, except in telemetry.
	LenientArguments bool
	// StdioValue returns the value that [CallerValue] gives handlers of a message on stdio. Over HTTP,
	// Options.Identity provides it (identity.Identity.Value). The server calls it when a handler of
	// the message first uses the value, with the handler's context. If it fails, the handler gets
	// no value. Nil is no value.
	StdioValue func(context.Context) (identity.Value, error)
	// ResourceUpdates passes updates of resources between replicas; see [Server.ResourceUpdated].
	// A *store.Store on PostgreSQL, or on one SQLite file, is one. Nil notifies the clients of this
	// process only.
	ResourceUpdates ResourceUpdates
	// StateKey signs the requestState of multi-round-trip requests. Replicas behind one address
	// need the same key, of at least 32 random bytes. Empty is a random key of this process.
	StateKey []byte
	// Extensions are extensions of the protocol that the server declares to every caller, with
	// their settings, which may be nil. The server adds the one of MCP Apps if a tool has one, and
	// those that an adopted server declares. Nil declares no other.
	Extensions map[string]map[string]any
	// Experimental are experimental MCP capabilities, declared as Extensions are. Nil declares
	// none but those of an adopted server.
	Experimental map[string]map[string]any
}

func (o *ProtocolOptions) check(p *problems) {
	p.nilPointer("Options.Protocol.ResourceUpdates", o.ResourceUpdates)
	if n := len(o.StateKey); n > 0 && n < invoke.MinStateKey {
		p.add("Options.Protocol.StateKey has %d bytes: use at least %d random bytes, or remove it",
			n, invoke.MinStateKey)
	}
}

// extensionApps is the extension of MCP Apps (SEP-1865). A server with a tool that has one declares
// it.
const extensionApps = "io.modelcontextprotocol/ui"

// declared are MCP capabilities that code declares by name, each with its settings as JSON.
type declared struct{ extensions, experimental map[string]any }

// declares returns what the options declare, encoded, so that no later change of theirs counts.
func (o ProtocolOptions) declares() (declared, []error) {
	var p problems
	encode := func(field string, named map[string]map[string]any) map[string]any {
		encoded := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			settings := named[name]
			if settings == nil {
				settings = map[string]any{}
			}
			text, err := json.Marshal(settings)
			if err != nil {
				p.add("Options.Protocol.%s[%q] cannot be JSON: %w", field, name, err)
			}
			if prefix, rest, ok := strings.Cut(name, "/"); field == "Extensions" &&
				(!ok || prefix == "" || rest == "") {
				p.add("Options.Protocol.Extensions has %q: write a prefix of your domain before it, as "+
					"in com.example/name", name)
			}
			encoded[name] = json.RawMessage(text)
		}
		return encoded
	}
	return declared{encode("Extensions", o.Extensions), encode("Experimental", o.Experimental)}, p
}

// joined returns a map of both, nil if both are empty. What options declare counts.
func joined(own, options map[string]any) map[string]any {
	if len(own)+len(options) == 0 {
		return nil
	}
	all := map[string]any{}
	maps.Copy(all, own)
	maps.Copy(all, options)
	return all
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
