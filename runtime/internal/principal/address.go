package principal

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress returns the address that a request comes from: the peer's, or the one that trusted
// proxies forward in X-Forwarded-For. It is invalid if the peer has no IP address.
//
// Each proxy appends the address of its own client, so the header is read from the right. What is
// left of the first address that is not trusted is the client's own text, and does not count. Empty
// parts are skipped (RFC 9110, section 5.6.1).
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	addr, _ := parseAddress(r.RemoteAddr)
	for _, line := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for cut := len(line); cut >= 0; {
			line = line[:cut]
			cut = strings.LastIndexByte(line, ',')
			part := strings.TrimSpace(line[cut+1:])
			if part == "" {
				continue
			}
			isTrusted := func(p netip.Prefix) bool { return p.Contains(addr) }
			next, ok := parseAddress(part)
			if !ok || !slices.ContainsFunc(trusted, isTrusted) {
				return addr
			}
			addr = next
		}
	}
	return addr
}

// parseAddress reads an IP address, with or without a port. An IPv6 address may have brackets
// without a port too. An IPv4 address has one form.
func parseAddress(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if strings.HasSuffix(text, "]") {
			text += ":0"
		}
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(text)
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), err == nil
}

// Address names what a request comes from: an IPv4 address, or an IPv6 network of 64 bits.
func (a *Authenticator) Address(r *http.Request) string {
	return countedAs(clientAddress(r, a.TrustedProxies))
}

// countedAs names what an address is counted as: itself, or its /64, which is one IPv6 network.
func countedAs(addr netip.Addr) string {
	if !addr.IsValid() {
		return "unknown address"
	}
	if addr.Is6() {
		network, _ := addr.Prefix(64) // without an error for 64 bits
		return network.String()
	}
	return addr.String()
}
