package identity_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// A verifier looks a token up where the service keeps its tokens.
func ExampleBearer() {
	users := map[string]string{"4f6c1b": "mel"} // a table of sessions, say
	source := identity.Bearer(func(ctx context.Context, token string) (identity.Identity, error) {
		user, ok := users[token]
		if !ok {
			return identity.Identity{}, identity.ErrInvalidToken
		}
		return identity.Identity{Principal: access.Principal{
			Issuer: "shop", Subject: user, Roles: []string{"Member"}}}, nil
	})

	request, _ := http.NewRequest(http.MethodPost, "http://shop.example/mcp", nil)
	_, err := source.Identify(request)
	fmt.Println(errors.Is(err, identity.ErrNoCredentials))

	request.Header.Set("Authorization", "Bearer 4f6c1b")
	id, err := source.Identify(request)
	fmt.Println(id.Principal.Subject, id.Principal.Roles, err)

	request.Header.Set("Authorization", "Bearer other")
	_, err = source.Identify(request)
	fmt.Println(errors.Is(err, identity.ErrInvalidToken))
	// Output:
	// true
	// mel [Member] <nil>
	// true
}

// A configuration file contains the hash of each token, and not the token: HashToken makes it.
func ExampleStatic() {
	source := identity.Static(map[string]access.Principal{
		"sha256:b780ec04f0ac941421b556e74f31ff207f799c4ad119ea0178a81054b373b34b": {
			Subject: "ci", Client: "ci", Roles: []string{"Viewer"}}, // a client itself
	})

	request, _ := http.NewRequest(http.MethodPost, "http://shop.example/mcp", nil)
	request.Header.Set("Authorization", "Bearer a-long-random-token")
	id, err := source.Identify(request)
	fmt.Println(id.Principal.Subject, id.ClientItself, err)
	// Output:
	// ci true <nil>
}
