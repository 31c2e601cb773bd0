package transport

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// sessionTable has the sessions of a handler, by id: go-sdk does not export its own.
type sessionTable struct {
	timeout time.Duration // without a POST, after which a session ends
	// endQuestions ends the questions of a session that wait for its client, and refuses further
	// ones until release is called.
	endQuestions func(request.Session) (release func())
	mu           sync.Mutex
	byID         map[string]*session
}

// session is one session, and the calls of it that took the direct door.
type session struct {
	request.Session
	owner request.Owner
	table *sessionTable

	mu      sync.Mutex
	idle    *time.Timer
	posts   int // that are being answered, by either door
	used    time.Time
	calls   calls
	passed  map[string]int    // the calls in flight by go-sdk's door, by id
	live    map[string]*reply // the streams of the direct door that have not ended, by id
	closing bool              // no call begins any more, and no question waits
	release func()            // of questions, when the session has ended
	drained chan struct{}     // closed when closing and the last direct call has ended
	gone    chan struct{}     // closed when the session has ended and its slot is free
}

// minIdle is how long a session has no POST before it may be given up for a new one.
const minIdle = time.Minute

// calls are the calls in flight by the direct door: what cancels them, by id.
type calls map[string]context.CancelFunc

func newSessionTable(timeout time.Duration,
	endQuestions func(request.Session) (release func())) *sessionTable {
	return &sessionTable{timeout: timeout, endQuestions: endQuestions, byID: map[string]*session{}}
}

// add adds a session until it ends, and then releases its slot.
func (t *sessionTable) add(s request.Session, owner request.Owner, slot *lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := s.ID()
	if id == "" || t.byID[id] != nil {
		return
	}
	added := &session{Session: s, owner: owner, table: t, used: time.Now(), calls: calls{},
		passed: map[string]int{}, live: map[string]*reply{}, gone: make(chan struct{})}
	added.idle = time.AfterFunc(t.timeout, added.giveUp)
	t.byID[id] = added
	go func() {
		_ = s.Wait()  // every end is the same here
		added.enter() // for good, so that a late leave starts no timer
		added.stop()
		added.release()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.byID, id)
		slot.leave(ofSession)
		close(added.gone)
	}()
}

func (s *session) giveUp() {
	s.drain(context.Background())
	_ = s.Close() // it ends in any case
}

// giveUp ends the idle session of a user that was used least recently. It reports false if there is
// none, or ctx has ended. Anonymous callers are no one user here: they do not end others' sessions.
func (t *sessionTable) giveUp(ctx context.Context, user request.User) bool {
	var least *session
	before := time.Now().Add(-minIdle)
	t.mu.Lock()
	for _, s := range t.byID {
		if s.owner.User != user || user == (request.User{}) {
			continue
		}
		s.mu.Lock()
		if s.posts == 0 && s.used.Before(before) {
			least, before = s, s.used
		}
		s.mu.Unlock()
	}
	t.mu.Unlock()
	if least == nil {
		return false
	}
	go least.giveUp()
	select {
	case <-least.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

// find returns the session of an id if it belongs to the owner, and else nil.
func (t *sessionTable) find(id string, owner request.Owner) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byID[id]; s != nil && s.owner == owner {
		return s
	}
	return nil
}

// enter counts a POST, so that the session does not end as idle. s may be nil, here and in leave.
func (s *session) enter() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	s.idle.Stop()
}

func (s *session) leave() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts--; s.posts == 0 {
		s.used = time.Now()
		s.idle.Reset(s.table.timeout)
	}
}

// begin notes a call of the direct door. It reports false if its id is in flight at either door, or
// the session is closing.
func (s *session) begin(id string, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closing && s.passed[id] == 0 && s.calls.begin(id, cancel)
}

// pass notes a call of go-sdk's door until release is called. It returns status 404 if the session
// is closing, and 400 if the direct door has the id in flight. s may be nil.
func (s *session) pass(m wire.Checked) (release func(), status int) {
	id := m.ID
	if s == nil || id == "" || m.Method == "" {
		return func() {}, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, http.StatusNotFound
	case s.calls[id] != nil:
		return nil, http.StatusBadRequest
	}
	s.passed[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.passed[id]--; s.passed[id] == 0 {
			delete(s.passed, id)
		}
	}, 0
}

func (s *session) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
	if s.closing && len(s.calls) == 0 {
		close(s.drained)
	}
}

// cancel cancels a call of the direct door.
func (s *session) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.cancel(id)
}

// stop refuses new calls of the direct door, and questions to the client.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.closing, s.drained = true, make(chan struct{})
	if len(s.calls) == 0 {
		close(s.drained)
	}
	s.release = s.table.endQuestions(s.Session)
}

// drain stops the session, and waits for its calls of the direct door or for the end of ctx.
func (s *session) drain(ctx context.Context) {
	s.stop()
	select {
	case <-s.drained:
	case <-ctx.Done():
	}
}

func (c calls) begin(id string, cancel context.CancelFunc) bool {
	if c[id] != nil {
		return false
	}
	c[id] = cancel
	return true
}

func (c calls) cancel(id string) {
	if cancel := c[id]; cancel != nil {
		cancel()
	}
}
