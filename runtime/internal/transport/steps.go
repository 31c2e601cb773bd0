package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// refuse answers a request that is no message of the protocol, or none that the server can take.
func (v *visit) refuse(status int, code int64, format string, args ...any) bool {
	return v.refuseWith(status, &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

func (v *visit) refuseWith(status int, err error) bool {
	header := v.w.Header()
	header["Content-Type"], header["Cache-Control"] = jsonBody, noCache
	v.w.WriteHeader(status)
	var id wire.ID
	if v.message.Method != "" { // a response of the client has the id of a request of the server
		id = v.message.ID
	}
	_, _ = v.w.Write(wire.ErrorResponse(id, err)) // the client may be gone
	return false
}

// limitRest bounds how long net/http reads the rest of a body that was not read, and at which rate.
func (h *Handler) limitRest(s *responseWriter, r *http.Request, bounded bool) {
	if r.Body != nil && r.Body != http.NoBody && !bounded {
		_ = http.NewResponseController(s.ResponseWriter).
			SetReadDeadline(time.Now().Add(h.restTime(s, r)))
	}
}

// admit counts a request, or answers it if none is admitted. The end of the response ends what was
// counted.
func (h *Handler) admit(v *visit) bool {
	if h.Closed {
		http.Error(v.w, "no identity source is configured", http.StatusServiceUnavailable)
		return false
	}
	if !h.Active.Begin() {
		v.w.Header().Set("Retry-After", "1")
		http.Error(v.w, "shutting down", http.StatusServiceUnavailable)
		return false
	}
	v.w.counted.Store(true)
	return true
}

// decidingHeaders decide something: sent twice, two readers could take different ones.
var decidingHeaders = append([]string{"Mcp-Name", "Mcp-Method", "Mcp-Protocol-Version",
	"Mcp-Session-Id", "Mcpgen-Catalog", "Last-Event-Id"}, request.CredentialHeaders[:]...)

// checkRepeated refuses a deciding header that is sent more than once, the first one by name.
func (h *Handler) checkRepeated(v *visit) bool {
	var first string
	for name, values := range v.r.Header {
		if len(values) > 1 && (first == "" || name < first) &&
			(slices.Contains(decidingHeaders, name) || strings.HasPrefix(name, "Mcp-Param-")) {
			first = name
		}
	}
	if first == "" {
		return true
	}
	return v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
		"the header %s is sent more than once", first)
}

func (h *Handler) checkMethod(v *visit) bool {
	v.version = one(v.r.Header[request.HeaderProtocolVersion])
	v.modern = request.IsStateless(v.version)
	allowed := "GET, POST, DELETE"
	switch v.r.Method {
	case http.MethodPost:
		return true
	case http.MethodGet, http.MethodDelete:
		if !v.modern {
			return true
		}
		allowed = "POST" // this version has neither sessions nor their streams
	}
	v.w.Header().Set("Allow", allowed)
	return v.refuse(http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest,
		"the method is not one of %s", allowed)
}

// identify returns the verified caller of a request, or the anonymous one.
func (h *Handler) identify(r *http.Request) (identity.Identity, error) {
	id, err := h.Authenticator.Authenticate(r)
	if h.Anonymous && errors.Is(err, identity.ErrNoCredentials) {
		return identity.Identity{}, nil
	}
	return id, err
}

func (h *Handler) authenticate(v *visit) bool {
	id, err := h.identify(v.r)
	if err != nil {
		refused := h.Authenticator.Refusal(v.r, v.r.URL.RawQuery, err)
		if refused.Challenge != "" {
			v.w.Header().Set("WWW-Authenticate", refused.Challenge)
		}
		if refused.RetryAfter > 0 {
			v.w.Header().Set("Retry-After", strconv.Itoa(refused.RetryAfter))
		}
		http.Error(v.w, refused.Reason, refused.Status)
		return false
	}
	v.info = request.NewHTTP(v.r, id)
	if !id.Value.IsZero() {
		own := id
		v.valued = &own
	}
	if v.w.user = request.UserOf(id.Principal); id.Principal.Anonymous() {
		v.w.user.Issuer = h.Authenticator.Address(v.r) // they do not block each other
	}
	return true
}

func (h *Handler) limitUnread(v *visit) bool {
	if v.r.Method != http.MethodPost || !h.unread.full(v.w.user) {
		return true
	}
	v.w.Header().Set("Retry-After", "1")
	return v.refuse(http.StatusTooManyRequests, jsonrpc.CodeInvalidRequest,
		"this caller leaves too many responses unread: read them first")
}

// acceptBoth is the header of most clients.
const acceptBoth = "application/json, text/event-stream"

// one returns the first value of a header, empty for none. The names of headers in this package are
// canonical, which Header.Get would make each time.
func one(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// readAccept reads which content types the client takes.
func (h *Handler) readAccept(v *visit) bool {
	values := v.r.Header["Accept"]
	if accept := one(values); len(values) == 1 && accept == acceptBoth {
		v.json, v.stream = true, true
	} else {
		v.json, v.stream = accepts(values, "application/json"), accepts(values, "text/event-stream")
		v.prefersStream = !v.json ||
			strings.HasPrefix(accept, "text/event-stream,") // first, and as good as JSON
	}
	switch {
	case v.r.Method == http.MethodGet && !v.stream:
		return v.refuse(http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest,
			"the response is a stream: send Accept: text/event-stream")
	case v.message.Method == "subscriptions/listen" && !v.stream:
		return v.refuse(http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest,
			"the response is a stream: send Accept: application/json, text/event-stream")
	case v.r.Method == http.MethodPost && !v.json && !v.stream:
		return v.refuse(http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest,
			"the response is JSON or a stream: send Accept: application/json, text/event-stream")
	}
	return true
}

// accepts reports whether a client takes a media type: without a header it takes any, and the most
// specific range counts, of which the weight 0 is a refusal (RFC 9110, section 12.5.1).
func accepts(values []string, media string) (accepted bool) {
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	best := -1
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		base, params, _ := strings.Cut(part, ";")
		base = strings.ToLower(strings.TrimSpace(base))
		specific := slices.Index([]string{"*/*", kind + "/*", media}, base)
		if specific > best {
			best, accepted = specific, !refuses(params)
		}
	}
	return accepted
}

// refuses reports whether the parameters of a media range have the weight 0 (RFC 9110, section
// 12.4.2), by which a client does not take it.
func refuses(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && weight == 0 {
			return true
		}
	}
	return false
}

// readMessage reads and validates the body of a POST.
func (h *Handler) readMessage(v *visit) bool {
	if v.r.Method != http.MethodPost {
		return true
	}
	if !isJSON(v.r.Header["Content-Type"]) {
		return v.refuse(http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest,
			"Content-Type must be application/json")
	}
	limit := h.MaxBodyBytes
	if !v.modern && one(v.r.Header[request.HeaderSession]) == "" {
		limit = min(limit, maxHandshakeBytes)
	}
	wait := h.refusals.of(v.w.user).wait(v.w.user)
	if wait > 0 {
		limit = min(limit, smallBody)
	}
	var body []byte
	var err error = &http.MaxBytesError{Limit: limit}
	if v.r.ContentLength <= limit {
		body, err = h.readBody(v, limit)
	}
	if tooLarge := errors.As(err, new(*http.MaxBytesError)); tooLarge && wait > 0 {
		return v.refuseLarge(wait)
	} else if tooLarge {
		return v.refuse(http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
			"the body is larger than %d bytes", limit)
	} else if err != nil {
		return v.refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "the body could not be read")
	}
	checked, refused := wire.CheckMessage(body, h.Masker)
	if refused == nil {
		v.message = checked
		v.message.Catalog = wire.CatalogInHTTP(v.r, checked.Catalog, h.Masker)
		return true
	}
	v.w.refused = true
	v.w.Header()["Content-Type"] = jsonBody
	v.w.WriteHeader(refused.Status(v.version))
	_, _ = v.w.Write(refused.Response(h.Masker)) // the client may be gone
	return false
}

// reading is a body that is being read. A client that sends too slowly gets a read deadline; for
// others, setting and removing one would cost more than the body.
type reading struct {
	deadline worker.Deadline
	w        http.ResponseWriter

	whole bool // the body was read
	bytes int64

	mu   sync.Mutex
	late bool // not changed once over is set
	over bool // nobody reads the body, and w may belong to another request
}

// Reached implements [worker.Waiter].
func (b *reading) Reached() {
	defer func() { _ = recover() }() // of a writer that the program has put around net/http's
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.late = true
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Now())
	}
}

// end notes that the reading is over.
func (b *reading) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over = true; b.late && b.whole {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
	}
}

// bounded reports that the rest of the body needs no limit: there is none, or it is late.
func (b *reading) bounded() bool { return b.whole || b.late }

// readBody reads the body within its time limit.
func (h *Handler) readBody(v *visit, limit int64) ([]byte, error) {
	v.body.w = v.w.ResponseWriter
	h.reading.Begin(&v.body.deadline, &v.body, time.Now())
	defer func() { // also if a body that the program has put around net/http's panics
		h.reading.End(&v.body.deadline)
		v.body.end()
	}()
	body, err := bodyOf(v.w, v.r, limit)
	v.body.whole, v.body.bytes = err == nil, int64(len(body))
	return body, err
}

// maxAtOnce bounds what is allocated for a body before it has come: a client may declare a length
// and send less.
const maxAtOnce = 16 << 10

// bodyOf returns a body. The program may have put another one around net/http's, which is longer or
// shorter than its declared length.
func bodyOf(w *responseWriter, r *http.Request, limit int64) ([]byte, error) {
	var body []byte
	if n := r.ContentLength; 0 <= n && n < min(maxAtOnce, limit) {
		body = make([]byte, 0, n+1)
		for len(body) < cap(body) {
			read, err := r.Body.Read(body[len(body):cap(body)])
			body = body[:len(body)+read]
			if errors.Is(err, io.EOF) {
				return body, nil
			} else if err != nil {
				return nil, err
			}
		}
	}
	// The server's own writer lets net/http close a connection whose body is too long.
	rest, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, r.Body, limit-int64(len(body))))
	return append(body, rest...), err
}

func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return false
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii": // the last one is a part of UTF-8
		return true
	}
	return false
}

// describe notes the facts about the message.
func (h *Handler) describe(v *visit) bool {
	v.info.Server, v.info.Catalog = h.Facts, v.message.Catalog
	v.info.Started = time.Now() // a slow client is not a slow message
	if v.valued != nil && request.RunsHandler(v.message.Method) {
		v.info.Credential = credential.Hold(*v.valued, v.info.ID)
	}
	v.valued = nil // what keeps the visit does not keep the value
	return true
}

// describeClient notes the facts of the client that the message, or its session, contains.
func (h *Handler) describeClient(v *visit) bool {
	describe(v.info, v.message, v.session, v.modern)
	if !v.stream && v.info.HasSessions() {
		v.info.Inputs = request.Inputs{} // there is no stream to ask on
	}
	return true
}

// describe notes the facts that a message contains of itself and of its client.
func describe(info *request.Info, m wire.Checked, s request.Session, modern bool) {
	info.MessageID, info.Arguments = m.ID.JSON, m.Arguments
	switch {
	case modern:
		info.Version = request.Stateless
		info.Inputs = request.InputsIn(m.Meta)
	case request.IsNil(s): // the handshake
		info.Version = request.NewestWithSessions
	case info.Session == nil:
		info.InSession(s)
	}
}

func (h *Handler) attachHost(v *visit) bool {
	if h.Rights.Empty() {
		return true
	}
	ctx := v.r.Context()
	if v.r.Method == http.MethodPost && !v.modern { // a call goes on when its connection has ended
		ctx = context.WithoutCancel(ctx)
	}
	err := h.Rights.Attach(ctx, v.info)
	if err == nil {
		return true
	}
	h.Guard.Refused(ctx, v.info, cmp.Or(v.message.Method, v.r.Method), err)
	http.Error(v.w, "forbidden", http.StatusForbidden)
	return false
}
