package session

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Limits bound open sessions and listen streams, of a server and of each user.
type Limits struct{ Total, PerUser int }

// minIdle is how long a session has no POST before it may be given up for a new one.
const minIdle = time.Minute

// Table has the sessions of one HTTP handler by their ids, and the slots of sessions and streams.
type Table struct {
	server  *Server
	limits  Limits
	timeout time.Duration // without a POST, after which a session ends

	mu    sync.Mutex
	byID  map[string]*entry
	taken int
	users map[request.User]int
}

// entry is a session in the table. Table.mu guards it.
type entry struct {
	*Session
	idle  *time.Timer // calls end; a use does not stop it
	posts int         // that are being answered
	used  time.Time   // the end of the last one
}

// NewTable returns a table without sessions.
func (s *Server) NewTable(limits Limits, timeout time.Duration) *Table {
	return &Table{server: s, limits: limits, timeout: timeout, byID: map[string]*entry{},
		users: map[request.User]int{}}
}

// Reserve takes a slot until release is called, or returns 429 (user's limit) or 503 (server's).
func (t *Table) Reserve(u request.User) (release func(), status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reserve(u)
}

// reserve is Reserve with t.mu held.
func (t *Table) reserve(u request.User) (release func(), status int) {
	switch {
	case t.users[u] >= t.limits.PerUser:
		return nil, http.StatusTooManyRequests
	case t.taken >= t.limits.Total:
		return nil, http.StatusServiceUnavailable
	}
	t.taken++
	t.users[u]++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken--
		if t.users[u]--; t.users[u] == 0 {
			delete(t.users, u)
		}
	}), 0
}

// New takes a slot for a session that has not made its handshake, if need be that of an idle
// session of the same user. It returns nil and a status of [Table.Reserve] if there is none.
func (t *Table) New(owner request.Owner) (*Session, int) {
	t.mu.Lock()
	release, status := t.reserve(owner.User)
	var least *entry
	if status == http.StatusTooManyRequests {
		least = t.leastUsed(owner.User)
	}
	t.mu.Unlock()
	if least != nil {
		least.End()
		release, status = t.Reserve(owner.User)
	}
	if status != 0 {
		return nil, status
	}
	s := t.server.newSession(rand.Text(), owner, nowhere{})
	s.OnEnd(release)
	return s, 0
}

// leastUsed returns the session of a user that was used least recently, nil for none. Anonymous
// callers are no one user here: they do not end others' sessions. t.mu is held.
func (t *Table) leastUsed(user request.User) (least *entry) {
	before := time.Now().Add(-minIdle)
	for _, e := range t.byID {
		if e.owner.User == user && user != (request.User{}) && e.posts == 0 && e.used.Before(before) {
			least, before = e, e.used
		}
	}
	return least
}

// Add adds a session after its handshake, until it ends.
func (t *Table) Add(s *Session, out Out) {
	s.mu.Lock()
	s.out = out
	s.mu.Unlock()
	t.server.remember(s)
	t.mu.Lock()
	e := &entry{Session: s, used: time.Now()}
	e.idle = time.AfterFunc(t.timeout, func() { t.end(e) })
	t.byID[s.id] = e
	t.mu.Unlock()
	s.OnEnd(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if e := t.byID[s.id]; e != nil {
			if e.idle != nil {
				e.idle.Stop()
			}
			delete(t.byID, s.id)
		}
	})
}

// Find returns the session of an id if it belongs to the owner, and else nil.
func (t *Table) Find(id string, owner request.Owner) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byID[id]; e != nil && e.owner == owner {
		return e.Session
	}
	return nil
}

// end ends a session that was idle for long enough. A timer that was stopped and set for each call
// would cost more than one that asks.
func (t *Table) end(e *entry) {
	t.mu.Lock()
	left := t.timeout - time.Since(e.used)
	switch {
	case e.posts > 0 || t.byID[e.id] != e: // the end of the last call sets the timer
		e.idle = nil
	case left > 0:
		e.idle.Reset(left)
	default:
		defer e.End() // which takes t.mu
	}
	t.mu.Unlock()
}

// Use is a use of a session, which does not end as idle before Release.
type Use struct {
	table *Table
	of    *entry // nil once it is released
}

// Use begins a use of a session. It has no effect for one that has ended.
func (t *Table) Use(s *Session) Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[s.id]
	if e != nil {
		e.posts++
	}
	return Use{t, e}
}

// Release ends the use, once.
func (u *Use) Release() {
	if u.of == nil {
		return
	}
	t, e := u.table, u.of
	u.of = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.posts--; e.posts > 0 || t.byID[e.id] != e {
		return
	}
	if e.used = time.Now(); e.idle == nil {
		e.idle = time.AfterFunc(t.timeout, func() { t.end(e) })
	}
}

// Drain ends a session once its calls have been answered, or ctx has ended. No call begins any
// more.
func (t *Table) Drain(ctx context.Context, s *Session) {
	select {
	case <-s.drain():
	case <-ctx.Done():
	}
	s.End()
}
