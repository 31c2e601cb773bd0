package principal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Resolve returns an error if a principal that is known at start has no user of the host.
func (h *Host) Resolve(ctx context.Context, p access.Principal) error {
	itself := identity.OfClientItself(p)
	p = h.WithUser(p, itself)
	_, err := h.User(ctx, p)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, capability.ErrNoUser):
		return fmt.Errorf("user %q could not be looked up in the host: %w", p.User, err)
	}
	text := h.noUser(p, itself, err)
	_, mapped := h.serviceUser(p)
	switch {
	case p.User != "":
		text += ": correct the name, or create the user in the host"
	case !mapped:
		text += ": set its User, or map its Client in Options.Host.ServiceUsers and set Subject to the " +
			"Client's name, because users of a client are not that client"
	}
	return maskedError{text: text, is: []error{capability.ErrNoUser}}
}

// User returns the host's user of a principal.
func (h *Host) User(ctx context.Context, p access.Principal) (capability.User, error) {
	return callHost(ctx, h, func() (capability.User, error) {
		return h.Source.Resolve(ctx,
			p.Within())
	})
}

func (h *Host) withoutUser() string {
	if h.Anonymous {
		return "it is treated as an anonymous caller"
	}
	return "the server refuses it (403 over HTTP), because Options.Anonymous is not set"
}

// noUser describes why a principal has no user. itself reports that it is its client.
func (h *Host) noUser(p access.Principal, itself bool, err error) string {
	reason := strings.TrimSuffix(strings.TrimSuffix(err.Error(), capability.ErrNoUser.Error()), ": ")
	text := fmt.Sprintf("the host has no active user %q", p.User)
	if p.User == "" {
		if _, mapped := h.serviceUser(p); mapped && !itself {
			return fmt.Sprintf("Options.Host.ServiceUsers has client %q, but this is not the client's own "+
				"token. For a client's own token, have the verifier set identity.Identity.ClientItself, or "+
				"write a principal whose Subject is its Client. For users of the client, set Delegated",
				p.Client)
		}
		text = "it has no user of the host"
		if strings.Contains(reason, "has no user") {
			return text
		}
	} else if strings.HasSuffix(reason, fmt.Sprintf(" has no active user %q", p.User)) {
		return reason // it names the host
	}
	if reason == "" || reason == fmt.Sprintf("user %q", p.User) ||
		strings.HasSuffix(reason, fmt.Sprintf(": no active user %q", p.User)) {
		return text
	}
	return text + " (" + reason + ")"
}

func (h *Host) serviceUser(p access.Principal) (access.ServiceUser, bool) {
	if p.Client == "" {
		return access.ServiceUser{}, false
	}
	u, ok := h.users[client{p.Client, p.Issuer}]
	if !ok {
		u, ok = h.users[client{p.Client, ""}]
	}
	return u, ok
}
