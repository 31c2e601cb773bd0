package transport

import (
	"bytes"
	"maps"
	"net/http"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// conn is the [request.Conn] of one HTTP message or of stdio. Its parts that are nil do nothing.
type conn struct {
	*heldResponse // nil if no refusal is a challenge
	*lease        // of the session that the request may open; nil for none
	sessions      *sessionLimiter
	bound         func(request.Session) // gets the session of a handshake
	stream        func()                // marks the response as a stream
}

// NewStdioConn returns the conn of one stdio connection. bound gets the session of its handshake.
func NewStdioConn(limits SessionLimits, bound func(request.Session)) request.Conn {
	return &conn{sessions: newSessionLimiter(limits), stream: func() {}, bound: bound}
}

// Bind gives the slot of the request to the session, and notes the session.
func (c *conn) Bind(s request.Session) bool {
	if !c.bind() {
		return false
	}
	c.bound(s)
	return true
}

func (c *conn) Reserve(u request.User) (release func(), status int) {
	if release, status = c.sessions.acquire(u); release != nil {
		c.stream()
	}
	return release, status
}

// heldResponse holds go-sdk's response until the guard has decided: a challenge is an HTTP status.
type heldResponse struct {
	w      http.ResponseWriter
	mu     sync.Mutex
	state  int            // holding, released or closed
	header http.Header    // as go-sdk sets it; it reaches w together with the first write
	writes []func() error // those that are held
}

const (
	holding  = iota
	released // go-sdk's response passes
	closed   // go-sdk's response is dropped: another one has left, or the request has ended
)

func (h *heldResponse) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != holding {
		return
	}
	h.state = released
	for _, write := range h.writes {
		_ = h.pass(write) // the next write fails too if the client has gone
	}
}

func (h *heldResponse) Challenge(authenticate string) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != holding {
		return false
	}
	h.state = closed
	h.w.Header().Set("WWW-Authenticate", authenticate)
	http.Error(h.w, "insufficient scope", http.StatusForbidden)
	_ = http.NewResponseController(h.w).Flush() // some writers cannot
	return true
}

// end releases a response without a decision, of go-sdk itself or to a notification.
func (h *heldResponse) end() {
	h.Release()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = closed
}

func (h *heldResponse) do(write func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.state {
	case released:
		return h.pass(write)
	case holding:
		h.writes = append(h.writes, write)
	}
	return nil
}

func (h *heldResponse) pass(write func() error) error {
	maps.Copy(h.w.Header(), h.header)
	return write()
}

func (h *heldResponse) Header() http.Header { return h.header }

func (h *heldResponse) WriteHeader(status int) {
	_ = h.do(func() error { h.w.WriteHeader(status); return nil })
}

func (h *heldResponse) Write(b []byte) (int, error) {
	b = bytes.Clone(b) // it may be held
	return len(b), h.do(func() error { _, err := h.w.Write(b); return err })
}

// FlushError is what http.ResponseController looks for.
func (h *heldResponse) FlushError() error {
	return h.do(func() error { return http.NewResponseController(h.w).Flush() })
}

// Unwrap lets http.ResponseController reach the connection, for deadlines.
func (h *heldResponse) Unwrap() http.ResponseWriter { return h.w }
