package transport

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// SessionLimits bound open sessions.
type SessionLimits struct{ Total, PerUser int }

// sessionLimiter caps open HTTP sessions and subscriptions/listen streams, per server and user.
type sessionLimiter struct {
	SessionLimits
	mu    sync.Mutex
	taken int
	users map[request.User]int
}

func newSessionLimiter(limits SessionLimits) *sessionLimiter {
	return &sessionLimiter{SessionLimits: limits, users: map[request.User]int{}}
}

// acquire takes a slot until release is called, or returns 429 (user's limit) or 503 (server's).
func (s *sessionLimiter) acquire(u request.User) (release func(), status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.users[u] >= s.PerUser:
		return nil, http.StatusTooManyRequests
	case s.taken >= s.Total:
		return nil, http.StatusServiceUnavailable
	}
	s.taken++
	s.users[u]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.users[u]--; s.users[u] == 0 {
			delete(s.users, u)
		}
	}), 0
}

// lease is the slot of a request that may open a session. The session takes it over.
type lease struct {
	release func()
	holder  atomic.Int32
}

// The holders of a lease. Exactly one of Bind and the end of the request leaves the first one.
const (
	ofRequest int32 = iota
	ofSession
	ofNobody
)

// Bind reports true for a nil lease, which needs no slot.
func (l *lease) Bind(session request.Session) bool {
	if l == nil {
		return true
	}
	bound := l.holder.CompareAndSwap(ofRequest, ofSession)
	if bound {
		go func() {
			_ = session.Wait() // how it ended does not matter
			l.leave(ofSession)
		}()
	}
	return bound || l.holder.Load() == ofSession
}

func (l *lease) leave(holder int32) {
	if l.holder.CompareAndSwap(holder, ofNobody) {
		l.release()
	}
}
