// Package admin provides the administration of a server: an HTTP API over a store, under
// [runtime.PathAPI], and a console for browsers, under [runtime.PathConsole]. It uses the source
// of the server's catalogs, so that both have the same organisations, teams and members:
//
//	source := stored.New(s, stored.Stored)
//	a, err := admin.New(source, admin.Options{})
//	...
//	server, err := runtime.New(runtime.Options{Identity: callers, Admin: a.Handler,
//		Catalogs: runtime.CatalogOptions{Source: source}}, toolsets...)
package admin

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// Options configure the administration of a server. The zero value works.
type Options struct {
	// Audit receives an event for each refused request to the API or the console. The store records
	// changes itself, each in one transaction with the change. Nil is the sink of the server
	// (runtime.Options.Audit.Sink), or without one the trail of the store.
	Audit audit.Sink
	// Grants keeps the grants and the requests for them. It is the same value as
	// runtime.Options.Grants.Source. Nil leaves the grants out of the API and the console.
	Grants grant.Registry
	// Clients may administer a server with runtime.Options.Access.Boundaries, by their Issuer and
	// Client, such as the client of the console. All other clients administer nothing, whatever the
	// role of their user. The administration gives none of Clients a boundary. Empty is none. A server
	// without boundaries does not read it.
	Clients []boundary.Party
	// Logger receives internal errors, without secrets. Nil is slog.Default().
	Logger *slog.Logger
}

// Admin makes handlers for servers. It is safe for concurrent use.
type Admin struct {
	source  *stored.Source
	options Options
}

// New returns the administration of a source's store. The caller closes the store.
func New(source *stored.Source, o Options) (*Admin, error) {
	if source == nil {
		return nil, errors.New("admin: the source is missing: pass the result of stored.New, and the " +
			"same to runtime.Options.Catalogs.Source")
	}
	for i, c := range o.Clients {
		if c.Client == "" || c != (boundary.Party{Issuer: c.Issuer, Client: c.Client}) {
			return nil, fmt.Errorf("admin: Options.Clients[%d] is not a client: set Issuer and "+
				"Client only", i)
		}
	}
	return &Admin{source, o}, nil
}

// Handler returns the handler that a server mounts: set it as runtime.Options.Admin. It returns
// an error for a server with other catalogs or grants, because administrators could not change
// those.
func (a *Admin) Handler(server runtime.Administered) (http.Handler, error) {
	if server.Catalogs() != catalog.Source(a.source) {
		return nil, errors.New("the server's catalogs have another source: set " +
			"Options.Catalogs.Source to the one passed to admin.New")
	}
	if err := sameGrants(server.Grants(), a.options.Grants); err != nil {
		return nil, err
	}
	server = server.AdministeredBy(a.options.Clients)
	kept := a.source.Store()
	grants := a.options.Grants
	if grants != nil {
		grants = unblocked{grants, server}
	}
	sink := cmp.Or(a.options.Audit, server.Audit(), kept.Audit())
	who := authority.New(server, kept, a.source.Memberships())
	exports := front.NewExports()
	routes, err := api.New(server, kept, who, api.Options{
		Audit: sink, Grants: grants, Exports: exports, Logger: a.options.Logger,
		Clients: a.options.Clients,
	})
	if err != nil {
		return nil, err
	}
	info := server.Info()
	pages := console.New(server, kept, who, console.Options{
		Title: cmp.Or(info.Title, info.Name), Audit: sink, Grants: grants,
		Exports: exports, Clients: a.options.Clients, Logger: a.options.Logger,
	})
	mux := http.NewServeMux()
	mux.Handle(runtime.PathAPI, routes)
	mux.Handle(runtime.PathConsole, pages)
	mux.Handle(runtime.PathConsole+"/", pages)
	return mux, nil
}

// sameGrants returns an error for a server that uses other grants than the administration.
func sameGrants(served grant.Source, kept grant.Registry) error {
	switch {
	case kept == nil:
		return nil
	case !reflect.TypeOf(kept).Comparable():
		return errors.New("admin.Options.Grants is not comparable: pass a pointer, here and as " +
			"Options.Grants.Source")
	case served != grant.Source(kept):
		return errors.New("the server's grants have another source: set Options.Grants.Source " +
			"to the value of admin.Options.Grants")
	}
	return nil
}
