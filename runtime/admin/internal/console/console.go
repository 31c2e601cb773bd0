// Package console provides the web pages of administrators: which callers may use which tool and
// why, catalogs and their entries, switched off tools, clients and their boundaries, organisations
// with their teams and members, permission requests and grants, and the audit trail.
//
// The server renders HTML without scripts, and the Content-Security-Policy forbids scripts. Users
// sign in with the bearer token of the admin API. The console verifies the token again for each
// request, so that lost rights take effect at once.
//
// Admins see everything. An owner, admin or lead of an organisation or a team sees its catalogs.
// For items of other organisations and teams the console responds as if they did not exist.
package console

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Options configure a console. The zero value works.
type Options struct {
	// Title is the name of the server on the pages, as in "Team directory". Empty is "MCP server".
	Title string
	// Logger receives errors of the server at error level, and forms from other sites at info
	// level. Secrets in it are masked, and tokens never reach it. Nil is slog.Default().
	Logger *slog.Logger
	// Audit receives an event for each refused request, for each view of the audit trail, before it
	// is shown, and for each change of grants, unless Grants is a [grant.Recorder] that records it.
	// The store records all other changes itself. Nil records nothing.
	Audit audit.Sink
	// Grants keeps the grants and requests that the pages manage, and that the server decides by.
	// Nil leaves these pages out.
	Grants grant.Registry
	// Exports counts the running exports of the audit trail. Give the API the same value, so that
	// one limit holds for both. Nil is the console's own.
	Exports *front.Exports
	// Clients administer the server; see admin.Options.Clients.
	Clients []boundary.Party

	patience time.Duration // front.Patience, or a test's
}

// New returns the handler of all paths under [runtime.PathConsole]. It is safe for concurrent use
// and keeps no session state, so it works with several replicas. The server that mounts it checks
// the Host header, as runtime.Server.Handler does.
func New(server runtime.Administered, s *store.Store, a *authority.Authority,
	o Options) http.Handler {
	return newConsole(kernel{server}, s, a, o)
}

// machine is the part of a server that the console uses.
type machine interface {
	Masker() redact.Masker
	Identify(r *http.Request) (context.Context, access.Principal, error)
	MayManage(p access.Principal) bool
	ExplainOf(ctx context.Context, p access.Principal, k access.Kind,
		name string) access.Explanation
	ListTools(ctx context.Context, ref catalog.Ref) (runtime.Listing, error)
	DeclaredCatalogs() []catalog.Found
	Catalogs() catalog.Source // nil if there are only those
	ReloadSwitches(ctx context.Context) error
	Manifests() []runtime.Manifest
	Adopted() bool
	GrantDefaults() []grant.Grant
	Allows(tool string) []toolset.Allow
	Workspaces() isolate.Workspaces // nil where none are kept
	clients.Server
}

// standing decides who may manage what.
type standing interface {
	Admin(p access.Principal) bool
	Managed(ctx context.Context, p access.Principal) ([]store.Scope, error)
}

// kernel is the server itself.
type kernel struct{ runtime.Administered }

func (k kernel) Identify(r *http.Request) (context.Context, access.Principal, error) {
	ctx, err := k.Administered.Identify(r)
	if err != nil {
		return nil, access.Principal{}, err
	}
	p, ok := runtime.Caller(ctx)
	if !ok || p.Anonymous() {
		return nil, access.Principal{}, &runtime.Refusal{Status: http.StatusUnauthorized,
			Reason: "authentication required"}
	}
	return ctx, p, nil
}

type console struct {
	server machine
	store  *store.Store
	who    standing
	title  string
	log    *slog.Logger
	audit  audit.Sink
	grants grant.Registry // nil without grants

	clients  *clients.Clients
	patience time.Duration // for a form
	exports  *front.Exports
}

func newConsole(m machine, s *store.Store, a standing, o Options) http.Handler {
	c := &console{server: m, store: s, who: a, title: o.Title, log: o.Logger, audit: o.Audit,
		grants: o.Grants, clients: clients.New(m, s, o.Clients), patience: cmp.Or(o.patience,
			front.Patience), exports: cmp.Or(o.Exports,
			front.NewExports())}
	if c.title == "" {
		c.title = "MCP server"
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.log = slog.New(m.Masker().Handler(c.log.Handler()))
	mux := http.NewServeMux()
	all := routes
	if c.grants != nil {
		all = slices.Concat(all, grantRoutes)
	}
	if c.server.Workspaces() != nil {
		all = slices.Concat(all, workspaceRoutes)
	}
	if c.clients.Kept() {
		all = slices.Concat(all, boundaryRoutes)
	}
	for _, r := range all {
		mux.Handle(r.pattern, c.handler(r))
	}
	// A missing page also requires a sign-in: without one, no address reveals whether it exists.
	mux.Handle("/", c.handler(route{who: managers, serve: (*visit).nowhere}))
	return c.guarded(mux)
}

// who selects the callers of a page.
type who int

const (
	everybody who = iota // without a credential
	managers             // callers who manage anything, and admins
	admins
)

// route is a page or the action of a form.
type route struct {
	pattern string // of http.ServeMux
	who     who
	serve   func(*visit) error
}

// timeout bounds the time of a request.
func (r route) timeout() time.Duration {
	if r.pattern == exportPattern {
		return exportTimeout
	}
	return front.Timeout
}

var routes = []route{
	{"GET /console/assets/{file}", everybody, (*visit).asset},
	{"GET /console/sign-in", everybody, (*visit).showSignIn},
	{"POST /console/sign-in", everybody, (*visit).signIn},
	{"POST /console/sign-out", everybody, (*visit).signOut},

	{"GET /console", managers, (*visit).overview},
	{"GET /console/{$}", managers, (*visit).home},

	{"GET /console/catalogs", managers, (*visit).listCatalogs},
	{"POST /console/catalogs", managers, (*visit).createCatalog},
	{"GET /console/catalogs/new", managers, (*visit).newCatalog},
	{"GET /console/catalogs/{id}", managers, catalogForms.show},
	{"POST /console/catalogs/{id}", managers, (*visit).saveCatalog},
	{"GET /console/catalogs/{id}/delete", managers, asks((*visit).catalogDeletion)},
	{"POST /console/catalogs/{id}/delete", managers, deletes((*visit).catalogDeletion)},
	{"POST /console/catalogs/{id}/entries", managers, (*visit).addEntry},
	{"POST /console/catalogs/{id}/entries/remove", managers, (*visit).removeEntry},
	{"GET /console/declared", admins, (*visit).showDeclared},

	{"GET /console/matrix", admins, (*visit).showMatrix},
	{"GET /console/principal", admins, (*visit).showPrincipal},
	{"GET /console/tools", admins, (*visit).listSwitches},
	{"POST /console/tools", admins, (*visit).switchTool},

	{"GET /console/orgs", admins, (*visit).listOrgs},
	{"POST /console/orgs", admins, (*visit).createOrg},
	{"GET /console/orgs/{id}", admins, orgForms.show},
	{"POST /console/orgs/{id}", admins, (*visit).renameOrg},
	{"GET /console/orgs/{id}/delete", admins, asks((*visit).orgDeletion)},
	{"POST /console/orgs/{id}/delete", admins, deletes((*visit).orgDeletion)},
	{"POST /console/orgs/{id}/teams", admins, (*visit).createTeam},
	{"POST /console/orgs/{id}/members", admins, addsMember(orgForms,
		func(o store.Org) store.Scope { return store.InOrg(o.ID) },
		func(d *orgPageData) *memberList { return &d.memberList })},
	{"GET /console/teams/{id}", admins, teamForms.show},
	{"POST /console/teams/{id}", admins, (*visit).renameTeam},
	{"GET /console/teams/{id}/delete", admins, asks((*visit).teamDeletion)},
	{"POST /console/teams/{id}/delete", admins, deletes((*visit).teamDeletion)},
	{"POST /console/teams/{id}/members", admins, addsMember(teamForms,
		func(t store.Team) store.Scope { return store.InTeam(t.ID) },
		func(d *teamPageData) *memberList { return &d.memberList })},
	{"GET /console/members/{id}", admins, memberForms.show},
	{"POST /console/members/{id}", admins, (*visit).saveMember},
	{"GET /console/members/{id}/delete", admins, asks((*visit).memberRemoval)},
	{"POST /console/members/{id}/delete", admins, deletes((*visit).memberRemoval)},

	{"GET /console/clients", admins, (*visit).listClients},
	{"GET /console/clients/suggestion", admins, (*visit).showSuggestion},

	{"GET /console/audit", admins, (*visit).showTrail},
	{"GET /console/audit/{id}", admins, (*visit).showEvent},
	{exportPattern, admins, (*visit).exportTrail},
}

// grantRoutes are the routes of a console with grants.
var grantRoutes = []route{
	{"GET /console/requests", admins, (*visit).listPermissionRequests},
	{"GET /console/requests/{id}", admins, (*visit).showPermissionRequest},
	{"POST /console/requests/{id}/approve", admins, (*visit).approve},
	{"POST /console/requests/{id}/deny", admins, (*visit).deny},

	{"GET /console/grants", admins, (*visit).listGrants},
	{"POST /console/grants", admins, (*visit).createGrant},
	{"GET /console/grants/new", admins, (*visit).newGrant},
	{"GET /console/grants/revoke", admins, (*visit).askRevoke},
	{"POST /console/grants/revoke", admins, (*visit).revoke},
}

// boundaryRoutes are the routes of a console with the server's boundaries in its store.
var boundaryRoutes = []route{
	{"GET /console/clients/block", admins, (*visit).askBlock},
	{"POST /console/clients/block", admins, (*visit).block},
	{"POST /console/boundaries", admins, (*visit).createBound},
	{"GET /console/boundaries/new", admins, (*visit).newBound},
	{"GET /console/boundaries/{id}", admins, boundForms.show},
	{"POST /console/boundaries/{id}", admins, (*visit).saveBound},
	{"GET /console/boundaries/{id}/delete", admins, asks((*visit).boundDeletion)},
	{"POST /console/boundaries/{id}/delete", admins, deletes((*visit).boundDeletion)},
}

// workspaceRoutes are the routes of a console with workspaces.
var workspaceRoutes = []route{
	{"GET /console/workspaces", admins, (*visit).showWorkspaces},
	{"POST /console/workspaces", admins, (*visit).clearWorkspace},
}
