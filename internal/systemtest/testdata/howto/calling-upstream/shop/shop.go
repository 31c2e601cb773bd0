// Package shop has the excerpts of the page.
//
//mcp:server name=shop
package shop

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// Order is an order.
type Order struct {
	ID int64 `json:"id"`
}

// Shop is the receiver of the tools.
type Shop struct{ upstream *oidc.Exchange }

// Orders lists the caller's orders.
//
//mcp:tool authenticated readonly
func (s *Shop) Orders(ctx context.Context) ([]Order, error) {
	res, err := s.upstream.Client(ctx).Get("https://api.example/orders")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var orders []Order
	err = json.NewDecoder(res.Body).Decode(&orders)
	return orders, err
}

func exchanging() (*oidc.Exchange, runtime.Options, error) {
	upstream, err := oidc.NewExchange(oidc.ExchangeOptions{
		TokenURL:     "https://login.example/token",
		ClientID:     "mcp",
		ClientSecret: os.Getenv("MCP_CLIENT_SECRET"),
		Target: oidc.Target{
			Audiences: []string{"https://api.example"}, Scopes: []string{"orders:read"},
		},
	})
	return upstream, runtime.Options{
		Identity: oidc.New(oidc.Options{
			Resource:  identity.Resource{URL: "https://mcp.example/mcp"},
			Issuers:   []oidc.Issuer{{URL: "https://login.example"}},
			KeepToken: true,
		}),
	}, err
}

func entra() (*oidc.Exchange, error) {
	upstream, err := oidc.NewExchange(oidc.ExchangeOptions{
		OnBehalfOf:   true,
		TokenURL:     "https://login.microsoftonline.com/TENANT/oauth2/v2.0/token",
		ClientID:     "11111111-2222-3333-4444-555555555555",
		ClientSecret: os.Getenv("MCP_CLIENT_SECRET"),
		Target:       oidc.Target{Scopes: []string{"https://graph.microsoft.com/User.Read"}},
	})
	return upstream, err
}

// APIKey is a key of the API.
type APIKey struct{ Key string }

type source interface {
	Of(ctx context.Context, token string) (struct {
		Principal access.Principal
		Key       string
	}, error)
	Token(ctx context.Context) (string, error)
}

func valued(users, vault source) runtime.Options {
	return runtime.Options{
		Identity: identity.Bearer(func(ctx context.Context, token string) (identity.Identity, error) {
			user, err := users.Of(ctx, token)
			if err != nil {
				return identity.Identity{}, err
			}
			// The second argument names the secrets in it: the log and errors mask them.
			value := identity.NewValue(APIKey{user.Key}, user.Key)
			return identity.Identity{Principal: user.Principal, Value: value}, nil
		}),
		Protocol: runtime.ProtocolOptions{
			StdioValue: func(ctx context.Context) (identity.Value, error) {
				token, err := vault.Token(ctx)
				return identity.NewValue(identity.NewToken(token)), err
			},
		},
	}
}

func used(ctx context.Context, req *http.Request) bool {
	key, ok := runtime.CallerValue[APIKey](ctx)
	_ = key
	return ok
}

func passed(ctx context.Context, req *http.Request) bool {
	token, ok := runtime.CallerValue[identity.Token](ctx)
	if !ok {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	return true
}
