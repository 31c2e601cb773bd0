package resume

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// opened returns a store with a session of a user that has streams.
func opened(t *testing.T, session, subject string, streams ...string) *Store {
	t.Helper()
	s := NewStore()
	open(t, s, session, subject, streams...)
	return s
}

func open(t *testing.T, s *Store, session, subject string, streams ...string) {
	t.Helper()
	for _, id := range append([]string{""}, streams...) {
		s.Open(session, id, request.User{Subject: subject}, nil)
	}
}

func add(t *testing.T, s *Store, session, stream string, events ...string) {
	t.Helper()
	for _, e := range events {
		s.Append(session, stream, []byte(e))
	}
}

const unknown = "not kept"

// after returns the events after an index.
func after(t *testing.T, s *Store, session, stream string, index int) string {
	t.Helper()
	events, kept := s.After(session, stream, index)
	if !kept {
		return unknown
	}
	return string(bytes.Join(events, []byte(" ")))
}

func TestEventsAfterAnIndex(t *testing.T) {
	s := opened(t, "s", "ada", "a", "b")
	add(t, s, "s", "a", "", "one", "two")
	add(t, s, "s", "b", "other")
	for _, c := range []struct {
		session, stream string
		index           int
		want            string
	}{
		{"s", "a", 0, "one two"}, {"s", "a", 1, "two"}, {"s", "a", 2, ""}, {"s", "a", 3, unknown},
		{"s", "b", 0, ""}, {"s", "c", 0, unknown}, {"t", "a", 0, unknown}, {"", "a", 0, unknown},
		{"t", "", 0, unknown},
	} {
		if got := after(t, s, c.session, c.stream, c.index); got != c.want {
			t.Errorf("%q %q after %d: %q, want %q", c.session, c.stream, c.index, got, c.want)
		}
	}
}

func TestARemovedEventLeavesNoIndex(t *testing.T) {
	s := opened(t, "s", "ada")
	add(t, s, "s", "", "zero", "one", "two", "three")
	_, before := s.Size()
	if !s.Remove("s", "", 1) || s.Remove("s", "", 3) || s.Remove("s", "", -1) ||
		s.Remove("s", "none", 0) {
		t.Error("removed what is not kept, or did not remove an event")
	}
	if _, bytes := s.Size(); before-bytes != eventCost+len("one") {
		t.Errorf("%d bytes fewer", before-bytes)
	}
	if got := after(t, s, "s", "", 0); got != "two three" {
		t.Errorf("%q", got)
	}
}

// A plain GET begins the standalone stream: the first one with what was sent before.
func TestPlainGETBeginsTheStandaloneStream(t *testing.T) {
	s := opened(t, "s", "ada")
	for n := range MaxStreamEvents + 2 {
		add(t, s, "s", "", fmt.Sprint(n))
	}
	got := strings.Fields(after(t, s, "s", "", -1))
	if len(got) != MaxStreamEvents || got[0] != "2" {
		t.Fatalf("%d events from %v", len(got), got[0])
	}
	if got := after(t, s, "s", "", MaxStreamEvents-2); got != fmt.Sprint(MaxStreamEvents+1) {
		t.Errorf("resumed: %q", got)
	}
	add(t, s, "s", "", "late")
	for range 2 {
		if got := after(t, s, "s", "", -1); got != "" {
			t.Errorf("a second plain GET: %q", got)
		}
	}
	add(t, s, "s", "", "new", "newer")
	if got := after(t, s, "s", "", 0); got != "newer" {
		t.Errorf("resumed: %q", got)
	}
	if got := after(t, s, "unknown", "", -1); got != unknown {
		t.Errorf("of a session without events: %q", got)
	}
}

func TestEventsOfAStreamAreBounded(t *testing.T) {
	s := opened(t, "s", "ada", "many", "large", "huge")
	for n := range MaxStreamEvents + 5 {
		add(t, s, "s", "many", fmt.Sprint(n))
	}
	if got := after(t, s, "s", "many", 3); got != unknown {
		t.Errorf("an event that was dropped: %.50q", got)
	}
	if got := strings.Fields(after(t, s, "s", "many", 4)); len(got) != MaxStreamEvents ||
		got[0] != "5" {
		t.Errorf("%d events", len(got))
	}
	part := strings.Repeat("x", MaxStreamBytes/4)
	add(t, s, "s", "large", part, part, part, part)
	if got := after(t, s, "s", "large", 0); len(got) != 3*len(part)+2 {
		t.Errorf("%d bytes", len(got))
	}
	add(t, s, "s", "huge", "before", strings.Repeat("x", MaxStreamBytes+1))
	if got := after(t, s, "s", "huge", 0); got != unknown {
		t.Errorf("an event that is too large: %.50q", got)
	}
	add(t, s, "s", "huge", "after")
	if got := after(t, s, "s", "huge", 1); got != "after" {
		t.Errorf("the event after it: %.50q", got)
	}
}

func TestStreamsOfASessionAreBounded(t *testing.T) {
	s := opened(t, "s", "ada")
	add(t, s, "s", "", "standalone")
	for n := range MaxStreams + 1 {
		id := fmt.Sprint("stream", n)
		open(t, s, "s", "ada", id)
		add(t, s, "s", id, "", "x")
	}
	for id, want := range map[string]string{"stream0": unknown, "stream1": "x"} {
		if got := after(t, s, "s", id, 0); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	if s.Append("s", "stream0", []byte("x")); after(t, s, "s", "stream0", -1) != unknown {
		t.Error("a stream that was forgotten is kept again")
	}
	if got := after(t, s, "s", "", -1); got != "standalone" {
		t.Error(got)
	}
}

// One user who fills the store loses the oldest events, and others none.
func TestEventsOfAllSessionsAreBoundedAtTheCostOfWhoHasTheMost(t *testing.T) {
	s := opened(t, "small", "bob", "a")
	add(t, s, "small", "a", "", "of bob")
	part := strings.Repeat("x", MaxStreamBytes/2)
	for n := range 3 * MaxBytes / MaxStreamBytes {
		session := fmt.Sprint("large", n)
		open(t, s, session, "ada", "a")
		add(t, s, session, "a", "", part)
		add(t, s, session, "", part)
		if _, bytes := s.Size(); bytes > MaxBytes {
			t.Fatalf("%d bytes", bytes)
		}
	}
	if got := after(t, s, "small", "a", 0); got != "of bob" {
		t.Errorf("another user's events: %q", got)
	}
	if got := after(t, s, "large0", "a", 0); got != unknown {
		t.Errorf("the oldest stream: %.20q", got)
	}
	last := fmt.Sprint("large", 3*MaxBytes/MaxStreamBytes-1)
	if got := after(t, s, last, "a", 0); got != part {
		t.Errorf("the newest stream: %.20q", got)
	}
	if got := after(t, s, "large0", "", -1); got != "" {
		t.Errorf("the oldest standalone stream: %.20q", got)
	}
	for n := range 3 * MaxBytes / MaxStreamBytes {
		s.SessionClosed(fmt.Sprint("large", n))
	}
	s.SessionClosed("small")
	s.SessionClosed("unknown")
	sessions, size := s.Size()
	if sessions != 0 || size != 0 || s.byUse.Len() != 0 || len(s.users) != 0 {
		t.Errorf("%d sessions, %d bytes, %d streams, users %v", sessions, size, s.byUse.Len(), s.users)
	}
}

func TestEventsAreForgottenWithAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "s", "ada", "old", "new")
		add(t, s, "s", "old", "", "x")
		add(t, s, "s", "", "x")
		time.Sleep(MaxAge - time.Minute)
		add(t, s, "s", "new", "", "y")
		if got := after(t, s, "s", "old", 0); got != "x" {
			t.Error(got)
		}
		time.Sleep(2 * time.Minute)
		add(t, s, "s", "new", "z")
		if got := after(t, s, "s", "old", 0); got != unknown {
			t.Error(got)
		}
		if got := after(t, s, "s", "new", 0); got != "y z" {
			t.Error(got)
		}
		add(t, s, "s", "old", "later") // by a call that took long
		if got := after(t, s, "s", "old", 1); got != "later" {
			t.Error(got)
		}
	})
}

// Nothing is kept of a session that has ended.
func TestSessionThatHasEndedKeepsNothing(t *testing.T) {
	s := opened(t, "s", "ada", "a")
	s.SessionClosed("s")
	s.Append("s", "", []byte("x"))
	s.Append("s", "a", []byte("x"))
	if sessions, size := s.Size(); sessions != 0 || size != 0 {
		t.Error(sessions, size)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	s := NewStore()
	part := []byte(strings.Repeat("x", MaxStreamBytes/8))
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			session := fmt.Sprint("s", n%4)
			for i := range 40 {
				user := request.User{Subject: fmt.Sprint(n % 4)}
				s.Open(session, "", user, nil)
				id := fmt.Sprint(n, "x", i)
				s.Open(session, id, user, nil)
				s.Append(session, id, part)
				s.After(session, id, 0)
				if i%10 == 9 {
					s.SessionClosed(session)
				}
			}
		})
	}
	all.Wait()
	for n := range 4 {
		s.SessionClosed(fmt.Sprint("s", n))
	}
	if sessions, size := s.Size(); sessions != 0 || size != 0 || len(s.users) != 0 {
		t.Error(sessions, size, s.users)
	}
}

func TestPlaceReadsTheIDsThatIDWrites(t *testing.T) {
	if stream, index, ok := Place(ID("a", 7)); stream != "a" || index != 7 || !ok {
		t.Error(stream, index, ok)
	}
	var read []string
	for _, id := range []string{"", "a", "a_", "a_x", "a_-1", "a_1_2", "_1"} {
		if _, _, ok := Place(id); ok {
			read = append(read, id)
		}
	}
	if !slices.Equal(read, []string{"_1"}) {
		t.Errorf("%q", read)
	}
}
