// Package identity authenticates the caller of an HTTP request.
//
// A server calls its [Source] once for each request, and the result holds for that request alone: a
// session does not keep the identity of its creator. [Bearer] checks bearer tokens with a function
// of yours, [Static] has a fixed set of tokens, and package oidc verifies the tokens of an OpenID
// provider.
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
	// Principal is the caller. An identity with an empty Subject is refused. So is one whose Issuer,
	// Subject or Client is not UTF-8 or has a control character. The server removes roles that its
	// hierarchy does not have.
	Principal access.Principal
	// ClientItself reports that the credential is an OAuth client's own, from the client credentials
	// grant (RFC 6749, section 4.4), and acts for nobody else. runtime.Options.Host.ServiceUsers
	// applies to such callers, and to others only with Delegated. A source that does not know leaves
	// it false: a person who signs in by a client is not that client.
	ClientItself bool
	// Scheme names the kind of credential for people: "Bearer", "JWT", "mTLS". It may be empty.
	Scheme string
	// Claims are the claims of the credential, as JSON values. Debug tools show them, with secrets
	// masked. No decision reads them. They may be nil, and must not be changed afterwards.
	Claims map[string]any
	// Value is for the handlers of the message (runtime.CallerValue), such as a credential for
	// calls to another service. The zero Value is none.
	Value Value
	// Expires is when the credential ends. Streams end with it. The zero time never ends.
	Expires time.Time
}

// OfClientItself reports whether a principal without a credential, such as one of [Static], is an
// OAuth client itself: its Subject is its Client, as in the tokens that clients get for themselves
// (RFC 9068, section 2.2).
func OfClientItself(p access.Principal) bool { return p.Client != "" && p.Subject == p.Client }

// Source authenticates HTTP requests. Set it as runtime.Options.Identity.
//
// The error of Identify selects the response:
//
//   - one that wraps [ErrNoCredentials], for a request without a credential: 401, or with
//     runtime.Options.Anonymous the request of an anonymous caller
//   - one that wraps [ErrInvalidToken], for a credential that is malformed, unknown, expired or
//     revoked: 401
//   - any other error, a panic, and a call that exceeds runtime.Options.HTTP.IdentityTimeout: 503
//
// The text of the error goes to the server's log and never to the caller. It must not contain the
// credential.
//
// Identify is called from many goroutines at once. The context of its request ends when the server
// no longer waits. It must not read the body.
//
// Identify is called again with the request of a stream that is open, at each
// runtime.Options.Host.Recheck. ErrInvalidToken ends the stream. Other roles and
// scopes count from then on. While the source returns any other error, nothing is sent. A
// credential that is valid for one request alone ends each stream at the first check.
//
// The other interfaces of this package are optional: runtime.New checks whether a source has their
// methods too. A source that maps names in credentials to roles of the server may have the method
// MappedRoles() []string. runtime.New looks for these roles in the hierarchy, so that a misspelt
// role is an error at start. A source whose issuers may let clients register themselves may have
// the method OnRegistration(report func(issuer, field string)). It calls report once it has found
// that in the metadata of an issuer. With optional boundaries, the server then logs a warning.
type Source interface {
	// Identify returns the caller of a request, or an error as described for Source.
	Identify(r *http.Request) (Identity, error)
}

// MemoryReader is a [Source] that only reads memory: it does not block, panic or change the
// request. The server calls it without a time limit and in the goroutine of the request. The method
// is promoted: a source that embeds a MemoryReader, and has an Identify of its own, must keep the
// promise too.
type MemoryReader interface {
	// ReadsMemoryOnly does nothing. It marks the source.
	ReadsMemoryOnly()
}

// Checker is a [Source] that can check its settings.
type Checker interface {
	// Check returns an error that names each setting that cannot work. runtime.New calls it and
	// returns that error.
	Check() error
}

// PrincipalLister is a [Source] with a fixed set of principals.
type PrincipalLister interface {
	// Principals returns all of them. runtime.New checks their roles, so that a misspelt role is an
	// error at start.
	Principals() []access.Principal
}

// ReadySource is a [Source] that reports whether it can authenticate anybody. While it cannot, the
// server is not ready (runtime.Options.Observe.Readiness).
type ReadySource interface {
	Source
	// Ready returns nil if credentials can be checked now, and otherwise the reason. It may be
	// called from many goroutines at once.
	Ready(ctx context.Context) error
}

// UserNamer is a [Source] that knows whether its identities name users of the host
// (access.Principal.User).
type UserNamer interface {
	// NamesUsers reports that. With runtime.Options.Host.Source, runtime.New fails if no
	// identity names a user and no client is mapped to one: no caller would see anything.
	NamesUsers() bool
}

// IssuerLister is a [Source] with a fixed set of issuers (access.Principal.Issuer).
type IssuerLister interface {
	// Issuers returns them. runtime.New compares the issuers of Options.Host.ServiceUsers with them,
	// so that a misspelt issuer is an error at start.
	Issuers() []string
}

// ResourceDescriber is a [Source] whose credentials come from authorization servers that a client
// can find by the server's metadata (RFC 9728).
type ResourceDescriber interface {
	// Resource returns the metadata. The server publishes it, and links to it in the challenge of a
	// 401 response.
	Resource() Resource
}

// Resource describes a server to OAuth clients, in the terms of RFC 9728, section 2.
type Resource struct {
	// URL identifies the server: https, or http on a loopback address, without query and fragment.
	// It is the URL at which clients call the server. If a client's URL has the parameters catalog
	// or readonly, they are part of the resource that this client reads (see [CatalogQuery]).
	// Required.
	URL string
	// AuthorizationServers are the issuers whose tokens are accepted. Empty is the issuers of an
	// oidc.Source, and for other sources an error of runtime.New.
	AuthorizationServers []string
	// Scopes are the scopes that a client may request: scopes_supported, and scope in the challenge
	// of each 401 response. Everybody can read them, so leave out scopes that only hidden tools
	// need. Nil publishes those of tools, prompts and resources with denial=challenge, and an empty
	// list none.
	Scopes []string
	// Name is for people. Empty publishes none.
	Name string
	// Documentation is a URL for people. Empty publishes none.
	Documentation string
}

// The errors of a [Source], to be wrapped.
var (
	// ErrNoCredentials reports a request without a credential.
	ErrNoCredentials = errors.New("no credentials")
	// ErrInvalidToken reports a credential that is malformed, unknown, expired or revoked.
	ErrInvalidToken = errors.New("invalid token")
)
