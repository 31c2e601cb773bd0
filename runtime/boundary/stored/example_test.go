package stored_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Boundaries of a store, for runtime.Options.Access.Boundaries.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "boundaries")
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
	agent := boundary.Party{Issuer: "https://id.example", Client: "dns-agent"}
	_, err = s.CreateBound(ctx, agent, boundary.Boundary{Roles: []string{"*"},
		Items: []string{"tool:list_records"}}, audit.Event{Principal: "setup"})
	if err != nil {
		log.Fatal(err)
	}

	boundaries := stored.New(s)
	agent.Subject = "ada"
	b, found, err := boundaries.Boundary(ctx, agent)
	fmt.Println(b.Items, found, err)
	// Output: [tool:list_records] true <nil>
}
