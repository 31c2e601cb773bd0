package transport

import (
	"context"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const (
	// A client has Config.BodyReadTimeout, or flushTimeout in a shutdown, to read partSize bytes
	// of a response. Otherwise its connection ends.
	partSize     = 64 << 10
	flushTimeout = 2 * time.Second

	// largeBody is the size from which writing may wait for the client: smaller bodies fit into
	// the buffers of net/http.
	largeBody = 4 << 10

	// A response that has not left after unreadAfter counts as unread. A user with maxUnread bytes
	// of them gets 429. With those that were admitted before, twice as many bytes may wait.
	unreadAfter = time.Second
	maxUnread   = 32 << 20
)

// unread has the responses of one handler that wait for their clients to read.
type unread struct {
	active  *worker.Group
	timeout time.Duration // for a part
	mu      sync.Mutex
	waiting map[*statusRecorder]bool
	users   map[request.User]int // bytes that count as unread
}

func newUnread(active *worker.Group, timeout time.Duration) *unread {
	u := &unread{active: active, timeout: timeout,
		waiting: map[*statusRecorder]bool{}, users: map[request.User]int{}}
	context.AfterFunc(active.Draining(), func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		for s := range u.waiting {
			s.extend(0)
		}
	})
	return u
}

// full reports whether a user leaves too much unread.
func (u *unread) full(user request.User) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.users[user] >= maxUnread
}

// waiting is a response that waits for its client. unread.mu guards it.
type waiting struct {
	response       *statusRecorder
	bytes          int // that it holds
	timer          *time.Timer
	counted, ended bool
}

// wait notes that a response begins to wait, until done.
func (u *unread) wait(s *statusRecorder, bytes int) *waiting {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting[s] = true
	w := &waiting{response: s, bytes: bytes}
	w.timer = time.AfterFunc(unreadAfter, func() { u.count(w) })
	return w
}

// count counts a response as unread. The timer may have fired while the wait ended.
func (u *unread) count(w *waiting) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w.ended {
		return
	}
	w.counted = true
	s := w.response
	if u.users[s.user] += w.bytes; u.users[s.user] > 2*maxUnread {
		s.cut = true
		s.extend(0)
	}
}

// done ends a wait.
func (u *unread) done(w *waiting) {
	w.timer.Stop()
	u.mu.Lock()
	defer u.mu.Unlock()
	w.ended = true
	delete(u.waiting, w.response)
	if user := w.response.user; w.counted {
		if u.users[user] -= w.bytes; u.users[user] == 0 {
			delete(u.users, user)
		}
	}
}
