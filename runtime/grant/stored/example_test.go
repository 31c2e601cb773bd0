package stored_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Grants of a store, for runtime.Options.Grants.Source and admin.Options.Grants: a client requests
// a permission, and an administrator approves it.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "grants")
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

	grants := stored.New(s, stored.Options{})
	request, err := grants.Ask(ctx, grant.Request{Client: "editor", Principal: "mel",
		Reason:     "to read the plan",
		Permission: grant.Permission{Type: grant.FileRead, Resource: "docs/*", Unrestricted: true}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(request.Status, request.Permission)
	_, made, err := grants.Approve(ctx, request.ID, grant.Verdict{By: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Permission, "by", made.By)
	// Output:
	// open file.read docs/* unrestricted
	// file.read docs/* unrestricted by ada
}
