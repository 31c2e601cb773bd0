package runtime

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// maxHandshakeBytes bounds the body of a request that may open a session: go-sdk keeps what an
// initialize says of its client for as long as the session lives.
const maxHandshakeBytes = 64 << 10

// sessionRetryAfter is the hint, in seconds, to those for whom there is no session left.
const sessionRetryAfter = "60"

// seats counts what costs memory and goroutines until it ends: sessions over HTTP, which may idle out,
// and the requests of later protocols that listen.
type seats struct {
	max, share int // of the server, and of one user

	mu    sync.Mutex
	taken int
	users map[user]int
}

// user is whose share a session counts against. All clients of a subject are one user, and so
// are all anonymous callers.
type user struct{ issuer, subject string }

func newSeats(o Options) *seats {
	return &seats{max: o.MaxSessions, share: o.MaxUserSessions, users: map[user]int{}}
}

func userOf(p access.Principal) user {
	if p.Anonymous() {
		return user{}
	}
	return user{p.Issuer, p.Subject}
}

// slot is room for one session, or for one request that listens. It is given back once: when the request
// has ended, where no session came of it, or when the session has.
type slot struct {
	seats *seats
	user  user

	mu   sync.Mutex
	kept bool // a session has it
	free bool // given back
}

// take returns room for one more session, or the status that says whose bound is reached: 429
// the user's, 503 the server's.
func (s *seats) take(u user) (*slot, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.users[u] >= s.share:
		return nil, http.StatusTooManyRequests
	case s.taken >= s.max:
		return nil, http.StatusServiceUnavailable
	}
	s.taken++
	s.users[u]++
	return &slot{seats: s, user: u}, 0
}

// keep makes the slot a session's, until that ends. It reports false where the request that
// was to open the session is gone already.
func (s *slot) keep(session *mcp.ServerSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free {
		return false
	}
	if !s.kept {
		s.kept = true
		go func() {
			_ = session.Wait() // how it ended does not matter
			s.release()
		}()
	}
	return true
}

// leave gives the slot back where no session has it.
func (s *slot) leave() {
	s.mu.Lock()
	kept := s.kept
	if !kept {
		s.free = true
	}
	s.mu.Unlock()
	if !kept {
		s.seats.give(s.user)
	}
}

func (s *slot) release() {
	s.mu.Lock()
	s.free = true
	s.mu.Unlock()
	s.seats.give(s.user)
}

func (s *seats) give(u user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.users[u]--; s.users[u] <= 0 {
		delete(s.users, u)
	}
}

// seat finds room for the session that a request may open, or answers the request.
func (f *front) seat(w http.ResponseWriter, r *http.Request, rec *record) bool {
	slot, status := f.seats.take(userOf(rec.principal))
	if status != 0 {
		f.log.WarnContext(r.Context(), "no session is left: see Options.MaxSessions and Options.MaxUserSessions",
			"principal", rec.principal.Subject, "status", status)
		w.Header().Set("Retry-After", sessionRetryAfter)
		text := "too many sessions on this server: try again later"
		if status == http.StatusTooManyRequests {
			text = "too many sessions of this caller: end one by DELETE, or try again later"
		}
		plain(w, status, text)
		return false
	}
	rec.slot = slot
	return true
}

// opens reports whether a request may open a session: go-sdk makes one for every POST without
// one, whatever the method in it.
func opens(r *http.Request) bool {
	return r.Method == http.MethodPost && r.Header.Get(headerSession) == "" && r.Header.Get(headerProtocolVersion) < stateless
}
