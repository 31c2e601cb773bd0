package request

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// HTTP holds the facts about the HTTP request by which a message came. A nil HTTP has no header.
type HTTP struct {
	Method, Path, Query string
	Scheme              string // of the credential, as the identity source names it
	Claims              map[string]any
	Context             context.Context // of this request, not of the one that opened the session

	sent     http.Header // as the client has sent it; nobody writes to it
	once     sync.Once   // makes the others
	header   http.Header
	withheld []string
}

// CredentialHeaders are removed before anything behind the transport sees a request.
var CredentialHeaders = [...]string{"Authorization", "Proxy-Authorization", "Cookie",
	"X-Api-Key", "X-Auth-Token"}

// NewHTTP returns the facts about the message of an authenticated HTTP request.
func NewHTTP(r *http.Request, id identity.Identity) *Info {
	both := &struct {
		Info
		of HTTP
	}{of: HTTP{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Scheme: id.Scheme, Claims: id.Claims, Context: r.Context(), sent: r.Header}}
	both.identify(id)
	both.HTTP = &both.of
	return &both.Info
}

// Header returns the header without credentials. Nobody writes to it.
func (h *HTTP) Header() http.Header {
	if h == nil {
		return nil
	}
	h.once.Do(func() {
		h.header = maps.Clone(h.sent) // the values are shared
		for _, name := range CredentialHeaders {
			if strings.Join(h.sent[name], "") != "" { // an empty one is shown as empty
				h.withheld = append(h.withheld, name)
				delete(h.header, name)
			}
		}
	})
	return h.header
}

// Withheld are the names of the credential headers that had a value.
func (h *HTTP) Withheld() []string {
	_ = h.Header()
	return h.withheld
}

// trace returns the trace context of the request.
func (h *HTTP) trace() observe.TraceContext {
	if h == nil {
		return observe.TraceContext{}
	}
	return traceIn(h.sent)
}

// kept returns the facts without the credentials, for what outlives the request.
func (h *HTTP) kept() *HTTP {
	if h == nil {
		return nil
	}
	header := h.Header() // which sets withheld
	return &HTTP{Method: h.Method, Path: h.Path, Query: h.Query, Scheme: h.Scheme,
		Claims: h.Claims, Context: h.Context, sent: header, withheld: h.withheld}
}

// Transport names how the message came.
func (i *Info) Transport() string {
	if i.HTTP == nil {
		return observe.TransportStdio
	}
	return observe.TransportHTTP
}

// IsLoopback reports whether a host, without a port, is this computer.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
