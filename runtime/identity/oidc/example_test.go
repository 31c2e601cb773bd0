package oidc_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

func Example() {
	source := oidc.New(oidc.Options{
		Resource: identity.Resource{URL: "https://mcp.example/mcp"},
		Issuers: []oidc.Issuer{{
			URL: "https://login.example",
			Claims: oidc.Claims{
				Roles:     []string{"https://login.example/roles"},
				RoleNames: map[string]string{"netops": "Manager"},
			},
		}},
	})
	fmt.Println(source.Check())
	// Output:
	// oidc: Issuers[0].Claims.Roles[0] is "https://login.example/roles", whose dots would separate names: write "/https:~1~1login.example~1roles"
}
