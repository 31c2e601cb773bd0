package transport

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const (
	// A client has Config.BodyReadTimeout, or flushTimeout in a shutdown, to read partSize bytes
	// of a response. Otherwise its connection ends.
	partSize     = 64 << 10
	flushTimeout = 2 * time.Second

	// largeBody is the size from which writing may wait for the client: smaller bodies fit into
	// the buffers of net/http.
	largeBody = 4 << 10

	// A response that has not left after unreadAfter counts as unread. A user with maxUnread bytes
	// of them gets 429. With those that were admitted before, twice as many bytes may wait.
	unreadAfter = time.Second
	maxUnread   = 32 << 20
)

// unread has the responses of one handler that wait for their clients to read.
type unread struct {
	active  *worker.Group
	timeout time.Duration // for a part
	mu      sync.Mutex
	waiting map[*responseWriter]bool
	users   map[request.User]int // bytes that count as unread
	some    atomic.Bool          // users has one
}

func newUnread(active *worker.Group, timeout time.Duration) *unread {
	u := &unread{active: active, timeout: timeout,
		waiting: map[*responseWriter]bool{}, users: map[request.User]int{}}
	context.AfterFunc(active.Draining(), func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		for s := range u.waiting {
			s.extend(0)
		}
	})
	return u
}

// full reports whether a user leaves too much unread.
func (u *unread) full(user request.User) bool {
	if !u.some.Load() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.users[user] >= maxUnread
}

// waiting is a response that waits for its client. unread.mu guards it.
type waiting struct {
	response       *responseWriter
	bytes          int // that it holds
	timer          *time.Timer
	counted, ended bool
}

// wait notes that a response begins to wait, until done.
func (u *unread) wait(s *responseWriter, bytes int) *waiting {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting[s] = true
	w := &waiting{response: s, bytes: bytes}
	w.timer = time.AfterFunc(unreadAfter, func() { u.count(w) })
	return w
}

// count counts a response as unread. The timer may have fired while the wait ended.
func (u *unread) count(w *waiting) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w.ended {
		return
	}
	w.counted = true
	s := w.response
	u.some.Store(true)
	if u.users[s.user] += w.bytes; u.users[s.user] > 2*maxUnread {
		s.cut = true
		s.extend(0)
	}
}

// done ends a wait.
func (u *unread) done(w *waiting) {
	w.timer.Stop()
	u.mu.Lock()
	defer u.mu.Unlock()
	w.ended = true
	delete(u.waiting, w.response)
	if user := w.response.user; w.counted {
		if u.users[user] -= w.bytes; u.users[user] == 0 {
			delete(u.users, user)
			u.some.Store(len(u.users) > 0)
		}
	}
}

// responseWriter notes the status of a request whose message does not reach the guard, and bounds
// in time how long its response waits for the client.
type responseWriter struct {
	http.ResponseWriter
	status  int
	refused bool         // its message is malformed, which may be answered with 200
	served  bool         // the message has reached the guard
	user    request.User // of an anonymous caller, the address as its issuer
	counted atomic.Bool  // by admit, and not ended
	unread  *unread
	cut     bool // its user leaves too much unread; unread.mu guards it
}

// end ends what admit has counted, once. In a shutdown the response leaves before.
func (s *responseWriter) end() {
	if s.counted.CompareAndSwap(true, false) {
		if s.status != 0 && !s.unread.active.Open() {
			_ = s.FlushError() // some writers cannot
		}
		s.unread.active.End()
	}
}

func (s *responseWriter) WriteHeader(status int) {
	s.status = cmp.Or(s.status, status)
	s.ResponseWriter.WriteHeader(status)
}

// Write writes large bodies in parts, each with a deadline of its own.
func (s *responseWriter) Write(b []byte) (n int, err error) {
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
func (s *responseWriter) FlushError() error {
	defer s.unread.done(s.unread.wait(s, 0))
	s.move()
	c := http.NewResponseController(s.ResponseWriter)
	err := c.Flush()
	_ = c.SetWriteDeadline(time.Time{}) // a stream may wait: HTTP/2 would end it at the deadline
	return err
}

// move sets the deadline of the next part of a response that waits.
func (s *responseWriter) move() {
	s.unread.mu.Lock()
	defer s.unread.mu.Unlock()
	s.extend(0)
}

// extend sets the deadline for what is written next, after a pause of the server's own. It has no
// effect on a writer without deadlines, which has that of the http.Server. For a response that
// waits, unread.mu is held.
func (s *responseWriter) extend(pause time.Duration) {
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

func (s *responseWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

const (
	// smallBody is the size up to which a body counts for nothing here. Most are smaller.
	smallBody = 16 << 10
	// A caller, or an address without one, has maxRefused bytes of refused large bodies at once
	// and refusedRate bytes a second after that. Beyond that, its large bodies are not read.
	maxRefused  = 16 << 20
	refusedRate = 64 << 10
	// maxRefusers are counted one by one; others share one count.
	maxRefusers = 1024
	// netHTTPRest is how much of a body net/http reads that no handler has read.
	netHTTPRest = 256 << 10
)

// refusals counts the bytes of refused bodies. Addresses have a table of their own: a sender
// with many of them cannot fill that of the callers.
type refusals struct{ callers, addresses counts }

func (f *refusals) of(user request.User) *counts {
	if user.Subject == "" {
		return &f.addresses
	}
	return &f.callers
}

// counts are those of one table.
type counts struct {
	some   atomic.Bool // byUser or others has one
	mu     sync.Mutex
	byUser map[request.User]*refused
	others refused
}

// refused are bytes that become fewer with time.
type refused struct {
	bytes int64
	at    time.Time
}

func (r *refused) now(now time.Time) int64 {
	return max(0, r.bytes-int64(now.Sub(r.at).Seconds()*refusedRate))
}

// add counts bytes of a caller.
func (f *counts) add(user request.User, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.some.Store(true)
	now := time.Now()
	r := f.find(user)
	if r == &f.others && len(f.byUser) == maxRefusers {
		maps.DeleteFunc(f.byUser, func(_ request.User, r *refused) bool { return r.now(now) == 0 })
	}
	if r == &f.others && len(f.byUser) < maxRefusers {
		if f.byUser == nil {
			f.byUser = map[request.User]*refused{}
		}
		r = &refused{}
		f.byUser[user] = r
	}
	r.bytes, r.at = r.now(now)+bytes, now
}

// wait returns how long a caller has to wait before its next large body, often 0.
func (f *counts) wait(user request.User) time.Duration {
	if !f.some.Load() {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	over := f.find(user).now(time.Now()) - maxRefused
	return max(0, time.Duration(over+1)*time.Second/refusedRate)
}

// find returns the count of a caller. f.mu is held.
func (f *counts) find(user request.User) *refused {
	if r := f.byUser[user]; r != nil {
		return r
	}
	return &f.others
}

// large reports whether a request may have a large body.
func large(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody &&
		(r.ContentLength < 0 || r.ContentLength > smallBody)
}

// refuseLarge answers a large body of a caller with too many refused ones.
func (v *visit) refuseLarge(wait time.Duration) bool {
	v.w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	return v.refuse(http.StatusTooManyRequests, jsonrpc.CodeInvalidRequest,
		"too many large requests of this caller were refused: correct them, and try again later")
}

// countRefused counts the body of a refused request, as far as it was read. A failure of the server
// is no refusal.
func (h *Handler) countRefused(v *visit) {
	if v.body.bytes > smallBody && (v.w.refused || v.w.status >= 400 && v.w.status < 500) {
		h.refusals.of(v.w.user).add(v.w.user, v.body.bytes)
	}
}

// restTime returns how long net/http may read the rest of a body, which is counted.
func (h *Handler) restTime(s *responseWriter, r *http.Request) time.Duration {
	if !large(r) || r.ContentLength >= netHTTPRest { // net/http reads no rest of that size
		return h.BodyReadTimeout
	}
	user := s.user
	if user == (request.User{}) {
		user.Issuer = h.Authenticator.Address(r)
	}
	if h.refusals.of(user).wait(user) > 0 {
		return 0
	}
	rest := r.ContentLength
	if rest < 0 {
		rest = netHTTPRest
	}
	h.refusals.of(user).add(user, rest)
	return h.BodyReadTimeout
}

// Beside returns a handler that serves next beside the endpoint, and limits how net/http reads the
// body that next has not read.
func (h *Handler) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !large(r) {
			next.ServeHTTP(w, r)
			return
		}
		own, body := *r, &watched{ReadCloser: r.Body}
		own.Body = body
		defer func() { h.limitRest(&responseWriter{ResponseWriter: w}, r, body.ended) }()
		next.ServeHTTP(w, &own)
	})
}

// watched is a body that notes its end.
type watched struct {
	io.ReadCloser
	ended bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}
