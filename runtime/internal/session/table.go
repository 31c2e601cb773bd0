package session

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
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

	idle *worker.Deadlines // of sessions without a POST

	mu    sync.Mutex
	byID  map[string]*Session
	taken int
	users map[request.User]int
}

// place is what a session has in its table. Table.mu guards it.
type place struct {
	slot  bool            // it has one
	posts int             // that are being answered
	used  time.Time       // the end of the last one
	idle  worker.Deadline // while posts is 0
}

// NewTable returns a table without sessions.
func (s *Server) NewTable(limits Limits, timeout time.Duration) *Table {
	return &Table{server: s, limits: limits, timeout: timeout, idle: worker.NewDeadlines(timeout),
		byID: map[string]*Session{}, users: map[request.User]int{}}
}

// Reserve takes a slot until release is called, or returns 429 (user's limit) or 503 (server's).
func (t *Table) Reserve(u request.User) (release func(), status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if status := t.take(u); status != 0 {
		return nil, status
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free(u)
	}), 0
}

// take takes a slot, or returns a status as Reserve does. t.mu is held.
func (t *Table) take(u request.User) (status int) {
	switch {
	case t.users[u] >= t.limits.PerUser:
		return http.StatusTooManyRequests
	case t.taken >= t.limits.Total:
		return http.StatusServiceUnavailable
	}
	t.taken++
	t.users[u]++
	return 0
}

// free frees a slot. t.mu is held.
func (t *Table) free(u request.User) {
	t.taken--
	if t.users[u]--; t.users[u] == 0 {
		delete(t.users, u)
	}
}

// New takes a slot for a session that has not made its handshake, if need be that of an idle
// session of the same user. It returns nil and a status of [Table.Reserve] if there is none.
func (t *Table) New(owner request.Owner) (*Session, int) {
	t.mu.Lock()
	status := t.take(owner.User)
	var least *Session
	if status == http.StatusTooManyRequests {
		least = t.leastUsed(owner.User)
	}
	t.mu.Unlock()
	if least != nil {
		least.End()
		t.mu.Lock()
		status = t.take(owner.User)
		t.mu.Unlock()
	}
	if status != 0 {
		return nil, status
	}
	s := t.server.newSession(rand.Text(), owner, nowhere{})
	s.table, s.place.slot = t, true
	return s, 0
}

// leastUsed returns the session of a user that was used least recently, nil for none. Anonymous
// callers are no one user here: they do not end others' sessions. t.mu is held.
func (t *Table) leastUsed(user request.User) (least *Session) {
	before := time.Now().Add(-minIdle)
	for _, s := range t.byID {
		if p := &s.place; s.owner.User == user && user != (request.User{}) && p.posts == 0 &&
			p.used.Before(before) {
			least, before = s, p.used
		}
	}
	return least
}

// Add adds a session after its handshake, until it ends.
func (t *Table) Add(s *Session, out Out) {
	s.mu.Lock()
	s.table, s.out = t, out
	s.mu.Unlock()
	t.server.remember(s)
	t.mu.Lock()
	t.byID[s.id] = s
	t.rest(s)
	t.mu.Unlock()
	if s.Ended() { // meanwhile
		t.remove(s)
	}
}

// remove removes a session that has ended.
func (t *Table) remove(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.place.slot {
		s.place.slot = false
		t.free(s.owner.User)
	}
	t.idle.End(&s.place.idle)
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
	}
}

// rest notes that a session has no POST from now on. t.mu is held.
func (t *Table) rest(s *Session) {
	s.place.used = time.Now()
	t.idle.Begin(&s.place.idle, s, s.place.used)
}

// Find returns the session of an id if it belongs to the owner, and else nil.
func (t *Table) Find(id string, owner request.Owner) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byID[id]; s != nil && s.owner == owner {
		return s
	}
	return nil
}

// Reached implements [worker.Waiter]: the session is idle for long enough.
func (s *Session) Reached() {
	go func() { // the end waits for what is being written to the session's stream
		if s.table.isIdle(s) {
			s.End()
		}
	}()
}

// isIdle reports whether a session can end. It may have been used since its time was over.
func (t *Table) isIdle(s *Session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.place.posts == 0 && time.Since(s.place.used) >= t.timeout
}

// Use is a use of a session, which does not end as idle before Release.
type Use struct {
	table *Table
	of    *Session // nil once it is released
}

// Use begins a use of a session. It has no effect for one that has ended.
func (t *Table) Use(s *Session) Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] != s {
		return Use{}
	}
	s.place.posts++
	t.idle.End(&s.place.idle)
	return Use{t, s}
}

// Release ends the use, once.
func (u *Use) Release() {
	if u.of == nil {
		return
	}
	t, s := u.table, u.of
	u.of = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.place.posts--; s.place.posts == 0 && t.byID[s.id] == s {
		t.rest(s)
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
