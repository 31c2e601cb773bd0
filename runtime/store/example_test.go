package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// A store in an SQLite file, with a catalog and the record of its creation.
func Example() {
	dir, err := os.MkdirTemp("", "store")
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

	by := audit.Event{Principal: "ada"} // who makes the change
	kit, err := s.CreateCatalog(ctx, store.Global, "kit", "Tools for a start.", true, by)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.AddEntry(ctx, store.Global, kit.ID, "find_parts", "", by); err != nil {
		log.Fatal(err)
	}
	tools, err := s.Tools(ctx, kit.ID)
	fmt.Println(kit.Name, tools, err)

	events, _, err := s.Events(ctx, store.Page[int64]{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Printf("%s: %s: %s\n", e.Principal, e.Action, e.Object)
	}
	// Output:
	// kit [find_parts] <nil>
	// ada: create catalog: catalog 1 "kit", global
	// ada: create entry: entry find_parts of catalog 1
}
