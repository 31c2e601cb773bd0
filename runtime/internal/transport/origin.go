package transport

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// checkOrigin refuses requests for other hosts, and of pages of other origins.
func (h *Handler) checkOrigin(v *visit) bool {
	w, r := v.w, v.r
	switch {
	case !h.hostAllowed(r):
		h.Log.InfoContext(r.Context(), "refused a request for another host: see Options.HTTP.Hosts",
			"host", h.Masker.TextWithin(r.Host, 256))
		http.Error(w, "host not allowed", http.StatusForbidden)
		return false
	case !h.originAllowed(r):
		origin := strings.Join(r.Header.Values("Origin"), ", ")
		h.Log.InfoContext(r.Context(), "refused a request from a page of another origin: see "+
			"Options.HTTP.Origins, or configure the proxy to forward Host",
			"origin", h.Masker.TextWithin(origin, 256), "host", h.Masker.TextWithin(r.Host, 256))
		http.Error(w, "origin not allowed", http.StatusForbidden)
		return false
	}
	return true
}

// hostAllowed protects against DNS rebinding: a page's own name that points here is in Host.
func (h *Handler) hostAllowed(r *http.Request) bool {
	host := HostName(r.Host)
	if len(h.AllowedHosts) > 0 {
		return slices.Contains(h.AllowedHosts, host)
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, isTCP := local.(*net.TCPAddr); isTCP && tcp.IP.IsLoopback() ||
		ok && !isTCP && request.IsLoopback(HostName(local.String())) {
		return request.IsLoopback(host)
	}
	if h.Anonymous { // as a page of another site, which has no token, can be
		h.exposed.Do(func() {
			h.Log.Warn("the server admits anonymous callers and does not check host names: set " +
				"Options.HTTP.Hosts to the names of this server. Otherwise web pages can call the public " +
				"tools by DNS rebinding")
		})
	}
	return true
}

// HostName returns a host without its port and brackets, in lower case.
func HostName(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
	}
	return strings.ToLower(host)
}

// originAllowed admits the server's own pages, Options.HTTP.Origins, and requests without Origin.
func (h *Handler) originAllowed(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) != 1 {
		return len(origins) == 0
	}
	u, err := url.Parse(origins[0])
	return h.originListed(origins[0]) ||
		err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") &&
			strings.EqualFold(u.Host, r.Host)
}

func (h *Handler) originListed(origin string) bool {
	return slices.ContainsFunc(h.AllowedOrigins, func(allowed string) bool {
		return strings.EqualFold(allowed, origin)
	})
}

// respondCORS adds CORS headers for Options.HTTP.Origins. It answers a preflight.
func (h *Handler) respondCORS(v *visit) bool {
	if len(h.AllowedOrigins) == 0 {
		return true
	}
	header, r := v.w.Header(), v.r
	origin := r.Header.Get("Origin")
	header.Add("Vary", "Origin")
	if origin == "" || !h.originListed(origin) {
		return true
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", request.HeaderSession+", WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// All headers are allowed: those of the protocol depend on the tools (Mcp-Param-*).
	if requested := r.Header.Get("Access-Control-Request-Headers"); requested != "" {
		header.Set("Access-Control-Allow-Headers", requested)
	}
	v.w.WriteHeader(http.StatusNoContent)
	return false
}
