package runtime

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

// noUser says why a principal is no user of the host, after an adapter's error that wraps
// capability.ErrNoUser. itself says that the principal is its client.
func (h *host) noUser(p access.Principal, itself bool, err error) string {
	says := strings.TrimSuffix(strings.TrimSuffix(err.Error(), capability.ErrNoUser.Error()), ": ")
	text := fmt.Sprintf("the host has no active user %q", p.User)
	_, mapped := h.serviceUser(p)
	switch {
	case p.User == "" && mapped && !itself:
		return fmt.Sprintf("Options.ServiceUsers has client %q, but this is not the client's own token: where it is, have the verifier say so (identity.Identity.ClientItself; a principal that is written down, by a Subject that is its Client); for people who come by the client, set Delegated", p.Client)
	case p.User == "":
		text = "it names no user of the host"
	case strings.HasSuffix(says, fmt.Sprintf(" has no active user %q", p.User)):
		return says // and says who has not
	}
	if says == "" || says == fmt.Sprintf("user %q", p.User) || strings.HasSuffix(says, fmt.Sprintf(": no active user %q", p.User)) || p.User == "" && strings.Contains(says, "names no user") {
		return text
	}
	return text + " (" + says + ")"
}

// noUserError is noUser with its cure, for an identity that is known beforehand.
func (h *host) noUserError(p access.Principal, itself bool, err error) error {
	text := h.noUser(p, itself, err)
	_, mapped := h.serviceUser(p)
	switch {
	case p.User != "":
		text += ": correct the name, or make the user in the host"
	case !mapped:
		text += ": set its User, or map its Client in Options.ServiceUsers and make the Subject the Client's name, too, since people who come by a client are not that client"
	}
	return wordedError{text: text, is: []error{capability.ErrNoUser}}
}

// serviceUser is the mapping for a principal's client, if there is one.
func (h *host) serviceUser(p access.Principal) (ServiceUser, bool) {
	if p.Client == "" {
		return ServiceUser{}, false
	}
	u, ok := h.users[client{p.Client, p.Issuer}]
	if !ok {
		u, ok = h.users[client{p.Client, ""}]
	}
	return u, ok
}
