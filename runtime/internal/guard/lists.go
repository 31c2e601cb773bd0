package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// list finds the requested catalogs, and notes in the event how much of the list is shown.
func (g *Guard) list(ctx context.Context, m *Message, next Next) (a Answer, err error) {
	e := m.event
	if e.Type == audit.ToolList && !m.Catalog.IsZero() {
		e.Catalog = g.Catalogs.RecordedQuery(m.Catalog)
		if m.Filter, err = g.Catalogs.Filter(ctx, m.Info); err != nil {
			err = g.Catalogs.FilterError(err)
		}
	}
	if g.Adopted {
		m.Filter.Adopted = &discovery.AdoptedItems{}
		g.Changes.Listing(ctx, m.Info)
	}
	if err == nil {
		a, err = next(ctx, m)
	}
	_, e.Visible, e.Total = g.Lists.Counts(m.Method, m.Principal, m.Filter)
	if e.Type == audit.ToolList && g.Changes != nil {
		g.Changes.Listed(m.Info, m.Filter)
	}
	switch rpc, ok := errors.AsType[*jsonrpc.Error](err); {
	case err == nil:
		e.End("")
	case ok && rpc.Code == jsonrpc.CodeInvalidParams:
		e.End(audit.Invalid)
	default: // of middleware or an adopted server
		e.End(audit.Errored)
	}
	g.Log.DebugContext(ctx, "list filtered", "method", m.Method, m.roles(),
		"visible", e.Visible, "total", e.Total, m.IDs())
	return a, err
}

// listResult returns the result of a list by the table.
func (g *Guard) listResult(m *Message) (a Answer, err error) {
	m.Filter.Sessions = m.HasSessions()
	encoded := false
	if a.Encoded, encoded, err = g.Lists.Encode(m.Principal, m.Filter, m.Params); !encoded {
		a.Result, _, err = g.Lists.Result(m.Principal, m.Filter, m.Params)
	}
	return a, err
}

// listen narrows a subscription to changes of lists that can change and to resources that the
// caller may read, and ends it at once if nothing is left. go-sdk gets the URIs of an adopted
// server alone: it would subscribe to others past the guard. Notifications of tasks are optional,
// and none are sent: clients read tasks.
func (g *Guard) listen(ctx context.Context, m *Message, next Next) (Answer, error) {
	params := *m.Params.(*mcp.SubscriptionsListenParams)
	m.Params = &params
	sent := params.Notifications
	if sent == nil {
		return next(ctx, m)
	}
	params.Notifications = &mcp.NotificationSubscriptions{}
	var uris, adopted []string
	if g.Updates != nil && len(sent.ResourceSubscriptions) > 0 {
		uris, adopted = g.subscribable(m, sent.ResourceSubscriptions)
		if err := g.recordSubscription(ctx, m, len(uris), len(sent.ResourceSubscriptions)); err != nil {
			return Answer{}, err
		}
	}
	lists := (sent.ToolsListChanged || sent.PromptsListChanged || sent.ResourcesListChanged) &&
		g.Changes.MayChange(m.Info)
	if !lists && len(uris) == 0 {
		return next(ctx, m)
	}
	release, status := m.Conn.Reserve(request.UserOf(m.Principal))
	if status != 0 {
		g.Log.WarnContext(ctx,
			"no subscription is available: see Options.HTTP.MaxSessions and Options.HTTP.MaxPerUser",
			"principal", m.Principal.Subject, "status", status, m.IDs())
		return Answer{}, wire.TooManyListeners(status)
	}
	defer m.Finally(release)
	if lists {
		params.Notifications.ToolsListChanged = sent.ToolsListChanged
		params.Notifications.PromptsListChanged = sent.PromptsListChanged
		params.Notifications.ResourcesListChanged = sent.ResourcesListChanged
		if !m.Catalog.IsZero() {
			var err error
			if m.Filter, err = g.Catalogs.Filter(ctx, m.Info); err != nil {
				return Answer{}, g.Catalogs.FilterError(err)
			}
		}
		var leave func()
		m.Subscription, leave = g.Changes.Subscribe(ctx, m.Info, m.Meta, m.Filter)
		defer m.Finally(leave)
	}
	if len(uris) > 0 {
		params.Notifications.ResourceSubscriptions = adopted
		var leave func()
		m.Resources, leave = g.Updates.Listen(ctx, m.Info, uris)
		defer m.Finally(leave)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer m.Finally(cancel)
	defer m.Finally(m.watch(cancel))
	return next(ctx, m)
}

// watch applies each decision of the identity source about the credential of a listen request to
// its subscriptions. cancel ends the request.
func (m *Message) watch(cancel func()) (stop func()) {
	lists, resources := m.Subscription, m.Resources
	return m.Conn.Watch(func(s request.Standing, now *request.Info) {
		m.Stand(s)
		if s == request.Withdrawn {
			cancel()
			return
		}
		if lists != nil {
			lists.Observe(now)
		}
		if resources != nil {
			resources.Observe(now)
		}
	})
}

// MaySend reports whether an event that was kept for the stream of a session may be sent to its
// caller now. An update of a resource is decided again; no other event has the name of an item.
func (g *Guard) MaySend(info *request.Info, event []byte) bool {
	var n struct {
		Method string
		Params struct{ URI string }
	}
	if json.Unmarshal(event, &n) != nil || n.Method != "notifications/resources/updated" {
		return true
	}
	return g.MayFollow(info.Principal, n.Params.URI)
}

// MayFollow reports whether a caller may read and subscribe to a URI.
func (g *Guard) MayFollow(caller access.Principal, uri string) bool {
	name := ""
	r := g.resource(caller, uri)
	if r != nil {
		name = r.URI
	}
	allowed := g.Policy.Decide(caller, false, access.Resources, name).Allowed
	return allowed && r != nil && r.Subscribe
}

// Replays returns a func that decides whether the events of a message may be sent to a later
// caller: one who may use the same item, and for a message without an item, one who is listed the
// same items. The present boundary of the caller's client counts. If edit is not nil, the caller
// gets the events that it returns: without the fields that the caller may not see. The func keeps
// nothing else of the message.
func (g *Guard) Replays(info *request.Info) func(*request.Info) (
	edit func(event []byte) []byte, may bool) {
	// No host is read: its permissions are those of the request that reads the events.
	rights := principal.Rights{Boundaries: g.Rights.Boundaries}
	if of := info.Target; of.Name != "" {
		return func(now *request.Info) (edit func(event []byte) []byte, may bool) {
			caller, _ := rights.Refresh(context.Background(), now)
			if cut := g.cutFor(caller, of); cut != nil {
				edit = func(event []byte) []byte { return wire.EditResult(event, cut) }
			}
			return edit, g.Policy.Decide(caller, false, of.Kind, of.Name).Allowed
		}
	}
	seen := g.Lists.Seen(info.Principal)
	return func(now *request.Info) (edit func(event []byte) []byte, may bool) {
		caller, _ := rights.Refresh(context.Background(), now)
		return nil, g.Lists.Seen(caller) == seen
	}
}

// cutFor returns a func that removes the fields that a caller may not see from the encoded results
// of a tool. It is nil if the caller may see all.
func (g *Guard) cutFor(caller access.Principal,
	of request.Target) func(result []byte) ([]byte, error) {
	t := g.Tools[of.Name]
	if of.Kind != access.Tools || t == nil {
		return nil
	}
	hidden := g.Policy.Table.Hidden(caller, t.Fields)
	if hidden == nil {
		return nil
	}
	return func(result []byte) ([]byte, error) {
		return wire.EditContent(result, func(output []byte) ([]byte, error) {
			return t.Cut(output, hidden)
		})
	}
}

// subscribable returns the URIs that a caller may read and subscribe to, each once, and those of
// them that an adopted server serves. A hidden resource, an unknown one, and one without updates
// are left out alike.
func (g *Guard) subscribable(m *Message, sent []string) (uris, adopted []string) {
	for _, uri := range sent[:min(len(sent), discovery.MaxSubscriptions)] {
		if !g.MayFollow(m.Principal, uri) || len(uri) > uritemplate.MaxLength ||
			slices.Contains(uris, uri) {
			continue
		}
		if uris = append(uris, uri); g.resource(m.Principal, uri).Adopted {
			adopted = append(adopted, uri)
		}
	}
	return uris, adopted
}

// recordSubscription records a listen request before it is acknowledged.
func (g *Guard) recordSubscription(ctx context.Context, m *Message, accepted, total int) error {
	e := NewEvent(m.Info, audit.Subscription)
	e.Visible, e.Total = accepted, total
	e.End("")
	err := g.record(ctx, m, e)
	if err != nil {
		g.Log.ErrorContext(ctx, "an audit record could not be written; the request is refused",
			m.IDs(), "error", err)
		g.probeSink(err)
		return wire.InternalError()
	}
	return nil
}

// subscribeResource decides as about a read, and then subscribes the session.
func (g *Guard) subscribeResource(ctx context.Context, m *Message, next Next) (Answer, error) {
	return g.decide(ctx, m, func(ctx context.Context, m *Message) (Answer, error) {
		uri := m.Params.(*mcp.SubscribeParams).URI
		if !g.Resources.Named(m.Target.Name).Subscribe {
			return Answer{}, invalid{wire.InvalidParams("the resource has no updates to subscribe to")}
		}
		added, err := g.Updates.Subscribe(m.Info, uri)
		if err != nil {
			return Answer{}, invalid{wire.InvalidParams("%v", err)}
		}
		if added {
			m.undo = func() { g.Updates.Unsubscribe(m.Session, uri) }
		}
		a, err := next(ctx, m)
		if err != nil && added {
			m.undo()
		}
		return a, err
	})
}

// unsubscribeResource ends a subscription. It succeeds for every URI, so that it tells nothing of
// them, and needs no permission. An adopted server gets it if the session had subscribed.
func (g *Guard) unsubscribeResource(ctx context.Context, m *Message, next Next) (Answer, error) {
	uri := m.Params.(*mcp.UnsubscribeParams).URI
	if g.Updates.Unsubscribe(m.Session, uri) {
		if r := g.resource(m.Principal, uri); r != nil && r.Adopted {
			return next(ctx, m)
		}
	}
	return Answer{Result: &wire.Empty{}}, nil
}

// initialize negotiates the version of a session: 2026-07-28 and unknown ones become 2025-11-25.
func (g *Guard) initialize(ctx context.Context, m *Message, next Next) (Answer, error) {
	params := *m.Params.(*mcp.InitializeParams)
	known := request.KnownVersion(min(params.ProtocolVersion, request.NewestWithSessions))
	params.ProtocolVersion = cmp.Or(known, request.NewestWithSessions)
	m.Params = &params
	return next(ctx, m)
}

// setLevel remembers from which level on a session's client wants log messages.
func (g *Guard) setLevel(ctx context.Context, m *Message, next Next) (Answer, error) {
	//lint:ignore SA1019 clients of the versions with sessions ask for log messages by it
	named := m.Params.(*mcp.SetLoggingLevelParams).Level
	level, known := notify.ParseLevel(named)
	if !known {
		return Answer{}, wire.InvalidParams("level is not one of debug, info, notice, warning, " +
			"error, critical, alert, emergency")
	}
	a, err := next(ctx, m)
	if err == nil && m.Session != nil {
		m.Session.SetLevel(named, level)
	}
	return a, err
}
