package request

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// HTTP holds the facts about the HTTP request by which a message came.
type HTTP struct {
	Method, Path, Query string
	Scheme              string // of the credential, as the identity source names it
	Claims              map[string]any
	Context             context.Context // of this request, not of the one that opened the session
	withheld            []string
}

// CredentialHeaders are removed before anything behind the transport sees a request.
var CredentialHeaders = [...]string{"Authorization", "Proxy-Authorization", "Cookie",
	"X-Api-Key", "X-Auth-Token"}

// NewHTTP returns the facts about the message of an authenticated HTTP request.
func NewHTTP(r *http.Request, id identity.Identity) *Info {
	header := make(http.Header, len(r.Header))
	maps.Copy(header, r.Header) // the values are shared, and nobody writes to them
	i := New(id, header)
	i.HTTP = &HTTP{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Scheme: id.Scheme, Claims: id.Claims, Context: r.Context()}
	for _, name := range CredentialHeaders {
		if strings.Join(r.Header[name], "") != "" { // an empty one is shown as empty
			i.HTTP.withheld = append(i.HTTP.withheld, name)
			i.Header.Del(name)
		}
	}
	return i
}

// Withheld are the names of the credential headers that had a value.
func (h *HTTP) Withheld() []string { return h.withheld }

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
