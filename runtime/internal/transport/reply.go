package transport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// StreamAfter is how long a call runs before its response becomes an event stream, so that its
// client and proxies between get a status.
const StreamAfter = 5 * time.Second

// reply is the response to a message of the direct door: a JSON body, or an event stream from the
// first notification on. It is the [request.Conn] and the [request.Notifier] of its message.
type reply struct {
	*Handler
	request.Decision
	w    http.ResponseWriter
	info *request.Info
	id   string // of the message, as JSON

	mu     sync.Mutex
	timer  *time.Timer // that begins the stream
	stream bool        // an event stream has begun
	over   bool        // nothing more leaves
}

// newReply returns the reply to a message. If the message is decided, and not answered in time, the
// response becomes a stream. A refusal never is one.
func newReply(h *Handler, w http.ResponseWriter, info *request.Info, id string) *reply {
	r := &reply{Handler: h, w: w, info: info, id: id}
	r.mu.Lock() // the timer may be ahead
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(h.StreamAfter, func() {
		defer func() { _ = recover() }() // of a writer that the program has put around net/http's
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Decided() {
			_ = r.begin() // an error shows with the next write
		} else if !r.over {
			r.timer.Reset(h.StreamAfter)
		}
	})
	return r
}

// close ends the reply. Nothing leaves from then on.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.timer.Stop()
}

// Challenge implements [request.Conn].
func (r *reply) Challenge(authenticate string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.stream {
		return false
	}
	r.over = true
	r.w.Header().Set("WWW-Authenticate", authenticate)
	http.Error(r.w, "insufficient scope", http.StatusForbidden)
	return true
}

// Bind and Reserve are for messages that do not take the direct door.
func (r *reply) Bind(request.Session) bool { return false }

// Reserve implements [request.Conn].
func (r *reply) Reserve(request.User) (func(), int) { return nil, http.StatusServiceUnavailable }

//lint:ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28
type logMessage = mcp.LoggingMessageParams

// Log implements [request.Notifier].
func (r *reply) Log(_ context.Context, m *logMessage) error {
	return r.event(wire.Notification("notifications/message", m))
}

// NotifyProgress implements [request.Notifier].
func (r *reply) NotifyProgress(_ context.Context, p *mcp.ProgressNotificationParams) error {
	return r.event(wire.Notification("notifications/progress", p))
}

var errOver = errors.New("the response was sent, or the caller's credential has expired")

func (r *reply) event(text []byte, err error) error {
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.info.Expired() {
		return errOver
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.writeEvent(text)
}

// begin begins the stream. r.mu is held.
func (r *reply) begin() error {
	if r.over || r.stream {
		return nil
	}
	r.stream = true
	header := r.w.Header()
	header["Content-Type"], header["Cache-Control"] = eventStream, noCache
	r.w.WriteHeader(http.StatusOK)
	return http.NewResponseController(r.w).Flush()
}

func (r *reply) writeEvent(text []byte) error {
	out := make([]byte, 0, len(text)+24)
	out = append(append(append(out, "event: message\ndata: "...), text...), "\n\n"...)
	if _, err := r.w.Write(out); err != nil {
		return err
	}
	return http.NewResponseController(r.w).Flush()
}

// Shared values of response headers, which nobody writes to.
var (
	jsonBody    = []string{"application/json"}
	eventStream = []string{"text/event-stream"}
	noCache     = []string{"no-cache, no-transform"}
)

// finish writes the response, with a status of its own unless a stream has begun.
func (r *reply) finish(text []byte, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	r.timer.Stop()
	if r.info.Expired() { // while an event was waiting for the client
		text, status = wire.ErrorResponse(r.id, wire.Expired()), http.StatusOK
	}
	if r.stream {
		_ = r.writeEvent(text) // the client may be gone
		return
	}
	header := r.w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonBody, noCache
	if len(text) > 2<<10 { // net/http counts the bytes of smaller bodies
		header["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	if status != http.StatusOK {
		r.w.WriteHeader(status)
	}
	_, _ = r.w.Write(text) // the client may be gone
}
