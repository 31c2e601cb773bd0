// Package api provides the HTTP API of administrators: tool catalogs and their entries,
// organisations, teams and their members, switched off tools, grants, boundaries of clients, and
// the audit trail. Its OpenAPI document is generated from the handlers and served at [PathOpenAPI].
//
// Package authority decides on each request before the API reads the rest of it. If the caller
// does not belong to an organisation or a team, the API responds as if it did not exist.
package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Options configure the API. The zero value works.
type Options struct {
	// Audit receives an event for each refused request, and for each request that reads the audit
	// trail. The store records changes itself, except those of grants that are kept elsewhere: these
	// are recorded here. Nil records nothing.
	Audit audit.Sink
	// Grants keeps the grants and the requests for them. Nil leaves their operations out.
	Grants grant.Registry
	// Exports counts the running exports of the audit trail. Give the console the same value, so
	// that one limit holds for both. Nil is the API's own.
	Exports *front.Exports
	// Clients administer the server; see admin.Options.Clients.
	Clients []boundary.Party
	// Logger receives internal errors. Nil is slog.Default().
	Logger *slog.Logger
}

// API serves the requests under [runtime.PathAPI]. It is safe for concurrent use.
type API struct {
	server    runtime.Administered
	store     *store.Store
	authority *authority.Authority
	audit     audit.Sink
	grants    grant.Registry // nil without grants
	exports   *front.Exports
	clients   *clients.Clients
	log       *slog.Logger
	problems  problem.Writer
	patience  time.Duration // for a body

	mux        *http.ServeMux
	huma       huma.API
	json, yaml []byte // the document
}

// New returns the API of a server over a store.
func New(server runtime.Administered, s *store.Store, a *authority.Authority,
	o Options) (*API, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	api := &API{
		server: server, store: s, authority: a, audit: o.Audit, grants: o.Grants,
		exports:  cmp.Or(o.Exports, front.NewExports()),
		clients:  clients.New(server, s, o.Clients),
		log:      slog.New(server.Masker().Handler(o.Logger.Handler())),
		patience: front.Patience, mux: http.NewServeMux(),
	}
	api.problems = problem.Writer{Mask: server.Masker(), Log: api.log}
	api.huma = humago.New(api.mux, api.config())
	api.routes()
	return api, api.document()
}

// routes registers every operation there is.
func (a *API) routes() {
	a.whoami()
	a.tools()
	a.askable()
	for _, in := range []home{everywhere, organization, team} {
		a.catalogs(in)
		a.entries(in)
	}
	a.orgs()
	a.teams()
	a.members()
	a.switches()
	a.manifests()
	if a.grants != nil {
		a.ownGrants()
		a.ownRequests()
		a.grantsOfAll()
		a.requestsOfAll()
	}
	if spaces := a.server.Workspaces(); spaces != nil {
		a.workspaces(spaces)
	}
	if a.clients.Kept() {
		a.boundaries()
		a.clientsOfAll()
	}
	a.suggestions()
	a.trail()
	a.documents()
}

// finish gives a problem of an operation its final form.
func (a *API) finish(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*huma.ErrorModel); ok {
		return a.problems.Clean(p, requestOf(ctx.Context()).id, ctx.SetHeader), nil
	}
	return v, nil
}
