package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// maxTelling bounds the clients that the host is asked about at a time because something has changed. It is
// a small part of maxAsking: requests find room beside them.
const maxTelling = 16

// watch tells clients that what they see has changed: those whose own surface did, and nobody else.
// Each has a worker of its own, since a client that does not read blocks what is sent to it; while it
// sends, further changes come together in one. A nil watch tells nobody anything.
type watch struct {
	server *Server
	send   mcp.MethodHandler // past the middleware that drops what go-sdk would tell everybody

	telling chan struct{} // a place for each client that is being looked at

	mu       sync.Mutex
	watched  map[*watched]struct{}
	sessions map[*mcp.ServerSession]*watched // of protocols with sessions
}

// watched is one that is told: a session, or with 2026-07-28 a subscriptions/listen request.
type watched struct {
	session *mcp.ServerSession
	kick    chan struct{} // holds one: look again
	ended   context.Context
	end     context.CancelFunc

	mu        sync.Mutex
	principal access.Principal // the last caller
	expires   time.Time        // of its credential
	asked     asked            // the catalog that it was last listed
	seen      surface          // what the client knows
	listens   *mcp.NotificationSubscriptions
	id        any // of the listen request; nil for a session
}

// surface is what a caller sees, in short, by kind.
type surface [3][digestLen]byte

func (s *Server) surface(p access.Principal, in *access.Set) surface {
	return surface{s.lists.tools.visible(p, in).digest, s.lists.prompts.visible(p, nil).digest, s.lists.resources.visible(p, nil).digest}
}

// newWatch makes the watch of a server. next sends a notification.
func newWatch(s *Server) *watch {
	return &watch{server: s, telling: make(chan struct{}, maxTelling), watched: map[*watched]struct{}{}, sessions: map[*mcp.ServerSession]*watched{}}
}

// tells reports whether what a caller sees may change. What anonymous callers see is not the host's to say.
func (w *watch) tells(p access.Principal) bool {
	return w != nil && (!p.Anonymous() || w.server.opts.Catalogs != nil)
}

// observe notes who sends a message on a session, and looks whether that caller sees something else than
// the session's last one did: another token of the same user may have another role.
func (w *watch) observe(req mcp.Request, rec *record) {
	if !w.tells(rec.principal) {
		return
	}
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil || session.InitializeParams() == nil || !legacy(session) {
		return
	}
	w.mu.Lock()
	o := w.sessions[session]
	if o == nil {
		o = newWatched(context.Background(), session)
		o.principal, o.seen = rec.principal, w.server.surface(rec.principal, nil)
		w.sessions[session] = o
		w.add(o)
		go func() {
			_ = session.Wait() // how it ended does not matter
			w.leave(o)
		}()
	}
	w.mu.Unlock()
	o.mu.Lock()
	// What has changed after the last credential had ended was not told; see surfaceOf.
	same := sees(o.principal, rec.principal) && (o.expires.IsZero() || time.Now().Before(o.expires))
	o.principal, o.expires = rec.principal, rec.expires
	o.mu.Unlock()
	if !same {
		o.look()
	}
}

// sees reports whether two principals surely see the same.
func sees(a, b access.Principal) bool {
	return a.Permits == b.Permits && a.Role == b.Role && a.Subject == b.Subject && a.Issuer == b.Issuer && slices.Equal(a.Scopes, b.Scopes) &&
		slices.Equal(a.Orgs, b.Orgs) && slices.Equal(a.Teams, b.Teams) // where catalogs are, with memberships that are claimed
}

func newWatched(ctx context.Context, session *mcp.ServerSession) *watched {
	o := &watched{session: session, kick: make(chan struct{}, 1)}
	o.ended, o.end = context.WithCancel(ctx)
	return o
}

// add starts the worker. w.mu is held.
func (w *watch) add(o *watched) {
	w.watched[o] = struct{}{}
	go w.work(o)
}

func (w *watch) leave(o *watched) {
	w.mu.Lock()
	delete(w.watched, o)
	if w.sessions[o.session] == o {
		delete(w.sessions, o.session)
	}
	o.end()
	w.mu.Unlock()
}

// look asks the worker to look again, unless it is asked already.
func (o *watched) look() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// recheck looks again at those whose principal matches; nil matches all.
func (w *watch) recheck(match func(access.Principal) bool) {
	if w == nil {
		return
	}
	for _, o := range w.all() {
		o.mu.Lock()
		p := withoutPermits(o.principal)
		o.mu.Unlock()
		if match == nil || match(p) {
			o.look()
		}
	}
}

// recatalog looks again at those who are listed a catalog.
func (w *watch) recatalog() {
	for _, o := range w.all() {
		o.mu.Lock()
		narrowed := !o.asked.IsZero()
		o.mu.Unlock()
		if narrowed {
			o.look()
		}
	}
}

func (w *watch) all() []*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.watched))
}

// listed notes which catalog a session was listed.
func (w *watch) listed(req mcp.Request, rec *record) {
	if !w.tells(rec.principal) {
		return
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	w.mu.Lock()
	o := w.sessions[session]
	w.mu.Unlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	same := o.asked == rec.asked
	o.mu.Unlock()
	if same {
		return
	}
	tools := w.server.lists.tools.visible(rec.principal, rec.narrowing.in).digest
	o.mu.Lock()
	o.asked, o.seen[0] = rec.asked, tools
	o.mu.Unlock()
	o.look() // at what has changed since the catalog was looked for
}

// answered looks again at the clients of a principal that the host has just been asked about.
func (w *watch) answered(p access.Principal) {
	w.recheck(func(q access.Principal) bool {
		return p.Issuer == q.Issuer && p.Subject == q.Subject && p.User == q.User
	})
}

func (w *watch) work(o *watched) {
	for {
		select {
		case <-o.ended.Done():
			return
		case <-o.kick:
			w.tell(o)
		}
	}
}

// tell compares what a client knows with what its last caller sees now, and says what differs.
func (w *watch) tell(o *watched) {
	o.mu.Lock()
	asked := o.asked
	o.mu.Unlock()
	now, known := w.surfaceOf(o)
	if !known {
		return
	}
	o.mu.Lock()
	if o.asked != asked {
		o.mu.Unlock()
		o.look() // it was listed another catalog meanwhile, which now is not about
		return
	}
	before, listens, id := o.seen, o.listens, o.id
	o.seen = now
	o.mu.Unlock()
	for k := range now {
		if now[k] != before[k] && (listens == nil || [...]bool{listens.ToolsListChanged, listens.PromptsListChanged, listens.ResourcesListChanged}[k]) {
			w.notify(o, kinds[k], id)
		}
	}
}

// surfaceOf finds out what the last caller of a client sees now. It reports false where that is not to be told,
// or not known; the next answer of the host tells then.
func (w *watch) surfaceOf(o *watched) (surface, bool) {
	select {
	case w.telling <- struct{}{}:
		defer func() { <-w.telling }()
	case <-o.ended.Done():
		return surface{}, false
	}
	o.mu.Lock()
	p, expires, asked := o.principal, o.expires, o.asked
	o.mu.Unlock()
	if !expires.IsZero() && !time.Now().Before(expires) {
		return surface{}, false // nothing is sent once the credential has ended; the next one is looked at anew
	}
	if w.server.host != nil && !p.Anonymous() {
		e, err := w.server.host.cache.look(o.ended, p)
		switch {
		case err == nil:
			p.Permits = e.said.permits
		case errors.Is(err, capability.ErrNoUser):
			p = access.Principal{}
		default:
			return surface{}, false
		}
	}
	n, err := w.server.narrowed(o.ended, p, asked)
	if err != nil && !errors.Is(err, catalog.ErrUnknown) {
		// Nothing tells when the source answers again.
		time.AfterFunc(catalogPause, o.look)
		return surface{}, false
	}
	return w.server.surface(p, n.in), true
}

// notify sends one list_changed. One that cannot be sent is logged: its session is gone, or about to be.
func (w *watch) notify(o *watched, k access.Kind, id any) {
	var meta mcp.Meta
	if id != nil {
		meta = mcp.Meta{mcp.MetaKeySubscriptionID: id}
	}
	var (
		method string
		req    mcp.Request
	)
	switch k {
	case access.Tools:
		method, req = "notifications/tools/list_changed", &mcp.ServerRequest[*mcp.ToolListChangedParams]{Session: o.session, Params: &mcp.ToolListChangedParams{Meta: meta}}
	case access.Prompts:
		method, req = "notifications/prompts/list_changed", &mcp.ServerRequest[*mcp.PromptListChangedParams]{Session: o.session, Params: &mcp.PromptListChangedParams{Meta: meta}}
	case access.Resources:
		method, req = "notifications/resources/list_changed", &mcp.ServerRequest[*mcp.ResourceListChangedParams]{Session: o.session, Params: &mcp.ResourceListChangedParams{Meta: meta}}
	}
	if _, err := w.send(o.ended, method, req); err != nil {
		w.server.log.DebugContext(o.ended, "a client could not be told that its list has changed", "method", method, "error", err)
	}
}

// listen watches for a subscriptions/listen request. It tells nothing before go-sdk has acknowledged
// the request, whose id stands in what is told.
func (w *watch) listen(ctx context.Context, session *mcp.ServerSession, rec *record) (leave func()) {
	o := newWatched(ctx, session)
	o.principal, o.expires, o.asked, o.seen = rec.principal, rec.expires, rec.asked, w.server.surface(rec.principal, rec.narrowing.in)
	rec.listening = o
	return func() { w.leave(o) }
}

// acknowledged starts telling a listen request what it asked for.
func (w *watch) acknowledged(rec *record, req mcp.Request) {
	ack, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
	if w == nil || !ok || ack == nil || rec == nil || rec.listening == nil {
		return
	}
	o := rec.listening
	o.mu.Lock()
	o.listens, o.id = &ack.Notifications, ack.Meta[mcp.MetaKeySubscriptionID]
	o.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.ended.Err() != nil {
		return // middleware has kept it until nobody waited any more, and it has left
	}
	w.add(o)
	o.look() // for what has changed meanwhile
}
