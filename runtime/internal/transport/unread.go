package transport

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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
