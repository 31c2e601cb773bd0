package runtime

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// RequestInfo is what a handler may know of the request that it answers, besides its arguments and its [Caller]. Secrets
// in it are masked.
type RequestInfo struct {
	ID        string // as [RequestID] is
	TraceID   string // of W3C Trace Context, in hex; empty where there is none
	Transport string // TransportHTTP or TransportStdio
	Server    ServerInfo
	// Masker is the server's, Options.Masker.
	Masker redact.Masker
	HTTP   *HTTPRequest // nil on stdio
}

// HTTPRequest is the HTTP request by which a message came.
type HTTPRequest struct {
	Method, Path string
	// Query is the query string as it was sent, but for secrets.
	Query string
	// Header has a mask in the place of each credential.
	Header http.Header
	// Authenticated says that the caller was verified, and Scheme how, as the identity source names it: "Bearer",
	// "JWT". It is empty where the source does not say.
	Authenticated bool
	Scheme        string
	// Claims are what the credential says of the caller, where the identity source passes that on.
	Claims map[string]any
	// Expires is when the credential ends. The zero time never does.
	Expires time.Time
}

// RequestOf returns what a handler may know of its request, made anew by each call. It reports false outside of a
// call, and in a process of its own (isolate=process), which is not told.
func RequestOf(ctx context.Context) (RequestInfo, bool) {
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok || r.server == nil {
		return RequestInfo{}, false
	}
	mask := r.server.opts.Masker
	req := RequestInfo{ID: r.requestID, TraceID: r.traceID, Transport: r.transport(), Server: r.server.info, Masker: mask}
	if r.from == nil {
		return req, true
	}
	header := mask.Header(r.header)
	for i, name := range credentialHeaders {
		if r.from.withheld&(1<<i) != 0 {
			header[name] = []string{redact.Mask}
		}
	}
	req.HTTP = &HTTPRequest{
		Method: r.from.method, Path: mask.Text(r.from.path), Query: mask.Query(r.from.query), Header: header,
		Authenticated: !r.caller.Anonymous(), Scheme: r.from.scheme, Expires: r.expires,
	}
	if r.from.claims != nil {
		req.HTTP.Claims, _ = mask.Any(r.from.claims).(map[string]any)
	}
	return req, true
}

// origin is the HTTP request of a record.
type origin struct {
	method, path, query string
	withheld            uint8 // which of credentialHeaders were sent, a bit each
	scheme              string
	claims              map[string]any
	around              context.Context // the request's own; that of a message is the session's
}

func originOf(r *http.Request, id identity.Identity) origin {
	o := origin{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, scheme: id.Scheme, claims: id.Claims, around: r.Context()}
	for i, name := range credentialHeaders {
		if _, sent := r.Header[name]; sent {
			o.withheld |= 1 << i
		}
	}
	return o
}

// transport is how a message came.
func (r *record) transport() string {
	if r.from == nil {
		return TransportStdio
	}
	return TransportHTTP
}
