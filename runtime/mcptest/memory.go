package mcptest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
func Roles(roles ...string) Identities {
	ids := Identities{}
	for _, role := range roles {
		ids[role] = access.Principal{Role: role}
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

// Principals implements identity.Known.
func (ids Identities) Principals() []access.Principal {
	var all []access.Principal
	for token := range ids {
		all = append(all, ids.Principal(token))
	}
	return all
}

// NamesUsers implements identity.UserNamer.
func (ids Identities) NamesUsers() bool { return true }

// Immediate implements identity.Immediate.
func (ids Identities) Immediate() {}

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
	session, err := connectTo(&mcp.StreamableClientTransport{Endpoint: memoryURL(server),
		HTTPClient: inMemory(t, server, c), MaxRetries: -1}, version)
	if !c.known() {
		t.Fatalf("mcptest: As needs a server whose Options.Identity is mcptest.Identities")
	}
	return opened(t, session, err, version)
}

func memoryURL(server *runtime.Server) string { return "http://localhost" + server.Path() }

// inMemory serves HTTP to one caller until the test ends.
func inMemory(t testing.TB, server *runtime.Server, c *caller) *http.Client {
	l := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	web := &http.Server{Handler: server.Handler(), BaseContext: func(net.Listener) context.Context {
		return context.WithValue(context.Background(), callerKey{}, c)
	}}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = web.Close() // the error is that of closing the listener, which has none
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("mcptest: serving in memory: %v", err)
		}
	})
	return &http.Client{Transport: transport}
}

// memory is a net.Listener of connections by net.Pipe.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

func (l *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- loopback{server}:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memory) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *memory) Addr() net.Addr { return address }

// address is that of both ends: audit records and limits by address need one.
var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

type loopback struct{ net.Conn }

func (loopback) RemoteAddr() net.Addr { return address }
