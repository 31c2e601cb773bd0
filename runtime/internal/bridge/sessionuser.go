package bridge

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// sessionUser identifies the user and client that a session belongs to. go-sdk refuses a message
// of another one. It is never empty, since go-sdk binds nothing to an empty user.
func sessionUser(p access.Principal) string {
	if p.Anonymous() {
		return "anonymous"
	}
	// The lengths keep any two callers apart.
	return fmt.Sprintf("principal %d:%s%d:%s%d:%s",
		len(p.Issuer), p.Issuer, len(p.Subject), p.Subject, len(p.ClientID()), p.ClientID())
}
