// Package transport authenticates and validates messages over HTTP and stdio and passes them on.
package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/bridge"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	// BodyReadTimeout is how long a client may take to send a body, or to read a part of a
	// response.
	BodyReadTimeout   = 30 * time.Second
	maxHandshakeBytes = 64 << 10 // go-sdk keeps the client information with the session
)

// Config is what the transports read.
type Config struct {
	Bridge                       *bridge.Bridge
	Authenticator                *principal.Authenticator
	Host                         *principal.Host
	Observer                     *guard.Observer
	Active                       *worker.Group
	Ready                        *Readiness
	Log                          *slog.Logger
	Masker                       redact.Masker
	Anonymous                    bool // callers without credentials are admitted
	Closed                       bool // no caller can be admitted
	Challenges                   bool // a refusal can be an HTTP status
	AllowedOrigins, AllowedHosts []string
	MaxBodyBytes                 int64
	SessionTimeout               time.Duration
	StdioValue                   func(context.Context) (identity.Value, error) // nil for none
	Sessions                     SessionLimits
	BodyReadTimeout, StreamAfter time.Duration
	// Direct is the guard's chain without go-sdk's server; nil if every message passes through it.
	Direct guard.Next
	Guard  *guard.Guard
	Facts  *request.Server
	Events *resume.Store // of sessions over HTTP
	// Catalog is what a message over a stream asks for if it names no catalog.
	Catalog request.CatalogQuery
}

// Handler is the MCP endpoint. Each has sessions of its own.
type Handler struct {
	Config
	sdk      *bridge.HTTP
	sessions *sessionLimiter
	table    *sessionTable
	unread   *unread
	exposed  sync.Once // warns once that host names are not checked
}

// NewHandler returns the MCP endpoint.
func NewHandler(c Config) *Handler {
	if c.Closed {
		c.Log.Error("the server refuses every HTTP request: set Options.Identity, or " +
			"Options.Anonymous to serve only the public tools")
	}
	return &Handler{Config: c, sdk: c.Bridge.HTTP(c.MaxBodyBytes, c.Events),
		unread:   newUnread(c.Active, c.BodyReadTimeout),
		sessions: newSessionLimiter(c.Sessions),
		table:    newSessionTable(c.SessionTimeout, c.Bridge.EndQuestions)}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &statusRecorder{ResponseWriter: w, unread: h.unread}
	// net/http may read the rest of the body first, and removes the deadline at the end.
	defer s.extend(h.BodyReadTimeout)
	defer func() {
		if (s.refused || s.status >= http.StatusBadRequest) && !s.info.Begun() {
			h.Observer.TurnedAway(r.Context(), s.status)
		}
	}()
	defer h.recoverPanic(s, r)
	h.serve(s, r)
}

func (h *Handler) serve(w *statusRecorder, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		// Before any answer, because net/http reads the rest of the body after it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.BodyReadTimeout))
	}
	if !h.checkOrigin(w, r) || h.respondCORS(w, r) || !h.admit(w) {
		return
	}
	defer w.end()
	if name := repeatedHeader(r.Header); name != "" {
		http.Error(w, "the header "+name+" is sent more than once", http.StatusBadRequest)
		return
	}
	isPost := r.Method == http.MethodPost
	if !isPost && r.Method != http.MethodGet && r.Method != http.MethodDelete {
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	id, ok := h.authenticate(w, r)
	if !ok {
		return
	}
	if w.user = request.UserOf(id.Principal); id.Principal.Anonymous() {
		w.user.Issuer = h.Authenticator.Address(r) // they do not block each other
	}
	if isPost && h.unread.full(w.user) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "this caller leaves too many responses unread", http.StatusTooManyRequests)
		return
	}
	// go-sdk makes a session for every POST without one, whatever its message.
	version := r.Header.Get(request.HeaderProtocolVersion)
	inSession := version < request.Stateless
	opensSession := isPost && inSession && r.Header.Get(request.HeaderSession) == ""
	var checked wire.Checked
	if isPost {
		limit := h.MaxBodyBytes
		if opensSession {
			limit = min(limit, maxHandshakeBytes)
		}
		if checked, ok = h.readBody(w, r, limit); !ok {
			return
		}
	}
	info := request.NewHTTP(r, id)
	info.Catalog = wire.CatalogInHTTP(r, checked.Catalog, h.Masker)
	info.MessageID, info.Arguments, info.TaskIDs = checked.ID, checked.Arguments, checked.TaskIDs
	if !id.Value.IsZero() && request.RunsHandler(checked.Method) {
		info.Credential = credential.Hold(id, info.ID)
	}
	w.info = info
	attaching := r.Context()
	if isPost && inSession { // a call goes on when its connection has ended
		attaching = context.WithoutCancel(attaching)
	}
	if h.Host != nil && h.Host.Attach(attaching, info) != nil {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	var of *session
	if inSession && !opensSession {
		of = h.table.find(r.Header.Get(request.HeaderSession), request.OwnerOf(info.Principal))
	}
	switch {
	case r.Method == http.MethodGet:
		w.end() // a stream ends with its session; a shutdown does not wait for it
		if of != nil {
			defer h.Guard.Changes.Stream(of.Session)()
		}
		if !id.Expires.IsZero() {
			ctx, cancel := context.WithDeadline(r.Context(), id.Expires)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if of != nil && h.resume(w, r, of) {
			return
		}
	case of != nil && isPost:
		of.enter()
		defer of.leave()
	case of != nil && (version == "" || request.KnownVersion(version) != ""):
		of.drain(r.Context()) // otherwise go-sdk refuses to end the session
	}
	if isPost && h.serveDirect(w, r, info, checked, of) {
		return
	}
	release, status := of.pass(checked)
	if status != 0 {
		refuse(w, checked, status)
		return
	}
	defer release()
	if isPost {
		r.Body = io.NopCloser(bytes.NewReader(checked.Body))
		r.ContentLength = int64(len(checked.Body))
	}
	h.serveSDK(w, r, info, opensSession)
}

// serveDirect answers a message by the direct door. It reports false for a message that has to take
// the other one.
func (h *Handler) serveDirect(w http.ResponseWriter, r *http.Request, info *request.Info,
	checked wire.Checked, of *session) bool {
	if of != nil && checked.Method == "notifications/cancelled" {
		if id, ok := wire.ID(checked.Params.Member("requestId")); ok {
			of.cancel(id)
		}
		return false
	}
	c := candidate{Checked: checked, info: info, header: info.Header}
	if of != nil {
		c.session = of.Session
	}
	if h.Direct == nil || !c.passes() {
		return false
	}
	m := c.message(h.Facts)
	if needsSDK(h.Guard, m) {
		return false
	}
	ctx := r.Context()
	if of != nil {
		// In versions with sessions a call goes on when its connection has ended.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		if !of.begin(c.ID, cancel) {
			return false
		}
	}
	ended := of == nil
	end := func() {
		if !ended {
			ended = true
			of.end(c.ID)
		}
	}
	defer end() // also if the program's log handler panics
	re := newReply(h, w, info, c.ID)
	if of != nil {
		re.resumable(of)
	}
	defer re.close()
	info.Conn, info.Notifier, info.CanChallenge = re, re, h.Challenges
	a, err := h.Direct(ctx, m)
	end() // before the response leaves: then the client may use the id again
	if err == nil && c.prefersStream() {
		re.startStream()
	}
	re.finish(c.response(a, err), wire.ErrorStatus(err, c.Call.Version))
	return true
}

// refuse answers a call as go-sdk does: with 404 if its session ends, and with 400 if its id is in
// flight.
func refuse(w http.ResponseWriter, checked wire.Checked, status int) {
	if status == http.StatusNotFound {
		http.Error(w, "session not found", status)
		return
	}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonBody, noCache
	w.WriteHeader(status)
	text := wire.ErrorResponse(checked.ID, wire.DuplicateID(checked.ID))
	_, _ = w.Write(text) // the client may be gone
}

// serveSDK answers a request by go-sdk's server.
func (h *Handler) serveSDK(w *statusRecorder, r *http.Request, info *request.Info,
	opensSession bool) {
	var slot *lease
	if opensSession {
		if slot = h.acquire(w, r, info); slot == nil {
			return
		}
		defer slot.leave(ofRequest)
	}
	c := &conn{lease: slot, sessions: h.sessions, stream: w.end,
		bound: func(s request.Session) {
			h.Events.Own(s.ID(), request.UserOf(info.Principal))
			h.table.add(s, request.OwnerOf(info.Principal), slot)
		}}
	info.Conn = c
	if !h.Challenges || r.Method != http.MethodPost {
		h.sdk.Serve(w, r, info)
		return
	}
	info.CanChallenge = true
	c.heldResponse = &heldResponse{w: w, header: http.Header{}}
	defer c.heldResponse.end()
	h.sdk.Serve(c.heldResponse, r, info)
}

// decidingHeaders decide something: sent twice, two readers could take different ones.
var decidingHeaders = append([]string{"Mcp-Name", "Mcp-Method", "Mcp-Protocol-Version",
	"Mcp-Session-Id", "Mcpgen-Catalog", "Last-Event-Id"}, request.CredentialHeaders[:]...)

// repeatedHeader returns the name of a deciding header that is sent more than once, the first one
// by name; empty for none.
func repeatedHeader(header http.Header) (first string) {
	for name, values := range header {
		if len(values) > 1 && (first == "" || name < first) &&
			(slices.Contains(decidingHeaders, name) || strings.HasPrefix(name, "Mcp-Param-")) {
			first = name
		}
	}
	return first
}

// acquire takes a slot for a session, if need be that of an idle session of the same user.
func (h *Handler) acquire(w http.ResponseWriter, r *http.Request, info *request.Info) *lease {
	user := request.UserOf(info.Principal)
	release, status := h.sessions.acquire(user)
	for status == http.StatusTooManyRequests && h.table.giveUp(r.Context(), user) {
		release, status = h.sessions.acquire(user)
	}
	if release != nil {
		return &lease{release: release}
	}
	h.Log.WarnContext(r.Context(),
		"no session is available: see Options.MaxSessions and Options.MaxUserSessions",
		"principal", info.Principal.Subject, "status", status)
	text := "too many sessions on this server: try again later"
	if status == http.StatusTooManyRequests {
		text = "too many sessions of this caller: end one with DELETE, or try again later"
	}
	w.Header().Set("Retry-After", "60")
	http.Error(w, text, status)
	return nil
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

// admit counts a request, or answers it if none is admitted. The caller ends what was counted.
func (h *Handler) admit(w http.ResponseWriter) bool {
	if h.Closed {
		http.Error(w, "no identity source is configured", http.StatusServiceUnavailable)
		return false
	}
	if !h.Active.Begin() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return false
	}
	return true
}

// ServeAdmin returns next behind the endpoint's checks of Host and Origin.
func (h *Handler) ServeAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer h.recoverPanic(w, r)
		if h.checkOrigin(w, r) && h.admit(w) {
			defer h.Active.End()
			next.ServeHTTP(w, r)
		}
	})
}

func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (identity.Identity, bool) {
	id, err := h.Authenticator.Authenticate(r)
	switch {
	case err == nil:
		return id, true
	case h.Anonymous && errors.Is(err, identity.ErrNoCredentials):
		return identity.Identity{}, true
	}
	refused := h.Authenticator.Refusal(r, err)
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	if refused.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refused.RetryAfter))
	}
	http.Error(w, refused.Reason, refused.Status)
	return identity.Identity{}, false
}

// readBody reads and validates a POST's body and puts it back, or answers the request.
func (h *Handler) readBody(w *statusRecorder, r *http.Request, limit int64) (wire.Checked, bool) {
	if !isJSON(r.Header.Values("Content-Type")) {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return wire.Checked{}, false
	}
	body, err := bodyOf(w, r, limit)
	if errors.As(err, new(*http.MaxBytesError)) {
		text := fmt.Sprintf("the body is larger than %d bytes", limit)
		http.Error(w, text, http.StatusRequestEntityTooLarge)
		return wire.Checked{}, false
	} else if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return wire.Checked{}, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	checked, refused := wire.CheckMessage(body, h.Masker)
	if refused != nil {
		w.refused = true
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.Status(r.Header.Get(request.HeaderProtocolVersion)))
		_, _ = w.Write(refused.Response(h.Masker)) // the client may be gone
		return wire.Checked{}, false
	}
	return checked, true
}

func bodyOf(w *statusRecorder, r *http.Request, limit int64) ([]byte, error) {
	var body bytes.Buffer
	// A client may declare a length and send less, so that a long one is not believed.
	body.Grow(int(min(max(r.ContentLength, 0), 16<<10)) + bytes.MinRead)
	// The server's own writer lets net/http close a connection whose body is too long.
	_, err := body.ReadFrom(http.MaxBytesReader(w.ResponseWriter, r.Body, limit))
	return body.Bytes(), err
}

func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, ok := params["charset"]
	return err == nil && media == "application/json" && (!ok || strings.EqualFold(charset, "utf-8"))
}

// statusRecorder notes the status of a request whose message does not reach the guard, and bounds
// in time how long its response waits for the client.
type statusRecorder struct {
	http.ResponseWriter
	status  int
	refused bool          // its message is malformed, which may be answered with 200
	info    *request.Info // nil until the message is known
	user    request.User  // of an anonymous caller, the address as its issuer
	ended   atomic.Bool   // what admit has counted
	unread  *unread
	cut     bool // its user leaves too much unread; unread.mu guards it
}

// end ends what admit has counted, once. In a shutdown the response leaves before.
func (s *statusRecorder) end() {
	if s.ended.CompareAndSwap(false, true) {
		if s.status != 0 && !s.unread.active.Open() {
			_ = s.FlushError() // some writers cannot
		}
		s.unread.active.End()
	}
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = cmp.Or(s.status, status)
	s.ResponseWriter.WriteHeader(status)
}

// Write writes large bodies in parts, each with a deadline of its own.
func (s *statusRecorder) Write(b []byte) (n int, err error) {
	s.status = cmp.Or(s.status, http.StatusOK)
	if len(b) <= largeBody {
		return s.ResponseWriter.Write(b)
	}
	defer s.unread.done(s.unread.wait(s, len(b)))
	for n < len(b) && err == nil {
		s.move()
		var part int
		part, err = s.ResponseWriter.Write(b[n:min(n+partSize, len(b))])
		n += part
	}
	return n, err
}

// FlushError is what http.ResponseController looks for.
func (s *statusRecorder) FlushError() error {
	defer s.unread.done(s.unread.wait(s, 0))
	s.move()
	c := http.NewResponseController(s.ResponseWriter)
	err := c.Flush()
	_ = c.SetWriteDeadline(time.Time{}) // a stream may wait: HTTP/2 would end it at the deadline
	return err
}

// move sets the deadline of the next part of a response that waits.
func (s *statusRecorder) move() {
	s.unread.mu.Lock()
	defer s.unread.mu.Unlock()
	s.extend(0)
}

// extend sets the deadline for what is written next, after a pause of the server's own. It has no
// effect on a writer without deadlines, which has that of the http.Server. For a response that
// waits, unread.mu is held.
func (s *statusRecorder) extend(pause time.Duration) {
	timeout := s.unread.timeout
	switch {
	case s.cut:
		timeout = 0
	case !s.unread.active.Open():
		timeout = min(timeout, flushTimeout)
	}
	_ = http.NewResponseController(s.ResponseWriter).
		SetWriteDeadline(time.Now().Add(pause + timeout))
}

func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
