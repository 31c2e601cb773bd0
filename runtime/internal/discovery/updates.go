package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// MaxSubscriptions bounds the resources that one session subscribes to. Of the URIs in one
// subscriptions/listen request, as many are read.
const MaxSubscriptions = 256

// permissionsAge is how long the permissions that were read for a notification count for the next.
const permissionsAge = time.Second

// Updates notifies the clients that have subscribed to a resource when it is updated.
type Updates struct {
	UpdatesConfig
	checking chan struct{} // holds an item for each client whose permissions are being read

	mu       sync.Mutex // guards the state of subscribers too
	sessions map[request.Session]*Subscriber
	byURI    map[string]map[*Subscriber]bool
}

// UpdatesConfig is what notifications of updated resources need.
type UpdatesConfig struct {
	// MayFollow reports whether a caller may read and subscribe to a URI.
	MayFollow func(caller access.Principal, uri string) bool
	Host      Host // nil without permission-aware discovery
	// Boundaries are those of clients; nil without boundaries.
	Boundaries Boundaries
	Log        *slog.Logger
}

// NewUpdates returns the notifier of a server with resources to subscribe to.
func NewUpdates(c UpdatesConfig) *Updates {
	if request.IsNil(c.Host) {
		c.Host = nil
	}
	if request.IsNil(c.Boundaries) {
		c.Boundaries = nil
	}
	return &Updates{UpdatesConfig: c, checking: make(chan struct{}, maxChecks),
		sessions: map[request.Session]*Subscriber{}, byURI: map[string]map[*Subscriber]bool{}}
}

// Subscriber is a client with subscriptions: a session, or with 2026-07-28 a subscriptions/listen
// request.
type Subscriber struct {
	*subscriber
	updates *Updates
	uris    []string // of a listen request, in its order

	// Guarded by updates.mu.
	asCaller
	follows map[string]bool // URIs
	waiting []string        // URIs to notify of, each once
	unread  []string        // URIs for which the host could not be read, until the next tick
	id      any             // of the listen request; nil for a session
}

// Errors of [Updates.Subscribe], for the client.
var (
	errTooMany = fmt.Errorf("a session has at most %d subscriptions", MaxSubscriptions)
	errTooLong = fmt.Errorf("a URI of a subscription has at most %d bytes", uritemplate.MaxLength)
)

// Observe notes the caller of a session's message. What was held back since the end of the last
// credential is sent now.
func (u *Updates) Observe(info *request.Info) {
	if info.Session == nil || !info.HasSessions() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.sessions[info.Session]; s != nil {
		s.observe(info)
		s.notifyWaiting()
	}
}

// Observe notes the present caller of a listen request, whose credential was verified again; nil
// while the identity source cannot decide.
func (s *Subscriber) Observe(info *request.Info) {
	s.updates.mu.Lock()
	defer s.updates.mu.Unlock()
	s.observe(info)
	s.notifyWaiting()
}

// Subscribe subscribes the session of a message to a URI. added is false if the session has
// subscribed to it before.
func (u *Updates) Subscribe(info *request.Info, uri string) (added bool, err error) {
	if len(uri) > uritemplate.MaxLength {
		return false, errTooLong
	}
	s, created := u.sessionOf(info)
	if created {
		info.Session.OnEnd(func() { u.leave(s) })
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case s.ctx.Err() != nil || s.follows[uri]: // its session has ended, or has it already
		return false, nil
	case len(s.follows) >= MaxSubscriptions:
		return false, errTooMany
	}
	s.add(uri)
	return true, nil
}

// sessionOf returns the subscriber that the session of a message is.
func (u *Updates) sessionOf(info *request.Info) (s *Subscriber, created bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s = u.sessions[info.Session]; s != nil {
		return s, false
	}
	s = u.newSubscriber(context.Background(), info)
	u.sessions[info.Session] = s
	s.start()
	return s, true
}

// Unsubscribe ends a subscription of a session. It reports false if there is none.
func (u *Updates) Unsubscribe(session request.Session, uri string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.sessions[session]
	if s == nil || !s.follows[uri] {
		return false
	}
	s.remove(uri)
	ended := func(w string) bool { return w == uri }
	s.waiting = slices.DeleteFunc(s.waiting, ended)
	s.unread = slices.DeleteFunc(s.unread, ended)
	return true
}

// Listen prepares the subscriptions of a listen request to URIs. They last from
// [Subscriber.Acknowledged] until ctx ends or leave.
func (u *Updates) Listen(ctx context.Context, info *request.Info, uris []string) (
	s *Subscriber, leave func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s = u.newSubscriber(ctx, info)
	s.uris = uris
	for _, uri := range uris {
		s.add(uri)
	}
	return s, func() { u.leave(s) }
}

// URIs returns the subscriptions of a listen request.
func (s *Subscriber) URIs() []string { return s.uris }

// Acknowledged starts the notifications of a listen request. Updates since the request are sent.
func (s *Subscriber) Acknowledged(id any) {
	s.updates.mu.Lock()
	defer s.updates.mu.Unlock()
	s.id = id
	s.start()
}

// Updated notifies the subscribers of a resource; with an empty URI, of every resource.
func (u *Updates) Updated(uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if uri != "" {
		for s := range u.byURI[uri] {
			s.queue(uri)
		}
		return
	}
	for _, subscribers := range u.byURI {
		for s := range subscribers {
			if len(s.waiting) < len(s.follows) {
				s.waiting = slices.Sorted(maps.Keys(s.follows))
			}
			s.notifyWaiting()
		}
	}
}

// UpdatedFor notifies one session, if it has subscribed to the resource. u may be nil.
func (u *Updates) UpdatedFor(session request.Session, uri string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for s := range u.byURI[uri] {
		if s.session == session {
			s.queue(uri)
		}
	}
}

// Count returns the number of subscriptions of all clients.
func (u *Updates) Count() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, subscribers := range u.byURI {
		n += len(subscribers)
	}
	return n
}

// Follow notifies of the updates that a channel contains, until it is closed or ctx ends.
func (u *Updates) Follow(ctx context.Context, updates <-chan string) {
	for {
		select {
		case <-ctx.Done():
			return
		case uri, open := <-updates:
			if !open {
				return
			}
			u.Updated(uri)
		}
	}
}

func (u *Updates) newSubscriber(ctx context.Context, info *request.Info) *Subscriber {
	s := &Subscriber{updates: u, follows: map[string]bool{}}
	s.observe(info)
	s.subscriber = newSubscriber(ctx, info.Session, u.Log, s.notify)
	return s
}

func (u *Updates) leave(s *Subscriber) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s.end()
	for uri := range s.follows {
		s.remove(uri)
	}
	s.unread = nil
	if s.waiting = nil; u.sessions[s.session] == s {
		delete(u.sessions, s.session)
	}
}

// add, remove, queue and notifyWaiting need updates.mu.
func (s *Subscriber) add(uri string) {
	s.follows[uri] = true
	if s.updates.byURI[uri] == nil {
		s.updates.byURI[uri] = map[*Subscriber]bool{}
	}
	s.updates.byURI[uri][s] = true
}

func (s *Subscriber) remove(uri string) {
	delete(s.follows, uri)
	if delete(s.updates.byURI[uri], s); len(s.updates.byURI[uri]) == 0 {
		delete(s.updates.byURI, uri)
	}
}

func (s *Subscriber) queue(uri string) {
	s.unread = slices.DeleteFunc(s.unread, func(u string) bool { return u == uri })
	if !slices.Contains(s.waiting, uri) {
		s.waiting = append(s.waiting, uri)
	}
	s.notifyWaiting()
}

func (s *Subscriber) notifyWaiting() {
	if len(s.waiting) > 0 {
		s.wake()
	}
}

// notify sends what waits, and decides on each notification when it is sent.
func (s *Subscriber) notify() {
	u := s.updates
	for s.ctx.Err() == nil {
		u.mu.Lock()
		batch, caller := s.waiting, s.asCaller
		if len(batch) == 0 || s.silent() { // Observe sends what is held
			u.mu.Unlock()
			return
		}
		s.waiting = nil
		u.mu.Unlock()
		present, read := caller.caller, time.Time{}
		for i := range batch {
			if time.Since(read) > permissionsAge {
				var err error
				if present, err = s.peek(caller); errors.Is(err, capability.ErrNoUser) {
					break // each message of this caller is refused
				} else if err != nil {
					s.postpone(batch[i:])
					return
				}
				read = time.Now()
			}
			if !s.send(batch[i], caller, present) {
				s.requeue(batch[i:])
				break // by another caller, or with another credential
			}
		}
	}
}

// peek returns the caller with the present boundary and permissions.
func (s *Subscriber) peek(caller asCaller) (access.Principal, error) {
	u, p := s.updates, caller.caller
	if u.Boundaries != nil {
		p.Bounds, _ = u.Boundaries.Of(s.ctx, caller.bounded)
	}
	if u.Host == nil || p.Anonymous() {
		return p, nil
	}
	select {
	case u.checking <- struct{}{}:
		defer func() { <-u.checking }()
	case <-s.ctx.Done():
		return p, s.ctx.Err()
	}
	return u.Host.Peek(s.ctx, p)
}

// send notifies of a resource if the caller, with its present permissions, may read it. It reports
// false if the caller is no longer the last one of the client, or its credential has ended.
func (s *Subscriber) send(uri string, caller asCaller, present access.Principal) bool {
	u := s.updates
	u.mu.Lock()
	follows, id, last, silent := s.follows[uri], s.id, s.asCaller, s.silent()
	u.mu.Unlock()
	switch {
	case !caller.isOf(last), silent:
		return false
	case !follows || !u.MayFollow(present, uri):
		return true
	}
	params := &mcp.ResourceUpdatedNotificationParams{URI: uri}
	if id != nil {
		params.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: id}
	}
	if err := s.session.Notify("notifications/resources/updated", params); err != nil {
		u.Log.DebugContext(s.ctx, "a notification of an updated resource could not be sent",
			"error", err)
	}
	return true
}

// postpone notifies of URIs at the next tick: nothing reports that the host is available again. No
// other update makes that earlier, since the client could see by it that something hidden changes.
func (s *Subscriber) postpone(uris []string) {
	u := s.updates
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(s.unread) == 0 {
		time.AfterFunc(untilTick(retryPause), func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			for _, uri := range slices.Clone(s.unread) {
				s.queue(uri)
			}
		})
	}
	for _, uri := range uris {
		if s.follows[uri] && !slices.Contains(s.unread, uri) {
			s.unread = append(s.unread, uri)
		}
	}
}

// requeue puts URIs back in front of those that wait.
func (s *Subscriber) requeue(uris []string) {
	s.updates.mu.Lock()
	defer s.updates.mu.Unlock()
	later := s.waiting
	s.waiting = nil
	for _, uri := range slices.Concat(uris, later) {
		if s.follows[uri] && !slices.Contains(s.waiting, uri) {
			s.waiting = append(s.waiting, uri)
		}
	}
}
