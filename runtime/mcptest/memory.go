package mcptest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Identities is a fake source of identities: principals by their bearer tokens, in clear text. A
// principal without a Subject gets the token as its Subject and the Issuer "mcptest".
//
// It also accepts the principals of [As]. Set it as runtime.Options.Identity in tests only.
type Identities map[string]access.Principal

// Roles returns Identities with one caller for each role. Its token is the name of the role.
// "Manager+Auditor" is a caller with both roles.
func Roles(roles ...string) Identities {
	ids := Identities{}
	for _, role := range roles {
		ids[role] = access.Principal{Roles: strings.Split(role, "+")}
	}
	return ids
}

// Identify implements identity.Source.
func (ids Identities) Identify(r *http.Request) (identity.Identity, error) {
	if !testing.Testing() {
		return identity.Identity{}, errors.New("mcptest.Identities is for tests only")
	}
	if c, ok := r.Context().Value(callerKey{}).(*caller); ok {
		c.identify()
		if c.principal.IsZero() {
			return identity.Identity{}, identity.ErrNoCredentials
		}
		return identityOf(c.principal), nil
	}
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		if _, known := ids[token]; !known {
			return identity.Identity{}, identity.ErrInvalidToken
		}
		return identityOf(ids.Principal(token)), nil
	}).Identify(r)
}

func identityOf(p access.Principal) identity.Identity {
	return identity.Identity{Principal: p, ClientItself: identity.OfClientItself(p),
		Scheme: "Bearer"}
}

// Principal returns the principal of a token as a server sees it.
func (ids Identities) Principal(token string) access.Principal {
	p := ids[token]
	if p.Subject == "" {
		p.Subject, p.Issuer = token, "mcptest"
	}
	return p
}

// Principals implements identity.PrincipalLister.
func (ids Identities) Principals() []access.Principal {
	var all []access.Principal
	for token := range ids {
		all = append(all, ids.Principal(token))
	}
	return all
}

// NamesUsers implements identity.UserNamer.
func (ids Identities) NamesUsers() bool { return true }

// ReadsMemoryOnly implements identity.MemoryReader.
func (ids Identities) ReadsMemoryOnly() {}

// callerKey is the key of the *caller in the context of a connection.
type callerKey struct{}

// caller is the principal of a connection in memory.
type caller struct {
	principal  access.Principal
	identify   func() // called as soon as the server has got the caller from Identities
	identified <-chan struct{}
}

func newCaller(p access.Principal) *caller {
	identified := make(chan struct{})
	return &caller{principal: p, identified: identified,
		identify: sync.OnceFunc(func() { close(identified) })}
}

// known reports whether a request has reached [Identities.Identify].
func (c *caller) known() bool {
	select {
	case <-c.identified:
		return true
	default:
		return false
	}
}

// As opens a session over HTTP for a principal, without a token and without a socket: client and
// server are net/http's, joined by net.Pipe. So it also works inside testing/synctest. The server's
// Options.Identity must be [Identities]. The zero principal is an anonymous caller. version is as
// in [Connect].
//
// As does not shut the server down when the test ends.
func As(t testing.TB, server *runtime.Server, principal access.Principal,
	version string) *mcp.ClientSession {
	t.Helper()
	c := newCaller(principal)
	url, client := inMemory(t, server, c)
	session, err := connectTo(&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client,
		MaxRetries: -1}, version)
	if !c.known() {
		t.Fatalf("mcptest: As needs a server whose Options.Identity is mcptest.Identities")
	}
	return opened(t, session, err, version)
}

// inMemory serves HTTP to one caller until the test ends, and returns the URL of the endpoint and a
// client that reaches it.
func inMemory(t testing.TB, server *runtime.Server, c *caller) (string, *http.Client) {
	url := memnet.Start(t, &http.Server{Handler: server.Handler(),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), callerKey{}, c)
		}})
	return url + server.Path(), &http.Client{Transport: localhost{}}
}

// localhost sends requests with this name as Host, which Options.HTTP.Hosts of a server may have.
type localhost struct{}

func (localhost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = "localhost"
	return memnet.Transport{}.RoundTrip(r)
}
