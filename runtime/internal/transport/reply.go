package transport

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// reply is the response to a request over HTTP: a JSON body, or an event stream from the first
// notification on, or for a result that the client prefers to get as a stream. It is the
// [request.Conn] and the [session.Out] of its message.
type reply struct {
	*Handler
	request.Decision
	info    *request.Info
	id      wire.ID
	session *session.Session // whose client may resume the stream; nil if it cannot
	streams bool             // the client takes a stream
	writer  *responseWriter  // is w, but in tests
	request *http.Request    // of the message
	// challenges reports that a refusal can be an HTTP status.
	challenges bool

	mu       sync.Mutex
	w        http.ResponseWriter
	deadline worker.Deadline // after which the stream begins
	stream   stream
	begun    bool          // an event stream has begun
	over     bool          // nothing more leaves
	resumes  bool          // the stream has begun, and its client may resume it
	detached chan struct{} // closed when the handler closes the stream; nil if it cannot
	replay   resume.Replay // decides about who resumes the stream; nil until it has begun
	reader   *request.Info // who has resumed the stream; nil for the connection of the message
}

// newReply returns the reply to a request. If the message is decided, and not answered in time, the
// response becomes a stream. A refusal never is one.
func newReply(h *Handler, v *visit) *reply {
	r := &v.reply
	r.Handler, r.w, r.info, r.id, r.streams = h, v.w, v.info, v.message.ID, v.stream
	r.writer, r.request = v.w, v.r
	r.stream = stream{lock: &r.mu, kept: h.Events, quiet: h.quiet}
	h.waiting.Begin(&r.deadline, r, time.Now())
	return r
}

// Reached implements [worker.Waiter].
func (r *reply) Reached() {
	go func() {
		defer func() { _ = recover() }() // of a writer that the program has put around net/http's
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Decided() {
			_ = r.begin() // an error shows with the next write
		} else if !r.over {
			r.waiting.Begin(&r.deadline, r, time.Now())
		}
	}()
}

// close ends the reply. Nothing leaves from then on.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.waiting.End(&r.deadline)
	r.stream.disconnect()
	if r.resumes {
		r.replies.Delete(r.stream.id)
		if r.resumes = false; r.session.Ended() { // perhaps before the stream was opened
			r.Events.SessionClosed(r.session.ID())
		}
	}
}

// Challenges implements [request.Conn].
func (r *reply) Challenges() bool { return r.challenges }

// Challenge implements [request.Conn].
func (r *reply) Challenge(authenticate string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.begun {
		return false
	}
	r.over = true
	r.w.Header().Set("WWW-Authenticate", authenticate)
	http.Error(r.w, "insufficient scope", http.StatusForbidden)
	return true
}

// Reserve implements [request.Conn]. A shutdown does not wait for the stream, which it ends.
func (r *reply) Reserve(u request.User) (release func(), status int) {
	if release, status = r.table.Reserve(u); release != nil {
		r.mu.Lock() // a record that took long may let the stream begin now
		defer r.mu.Unlock()
		r.writer.end()
	}
	return release, status
}

var (
	errOver = errors.New("the response was sent, or the caller's credential has expired")
	// errNoStream is for a message that needs a stream.
	errNoStream = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "the client takes no stream: send Accept: application/json, text/event-stream"}
)

// Event implements [session.Out].
func (r *reply) Event(text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.info.Silent() {
		return errOver
	}
	if !r.streams {
		return errNoStream
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.send(text)
}

// send sends an event. The caller who has resumed the stream is decided again: the boundary of its
// client may have changed. If this caller may not have the event, the connection ends, and the
// event is kept. r.mu is held.
func (r *reply) send(text []byte) error {
	if at := r.stream.at; r.reader != nil && at != nil {
		may := false
		if at.edit, may = r.replay(r.reader); !may {
			r.stream.disconnect()
		}
	}
	return r.stream.send(text)
}

// Notify implements [request.Notifier].
func (r *reply) Notify(method string, params any) error {
	return session.Notifier{Out: r}.Notify(method, params)
}

// begin begins the stream, unless the response has left. r.mu is held.
func (r *reply) begin() error {
	if r.over || r.begun || !r.streams {
		return nil
	}
	r.begun = true
	if r.session != nil {
		r.stream.sessionID, r.stream.id, r.resumes = r.session.ID(), rand.Text(), true
		r.replay = r.Guard.Replays(r.info)
		r.Events.Open(r.session.ID(), r.stream.id, request.UserOf(r.info.Principal), r.replay)
		r.replies.Store(r.stream.id, r)
	}
	r.stream.connect(r.w)
	if r.session != nil && r.info.Version >= request.NewestWithSessions { // which has empty events
		return r.stream.send(nil)
	}
	return r.stream.flush()
}

// Watch implements [request.Conn].
func (r *reply) Watch(f func(request.Standing, *request.Info)) (stop func()) {
	return r.watch(r.request, r.info, f)
}

func (r *reply) take(w http.ResponseWriter, index int,
	caller *request.Info) (taken <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.resumes {
		return nil
	}
	edit, may := r.replay(caller)
	if !may {
		return nil
	}
	if taken = r.stream.take(w, index, filter{edit: edit}); taken != nil {
		r.reads(caller)
	}
	return taken
}

func (r *reply) decided(w http.ResponseWriter, now *request.Info) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var f filter
	if now != nil {
		may := false
		if f.edit, may = r.replay(now); !may {
			return false
		}
		if at := r.stream.at; at != nil && at.w == w {
			r.reads(now)
		}
	}
	r.stream.decided(w, now == nil, f)
	return true
}

// reads keeps who reads the stream from now on, without the credential. r.mu is held.
func (r *reply) reads(caller *request.Info) {
	r.reader = &request.Info{Principal: caller.Principal, Userless: caller.Userless}
}

func (r *reply) leave(w http.ResponseWriter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.leave(w)
}

// detachable returns the func that ends the response before the call, and a channel that is closed
// then. The client resumes the stream after a time.
func (r *reply) detachable() (func(mcp.CloseSSEStreamArgs), <-chan struct{}) {
	detached := make(chan struct{})
	r.detached = detached
	return func(args mcp.CloseSSEStreamArgs) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.over || r.detached == nil || r.begin() != nil || r.stream.at == nil {
			return
		}
		retry := strconv.FormatInt(args.RetryAfter.Milliseconds(), 10)
		_, _ = r.stream.at.w.Write([]byte("event: close\nretry: " + retry + "\ndata: \n\n"))
		_ = r.stream.flush() // the client may be gone
		r.stream.disconnect()
		close(r.detached)
		r.detached = nil
	}, detached
}

// respond writes a response, as finish does, and frees its text unless that is kept.
func (r *reply) respond(text wire.Text, asStream bool, status int) {
	if !r.finish(text.JSON, asStream, status) {
		text.Free()
	}
}

// finish writes the response, with a status of its own unless a stream has begun or is preferred.
// It reports whether a writer that has failed may still read the text: HTTP/2 returns from a write
// when its stream ends, and may send the text later.
func (r *reply) finish(text []byte, asStream bool, status int) (kept bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	if r.info.Expired() { // while an event was waiting for the client
		text, status = wire.ErrorResponse(r.id, wire.Ended(r.info)), http.StatusOK
	}
	if asStream {
		_ = r.begin() // an error shows with the next write
	}
	r.over = true
	if r.begun && r.info.Blocked() {
		return false // the stream ends
	} else if r.begun {
		// A copy: a client may resume the stream, and the text's memory may be far larger than it.
		_ = r.send(bytes.Clone(text)) // the client may be gone
		return false
	}
	header := r.w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonBody, noCache
	if len(text) > 2<<10 { // net/http counts the bytes of smaller bodies
		header["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	if status == http.StatusServiceUnavailable {
		header["Retry-After"] = []string{"1"}
	}
	if status != http.StatusOK {
		r.w.WriteHeader(status)
	}
	_, err := r.w.Write(text) // the client may be gone
	return err != nil
}
