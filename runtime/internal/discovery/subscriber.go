package discovery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// maxChecks bounds the clients that are checked at a time. Each may query the host, which requests
// need as well.
const maxChecks = 16

// subscriber is a client that is notified: a session, or with 2026-07-28 a subscriptions/listen
// request. Its run is made when it is due, one at a time, and apart from those of other clients,
// since a client that does not read blocks its own. Between runs it has no goroutine.
type subscriber struct {
	session request.Session
	ctx     context.Context // ends with the client
	end     context.CancelFunc
	run     func()
	log     *slog.Logger

	mu                    sync.Mutex
	started, due, running bool
}

// newSubscriber returns a subscriber that makes no run before start.
func newSubscriber(ctx context.Context, to request.Session, log *slog.Logger,
	run func()) *subscriber {
	s := &subscriber{session: to, log: log, run: run}
	s.ctx, s.end = context.WithCancel(ctx)
	return s
}

// start lets the runs begin.
func (s *subscriber) start() {
	s.mu.Lock()
	s.started = true
	due := s.due
	s.mu.Unlock()
	if due {
		s.wake()
	}
}

// wake makes a run, unless one is due.
func (s *subscriber) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = true
	if s.started && !s.running {
		s.running = true
		go s.work()
	}
}

func (s *subscriber) work() {
	for s.next() {
		s.once()
	}
}

// once makes a run, in which a writer of the program, or a value of an adopted server, may panic.
func (s *subscriber) once() {
	defer worker.Contain(s.ctx, s.log, "a notification panicked")
	s.run()
}

// next reports whether a run is to be made.
func (s *subscriber) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = s.due && s.ctx.Err() == nil
	s.due = false
	return s.running
}

// asCaller is the caller of the last message of a client.
type asCaller struct {
	caller  access.Principal // with the last known Permits
	bounded access.Principal // whose boundary counts, as in [request.Info.Bounded]
	expires time.Time        // of the caller's credential
	held    bool             // the identity source cannot decide about a listen request
}

func (c *asCaller) expired() bool {
	return !c.expires.IsZero() && !time.Now().Before(c.expires)
}

// silent reports whether nothing is sent at present.
func (c *asCaller) silent() bool { return c.held || c.expired() }

// isOf reports whether two messages have the same caller.
func (c *asCaller) isOf(other asCaller) bool {
	return SameCaller(c.caller, other.caller) && SameCaller(c.bounded, other.bounded)
}

// observe notes the caller of a message, or nil while the identity source cannot decide.
func (c *asCaller) observe(info *request.Info) {
	if c.held = info == nil; !c.held {
		c.caller, c.bounded, c.expires = info.Principal, info.Bounded(), info.Expires
	}
}
