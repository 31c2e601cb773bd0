package oidc_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

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
	// oidc: Issuers[0].Claims.Roles[0] is "https://login.example/roles", whose dots separate names: write "/https:~1~1login.example~1roles"
}

// A handler calls an API as its caller.
func ExampleExchange() {
	upstream, err := oidc.NewExchange(oidc.ExchangeOptions{
		TokenURL: "https://login.example/token",
		ClientID: "mcp", ClientSecret: os.Getenv("MCP_CLIENT_SECRET"),
		Target: oidc.Target{Audiences: []string{"https://api.example"}},
	})
	handler := func(ctx context.Context) (*http.Response, error) {
		return upstream.Client(ctx).Get("https://api.example/orders")
	}
	_, _ = handler, err
}

// Entra has a grant of its own.
func ExampleExchange_onBehalfOf() {
	upstream, err := oidc.NewExchange(oidc.ExchangeOptions{
		OnBehalfOf: true,
		TokenURL:   "https://login.microsoftonline.com/TENANT/oauth2/v2.0/token",
		ClientID:   "mcp", ClientSecret: os.Getenv("MCP_CLIENT_SECRET"),
		Target: oidc.Target{Scopes: []string{"https://graph.microsoft.com/User.Read"}},
	})
	_, _ = upstream, err
}
