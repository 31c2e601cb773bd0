package transport

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

var ada = request.Owner{User: request.User{Subject: "ada"}, Client: "c"}

func noQuestions(request.Session) func() { return func() {} }

// added adds a session to a new table.
func added(timeout time.Duration) (*sessionTable, *fakeSession, *session) {
	t, s := newSessionTable(timeout, noQuestions), newSession("s")
	t.add(s, ada, nil)
	return t, s, t.find("s", ada)
}

func isOver(s *fakeSession) bool {
	synctest.Wait()
	return hasEnded(s)
}

func hasEnded(s *fakeSession) bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func TestSessionsAreFoundByTheirOwnersUntilTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, s, of := added(time.Minute)
		table.add(newSession("s"), request.Owner{}, nil)
		table.add(newSession(""), ada, nil) // of stdio
		for _, other := range []request.Owner{{}, {User: ada.User}, {Client: "c"}} {
			if table.find("s", other) != nil {
				t.Errorf("%+v finds the session", other)
			}
		}
		if of == nil || table.find("x", ada) != nil || len(table.byID) != 1 {
			t.Errorf("%v", table.byID)
		}
		_ = s.Close()
		if synctest.Wait(); len(table.byID) != 0 {
			t.Error("an ended session is kept")
		}
		table.add(newSession("s"), request.Owner{}, nil)
		if table.find("s", ada) != nil || table.find("s", request.Owner{}) == nil {
			t.Error("an id keeps its owner")
		}
		time.Sleep(2 * time.Minute) // it idles out
	})
}

func TestSessionsEndAsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, s, of := added(time.Minute)
		for range 3 {
			time.Sleep(50 * time.Second)
			of.enter()
			of.enter()
			time.Sleep(5 * time.Minute)
			of.leave()
			time.Sleep(5 * time.Minute)
			of.leave()
		}
		if time.Sleep(59 * time.Second); isOver(s) {
			t.Error("it ends early")
		}
		if time.Sleep(time.Second); !isOver(s) || len(table.byID) != 0 {
			t.Error("it does not end")
		}
		(*session)(nil).enter()
		(*session)(nil).leave()
	})
}

// A response may leave after its session has ended.
func TestEndedSessionsHaveNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, of := added(time.Minute)
		of.enter()
		_ = s.Close()
		synctest.Wait()
		of.leave()
		if of.idle.Stop() {
			t.Error("the timer keeps the ended session")
		}
	})
}

func TestDrainWaitsForDirectCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, of := added(time.Hour)
		defer s.Close()
		var cancelled []string
		for _, id := range []string{"1", `"1"`} {
			if !of.begin(id, func() { cancelled = append(cancelled, id) }) {
				t.Errorf("%s does not begin", id)
			}
		}
		if of.begin("1", func() {}) {
			t.Error("an id begins twice")
		}
		of.cancel("2")
		if of.cancel("1"); len(cancelled) != 1 || cancelled[0] != "1" {
			t.Errorf("%q are cancelled", cancelled)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if of.drain(ctx); ctx.Err() == nil {
			t.Error("it does not wait")
		}
		var drained atomic.Int32
		for range 2 { // a DELETE twice
			go func() { of.drain(t.Context()); drained.Add(1) }()
			synctest.Wait()
		}
		if of.begin("2", func() {}) {
			t.Error("a call begins in a session that ends")
		}
		of.end("1")
		if synctest.Wait(); drained.Load() != 0 {
			t.Error("it does not wait for the last call")
		}
		of.end(`"1"`)
		if synctest.Wait(); drained.Load() != 2 {
			t.Errorf("%d of 2 have ended", drained.Load())
		}
		of.drain(t.Context())
	})
}

func TestIDsAreCountedAtBothDoors(t *testing.T) {
	_, s, of := added(time.Hour)
	defer s.Close()
	call := func(id string) wire.Checked { return wire.Checked{Method: "m", ID: id} }
	first, _ := of.pass(call("1"))
	second, status := of.pass(call("1")) // go-sdk decides on its own duplicates
	if first(); status != 0 || of.begin("1", func() {}) || !of.begin("2", func() {}) {
		t.Errorf("status %d, or an id at both doors", status)
	}
	if second(); !of.begin("1", func() {}) || len(of.passed) != 0 {
		t.Error("an id is kept")
	}
	for _, none := range []wire.Checked{call("null"), call(""), {ID: "1"}} {
		if release, status := of.pass(none); release == nil || status != 0 {
			t.Errorf("%+v is no call: %d", none, status)
		}
	}
	if _, status := of.pass(call("1")); status != 400 {
		t.Errorf("a duplicate: %d", status)
	}
	of.end("1")
	of.end("2")
	of.drain(t.Context())
	if _, status := of.pass(call("1")); status != 404 {
		t.Errorf("a session that ends: %d", status)
	}
	if _, status := (*session)(nil).pass(call("1")); status != 0 {
		t.Errorf("no session: %d", status)
	}
}

func TestCallsOfASessionRace(t *testing.T) {
	for range 100 {
		table, s, of := added(time.Hour)
		var wg sync.WaitGroup
		for range 4 {
			for _, id := range []string{"1", "2"} {
				wg.Go(func() {
					of.enter()
					defer of.leave()
					if of.begin(id, func() {}) {
						of.end(id)
					}
				})
				wg.Go(func() {
					if release, _ := of.pass(wire.Checked{Method: "m", ID: id}); release != nil {
						release()
					}
				})
				wg.Go(func() { of.cancel(id); table.find("s", ada) })
			}
		}
		wg.Go(func() { of.drain(t.Context()) })
		wg.Go(func() { of.drain(t.Context()) })
		wg.Wait()
		_ = s.Close()
	}
}

// What refuses the questions of a session is released once, after the session's end.
func TestQuestionsAreRefusedUntilTheSessionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession("s")
		var events []string
		table := newSessionTable(time.Minute, func(on request.Session) func() {
			if on != request.Session(s) || hasEnded(s) {
				t.Error("not before the end of this session")
			}
			events = append(events, "end")
			return func() {
				if !hasEnded(s) {
					t.Error("released before the end")
				}
				events = append(events, "release")
			}
		})
		table.add(s, ada, nil)
		of := table.find("s", ada)
		_, cancel := context.WithCancel(t.Context())
		defer cancel()
		if !of.begin("1", cancel) {
			t.Fatal("no call begins")
		}
		go of.drain(t.Context())
		time.Sleep(2 * time.Minute) // it idles out
		if synctest.Wait(); !slices.Equal(events, []string{"end"}) || isOver(s) {
			t.Errorf("during a call: %v", events)
		}
		of.end("1")
		if synctest.Wait(); !slices.Equal(events, []string{"end", "release"}) {
			t.Errorf("after it: %v", events)
		}
	})
}
