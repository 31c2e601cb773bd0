package bridge

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// HTTP is go-sdk's streamable HTTP handler, for all protocol versions.
type HTTP struct {
	sessions  http.Handler // versions up to 2025-11-25
	stateless http.Handler // 2026-07-28 and later
	masker    redact.Masker
}

// HTTP returns a handler with sessions of its own, which do not end as idle. Their events are kept.
func (b *Bridge) HTTP(maxBodyBytes int64, events *resume.Store) *HTTP {
	options := mcp.StreamableHTTPOptions{
		DisableLocalhostProtection:   true, // the transport's own check knows Options.AllowedHosts
		MaxRequestBodyBytes:          maxBodyBytes,
		PropagateRequestCancellation: true,
	}
	withoutSessions := options
	withoutSessions.Stateless = true
	options.EventStore = events
	return &HTTP{
		sessions:  mcp.NewStreamableHTTPHandler(b.server, &options),
		stateless: mcp.NewStreamableHTTPHandler(b.server, &withoutSessions),
		masker:    b.Facts.Masker,
	}
}

// Serve passes a request to go-sdk, with the facts about its message in TokenInfo. go-sdk takes
// that only from its own middleware, which needs a bearer token; it gets a placeholder.
func (h *HTTP) Serve(w http.ResponseWriter, r *http.Request, info *request.Info) {
	next := h.sessions
	if r.Header.Get(request.HeaderProtocolVersion) >= request.Stateless {
		next = h.stateless
	}
	r = r.WithContext(r.Context())
	r.Header = info.Header.Clone()
	r.Header.Set("Authorization", "Bearer verified")
	c := &carrier{info: info}
	options := &auth.RequireBearerTokenOptions{AllowMissingExpiration: true}
	auth.RequireBearerToken(verified(c), options)(next).
		ServeHTTP(&responseRewriter{ResponseWriter: w, carrier: c, masker: h.masker}, r)
}

// responseRewriter corrects four responses of go-sdk:
//
//   - The session of another user is 403 and one that does not exist is 404. Both become 404.
//     go-sdk has no other 403.
//   - Errors from before the guard repeat headers and names that the client invented. These are
//     masked.
//   - An error with an HTTP status of its own in 2026-07-28 is written as a body, also if an event
//     stream has begun. Then it becomes an event.
//   - The guard's error about a bound header (-32020) has status 200. It becomes 400 (SEP-2243).
type responseRewriter struct {
	http.ResponseWriter
	*carrier
	masker redact.Masker

	foreign bool
	refused bool
	events  bool // an event stream has begun
	late    bool // an error is written after that
}

// WriteHeader implements http.ResponseWriter.
func (w *responseRewriter) WriteHeader(status int) {
	switch {
	case w.events:
		w.late = status >= http.StatusBadRequest
		return
	case status == http.StatusForbidden:
		w.foreign = true
		http.Error(w.ResponseWriter, "session not found", http.StatusNotFound)
		return
	}
	if w.refused = status >= http.StatusBadRequest && !w.info.Begun(); w.refused {
		w.Header().Del("Content-Length")
	}
	w.noteStream(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseRewriter) noteStream(status int) {
	w.events = status == http.StatusOK &&
		strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
}

// Write implements http.ResponseWriter.
func (w *responseRewriter) Write(b []byte) (int, error) {
	out := b
	switch {
	case w.foreign:
		return len(b), nil
	case w.refused:
		out = []byte(w.masker.Text(string(b)))
	case !w.events && w.mismatch.Load(): // go-sdk writes the error as the one event of a stream
		_, text, _ := bytes.Cut(b, []byte("data: "))
		out = bytes.TrimSpace(text)
		w.Header().Set("Content-Type", "application/json")
		w.ResponseWriter.WriteHeader(http.StatusBadRequest)
	case w.late: // go-sdk writes the whole error at once, on one line
		out = append([]byte("event: message\ndata: "), bytes.TrimSpace(b)...)
		out = append(out, "\n\n"...)
	default:
		if !w.events {
			w.noteStream(http.StatusOK)
		}
		return w.ResponseWriter.Write(b)
	}
	if _, err := w.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseRewriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
