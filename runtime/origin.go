package runtime

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hostAllowed protects against DNS rebinding: a web page whose own name was made to point at
// this server sends that name in Host.
func (f *front) hostAllowed(r *http.Request) bool {
	host := hostName(r.Host)
	if len(f.opts.AllowedHosts) > 0 {
		return slices.ContainsFunc(f.opts.AllowedHosts, func(h string) bool { return strings.EqualFold(h, host) })
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || local == nil || !loopback(hostName(local.String())) {
		if f.opts.Anonymous {
			// Who sends a token is no web page of somebody else's; an anonymous caller may be.
			f.exposed.Do(func() {
				f.log.Warn("host names are not checked, and anonymous callers are admitted: set Options.AllowedHosts to the names of this server, " +
					"or web pages that rebind their own name to its address can call the public tools")
			})
		}
		return true
	}
	return loopback(host)
}

// originAllowed lets browsers in from the server's own pages and from Options.AllowedOrigins.
// Requests of other programs carry no Origin.
func (f *front) originAllowed(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	switch len(origins) {
	case 0:
		return true
	case 1:
	default:
		return false
	}
	if f.originListed(origins[0]) {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

func (f *front) originListed(origin string) bool {
	return slices.ContainsFunc(f.opts.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// crossOrigin speaks CORS to the pages of Options.AllowedOrigins, and answers their
// preflights (Fetch standard, CORS protocol). It reports whether the request is answered.
func (f *front) crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	if len(f.opts.AllowedOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !f.originListed(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", headerSession+", WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// What is asked for is allowed: the headers of the protocol grow with the tools (Mcp-Param-*).
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// hostName is a host without its port and brackets, in lower case.
func hostName(hostPort string) string {
	host := hostPort
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(host)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
