// Package transport reads messages over HTTP and stdio, and writes what the server sends. It knows
// bytes, headers and framing; package session answers the messages.
package transport

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	// BodyReadTimeout is how long a client may take to send a body, or to read a part of a
	// response.
	BodyReadTimeout = 30 * time.Second
	// StreamAfter is how long a call runs before its response becomes an event stream, so that its
	// client and proxies between get a status.
	StreamAfter       = 5 * time.Second
	maxHandshakeBytes = 64 << 10 // which is kept with the session
)

// Config is what the transports read.
type Config struct {
	Sessions                     *session.Server
	Guard                        *guard.Guard
	Authenticator                *principal.Authenticator
	Rights                       principal.Rights
	Observer                     *guard.Observer
	Active                       *worker.Group
	Ready                        *Readiness
	Log                          *slog.Logger
	Masker                       redact.Masker
	Facts                        *request.Server
	Anonymous                    bool // callers without credentials are admitted
	Closed                       bool // no caller can be admitted
	Challenges                   bool // a refusal can be an HTTP status
	AllowedOrigins, AllowedHosts []string
	MaxBodyBytes                 int64
	SessionTimeout               time.Duration
	StdioValue                   func(context.Context) (identity.Value, error) // nil for none
	Limits                       session.Limits
	BodyReadTimeout, StreamAfter time.Duration
	KeepAlive                    time.Duration // after which a quiet stream gets a comment
	Recheck                      time.Duration // between two checks of an open stream's credential
	Events                       *resume.Store // of sessions over HTTP
	// Catalog is what a message over a stream asks for if it names no catalog.
	Catalog request.CatalogQuery
}

// Handler is the MCP endpoint. Each has sessions of its own.
type Handler struct {
	Config
	table  *session.Table
	passes []step // steps
	// detaches reports that a call may close the stream of its response before its end.
	detaches bool
	unread   *unread
	refusals refusals
	replies  sync.Map          // the streams of calls that a client may resume, by id
	reading  *worker.Deadlines // of bodies
	waiting  *worker.Deadlines // of replies, which become streams
	quiet    *worker.Deadlines // of streams
	rechecks *worker.Deadlines // of the credentials of streams
	exposed  sync.Once         // warns once that host names are not checked
}

// NewHandler returns the MCP endpoint.
func NewHandler(c Config) *Handler {
	if c.Closed {
		c.Log.Error("the server refuses every HTTP request: set Options.Identity, or " +
			"Options.Anonymous to serve only the public tools")
	}
	h := &Handler{Config: c, unread: newUnread(c.Active, c.BodyReadTimeout),
		table:   c.Sessions.NewTable(c.Limits, c.SessionTimeout),
		reading: worker.NewDeadlines(c.BodyReadTimeout),
		waiting: worker.NewDeadlines(c.StreamAfter), quiet: worker.NewDeadlines(c.KeepAlive),
		rechecks: worker.NewDeadlines(c.Recheck)}
	h.passes, h.detaches = h.steps(), c.Sessions.Detaches()
	return h
}

// visit is one HTTP request on its way to the guard.
type visit struct {
	w       *responseWriter // often its own
	r       *http.Request
	info    *request.Info      // nil until the caller is known
	valued  *identity.Identity // of a caller with a value
	message wire.Checked       // of a POST
	version string             // in the header; empty for none
	modern  bool               // it has no session: its version is 2026-07-28 or later
	session *session.Session   // nil for a handshake, and for a message without a session

	json, stream  bool // the content types that the client accepts
	prefersStream bool

	own   responseWriter
	body  reading
	reply reply
}

// step lets a request through, or answers it and returns false.
type step func(*visit) bool

// steps are what a request passes before the guard, in their order. Where the order matters, the
// line states why the step has its place, and the test that fails without it.
func (h *Handler) steps() []step {
	return []step{
		// A page of another site gets no data, and has no token to show.
		// TestRequestsOfOtherSitesAreRefused
		h.checkOrigin,
		// A preflight has no credential. TestPreflight
		h.respondCORS,
		// Nothing begins in a shutdown, and what has begun is waited for. TestShutdownRefusesNewCalls
		h.admit,
		// Two readers of a header that is sent twice could take different values.
		// TestRepeatedHeadersAreRefused
		h.checkRepeated,
		// Nothing that the client sends is read before its caller is known.
		// TestUnauthenticatedBodyIsNotRead
		h.authenticate,
		h.checkMethod,
		// A caller who does not read gets no further responses. TestUserWhoDoesNotReadIsBounded
		h.limitUnread,
		h.readMessage,
		// A refusal has the id of the request. TestScenarios/fault-accept
		h.readAccept,
		h.describe,
		// An unknown user of the host cannot tell whether a session exists.
		// TestScenarios/host-strangers
		h.attachHost,
		// The version decides whether the message has a session, and its own checks.
		// TestScenarios/fault-versions
		h.checkVersion,
		// A session belongs to one user, client and actor. TestScenarios/sessions-foreign
		h.findSession,
		h.describeClient,
	}
}

// ServeHTTP implements http.Handler. A stream that lasts waits here, with a shallow stack and
// without its visit: most of what a server with many streams has in memory are streams that wait.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s, lasts := h.begin(w, r); lasts != nil {
		h.last(s, r, lasts)
	}
}

// begin answers a request. For one that lasts, what comes after is not done yet.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request) (s *responseWriter, lasts func()) {
	v := &visit{r: r}
	if s = &v.own; r.Method == http.MethodGet {
		s = &responseWriter{} // the stream keeps it
	}
	s.ResponseWriter, s.unread, v.w = w, h.unread, s
	defer func() {
		if lasts == nil { // otherwise it is no refusal, and others write its response
			h.countRefused(v)
			h.leave(s, r, v.body.bounded())
		}
	}()
	defer h.recoverPanic(s, r)
	for _, passes := range h.passes {
		if !passes(v) {
			return s, nil
		}
	}
	switch {
	case r.Method == http.MethodGet:
		return s, h.get(v)
	case r.Method == http.MethodDelete:
		h.table.Drain(r.Context(), v.session)
		s.WriteHeader(http.StatusNoContent)
	case v.message.Method == "":
		v.session.Respond(v.message)
		s.WriteHeader(http.StatusAccepted)
	default:
		return s, h.post(v)
	}
	return s, nil
}

// last waits for the end of a request that lasts.
func (h *Handler) last(s *responseWriter, r *http.Request, lasts func()) {
	defer h.leave(s, r, r.Method == http.MethodPost)
	defer h.recoverPanic(s, r)
	lasts()
}

// leave ends a request. bounded reports that the rest of its body needs no limit.
func (h *Handler) leave(s *responseWriter, r *http.Request, bounded bool) {
	// net/http may read the rest of the body first, and removes the deadline at the end.
	defer s.extend(h.BodyReadTimeout)
	defer func() {
		if (s.refused || s.status >= http.StatusBadRequest) && !s.served {
			h.Observer.TurnedAway(r.Context(), s.status)
		}
	}()
	defer s.end()
	// Before any answer leaves, since net/http reads the rest of the body before it.
	// TestBodyThatDoesNotComeIsAnsweredInTime
	h.limitRest(s, r, bounded)
}

// recoverPanic answers a request whose handling panicked. It is deferred.
func (h *Handler) recoverPanic(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		h.Log.ErrorContext(r.Context(), "the transport panicked",
			"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}

// ServeAdmin returns next behind the endpoint's checks of Host and Origin.
func (h *Handler) ServeAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &responseWriter{ResponseWriter: w, unread: h.unread}
		defer h.recoverPanic(w, r)
		if v := (&visit{w: s, r: r}); h.checkOrigin(v) && h.admit(v) {
			defer s.end()
			next.ServeHTTP(w, r)
		}
	})
}
