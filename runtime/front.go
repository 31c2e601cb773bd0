package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Where the handler answers.
const (
	PathMCP     = "/mcp"
	PathHealthz = "/healthz" // the process runs
	PathReadyz  = "/readyz"  // the server takes requests
	PathAPI     = "/api/v1/" // and below: Options.Admin
	PathConsole = "/console" // and below: Options.Admin
)

// bodyTimeout is how long a client may take to send a body.
const bodyTimeout = 30 * time.Second

const (
	headerSession         = "Mcp-Session-Id"
	headerProtocolVersion = "Mcp-Protocol-Version"
)

// credentialHeaders are taken out of a request before anything behind the front sees it.
var credentialHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Auth-Token"}

// front is the server on HTTP: who is calling is settled here, and what is behind it reads
// only the carrier.
type front struct {
	*Server
	sessions  http.Handler // protocols up to 2025-11-25
	stateless http.Handler // 2026-07-28 and later
	seats     *seats
	exposed   sync.Once // says once that hosts are not checked
}

// Handler returns the server on HTTP: every protocol version at [PathMCP], and the health of
// the process at [PathHealthz] and [PathReadyz], which ask for no credential. The first says that it runs; the second, that it takes
// requests: it does not before Options.Identity or Options.Anonymous admits somebody, while one of Options.Readiness fails, and from
// [Server.Shutdown] on. The older
// HTTP+SSE transport is not offered.
//
// Without Options.Identity and Options.Anonymous nobody could be admitted: the handler then
// answers 503 and the log says what to set.
//
// Each handler has sessions of its own, so one is made for all listeners. Serve it by an
// http.Server with a ReadHeaderTimeout and without a WriteTimeout, which would cut streams off.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *mcp.Server { return s.mcp }
	options := mcp.StreamableHTTPOptions{
		SessionTimeout:               s.opts.SessionTimeout,
		DisableLocalhostProtection:   true, // the front's own check knows Options.AllowedHosts
		MaxRequestBodyBytes:          s.opts.MaxBodyBytes,
		PropagateRequestCancellation: true,
	}
	withoutSessions := options
	withoutSessions.Stateless = true
	f := &front{
		Server:    s,
		sessions:  mcp.NewStreamableHTTPHandler(server, &options),
		stateless: mcp.NewStreamableHTTPHandler(server, &withoutSessions),
		seats:     newSeats(s.opts),
	}
	if f.closed() {
		s.log.Error("the server answers no HTTP request: set Options.Identity, or Options.Anonymous for the public tools alone")
	}
	mux := http.NewServeMux()
	mux.Handle(PathMCP, f)
	s.metadata.mount(mux)
	if s.beside != nil {
		for _, path := range []string{PathAPI, PathConsole, PathConsole + "/"} {
			mux.HandleFunc(path, f.besides)
		}
	}
	mux.HandleFunc("GET "+PathHealthz, func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET "+PathReadyz, func(w http.ResponseWriter, r *http.Request) {
		if f.closed() || !s.ready() || !s.readiness.holds(r.Context()) {
			plain(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		plain(w, http.StatusOK, "ready")
	})
	return mux
}

// closed reports whether nobody can be admitted.
func (f *front) closed() bool { return f.opts.Identity == nil && !f.opts.Anonymous }

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.watching.observer != nil {
		t := &turnstile{ResponseWriter: w}
		w = t
		defer func() {
			if t.away() {
				f.watching.turnedAway(r.Context(), t.status)
			}
		}()
	}
	defer f.recovers(w, r)
	f.serve(w, r)
}

// turnstile notes how a request is answered whose message does not get through to the guard.
type turnstile struct {
	http.ResponseWriter
	status  int
	refused bool    // by the front, which may be with 200
	record  *record // once there is one
}

func (t *turnstile) away() bool {
	return (t.refused || t.status >= http.StatusBadRequest) && (t.record == nil || !t.record.begun.Load())
}

// WriteHeader implements http.ResponseWriter.
func (t *turnstile) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *turnstile) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		// Before anything is answered: net/http reads what is left of a body then, for as long as it takes. Not all
		// writers have a deadline; the bound is then the http.Server's.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(f.patience))
	}
	if !f.near(w, r) || f.crossOrigin(w, r) || !f.admits(w) {
		return
	}
	end := sync.OnceFunc(f.end)
	defer end()

	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		plain(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	id, ok := f.identify(w, r)
	if !ok {
		return
	}
	var asks asked
	if r.Method == http.MethodPost {
		if asks, ok = f.body(w, r); !ok {
			return
		}
	}
	rec := newRecord(id, withoutCredentials(r.Header))
	rec.http = originOf(r, id)
	rec.from = &rec.http
	if t, ok := w.(*turnstile); ok {
		t.record = rec
	}
	rec.asked = asks.orElse(r, f.opts.Masker)
	rec.seats, rec.streams = f.seats, end
	if err := f.project(r.Context(), rec); err != nil {
		plain(w, http.StatusForbidden, "forbidden")
		return
	}
	if opens(r) {
		if !f.seat(w, r, rec) {
			return
		}
		defer rec.slot.leave()
	}
	if r.Method == http.MethodGet {
		end() // a stream lasts as long as its session, and ends with it; shutting down does not wait
		if !id.Expires.IsZero() {
			ctx, cancel := context.WithDeadline(r.Context(), id.Expires)
			defer cancel()
			r = r.WithContext(ctx)
		}
	}
	f.pass(w, r, rec)
}

// pass hands a request to go-sdk with the record in its TokenInfo. go-sdk takes that from its
// own middleware only, which insists on a bearer token; it gets one that says nothing.
func (f *front) pass(w http.ResponseWriter, r *http.Request, rec *record) {
	next := f.sessions
	if r.Header.Get(headerProtocolVersion) >= stateless {
		next = f.stateless
	}
	if f.challenging && r.Method == http.MethodPost {
		rec.gate = newGate(w)
		defer rec.gate.end()
		w = rec.gate
	}
	r = r.WithContext(r.Context())
	r.Header = rec.header.Clone()
	r.Header.Set("Authorization", "Bearer verified")
	rec.answered = &sdkAnswer{ResponseWriter: w, record: rec, masker: f.opts.Masker, patience: f.patience}
	info := rec.tokenInfo()
	verified := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return info, nil }
	auth.RequireBearerToken(verified, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next).
		ServeHTTP(rec.answered, r)
}

// recovers answers a request that has panicked. It is deferred.
func (f *front) recovers(w http.ResponseWriter, r *http.Request) {
	p := recover()
	switch p {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(p)
	}
	f.log.ErrorContext(r.Context(), "the front panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	plain(w, http.StatusInternalServerError, "internal error")
}

// near looks where a request comes from, or answers it.
func (f *front) near(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !f.hostAllowed(r):
		f.log.InfoContext(r.Context(), "a request for another host was refused: see Options.AllowedHosts", "host", f.recordedText(r.Host, 256))
		plain(w, http.StatusForbidden, "host not allowed")
		return false
	case !f.originAllowed(r):
		f.log.InfoContext(r.Context(), "a request of a page of another origin was refused: see Options.AllowedOrigins, or have the proxy pass Host on",
			"origin", f.recordedText(strings.Join(r.Header.Values("Origin"), ", "), 256), "host", f.recordedText(r.Host, 256))
		plain(w, http.StatusForbidden, "origin not allowed")
		return false
	}
	return true
}

// admits counts a request in, or answers it where nobody is admitted. Whoever was counted in calls end.
func (f *front) admits(w http.ResponseWriter) bool {
	if f.closed() {
		plain(w, http.StatusServiceUnavailable, "no identity source is configured")
		return false
	}
	if !f.begin() {
		w.Header().Set("Retry-After", "1")
		plain(w, http.StatusServiceUnavailable, "shutting down")
		return false
	}
	return true
}

// besides serves Options.Admin, behind the checks of where a request comes from.
func (f *front) besides(w http.ResponseWriter, r *http.Request) {
	defer f.recovers(w, r)
	if !f.near(w, r) || !f.admits(w) {
		return
	}
	defer f.end()
	f.beside.ServeHTTP(w, r)
}

// identify settles who is calling, or answers the request.
func (f *front) identify(w http.ResponseWriter, r *http.Request) (identity.Identity, bool) {
	id, err := f.verified(r)
	switch {
	case err == nil:
		return id, true
	case f.opts.Anonymous && errors.Is(err, identity.ErrNoCredentials):
		return identity.Identity{}, true
	}
	refused := f.refusalOf(r, err)
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	plain(w, refused.Status, refused.Reason)
	return identity.Identity{}, false
}

var errNoAnswer = errors.New("no answer in time")

// askIdentity asks the source, and does not wait for one that does not answer.
func (s *Server) askIdentity(r *http.Request) (identity.Identity, error) {
	if s.opts.Identity == nil {
		if len(r.Header.Values("Authorization")) > 0 {
			return identity.Identity{}, fmt.Errorf("%w: there is no identity source that could verify it", identity.ErrInvalidToken)
		}
		return identity.Identity{}, identity.ErrNoCredentials
	}
	now := time.Now()
	ctx := &bounded{values: r.Context(), deadline: now.Add(s.opts.IdentityTimeout)}
	if earlier, ok := r.Context().Deadline(); ok && earlier.Before(ctx.deadline) {
		ctx.deadline = earlier
	}
	defer ctx.end(context.Canceled)
	// The source gets a request of its own, without the body, which is read meanwhile or later.
	asked := r.Clone(ctx)
	asked.Body = http.NoBody
	var (
		id  identity.Identity
		err error
	)
	job := &task{ctx: ctx, do: func() { id, err = s.opts.Identity.Identify(asked) }}
	w := s.workers.take(job)
	for done := false; !done; {
		w.wake(ctx.deadline, now)
		select {
		case <-w.done:
			done = true
			continue
		case <-w.alarm:
			w.rang()
		case <-r.Context().Done():
			ctx.end(r.Context().Err())
		}
		now = time.Now()
		if ended := ctx.Err(); ended != nil {
			if job.abandon() {
				return identity.Identity{}, fmt.Errorf("%w (%w)", errNoAnswer, ended)
			}
			<-w.done
			done = true
		}
	}
	crash := job.crash
	s.workers.give(w)
	switch {
	case crash == nil:
		return id, err
	case crash.panicked:
		return identity.Identity{}, fmt.Errorf("the identity source panicked: %s", crash.value)
	}
	return identity.Identity{}, errors.New("the identity source gave no answer")
}

// challenge is what WWW-Authenticate says with 401, as RFC 6750, section 3 has it.
func (s *Server) challenge(code string) string {
	value := fmt.Sprintf("Bearer realm=%q", realm(s.info.Name))
	if code != "" {
		value += fmt.Sprintf(", error=%q", code)
	}
	return value + s.pointer()
}

// realm keeps what a quoted string of RFC 9110 can hold without escapes.
func realm(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, name)
}

// body reads and checks a POST's body and puts it back, or answers the request. There is one
// spelling of a message: what two readers could take for two things is refused. It returns which catalog the message asks for.
func (f *front) body(w http.ResponseWriter, r *http.Request) (asked, bool) {
	if !isJSON(r.Header.Values("Content-Type")) {
		plain(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		return asked{}, false
	}
	limit := f.opts.MaxBodyBytes
	if opens(r) {
		limit = min(limit, maxHandshakeBytes)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	case errors.As(err, &tooLarge):
		plain(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
		return asked{}, false
	case err != nil:
		plain(w, http.StatusBadRequest, "the body could not be read")
		return asked{}, false
	}
	body, asks, refused := checkMessage(body, f.opts.Masker)
	if refused != nil {
		if t, ok := w.(*turnstile); ok {
			t.refused = true
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.status(r))
		_, _ = w.Write(refused.response(f.opts.Masker)) // the client may be gone
		return asked{}, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return asks, true
}

// isJSON reports whether a Content-Type, sent once, is JSON in UTF-8.
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

// withoutCredentials copies headers without those that hold a credential.
func withoutCredentials(h http.Header) http.Header {
	clean := h.Clone()
	for _, name := range credentialHeaders {
		clean.Del(name)
	}
	return clean
}

func plain(w http.ResponseWriter, status int, text string) {
	http.Error(w, text, status)
}
