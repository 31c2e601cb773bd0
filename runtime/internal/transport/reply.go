package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// StreamAfter is how long a call runs before its response becomes an event stream, so that its
// client and proxies between get a status.
const StreamAfter = 5 * time.Second

// reply is the response to a message of the direct door: a JSON body, or an event stream from the
// first notification on, or for a result that the client prefers to get as a stream. It is the
// [request.Conn] and the [request.Notifier] of its message.
type reply struct {
	*Handler
	request.Decision
	w    http.ResponseWriter
	info *request.Info
	id   string // of the message, as JSON

	of *session // whose stream it is, if a client may resume it; nil for none

	mu     sync.Mutex
	timer  *time.Timer   // that begins the stream
	stream bool          // an event stream has begun
	over   bool          // nothing more leaves
	events string        // the id of the stream
	next   int           // the index of its next event
	ended  chan struct{} // closed with the stream, if a client may resume it
	taken  chan struct{} // closed when another connection takes the stream; nil for the first
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
	r.leave()
}

// resumable lets the session's client resume the stream, if the response becomes one.
func (r *reply) resumable(of *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = of
}

// leave ends a stream that a client may resume. r.mu is held.
func (r *reply) leave() {
	if r.ended != nil {
		r.of.mu.Lock()
		delete(r.of.live, r.events)
		r.of.mu.Unlock()
		close(r.ended)
		r.ended = nil
	}
}

// resume continues the stream of a call that is running, for a client that was disconnected. It
// reports false for all other streams, and for what go-sdk refuses.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request, of *session) bool {
	stream, index, ok := resume.Place(r.Header.Get("Last-Event-Id"))
	version := r.Header.Get(request.HeaderProtocolVersion)
	c := candidate{header: r.Header}
	if _, accepts := c.accepted(); !ok || !accepts ||
		version != "" && request.KnownVersion(version) == "" {
		return false
	}
	of.mu.Lock()
	re := of.live[stream]
	of.mu.Unlock()
	if re == nil {
		return false
	}
	ended, taken := re.take(w, index)
	if ended == nil {
		return false
	}
	select {
	case <-ended:
	case <-taken: // one request of a stream waits at a time
	case <-r.Context().Done():
	}
	re.mu.Lock() // no event is being written to w any more
	defer re.mu.Unlock()
	if re.w == w {
		re.w = nil
	}
	return true
}

// take sends the events after an index to another connection, and then all further ones until taken
// is closed: the next connection ends this one. It returns nil if the stream has ended, or the
// events are not kept.
func (r *reply) take(w http.ResponseWriter, index int) (ended, taken chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		return nil, nil
	}
	var missed [][]byte
	for data, err := range r.Events.After(context.Background(), r.of.ID(), r.events, index) {
		if err != nil {
			return nil, nil
		}
		missed = append(missed, data)
	}
	if r.taken != nil {
		close(r.taken)
	}
	r.w, r.taken = w, make(chan struct{})
	r.writeHeader()
	for i, data := range missed {
		_ = r.write(data, index+1+i) // an error shows with the next write
	}
	_ = http.NewResponseController(w).Flush()
	return r.ended, r.taken
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

// startStream begins the stream, unless the response has left.
func (r *reply) startStream() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.begin() // an error shows with the next write
}

// begin begins the stream. r.mu is held.
func (r *reply) begin() error {
	if r.over || r.stream {
		return nil
	}
	r.stream = true
	r.writeHeader()
	if r.of != nil {
		r.events, r.ended = rand.Text(), make(chan struct{})
		_ = r.Events.Open(context.Background(), r.of.ID(), r.events) // it never fails
		r.of.mu.Lock()
		r.of.live[r.events] = r
		r.of.mu.Unlock()
		if r.info.Version >= request.NewestWithSessions { // which has events without data
			return r.writeEvent(nil)
		}
	}
	return http.NewResponseController(r.w).Flush()
}

func (r *reply) writeHeader() {
	header := r.w.Header()
	header["Content-Type"], header["Cache-Control"] = eventStream, noCache
	r.w.WriteHeader(http.StatusOK)
}

// writeEvent writes an event. That of a stream that a client may resume is kept: then a connection
// that has ended is no error. r.mu is held.
func (r *reply) writeEvent(text []byte) error {
	index := r.next
	if r.next++; r.ended != nil {
		_ = r.Events.Append(context.Background(), r.of.ID(), r.events, text)
	}
	if r.w == nil {
		return nil
	}
	if err := r.write(text, index); err != nil && r.ended == nil {
		return err
	}
	if err := http.NewResponseController(r.w).Flush(); err != nil && r.ended == nil {
		return err
	}
	return nil
}

// write writes an event, of which an empty one names its place alone, as go-sdk does.
func (r *reply) write(text []byte, index int) error {
	out := make([]byte, 0, len(text)+64)
	if len(text) == 0 {
		out = append(out, "event: prime\n"...)
	} else {
		out = append(out, "event: message\n"...)
	}
	if r.events != "" {
		out = append(append(out, "id: "...), resume.ID(r.events, index)...)
		out = append(out, '\n')
	}
	out = append(append(append(out, "data: "...), text...), "\n\n"...)
	_, err := r.w.Write(out)
	return err
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
		r.leave()
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
