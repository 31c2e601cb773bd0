package stored_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Catalogs of a store, for runtime.Options.Catalogs.Source.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "catalogs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "mcp.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	by := audit.Event{Principal: "ada"}
	kit, err := s.CreateCatalog(ctx, store.Global, "kit", "", true, by)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.AddEntry(ctx, store.Global, kit.ID, "find_parts", "", by); err != nil {
		log.Fatal(err)
	}

	catalogs := stored.New(s, stored.Stored) // memberships are in the store too
	mel := access.Principal{Subject: "mel", Roles: []string{"Member"}}
	found, err := catalogs.Catalog(ctx, mel, catalog.Ref{Name: "kit"})
	fmt.Println(found.Name, found.Tools, err)
	_, err = catalogs.Catalog(ctx, mel, catalog.Ref{Name: "other"})
	fmt.Println(errors.Is(err, catalog.ErrUnknown))
	// Output:
	// kit [find_parts] <nil>
	// true
}
