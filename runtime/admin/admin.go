// Package admin serves administrators: an HTTP API over what a store keeps, under [runtime.PathAPI], and a console
// for browsers, under [runtime.PathConsole]. It is made once and given to a server:
//
//	a, err := admin.New(s, admin.Options{})
//	...
//	server, err := runtime.New(runtime.Options{Catalogs: stored.New(s, stored.Stored), Admin: a.Handler}, toolsets...)
package admin

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/api"
	"github.com/mcpgen/mcpgen/runtime/admin/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Options configure the administration of a server. The zero value works.
type Options struct {
	// Memberships says where it is kept who is in which organisation and team. It is to be the same as the
	// server's own catalogs have (stored.New).
	Memberships stored.Memberships
	// Audit receives an event for each request that was refused. Changes are recorded by the store, each in
	// one transaction with itself. Nil records nothing.
	Audit audit.Sink
	// Logger is told what went wrong inside. Nil is slog.Default().
	Logger *slog.Logger
}

// Admin makes handlers for servers. It may be used from many goroutines at once.
type Admin struct {
	store   *store.Store
	options Options
}

// New returns the administration of what a store keeps, which stays the caller's to close.
func New(s *store.Store, o Options) (*Admin, error) {
	switch {
	case s == nil:
		return nil, errors.New("admin: the store is nil: open one (store.Open)")
	case o.Memberships != stored.Stored && o.Memberships != stored.Claimed:
		return nil, fmt.Errorf("admin: Options.Memberships is %d: use stored.Stored or stored.Claimed", int(o.Memberships))
	}
	return &Admin{s, o}, nil
}

// Handler is what a server mounts; see runtime.Options.Admin.
func (a *Admin) Handler(server *runtime.Server) (http.Handler, error) {
	who := authority.New(server, a.store, a.options.Memberships)
	routes, err := api.New(server, a.store, who, api.Options{Audit: a.options.Audit, Logger: a.options.Logger})
	if err != nil {
		return nil, err
	}
	info := server.Info()
	pages, err := console.New(server, a.store, who, console.Options{Title: cmp.Or(info.Title, info.Name), Logger: a.options.Logger})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(runtime.PathAPI, routes)
	mux.Handle(runtime.PathConsole, pages)
	mux.Handle(runtime.PathConsole+"/", pages)
	return mux, nil
}
