package admin_test

import (
	"context"
	"log"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin"
	catalogs "github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	grants "github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// A server with the admin API below /api/v1/ and the console below /console/. Its toolset stands
// for that of a service.
func Example() {
	ctx := context.Background()
	s, err := store.Open(ctx, "postgres://mcp@db.example/mcp")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	catalogs := catalogs.New(s, catalogs.Stored)
	grants := grants.New(s, grants.Options{})
	administration, err := admin.New(catalogs, admin.Options{Grants: grants})
	if err != nil {
		log.Fatal(err)
	}
	verify := func(ctx context.Context, token string) (identity.Identity, error) {
		return identity.Identity{}, identity.ErrInvalidToken // look the token up
	}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Bearer(verify),
		Audit:    runtime.AuditOptions{Sink: s.Audit()},
		Catalogs: runtime.CatalogOptions{Source: catalogs},
		Grants:   runtime.GrantOptions{Source: grants},
		Admin:    administration.Handler,
		Access:   runtime.AccessOptions{AdminRole: "Manager"},
	}, debugtools.Toolset(debugtools.New(debugtools.Options{})))
	if err != nil {
		log.Fatal(err)
	}
	if err := runtime.ListenAndServe(ctx, ":8080", server); err != nil {
		log.Fatal(err)
	}
}
