package guard

import (
	"cmp"
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
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
	if err == nil {
		a, err = next(ctx, m)
	}
	_, e.Visible, e.Total = g.Lists.Counts(m.Method, m.Principal, m.Filter)
	if e.Type == audit.ToolList && g.Changes != nil {
		g.Changes.Listed(m.Info, m.Filter)
	}
	if e.End(""); err != nil {
		e.End(audit.Invalid)
	}
	g.Log.DebugContext(ctx, "list filtered", "method", m.Method, "role", m.Principal.Role,
		"visible", e.Visible, "total", e.Total, m.IDs())
	return a, err
}

// answerList answers a list by the table.
func (g *Guard) answerList(m *Message) (a Answer, err error) {
	encoded := false
	if a.Encoded, encoded, err = g.Lists.Encode(m.Principal, m.Filter, m.Params); !encoded {
		a.Result, _, err = g.Lists.Answer(m.Principal, m.Filter, m.Params)
	}
	return a, err
}

// listen narrows a subscription to changes of lists, and ends it at once where the caller's lists
// do not change, and in sessions, which get list_changed without it. The URIs in it are dropped:
// go-sdk would subscribe to them past the guard. resources/subscribe is refused to everybody.
func (g *Guard) listen(ctx context.Context, m *Message, next Next) (Answer, error) {
	params := *m.Params.(*mcp.SubscriptionsListenParams)
	m.Params = &params
	if params.Notifications == nil {
		return next(ctx, m)
	}
	want := mcp.NotificationSubscriptions{
		ToolsListChanged:     params.Notifications.ToolsListChanged,
		PromptsListChanged:   params.Notifications.PromptsListChanged,
		ResourcesListChanged: params.Notifications.ResourcesListChanged,
	}
	params.Notifications = &mcp.NotificationSubscriptions{}
	lists := want.ToolsListChanged || want.PromptsListChanged || want.ResourcesListChanged
	if !lists || !g.Changes.Tells(m.Principal) || m.HasSessions() {
		return next(ctx, m)
	}
	params.Notifications = &want
	release, status := m.Conn.Reserve(request.UserOf(m.Principal))
	if status != 0 {
		g.Log.WarnContext(ctx,
			"no subscription is available: see Options.MaxSessions and Options.MaxUserSessions",
			"principal", m.Principal.Subject, "status", status, m.IDs())
		return Answer{}, wire.TooManyListeners(status)
	}
	defer release()
	if !m.Catalog.IsZero() {
		var err error
		if m.Filter, err = g.Catalogs.Filter(ctx, m.Info); err != nil {
			return Answer{}, g.Catalogs.FilterError(err)
		}
	}
	var leave func()
	m.Subscription, leave = g.Changes.Subscribe(ctx, m.Info, m.Filter)
	defer leave()
	return next(ctx, m)
}

// initialize binds the session to the slot of its request, and keeps it at the version that it
// negotiates: go-sdk answers a handshake for 2026-07-28, or for an unknown version, with
// 2025-11-25, and then treats the session as one of the version that the client sent.
func (g *Guard) initialize(ctx context.Context, m *Message, next Next) (Answer, error) {
	if !m.Conn.Bind(m.Session) {
		return Answer{}, wire.InternalError()
	}
	params := *m.Params.(*mcp.InitializeParams)
	known := request.KnownVersion(min(params.ProtocolVersion, request.NewestWithSessions))
	params.ProtocolVersion = cmp.Or(known, request.NewestWithSessions)
	m.Params = &params
	return next(ctx, m)
}

// setLevel remembers from which level on a session's client wants log messages. go-sdk accepts
// any word as a level, and does not report whether a client has set one.
func (g *Guard) setLevel(ctx context.Context, m *Message, next Next) (Answer, error) {
	if !m.HasSessions() { // in 2026-07-28 a level stands in _meta
		return Answer{}, wire.MethodNotFound(m.Method)
	}
	//lint:ignore SA1019 clients of the versions with sessions ask for log messages by it
	level, known := notify.ParseLevel(m.Params.(*mcp.SetLoggingLevelParams).Level)
	if !known {
		return Answer{}, wire.InvalidParams("level is not one of debug, info, notice, warning, " +
			"error, critical, alert, emergency")
	}
	a, err := next(ctx, m)
	if err == nil && m.Session != nil {
		g.Levels.Set(m.Session, level)
	}
	return a, err
}
