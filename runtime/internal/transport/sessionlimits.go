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

// The holders of a lease. Exactly one of bind and the end of the request leaves the first one.
const (
	ofRequest int32 = iota
	ofSession
	ofNobody
)

// bind gives the slot to a session. It reports true for a nil lease, which needs no slot.
func (l *lease) bind() bool {
	return l == nil || l.holder.CompareAndSwap(ofRequest, ofSession) || l.holder.Load() == ofSession
}

// leave releases the slot if this holder has it. l may be nil.
func (l *lease) leave(holder int32) {
	if l != nil && l.holder.CompareAndSwap(holder, ofNobody) {
		l.release()
	}
}
