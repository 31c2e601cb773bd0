package pattern

import (
	"net/netip"
	"strings"
)

// Endpoint is a host that a client names, or an address that is dialled.
type Endpoint struct {
	Name string     // in lower case; empty for an address
	Addr netip.Addr // unmapped
	Port uint16     // 0 if none is named
}

// ParseEndpoint reads a host and port, or a URL of http or https, whose port may be left out. It
// returns the problem if the text is neither.
func ParseEndpoint(text string) (Endpoint, string) {
	host := text
	var scheme uint16
	switch {
	case len(text) >= 8 && strings.EqualFold(text[:8], "https://"):
		host, scheme = text[8:], 443
	case len(text) >= 7 && strings.EqualFold(text[:7], "http://"):
		host, scheme = text[7:], 80
	default:
		if scheme, _, found := strings.Cut(text, "://"); found {
			return Endpoint{}, otherScheme(scheme)
		}
		return ParseHostPort(text)
	}
	// What is behind the host is of no concern, as long as every reader ends the host at the same
	// place. A user before it is no part of a name, and refused as such.
	if strings.ContainsAny(text, "\\\x00\t\r\n ") {
		return Endpoint{}, "a URL with a backslash, white space or NUL is ambiguous"
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	e, problem := ParseHostPort(host)
	if e.Port == 0 {
		e.Port = scheme
	}
	return e, problem
}

// otherScheme is the fault of a URL with an unsupported scheme, which it names if it is well-formed
// (RFC 3986, section 3.1).
func otherScheme(scheme string) string {
	if scheme == "" || len(scheme) > 32 || strings.Trim(strings.ToLower(scheme),
		"abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return "it is not an http or https URL"
	}
	return scheme + ": is not http or https"
}

// ParseHostPort reads "host", "host:port", "address" or "[address]:port".
func ParseHostPort(text string) (Endpoint, string) {
	host, rest := text, ""
	var e Endpoint
	bracketed := strings.HasPrefix(host, "[")
	if bracketed {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return Endpoint{}, "a bracket is not closed"
		}
		host, rest = host[1:end], host[end+1:]
	} else if i := strings.IndexByte(host, ':'); i >= 0 && strings.LastIndexByte(host, ':') == i {
		host, rest = host[:i], host[i:]
	}
	if rest != "" {
		port, err := parsePort(rest[1:])
		if rest[0] != ':' || err != nil {
			return Endpoint{}, "a port is a number from 1 to 65535"
		}
		e.Port = port
	}
	// The length keeps everyday names from the parser of addresses, whose errors allocate.
	if last := len(host) - 1; last >= 0 && (strings.IndexByte(host, ':') >= 0 ||
		host[last] >= '0' && host[last] <= '9') {
		if addr, err := netip.ParseAddr(host); err == nil {
			if addr.Zone() != "" {
				return Endpoint{}, "an address with a zone has a different meaning on each machine"
			}
			if bracketed && !addr.Is6() {
				return Endpoint{}, "the brackets do not contain an IPv6 address"
			}
			e.Addr = addr.Unmap()
			return e, ""
		}
	}
	if bracketed {
		return Endpoint{}, "the brackets do not contain an IPv6 address"
	}
	name, problem := hostName(host)
	if problem != "" {
		return Endpoint{}, problem
	}
	e.Name = name
	return e, ""
}

// Host returns the address or the name.
func (e Endpoint) Host() string {
	if e.Addr.IsValid() {
		return e.Addr.String()
	}
	return e.Name
}
