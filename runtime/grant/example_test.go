package grant_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// A client may use what its grants have, until they expire.
func ExampleSet_Decide() {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	set, err := grant.NewSet(grant.Grant{ID: "7", Client: "editor", Expires: now.Add(time.Hour),
		Permission: grant.Permission{Type: grant.FileRead, Resource: "docs/**",
			Unrestricted: true}})
	if err != nil {
		log.Fatal(err)
	}
	decide := func(at time.Time, path string) {
		d := set.Decide(at, grant.Query{Kind: grant.FileRead, Resource: path})
		if d.Allowed {
			fmt.Println(path + ": allowed")
		} else {
			fmt.Printf("%s: %s\n", path, d.Cause)
		}
	}
	decide(now, "docs/plan.md")
	decide(now, "keys/server.pem")
	decide(now.Add(2*time.Hour), "docs/plan.md")
	// Output:
	// docs/plan.md: allowed
	// keys/server.pem: no_grant
	// docs/plan.md: expired
}

// Grants in memory, for tests and for grants that a configuration has.
func ExampleNewMemory() {
	ctx := context.Background()
	grants := grant.NewMemory() // for runtime.Options.Grants.Source
	_, err := grants.Grant(ctx, grant.Grant{Client: "editor", By: "ada", Reason: "the release notes",
		Permission: grant.Permission{Type: grant.NetConnect, Resource: "api.example.com:443"}})
	if err != nil {
		log.Fatal(err)
	}
	held, _, err := grants.Grants(ctx, "", "editor")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(held[0].Permission, "by", held[0].By)
	// Output:
	// net.connect api.example.com:443 restricted by ada
}

// A handler takes the file that the server has opened and decided on.
func ExampleFile() {
	handler := func(ctx context.Context, path grant.Path) (int64, error) {
		file, err := grant.File(ctx, "path")
		if err != nil {
			return 0, err
		}
		info, err := file.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	_ = handler // with //mcp:tool minrole=Member and //mcp:allow file.read={path}
}
