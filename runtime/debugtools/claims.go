package debugtools

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// UserClaims contains the caller's authentication and claims.
type UserClaims struct {
	// Available is true if the call came over HTTP. If not, message contains the reason and the
	// other fields are empty.
	Available       bool `json:"available"`
	IsAuthenticated bool `json:"isAuthenticated"`
	// AuthenticationType is how the server verified the caller, such as Bearer or JWT.
	AuthenticationType string `json:"authenticationType"`
	Message            string `json:"message,omitempty"`
	// Claims by name, with secrets masked.
	Claims map[string]any `json:"claims"`
}

// Notes on claims that are not a credential's own.
const (
	nobody  = "The request has no credential: the caller is anonymous"
	derived = "The identity source provides no claims: these are the fields of its principal"
)

// GetUserClaims returns whether and how the caller was authenticated, and the claims of the
// credential, with secrets masked.
//
//mcp:tool readonly denial=conceal title="Your claims"
func (i *Inspector) GetUserClaims(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (
	*mcp.CallToolResult, UserClaims, error,
) {
	req, mask := i.look(ctx)
	out := UserClaims{Claims: map[string]any{}}
	if req.HTTP == nil {
		out.Message = noHTTP
		return indented(out)
	}
	out.Available, out.IsAuthenticated = true, req.HTTP.Authenticated
	out.AuthenticationType = mask.Text(req.HTTP.Scheme)
	switch {
	case !out.IsAuthenticated:
		out.Message = nobody
		return indented(out)
	case req.HTTP.Claims == nil:
		out.Message = derived
		caller, _ := runtime.Caller(ctx)
		req.HTTP.Claims = claimsOf(caller, req.HTTP.Expires)
	}
	out.Claims, _ = mask.Any(req.HTTP.Claims).(map[string]any)
	return indented(out)
}

// claimsOf returns the fields of a principal as claims, by their names in RFC 7519, RFC 7662 and
// RFC 8693; empty fields are left out.
func claimsOf(p access.Principal, expires time.Time) map[string]any {
	claims := map[string]any{"sub": p.Subject}
	for name, value := range map[string]string{
		"iss": p.Issuer, "client_id": p.Client, "username": p.User,
		"scope": strings.Join(p.Scopes, " "),
	} {
		if value != "" {
			claims[name] = value
		}
	}
	for name, values := range map[string][]string{"roles": p.Roles, "groups": p.Groups} {
		if len(values) > 0 {
			claims[name] = values
		}
	}
	for name, memberships := range map[string][]access.Membership{"orgs": p.Orgs, "teams": p.Teams} {
		var all []any
		for _, m := range memberships {
			all = append(all, map[string]any{"name": m.Name, "standing": string(m.Standing)})
		}
		if all != nil {
			claims[name] = all
		}
	}
	if !expires.IsZero() {
		claims["exp"] = expires.Unix()
	}
	return claims
}
