package discovery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// ListChanged notifies the clients whose own lists have changed. A nil ListChanged notifies none.
type ListChanged struct {
	ListChangedConfig
	checking chan struct{} // holds an item for each client that is being checked

	mu      sync.Mutex // guards the state of subscriptions too
	clients map[any]*Subscription
	streams map[request.Session]int // the streams over HTTP of sessions that have any
	last    *Items                  // of the last client that was read
}

// ListChangedConfig is what list_changed notifications need.
type ListChangedConfig struct {
	Lists    *Lists
	Catalogs *Catalogs
	Host     Host // nil without permission-aware discovery
	// Boundaries are those of clients; nil without boundaries.
	Boundaries Boundaries
	// Interval is how often the permissions of clients that can be notified are read again.
	Interval time.Duration
	Log      *slog.Logger
	// Kinds are those whose changes the server declares.
	Kinds []access.Kind
	// Adopted reads what an adopted server lists to a client, with the _meta of its listen request.
	// It returns nil without an error before the server has a session of the client. The func is nil
	// if the server does not declare changes.
	Adopted func(context.Context, request.Session, map[string]any) (*Items, error)
}

// Host returns what the host lets principals do.
type Host interface {
	// Peek loads permissions without [ListChanged.Loaded]. An unknown user is capability.ErrNoUser.
	Peek(context.Context, access.Principal) (access.Principal, error)
}

// Boundaries returns the present boundaries of clients.
type Boundaries interface {
	// Of returns the boundary of a caller, and when it may change next; zero for never.
	Of(context.Context, access.Principal) (*access.Bounds, time.Time)
	// Blocked reports whether the boundary of a caller is that of a blocked client.
	Blocked(access.Principal) bool
}

// NewListChanged returns the notifier of a server whose lists may change.
func NewListChanged(c ListChangedConfig) *ListChanged {
	if request.IsNil(c.Host) {
		c.Host = nil
	}
	if request.IsNil(c.Boundaries) {
		c.Boundaries = nil
	}
	return &ListChanged{ListChangedConfig: c,
		checking: make(chan struct{}, maxChecks), clients: map[any]*Subscription{},
		streams: map[request.Session]int{}}
}

// MayChange reports whether the lists of a message's caller may change. Anonymous callers do not
// depend on the host. Those without a user of the host depend on their boundaries.
func (l *ListChanged) MayChange(info *request.Info) bool {
	return l != nil && (!info.Principal.Anonymous() || l.Catalogs.Source != nil || l.Adopted != nil ||
		l.Boundaries != nil && !info.Bounded().Anonymous())
}

// Observe notes the caller of a session's message. It checks the session if the caller is another.
func (l *ListChanged) Observe(info *request.Info) {
	if !l.MayChange(info) || info.Session == nil || !info.HasSessions() {
		return
	}
	if s := l.observe(info); s != nil {
		info.Session.OnEnd(func() { l.leave(s) })
	}
}

// observe returns the subscription of a session that was not known, and nil for a known one.
func (l *ListChanged) observe(info *request.Info) *Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.clients[info.Session]
	if s == nil {
		s = l.newSubscription(context.Background(), info)
		s.key, s.known = info.Session, l.Lists.digests(info.Principal, nil)
		s.overHTTP = info.HTTP != nil
		l.begin(s)
		s.start()
		return s
	}
	if !l.seesSame(s.caller, info.Principal) || s.expired() || l.Adopted != nil && !s.reads.Load() {
		// Also for changes after the end of the last credential, which were not sent.
		s.unchecked = true
		s.wake()
	}
	s.subscriptionState.observe(info)
	return nil
}

// seesSame reports whether two principals certainly see the same lists and catalogs. Permissions
// and boundaries of hidden items make no difference: a check would show a change that is not yet
// due.
func (l *ListChanged) seesSame(a, b access.Principal) bool {
	return a.Subject == b.Subject && a.Issuer == b.Issuer &&
		slices.Equal(a.Roles, b.Roles) && slices.Equal(a.Scopes, b.Scopes) &&
		slices.Equal(a.Orgs, b.Orgs) && slices.Equal(a.Teams, b.Teams) &&
		l.listsSame(a, b)
}

// listsSame reports whether the permissions and boundaries of two otherwise equal principals list
// the same.
func (l *ListChanged) listsSame(a, b access.Principal) bool {
	return a.Permits.Equal(b.Permits) && a.Bounds.Equal(b.Bounds) ||
		(a.Permits == nil) == (b.Permits == nil) && l.Lists.digests(a, nil) == l.Lists.digests(b, nil)
}

// Stream notes that a session has a stream for notifications over HTTP, until end is called.
func (l *ListChanged) Stream(s request.Session) (end func()) {
	if l == nil {
		return func() {}
	}
	count := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.streams[s] += n; l.streams[s] == 0 {
			delete(l.streams, s)
		}
	}
	count(1)
	return func() { count(-1) }
}

// Listed notes the catalog of the list that a session was sent.
func (l *ListChanged) Listed(info *request.Info, f Filter) {
	if !l.MayChange(info) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.clients[info.Session]; s != nil && !s.query.Equal(info.Catalog) {
		s.query = info.Catalog
		s.known[access.Tools] = l.Lists.tools.visible(info.Principal, f.In, nil).digest()
		s.wake() // for changes since the catalog was resolved
	}
}

// Subscribe prepares a listen request, from [Subscription.Acknowledged] until ctx ends or leave.
func (l *ListChanged) Subscribe(ctx context.Context, info *request.Info, meta map[string]any,
	f Filter) (s *Subscription, leave func()) {
	s = l.newSubscription(ctx, info)
	s.meta = meta
	s.key, s.query, s.known = s, info.Catalog, l.Lists.digests(info.Principal, f.In)
	return s, func() { l.leave(s) }
}

// Recheck checks the clients whose principal matches, which has no Permits. nil matches all.
func (l *ListChanged) Recheck(match func(access.Principal) bool) {
	l.recheck(true, func(s subscriptionState) bool {
		s.caller.Permits = nil
		return match == nil || match(s.caller)
	})
}

// RecheckBoundaries checks the clients whose principal matches, if they are listed other items by
// the present boundary.
func (l *ListChanged) RecheckBoundaries(match func(access.Principal) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.clients {
		if match(s.bounded) {
			go s.rebound() // the source may take long
		}
	}
}

// rebound checks the client if its boundary has changed what it is listed, or the roles with which
// the host is read.
func (s *Subscription) rebound() {
	defer worker.Contain(s.ctx, s.log, "a check of a boundary panicked")
	l := s.changes
	l.mu.Lock()
	before, caller := s.present(), s.bounded
	l.mu.Unlock()
	now, next := before, time.Time{}
	if now.Bounds, next = l.Boundaries.Of(s.ctx, caller); l.Boundaries.Blocked(now) {
		s.session.End()
		return
	}
	is := caller
	caller.Bounds, is.Bounds = before.Bounds, now.Bounds
	host := l.Host != nil && !slices.Equal(caller.Within().Roles, is.Within().Roles)
	if host || !l.listsSame(before, now) {
		s.check(host)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if SameCaller(s.caller, before) && SameCaller(s.bounded, caller) { // and not observed since
		s.caller.Bounds = now.Bounds // for a switch, which decides which clients it concerns
	}
	s.wakeAt(next)
}

// RecheckSwitches checks the clients whose principal matches.
func (l *ListChanged) RecheckSwitches(match func(access.Principal) bool) {
	l.recheck(false, func(s subscriptionState) bool { return match(s.present()) })
}

// Loaded checks the clients of a principal whose permissions were loaded from the host. With
// Permits, it checks those of the same caller that have other ones.
func (l *ListChanged) Loaded(p access.Principal) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.clients {
		q := &s.caller
		if p.Issuer == q.Issuer && p.Subject == q.Subject && p.User == q.User &&
			(p.Permits == nil || SameCaller(p, *q) && !l.listsSame(p, *q)) {
			s.unchecked = true
			s.wake()
		}
	}
}

// SameCaller reports whether two principals are equal, apart from what the host lets them do.
func SameCaller(a, b access.Principal) bool {
	return a.Compare(b) == 0 && slices.Equal(a.Groups, b.Groups) &&
		slices.Equal(a.Orgs, b.Orgs) && slices.Equal(a.Teams, b.Teams)
}

// RecheckCatalogs checks the clients that were listed a catalog.
func (l *ListChanged) RecheckCatalogs() {
	l.recheck(false, func(s subscriptionState) bool { return !s.query.IsZero() })
}

// recheck checks the clients that match, with a read of the host or without. A check for another
// reason reads no host: a change of something hidden would show a changed permission early.
func (l *ListChanged) recheck(host bool, match func(subscriptionState) bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	states := make(map[*Subscription]subscriptionState, len(l.clients))
	for _, s := range l.clients {
		states[s] = s.subscriptionState
	}
	l.mu.Unlock() // match may take long, or call the server
	for s, state := range states {
		if match(state) {
			s.check(host)
		}
	}
}

// Count returns the number of clients.
func (l *ListChanged) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.clients)
}

func (l *ListChanged) newSubscription(ctx context.Context, info *request.Info) *Subscription {
	s := &Subscription{changes: l}
	s.subscriber = newSubscriber(ctx, info.Session, l.Log, s.notify)
	s.subscriptionState.observe(info)
	return s
}

// begin notes a client that is notified from its start on. l.mu is held.
func (l *ListChanged) begin(s *Subscription) {
	l.clients[s.key] = s
	if l.Boundaries != nil && !s.bounded.Anonymous() {
		s.wake() // which sets the timer for the end of its boundary
	}
	if l.Host != nil {
		time.AfterFunc(l.Interval, s.recheck)
	}
}

// recheck reads what the host lets the client do, and does so again after the interval.
func (s *Subscription) recheck() {
	if s.ctx.Err() != nil {
		return
	}
	if s.dependsOnHost() {
		s.check(true)
	}
	time.AfterFunc(s.changes.Interval, s.recheck)
}

// check is wake, with a read of the host or without.
func (s *Subscription) check(host bool) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.unchecked = s.unchecked || host
	s.wake()
}

// observe notes the caller of a message, or nil while the identity source cannot decide.
func (s *subscriptionState) observe(info *request.Info) {
	s.asCaller.observe(info)
	s.nobody = s.nobody && info == nil
}

// present returns the caller as the host had it last.
func (s *subscriptionState) present() access.Principal {
	if s.nobody {
		return access.Principal{Bounds: s.caller.Bounds}
	}
	return s.caller
}

// dependsOnHost reports whether a client can be notified of what changes in the host.
func (s *Subscription) dependsOnHost() bool {
	l := s.changes
	l.mu.Lock()
	defer l.mu.Unlock()
	return !s.caller.Anonymous() && (!s.overHTTP || l.streams[s.session] > 0)
}

func (l *ListChanged) leave(s *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.clients, s.key)
	s.wakeAt(time.Time{})
	s.end()
}

// Subscription is a notified client: a session, or with 2026-07-28 a subscriptions/listen request.
type Subscription struct {
	*subscriber
	changes           *ListChanged
	key               any            // in changes.clients: a session, or that of a listen request
	overHTTP          bool           // a session, which is notified by its streams
	meta              map[string]any // of a listen request
	following         sync.Mutex     // guards items and unread
	items             *Items         // of the adopted server; nil before they have been read
	reads             atomic.Bool    // items is set
	unread            time.Time      // until then items is not read for the first time
	woken             time.Time      // by the adopted server; guarded by changes.mu
	ends              *time.Timer    // at the end of the boundary; nil for none, guarded by changes.mu
	changed           [3]bool        // the worker's: kinds of changed items, for the next check
	subscriptionState                // guarded by changes.mu
}

type subscriptionState struct {
	asCaller
	nobody    bool                           // the host had no user of the caller last
	unchecked bool                           // the host has to be read
	query     request.CatalogQuery           // the catalog of the last list
	known     digests                        // what the client was sent or notified of
	wanted    *mcp.NotificationSubscriptions // nil for a session, which gets all
	id        any                            // of the listen request; nil for a session
}

// Acknowledged starts the notifications of a listen request.
func (s *Subscription) Acknowledged() { s.start() }

// Prepare comes before the client gets the acknowledgement of a listen request, so that it is
// notified of all changes since, from [Subscription.Acknowledged] on.
func (s *Subscription) Prepare(wanted *mcp.NotificationSubscriptions, id any) {
	s.readOnce(s.ctx)
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if s.ctx.Err() != nil {
		return // middleware has held the acknowledgement back until the client had left
	}
	s.wanted, s.id = wanted, id
	s.changes.begin(s)
	s.unchecked = true // for changes since the request
	s.wake()
}

// Observe notes the present caller of a listen request, whose credential was verified again; nil
// while the identity source cannot decide.
func (s *Subscription) Observe(info *request.Info) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.subscriptionState.observe(info)
	s.wake()
}

func (s *Subscription) notify() {
	if s.blocked() {
		s.session.End()
		return
	}
	state, now, changed, ok := s.current()
	if !ok {
		return
	}
	s.changes.mu.Lock()
	if !s.query.Equal(state.query) {
		s.changes.mu.Unlock()
		s.changed = changed
		s.wake() // the client was listed another catalog meanwhile
		return
	}
	s.changed = [3]bool{}
	known := s.known
	s.known = now
	s.changes.mu.Unlock()
	for _, k := range s.changes.Kinds {
		if now[k] == known[k] && !changed[k] || !state.wants(k) {
			continue
		}
		if err := s.send(k, state.id); err != nil {
			s.changes.Log.DebugContext(s.ctx, "a list_changed notification could not be sent",
				"kind", k.String(), "error", err)
		}
	}
}

// blocked reports whether the client is blocked.
func (s *Subscription) blocked() bool {
	l := s.changes
	if l.Boundaries == nil {
		return false
	}
	l.mu.Lock()
	p := s.bounded
	l.mu.Unlock()
	p.Bounds, _ = l.Boundaries.Of(s.ctx, p)
	return l.Boundaries.Blocked(p)
}

// send sends one notification. id is that of a listen request; nil for a session.
func (s *Subscription) send(k access.Kind, id any) error {
	params := &mcp.ToolListChangedParams{}
	if id != nil {
		params.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: id}
	}
	return s.session.Notify("notifications/"+k.String()+"s/list_changed", params)
}

// current returns what the last caller sees now, and the kinds of which an item of an adopted
// server has changed. It reports false if that is unknown or must not be sent.
func (s *Subscription) current() (state subscriptionState, now digests, changed [3]bool, ok bool) {
	l := s.changes
	select {
	case l.checking <- struct{}{}:
		defer func() { <-l.checking }()
	case <-s.ctx.Done():
		return state, now, changed, false
	}
	l.mu.Lock()
	state = s.subscriptionState
	silent := state.silent()
	s.unchecked = s.unchecked && silent
	l.mu.Unlock()
	if silent {
		return state, now, changed, false // Observe checks again with the next credential
	}
	if l.Boundaries != nil { // the host is read with the roles that count at present
		bounds, next := l.Boundaries.Of(s.ctx, state.bounded)
		l.mu.Lock()
		if s.wakeAt(next); s.isOf(state.asCaller) { // and not observed since
			s.caller.Bounds = bounds
		}
		l.mu.Unlock()
		state.caller.Bounds = bounds
	}
	p := state.present()
	if l.Host != nil && state.unchecked && !state.caller.Anonymous() {
		p = s.peek(state.caller)
	}
	if l.Host != nil && !p.Anonymous() && p.Permits == nil {
		return state, now, changed, false // until the host is read again
	}
	f, err := l.Catalogs.Resolve(s.ctx, p, state.query)
	if err != nil && !errors.Is(err, catalog.ErrUnknown) {
		time.AfterFunc(retryPause, s.wake) // nothing reports that the source is available again
		return state, now, changed, false
	}
	changed = s.follow(s.ctx, p, f.In)
	for k := range changed {
		changed[k] = changed[k] || s.changed[k]
	}
	return state, l.Lists.digests(p, f.In), changed, true
}

// wakeAt wakes the client at a time, and not at the time of an earlier call. The zero time is
// never. changes.mu is held.
func (s *Subscription) wakeAt(at time.Time) {
	if s.ends != nil {
		s.ends.Stop()
		s.ends = nil
	}
	if !at.IsZero() && s.ctx.Err() == nil {
		s.ends = time.AfterFunc(time.Until(at), s.wake)
	}
}

// peek returns a caller as the host has it now, and keeps that for later checks. It is the zero
// Principal for one that the host does not have, and has no Permits if the host cannot be read.
func (s *Subscription) peek(caller access.Principal) access.Principal {
	p, err := s.changes.Host.Peek(s.ctx, caller)
	if errors.Is(err, capability.ErrNoUser) {
		p = access.Principal{Bounds: caller.Bounds}
	} else if err != nil {
		p = caller
		p.Permits = nil
	}
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if SameCaller(s.caller, caller) && s.caller.Permits == caller.Permits { // and not observed since
		s.caller.Permits, s.nobody = p.Permits, p.Anonymous()
	}
	return p
}

func (s *subscriptionState) wants(k access.Kind) bool {
	w := s.wanted
	return w == nil || [...]bool{w.ToolsListChanged, w.PromptsListChanged,
		w.ResourcesListChanged}[k]
}
