package front

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// AboutClient returns a short text about a client, for the audit.
func AboutClient(issuer, client string) string {
	if issuer == "" {
		return fmt.Sprintf("client %q", client)
	}
	return fmt.Sprintf("client %q of %s", client, issuer)
}

// AboutGrant returns a grant in one line, for the audit.
func AboutGrant(g grant.Grant) string {
	return "grant " + g.ID + " of " + AboutClient(g.Issuer, g.Client) + ": " + g.Permission.String()
}

// AboutRequest returns a request for a permission in one line, for the audit.
func AboutRequest(r grant.Request) string {
	return "request " + r.ID + " of " + AboutClient(r.Issuer, r.Client) + ": " + r.Permission.String()
}
