// Package identity says who is calling, from the HTTP request that brought the call.
//
// A [Source] is asked once per request, and what it answers holds for that request alone:
// nothing is remembered from the creator of a session. [Bearer] asks a verifier about the
// request's bearer token; [Static] knows a fixed set of tokens by their hashes.
package identity

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Identity is a verified caller.
type Identity struct {
	// Principal is who calls. Its Subject must not be empty: an identity without one is refused.
	// So is one whose Issuer, Subject or Client is not UTF-8 or has a control character.
	Principal access.Principal
	// Roles are further names that the token or its mapping gives the caller. The highest
	// that the server's hierarchy knows, Principal.Role included, becomes the caller's role;
	// unknown names count as nothing.
	Roles []string
	// ClientItself says that the credential is an OAuth client's own, got with the client
	// credentials grant (RFC 6749, section 4.4), and acts for nobody else. Only then does
	// runtime.Options.ServiceUsers make the caller a user of the host, unless the mapping says that
	// it is for people as well. A source that cannot tell leaves it false: a person who comes by a
	// client is not that client.
	ClientItself bool
	// Scheme is how the caller was verified, in a word for people: "Bearer", "JWT", "mTLS". It may
	// be empty.
	Scheme string
	// Claims are what the credential says of the caller, as JSON knows values: for debug tools,
	// which mask what is secret in them, and for nothing that decides. nil where there are none.
	// Nobody changes it.
	Claims map[string]any
	// Value is for the handlers of the message (runtime.CallerValue), such as a credential for
	// calls to another service. The zero Value is none.
	Value Value
	// Expires is when the credential ends. Streams end with it. The zero time never ends.
	Expires time.Time
}

// OfClientItself reports whether a principal that somebody wrote down, with no credential to look
// at, is an OAuth client itself: its Subject is its Client, as RFC 9068, section 2.2 has it of the
// tokens that clients get for themselves.
func OfClientItself(p access.Principal) bool { return p.Client != "" && p.Subject == p.Client }

// Source tells the caller of a request.
//
// Identify returns an error that wraps [ErrNoCredentials] where the request carries none,
// and one that wraps [ErrInvalidToken] where it carries any that does not hold; both are
// answered with 401, and only the first is open to anonymous callers. Any other error, a
// panic, and taking longer than the server waits are answered with 503. What the error says
// goes to the server's log, never to the caller, so it must not contain the credential.
//
// Identify is called from many goroutines at once. Its request's context ends when the
// server no longer waits.
type Source interface {
	Identify(r *http.Request) (Identity, error)
}

// Immediate is a [Source] that answers from memory: it does not block, panic or change the request.
// The server calls it without a time limit and without a goroutine of its own. A source that embeds
// such a one and has an Identify of its own is one too, so that it must keep the promise.
type Immediate interface {
	Immediate()
}

// Checker is a [Source] that knows beforehand whether it can work. runtime.New asks it, so
// that a mistake is told at start and not by refusing everybody.
type Checker interface {
	Check() error
}

// Known is a [Source] whose principals are all written down beforehand. runtime.New looks at
// their roles, so that the start reports a
// misspelt role.
type Known interface {
	Principals() []access.Principal
}

// ReadySource is a [Source] that reports whether it can authenticate anybody. While it cannot, the
// server is not ready (runtime.Options.Readiness).
type ReadySource interface {
	Source
	// Ready returns nil if credentials can be checked now, and otherwise the reason. It may be
	// called from many goroutines at once.
	Ready(ctx context.Context) error
}

// UserNamer is a [Source] that knows beforehand whether its identities name users of the host
// (access.Principal.User). With permission-aware discovery runtime.New asks it: where no
// identity names one, and no client is mapped to one, nobody would see anything.
type UserNamer interface {
	NamesUsers() bool
}

// Issued is a [Source] that knows beforehand whose credentials it takes (access.Principal.Issuer).
// runtime.New compares the issuers of Options.ServiceUsers with it, and reports a misspelt one.
type Issued interface {
	Issuers() []string
}

// RoleMapper is a [Source] whose settings give callers roles of this server, whatever their
// credentials call them. runtime.New looks for them in its hierarchy, and reports a misspelt
// one.
type RoleMapper interface {
	MappedRoles() []string
}

// Protected is a [Source] whose credentials come from authorization servers that a client can
// find by itself. The server publishes what it says (RFC 9728) and points to it when it asks for
// a credential.
type Protected interface {
	Resource() Resource
}

// Resource describes a server to OAuth clients, in the terms of RFC 9728, section 2.
type Resource struct {
	// URL identifies the server: https, without query and fragment, the URL at which clients call
	// it. Required.
	URL string
	// AuthorizationServers are the issuers whose tokens are accepted. Empty is the issuers of an
	// oidc.Source, and for other sources an error of runtime.New.
	AuthorizationServers []string
	// Scopes are the scopes that a client may request. Leave out scopes that only hidden tools
	// need. Empty publishes none.
	Scopes []string
	// Name is for people. Empty publishes none.
	Name string
	// Documentation is a URL for people. Empty publishes none.
	Documentation string
}

var (
	// ErrNoCredentials says that the request carries no credential at all.
	ErrNoCredentials = errors.New("no credentials")
	// ErrInvalidToken says that the credential is malformed, unknown, expired or revoked.
	ErrInvalidToken = errors.New("invalid token")
)
