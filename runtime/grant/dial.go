package grant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// Dialer connects to granted hosts. It is safe for concurrent use.
//
// It decides on a host name by name. Then it decides on the address that it is about to connect
// to, without another look-up: the address must be granted, itself or by a range, or be public
// (assigned for the Internet by the registries of RFC 6890). So a name that resolves to the
// loopback, to a private network or to a cloud's metadata service is denied, also if its address
// changes (DNS rebinding). A host in a private network needs two permissions: for its name and
// for its addresses.
type Dialer struct {
	// Decider decides. Its Roots are not used.
	Decider *Decider
	// Timeout limits the time for a connection, as the context does. Zero is 30 s.
	Timeout time.Duration
	// Resolver resolves names. Nil is the system's.
	Resolver *net.Resolver
}

// DialContext connects to a host and port, as [net.Dialer.DialContext] does, over "tcp" and "udp"
// with or without "4" and "6". A refusal is a [*Denied], or wraps one.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	default:
		return nil, fmt.Errorf("grant: connections over %q are not supported: use tcp or udp", network)
	}
	e, problem := pattern.ParseHostPort(address)
	if problem != "" {
		return nil, &Denied{Kind: NetConnect, Resource: address, Cause: Malformed, Reason: problem}
	}
	decision := d.Decider.decideEndpoint(e, address)
	if err := decision.Err(); err != nil {
		return nil, err
	}
	timeout := d.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	base := net.Dialer{Timeout: timeout, Resolver: d.Resolver}
	// Landlock and the counters of a sandbox cover TCP, and not multipath TCP.
	base.SetMultipathTCP(false)
	base.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		return d.Decider.decideAddress(e, address, resolved)
	}
	conn, err := base.DialContext(ctx, network, net.JoinHostPort(e.Host(), fmt.Sprint(e.Port)))
	if err != nil {
		if denied, ok := errors.AsType[*Denied](err); ok {
			return nil, denied
		}
		return nil, err
	}
	return conn, nil
}

// decideEndpoint decides on a host with its port, read from text.
func (d *Decider) decideEndpoint(e pattern.Endpoint, text string) Decision {
	return d.Decide(Query{Kind: NetConnect, Resource: net.JoinHostPort(e.Host(), fmt.Sprint(e.Port)),
		Named: text})
}

// decideAddress decides on the address that is about to be connected to for e. Its refusal does not
// contain the address, which the client may not know.
func (d *Decider) decideAddress(e pattern.Endpoint, named, resolved string) error {
	to, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &Denied{Kind: NetConnect, Resource: named, Cause: Malformed,
			Reason: "it does not resolve to an address with a port"}
	}
	addr := to.Addr().Unmap()
	if e.Name != "" { // whose bounds were decided on by name
		d = &Decider{Set: d.Set, Now: d.Now, Isolated: d.Isolated}
	}
	decision := d.decideEndpoint(pattern.Endpoint{Addr: addr, Port: to.Port()}, named)
	if decision.Allowed || e.Name == "" {
		return decision.Err()
	}
	if to.Port() == e.Port && isPublic(addr) {
		return nil
	}
	return &Denied{Kind: NetConnect, Resource: named, Cause: NotPublic,
		Reason: "the name resolves to an address that is not public; a grant for the address is also " +
			"required: ask an administrator"}
}

// special are the ranges that are not assigned for the Internet at large and that netip has no
// method for: the registries of RFC 6890, and the ranges by which an IPv4 address can be reached
// through IPv6.
var special = func() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range strings.Fields(`
		0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15
		198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
		2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16`) {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}()

// assigned for global unicast: RFC 4291, section 2.4
var assigned6 = netip.MustParsePrefix("2000::/3")

// isPublic reports whether an address is a public one of the Internet. Loopback, private,
// link-local and multicast addresses are not, and no range that the registries of RFC 6890 list
// as not globally reachable. Neither is an address that contains an IPv4 address.
func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Zone() != "" || addr.Is6() &&
		!assigned6.Contains(addr) {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// Client returns an HTTP client that connects with the dialer, for redirects too. It uses no
// proxy, because a proxy would make the connections. It keeps no connection for a later request.
func (d *Dialer) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:            d.DialContext,
		DisableKeepAlives:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
	}}
}
