package transport

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// bindTo gives a slot to a session of a table, as a handshake does.
func bindTo(table *sessionTable, l *lease, s *fakeSession) bool {
	bound := l.bind()
	if bound {
		table.add(s, ada, l)
	}
	return bound
}

// counted returns the slots that are taken, and the users that have one.
func counted(s *sessionLimiter) (taken, users int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, len(s.users)
}

func newLease(t *testing.T, s *sessionLimiter) *lease {
	t.Helper()
	release, status := s.acquire(request.User{Subject: "ada"})
	if release == nil {
		t.Fatalf("no slot: %d", status)
	}
	return &lease{release: release}
}

func TestSlotsAreBoundedByServerAndUser(t *testing.T) {
	s := newSessionLimiter(SessionLimits{Total: 3, PerUser: 2})
	ada, bob := request.User{Subject: "ada"}, request.User{Issuer: "other", Subject: "ada"}
	var held []func()
	for i, step := range []struct {
		user   request.User
		status int
	}{
		{ada, 0}, {ada, 0}, {ada, http.StatusTooManyRequests}, {bob, 0},
		{bob, http.StatusServiceUnavailable}, {ada, http.StatusTooManyRequests},
	} {
		release, status := s.acquire(step.user)
		if status != step.status || (release == nil) != (status != 0) {
			t.Errorf("%d: status %d", i, status)
		}
		if release != nil {
			held = append(held, release)
		}
	}
	held[0]()
	held[0]() // counts once
	if taken, users := counted(s); taken != 2 || users != 2 {
		t.Errorf("%d slots, %d users", taken, users)
	}
	if _, status := s.acquire(ada); status != 0 {
		t.Errorf("the slot is not free: %d", status)
	}
	held[2]()
	if _, users := counted(s); users != 1 {
		t.Errorf("%d users: one without a slot is kept", users)
	}
}

func TestLeaseIsReleasedByItsLastHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessionLimiter(SessionLimits{Total: 1, PerUser: 1})
		free := func() bool { synctest.Wait(); taken, _ := counted(s); return taken == 0 }

		// No session: the request releases it, and a late session does not get it.
		l := newLease(t, s)
		l.leave(ofRequest)
		l.leave(ofRequest)
		if !free() || l.bind() {
			t.Error("the end of the request does not release the slot")
		}

		// A session: it keeps the slot beyond the request, however often it is bound.
		table, session := newSessionTable(time.Minute, noQuestions), newSession("s")
		l = newLease(t, s)
		for range 2 {
			if !bindTo(table, l, session) {
				t.Error("not bound")
			}
		}
		if l.leave(ofRequest); free() {
			t.Error("the request has released the slot of its session")
		}
		_ = session.Close()
		if !free() || l.bind() {
			t.Error("the end of the session does not release the slot")
		}
		if l.leave(ofRequest); !free() {
			t.Error("released twice")
		}
		if !(*lease)(nil).bind() {
			t.Error("a request without a lease opens no session")
		}
	})
}

// A request may end while go-sdk still opens its session.
func TestBindAndEndOfTheRequestRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessionLimiter(SessionLimits{Total: 1, PerUser: 1})
		for range 200 {
			table, session := newSessionTable(time.Minute, noQuestions), newSession("s")
			l := newLease(t, s)
			var bound [3]bool
			var wg sync.WaitGroup
			for i := range bound {
				wg.Go(func() { bound[i] = bindTo(table, l, session) })
			}
			wg.Go(func() { l.leave(ofRequest) })
			wg.Wait()
			taken, _ := counted(s)
			if bound[0] != bound[1] || bound[1] != bound[2] || bound[0] != (taken == 1) {
				t.Fatalf("bound %v, %d slots taken", bound, taken)
			}
			_ = session.Close()
			synctest.Wait()
			if taken, _ := counted(s); taken != 0 {
				t.Fatalf("%d slots taken at the end", taken)
			}
		}
	})
}
