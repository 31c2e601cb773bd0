package discovery

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Items are what an adopted server lists to one client, by the names of their rules. A nil map is
// a list that was not read.
type Items struct {
	Tools     map[string]*mcp.Tool
	Prompts   map[string]*mcp.Prompt
	Resources map[string]*mcp.Resource
	Templates map[string]*mcp.ResourceTemplate
}

// Add adds the items of one page of a list. It returns the method of the list, and the cursor of
// the next page. The method is empty for another result.
func (i *Items) Add(page mcp.Result) (method, next string) {
	if request.IsNil(page) {
		return "", ""
	}
	switch r := page.(type) {
	case *mcp.ListToolsResult:
		add(&i.Tools, r.Tools, func(t *mcp.Tool) string { return t.Name })
		return "tools/list", r.NextCursor
	case *mcp.ListPromptsResult:
		add(&i.Prompts, r.Prompts, func(p *mcp.Prompt) string { return p.Name })
		return "prompts/list", r.NextCursor
	case *mcp.ListResourcesResult:
		add(&i.Resources, r.Resources, func(r *mcp.Resource) string { return r.URI })
		return "resources/list", r.NextCursor
	case *mcp.ListResourceTemplatesResult:
		add(&i.Templates, r.ResourceTemplates,
			func(t *mcp.ResourceTemplate) string { return t.URITemplate })
		return "resources/templates/list", r.NextCursor
	}
	return "", ""
}

func add[T any](to *map[string]*T, items []*T, name func(*T) string) {
	if *to == nil {
		*to = map[string]*T{}
	}
	for _, item := range items {
		if item != nil {
			(*to)[name(item)] = item
		}
	}
}

func (i *Items) same(j *Items) bool {
	return maps.Equal(i.Tools, j.Tools) && maps.Equal(i.Prompts, j.Prompts) &&
		maps.Equal(i.Resources, j.Resources) && maps.Equal(i.Templates, j.Templates)
}

// AdoptedChanged checks the clients of a session: the adopted server has reported another list. l
// may be nil.
func (l *ListChanged) AdoptedChanged(of request.Session) {
	if l == nil || l.Adopted == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.clients[of]; s != nil {
		s.wakeByAdopted()
		return
	}
	for _, s := range l.clients {
		if s.session == of {
			s.wakeByAdopted()
		}
	}
}

// wakeByAdopted is wake at the next tick: a server that changes its lists whenever it lists them
// would be read without a pause. changes.mu is held.
func (s *Subscription) wakeByAdopted() {
	if s.woken.After(time.Now()) {
		return // it is about to be woken
	}
	pause := untilTick(gathering)
	s.woken = time.Now().Add(pause)
	time.AfterFunc(pause, s.wake)
}

// follow reads what the adopted server lists to the client, and returns the kinds of which an item
// that the principal sees was added, removed or registered again since the last time. Only items
// that the principal sees count, so that nothing depends on the others.
func (s *Subscription) follow(ctx context.Context, p access.Principal,
	in *access.Set) (changed [3]bool) {
	l := s.changes
	if l.Adopted == nil {
		return changed
	}
	s.following.Lock()
	defer s.following.Unlock()
	before := s.items
	now, ok := s.read(ctx)
	if !ok || before == nil || before == now || before.same(now) {
		return changed
	}
	// Middleware may list new copies each time: these are no news.
	again, err := l.Adopted(ctx, s.session, s.meta)
	if again == nil || err != nil {
		again = &Items{}
	}
	sees := func(k access.Kind) access.Set {
		set := l.Lists.Policy.Listed(p, k)
		if k == access.Tools && in != nil {
			set = set.And(*in)
		}
		return set
	}
	resources := sees(access.Resources)
	changed[access.Tools] = differ(sees(access.Tools), before.Tools, now.Tools, again.Tools)
	changed[access.Prompts] = differ(sees(access.Prompts), before.Prompts, now.Prompts, again.Prompts)
	changed[access.Resources] = differ(resources, before.Resources, now.Resources, again.Resources) ||
		differ(resources, before.Templates, now.Templates, again.Templates)
	return changed
}

// unreadPause is for how long a client that could not be read is not read again. Each of its
// messages would wait for a server that hangs, and cost a read of all lists.
const unreadPause = time.Minute

// read reads what the adopted server lists to the client. s.following is held.
func (s *Subscription) read(ctx context.Context) (*Items, bool) {
	if s.items == nil && time.Now().Before(s.unread) {
		return nil, false
	}
	now, err := s.changes.Adopted(ctx, s.session, s.meta)
	if err != nil {
		s.unread = time.Now().Add(unreadPause)
	}
	if now == nil || err != nil {
		return nil, false
	}
	s.items = s.changes.shared(now)
	s.reads.Store(true)
	return s.items, true
}

// readOnce reads what the adopted server lists to the client, unless that was read before. The
// client is notified of changes since.
func (s *Subscription) readOnce(ctx context.Context) {
	if s.changes.Adopted == nil || s.reads.Load() {
		return
	}
	s.following.Lock()
	defer s.following.Unlock()
	if s.items == nil {
		s.read(ctx)
	}
}

// Listing begins to follow the adopted server for a session that is about to get a list. l may be
// nil.
func (l *ListChanged) Listing(ctx context.Context, info *request.Info) {
	if l == nil || l.Adopted == nil {
		return
	}
	l.mu.Lock()
	s := l.clients[info.Session]
	l.mu.Unlock()
	if s != nil {
		s.readOnce(ctx)
	}
}

// shared returns the items of the last client that was read if they are the same, so that clients
// share them.
func (l *ListChanged) shared(items *Items) *Items {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || !l.last.same(items) {
		l.last = items
	}
	return l.last
}

// differ reports whether one of the items in a set was added, removed, changed or registered again.
// go-sdk counts the latter as a change of the list, and keeps the item's pointer otherwise. A
// pointer does not count if it has changed at once, or together with all others: middleware has
// then listed copies.
func differ[T any](in access.Set, before, now, again map[string]*T) bool {
	kept, renewed := false, false
	for _, name := range in.Names() {
		old, item := before[name], now[name]
		switch {
		case old == item:
			kept = kept || item != nil
		case old == nil || item == nil || !equal(old, item):
			return true
		case again[name] == item:
			renewed = true
		}
	}
	return renewed && kept
}

// equal reports whether two items are listed alike. Those that cannot be encoded are not listed.
func equal[T any](a, b *T) (same bool) {
	defer func() {
		if recover() != nil { // of a method of the adopted server's
			same = true
		}
	}()
	textA, errA := wire.Marshal(a)
	textB, errB := wire.Marshal(b)
	return errors.Join(errA, errB) != nil || bytes.Equal(textA, textB)
}
