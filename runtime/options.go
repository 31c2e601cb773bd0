package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Options configure a server, by subject. The zero value is the safe one: no caller is admitted
// over HTTP, and refused tools are concealed. The comment of each field states its zero value. A
// negative number or duration is an error of [New].
//
// A server for HTTP needs Identity or Anonymous. All other fields are optional, unless a tool needs
// one of them: New then fails, and its error names the tool and the field.
//
// The server calls sources, sinks and checks from many goroutines at once. New reads the fields
// once: do not change the values that they point to.
type Options struct {
	// Identity authenticates callers over HTTP: oidc.New of package identity/oidc by the tokens of
	// an OpenID provider, [identity.Bearer] by a function of yours. Stdio has a principal of its
	// own, see [Server.RunStdio]. Nil refuses each request that has a credential; without
	// Anonymous too, the server answers each HTTP request with 503.
	Identity identity.Source
	// Anonymous admits callers without credentials. They see and use public tools only. An invalid
	// credential is refused all the same.
	Anonymous bool
	// ReadOnly serves no tools but those that are marked readonly: of the toolsets as
	// [toolset.Toolset.ReadOnly] does, and with [Adopt] those whose annotations have readOnlyHint.
	// All others are unknown to everybody. Prompts and resources stay.
	ReadOnly bool
	// Logger receives the server's log: filtered lists at debug level, refusals at info level, and
	// faults for a person at warn and error level. Package redact masks secrets in it. Nil is
	// slog.Default(), and the record of the start is short if that writes to a terminal.
	Logger *slog.Logger
	// Interceptors run inside the guard, the first one outermost. They get allowed messages only,
	// and the guard encodes their results. Empty runs none.
	Interceptors []intercept.Middleware
	// Sandbox keeps the workspaces of clients, and runs calls in processes of their own.
	// sandbox.New makes one. Nil has none, and New refuses tools with isolate=.
	Sandbox isolate.Sandbox
	// Admin makes the handler below [PathAPI] and [PathConsole]; see package admin. It is called
	// once, when the server has been made. Its handler runs behind the checks of Host and Origin,
	// and authenticates callers with [Server.Identify]. Nil serves neither.
	Admin func(Administered) (http.Handler, error)

	Access   AccessOptions   // Access is how refusals look, and who administers. Zero conceals.
	Host     HostOptions     // Host has the permissions of your application. Zero reads none.
	Audit    AuditOptions    // Audit records calls and lists. Zero records nothing.
	Catalogs CatalogOptions  // Catalogs are named sets of tools. Zero has those of the code.
	Grants   GrantOptions    // Grants are the resources that clients may use. Zero grants none.
	Tasks    TaskOptions     // Tasks go on after their request. Zero keeps them in memory.
	Lists    ListOptions     // Lists are those of tools, prompts and resources. Zero filters.
	Texts    TextOptions     // Texts are for models. Zero has those of the code.
	HTTP     HTTPOptions     // HTTP has path, checks and limits. Zero has the defaults.
	Observe  ObserveOptions  // Observe is for operators. Zero observes nothing.
	Protocol ProtocolOptions // Protocol has details of MCP. Zero has the defaults.
	Adopt    AdoptOptions    // Adopt is for [Adopt], and [New] refuses it. Zero has none.
}

// hostCheck is the name of the check of Options.Host.Source.
const hostCheck = "Options.Host.Source"

// problems are errors of options. Each names the path of its field.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// nilPointer reports an interface that has a nil pointer.
func (p *problems) nilPointer(path string, value any) {
	if value != nil && request.IsNil(value) {
		p.add("%s is a nil %T: pass one that works, or remove the option", path, value)
	}
}

// bound sets a zero option to its default, and reports a negative one. unit names its values.
func bound[N int | int64 | time.Duration](p *problems, path, unit string, value *N, initial N) {
	if *value < 0 {
		p.add("%s is %v: use a positive %s, or 0 for %v", path, *value, unit, initial)
	}
	*value = cmp.Or(*value, initial)
}

const number, duration = "number", "duration" // units of bound

// withDefaults fills in the defaults and reports every setting that cannot work.
func (o Options) withDefaults() (Options, error) {
	var p problems
	if c, ok := o.Identity.(identity.Checker); ok {
		if err := c.Check(); err != nil {
			p.add("Options.Identity: %w", err)
		}
	}
	p.nilPointer("Options.Identity", o.Identity)
	p.nilPointer("Options.Sandbox", o.Sandbox)
	for i, m := range o.Interceptors {
		if m == nil {
			p.add("Options.Interceptors[%d] is nil: remove it", i)
		}
	}
	o.Access.withDefaults(&p)
	o.Host.withDefaults(&p)
	o.Audit.withDefaults(&p)
	o.Catalogs.check(&p)
	o.Grants.check(&p)
	o.Tasks.withDefaults(&p)
	o.Lists.withDefaults(&p)
	o.Texts.check(&p)
	o.HTTP.withDefaults(&p, o.Identity == nil)
	o.Observe.check(&p)
	o.Protocol.check(&p)
	o.Logger = slog.New(o.Observe.Masker.Handler(cmp.Or(o.Logger, slog.Default()).Handler()))
	o.Observe.Readiness = o.checks()
	return o, errors.Join(p...)
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
func (o Options) listsChange() bool {
	return o.Host.Source != nil || o.Catalogs.Source != nil || o.Access.Boundaries != nil
}

// checks returns the checks of readiness, with those that need no entry in Observe.Readiness.
func (o Options) checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{}
	if source, ok := o.Identity.(identity.ReadySource); ok {
		checks["Options.Identity"] = source.Ready
	}
	if sink, ok := o.Audit.Sink.(audit.ReadySink); ok {
		checks["Options.Audit.Sink"] = sink.Ready
	}
	maps.Copy(checks, o.Observe.Readiness)
	return checks
}

// ServiceUser maps an OAuth client to a user of the host.
type ServiceUser = access.ServiceUser
