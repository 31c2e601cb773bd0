package transport

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// reader is a client that reads a part of a response in each pause, or none, until the deadline.
type reader struct {
	client
	pause    time.Duration // 0 for a client that never reads
	mu       sync.Mutex
	deadline *time.Timer
	over     chan struct{}
	moved    chan struct{} // closed with the next change of the deadline
	written  int
}

func (r *reader) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deadline != nil {
		r.deadline.Stop()
	}
	over := make(chan struct{})
	r.over = over
	if r.moved != nil {
		close(r.moved)
		r.moved = nil
	}
	if !at.IsZero() {
		r.deadline = time.AfterFunc(time.Until(at), func() { close(over) })
	}
	return nil
}

func (r *reader) Write(b []byte) (int, error) {
	read := make(<-chan time.Time)
	if r.pause > 0 {
		read = time.After(r.pause)
	}
	for {
		r.mu.Lock()
		if r.moved == nil {
			r.moved = make(chan struct{})
		}
		over, moved := r.over, r.moved
		r.mu.Unlock()
		select {
		case <-read:
			r.written += len(b)
			return len(b), nil
		case <-over:
			return 0, os.ErrDeadlineExceeded
		case <-moved:
		}
	}
}

// recorderOf returns the response to a user whose client is r.
func recorderOf(u *unread, r *reader, user string) *responseWriter {
	return &responseWriter{ResponseWriter: r, unread: u, user: request.User{Subject: user}}
}

func TestWriteDeadlineMovesWithProgress(t *testing.T) {
	const parts = 10
	for name, test := range map[string]struct {
		pause, took time.Duration
		written     int
		err         error
	}{
		"slow":        {20 * time.Second, parts * 20 * time.Second, parts * partSize, nil},
		"too slow":    {40 * time.Second, 30 * time.Second, 0, os.ErrDeadlineExceeded},
		"never reads": {0, 30 * time.Second, 0, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnread(worker.NewGroup(), 30*time.Second)
				r, begun := &reader{pause: test.pause}, time.Now()
				n, err := recorderOf(u, r, "ada").Write(make([]byte, parts*partSize))
				if took := time.Since(begun).Round(time.Second); took != test.took ||
					n != test.written || !errors.Is(err, test.err) {
					t.Errorf("%d bytes in %s: %v", n, took, err)
				}
				if len(u.waiting)+len(u.users) != 0 {
					t.Errorf("%v, %v", u.waiting, u.users)
				}
			})
		})
	}
}

func TestUnreadResponsesOfAUserAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnread(worker.NewGroup(), 30*time.Second)
		ada, bob := request.User{Subject: "ada"}, request.User{Subject: "bob"}
		var mu sync.Mutex
		ended := map[string][]time.Duration{}
		write := func(user string, r *reader) {
			begun := time.Now()
			go func() {
				_, _ = recorderOf(u, r, user).Write(make([]byte, maxUnread/2))
				mu.Lock()
				defer mu.Unlock()
				ended[user] = append(ended[user], time.Since(begun).Round(time.Second))
			}()
		}
		for range 3 {
			write("ada", &reader{})
		}
		write("quick", &reader{pause: time.Millisecond})
		if u.full(ada) {
			t.Error("full before a client can have read")
		}
		time.Sleep(1500 * time.Millisecond)
		if !u.full(ada) || u.full(bob) {
			t.Error("ada is not full, or bob is")
		}
		write("ada", &reader{}) // was admitted before
		write("bob", &reader{})
		for range 6 {
			write("eve", &reader{}) // all at once
		}
		time.Sleep(2 * time.Second)
		u.mu.Lock()
		if held := u.users[request.User{Subject: "eve"}]; held > 2*maxUnread {
			t.Errorf("eve has %v", held)
		}
		u.mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		const cut, whole = time.Second, 30 * time.Second
		want := map[string][]time.Duration{
			"ada": {whole, whole, whole, whole}, "bob": {whole}, "quick": ended["quick"],
			"eve": {cut, cut, whole, whole, whole, whole}}
		for user, took := range ended {
			if slices.Sort(took); !slices.Equal(took, want[user]) {
				t.Errorf("%q: %v", user, took)
			}
		}
		if len(u.waiting)+len(u.users) != 0 || len(ended) != len(want) {
			t.Errorf("%v, %v", u.waiting, u.users)
		}
	})
}

// TestWaitThatEndsAsItsTimerFiresCountsNothing: the timer may get the lock after the next wait.
func TestWaitThatEndsAsItsTimerFiresCountsNothing(t *testing.T) {
	u := newUnread(worker.NewGroup(), 30*time.Second)
	s := recorderOf(u, &reader{}, "ada")
	first := u.wait(s, maxUnread)
	u.done(first)
	second := u.wait(s, 1)
	u.count(first)
	u.done(second)
	if len(u.users) != 0 {
		t.Errorf("%v", u.users)
	}
}

func TestShutdownDoesNotWaitForWhoDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		active := worker.NewGroup()
		u := newUnread(active, 30*time.Second)
		var done sync.WaitGroup
		write := func() {
			_, err := recorderOf(u, &reader{}, "ada").Write(make([]byte, largeBody+1))
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		}
		done.Go(write)
		time.Sleep(5 * time.Second)
		begun := time.Now()
		active.Drain()
		synctest.Wait()
		done.Go(write)
		done.Wait()
		if took := time.Since(begun).Round(100 * time.Millisecond); took != flushTimeout {
			t.Errorf("it took %s", took)
		}
	})
}

func TestStreamWaitsWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &client{header: http.Header{}}
		s := &responseWriter{ResponseWriter: w, unread: newUnread(worker.NewGroup(), 30*time.Second)}
		_, _ = s.Write([]byte("event"))
		_ = http.NewResponseController(s).Flush()
		_, _ = s.Write([]byte(strings.Repeat("x", largeBody+1)))
		want := []string{"body event", "deadline 30s", "flush", "no deadline",
			"deadline 30s", "body " + strings.Repeat("x", largeBody+1)}
		if !slices.Equal(w.events, want) {
			t.Errorf("%.200q", w.events)
		}
	})
}

// TestResponseLeavesBeforeAShutdownCountsItAsEnded: the program closes connections afterwards.
func TestResponseLeavesBeforeAShutdownCountsItAsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, closing := range []bool{false, true} {
			active := worker.NewGroup()
			active.Begin()
			w := &client{header: http.Header{}}
			s := &responseWriter{ResponseWriter: w, unread: newUnread(active, 30*time.Second)}
			s.counted.Store(true)
			if closing {
				active.Drain()
			}
			_, _ = s.Write([]byte("{}"))
			s.end()
			s.end()
			want := []string{"body {}"}
			if closing {
				want = append(want, "deadline 2s", "flush", "no deadline")
			}
			if !slices.Equal(w.events, want) {
				t.Errorf("%q, want %q", w.events, want)
			}
		}
	})
}
