package guard

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// method is a method that clients may call. A method that go-sdk learns later, or that the owner
// of an adopted server registers, is unknown until it is listed here.
type method struct {
	// params reports whether these are the method's own; nil accepts any, which are not read.
	params func(mcp.Params) bool
	// event is how calls are recorded; empty for not at all.
	event audit.Type
	// handle authorizes a message; nil lets it through.
	handle func(*Guard, context.Context, *Message, Next) (Answer, error)
	// sessions reports that it is a method of the versions with sessions alone, and modern that it is
	// one of the others alone.
	sessions, modern bool
	// logs reports that it is a method about log messages.
	logs bool
	// updates reports that it is a method about updates of resources.
	updates bool
	// completes reports that it is a method about prompts and resources: the capability completions.
	completes bool
	// tasks reports that it is a method of the extension of tasks.
	tasks bool
	// decides reports that the HTTP status may leave only after the decision.
	decides bool
}

var methods = map[string]method{
	"ping":                             {sessions: true},
	"server/discover":                  {modern: true},
	"notifications/initialized":        {},
	"notifications/cancelled":          {},
	"notifications/progress":           {},
	"notifications/roots/list_changed": {},

	"initialize": {params: has[*mcp.InitializeParams], handle: (*Guard).initialize, sessions: true},
	"logging/setLevel": {params: has[*mcp.SetLoggingLevelParams], handle: (*Guard).setLevel,
		sessions: true, logs: true},
	"subscriptions/listen": {params: has[*mcp.SubscriptionsListenParams], handle: (*Guard).listen,
		modern: true},

	"tools/list":               listing[*mcp.ListToolsParams](audit.ToolList),
	"prompts/list":             listing[*mcp.ListPromptsParams](audit.PromptList),
	"resources/list":           listing[*mcp.ListResourcesParams](audit.ResourceList),
	"resources/templates/list": listing[*mcp.ListResourceTemplatesParams](audit.TemplateList),

	"tasks/get": {params: has[*wire.TaskParams], handle: (*Guard).getTask, tasks: true},
	"tasks/update": {params: has[*wire.TaskParams], event: audit.TaskUpdate,
		handle: (*Guard).updateTask, tasks: true},
	"tasks/cancel": {params: has[*wire.TaskParams], event: audit.TaskCancel,
		handle: (*Guard).cancelTask, tasks: true},

	"tools/call":     deciding(audit.ToolCalled, has[*mcp.CallToolParamsRaw]),
	"prompts/get":    deciding(audit.PromptGet, has[*mcp.GetPromptParams]),
	"resources/read": deciding(audit.ResourceRead, has[*mcp.ReadResourceParams]),
	"completion/complete": {params: has[*mcp.CompleteParams], event: audit.Completion,
		handle: (*Guard).decide, decides: true, completes: true},

	"resources/subscribe": {params: has[*mcp.SubscribeParams], event: audit.Subscription,
		handle: (*Guard).subscribeResource, decides: true, updates: true, sessions: true},
	"resources/unsubscribe": {params: has[*mcp.UnsubscribeParams],
		handle: (*Guard).unsubscribeResource, updates: true, sessions: true},
}

func listing[P mcp.Params](event audit.Type) method {
	return method{params: is[P], event: event, handle: (*Guard).list}
}

func deciding(event audit.Type, params func(mcp.Params) bool) method {
	return method{params: params, event: event, handle: (*Guard).decide, decides: true}
}

func is[P mcp.Params](params mcp.Params) bool {
	_, ok := params.(P)
	return ok
}

func has[P mcp.Params](params mcp.Params) bool { return is[P](params) && !request.IsNil(params) }

// knownMethods refuses messages of other methods, and those whose params miss what decides.
func (g *Guard) knownMethods(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		known, ok := methods[m.Method]
		if !known.decides && m.challenges() {
			m.Conn.Release()
		}
		if !ok || known.sessions && !m.HasSessions() || known.modern && m.HasSessions() ||
			known.updates && g.Updates == nil || known.logs && g.Capabilities.Logging == nil ||
			known.completes && !g.completes() || known.tasks && !g.ServesTask(m) {
			return Answer{}, wire.MethodNotFound(m.Method)
		}
		if known.params != nil && !known.params(m.Params) {
			return Answer{}, wire.InvalidParams("missing params")
		}
		if err := incomplete(m); err != nil {
			return Answer{}, err
		}
		return next(ctx, m)
	}
}

// completes reports whether the server has anything with arguments to complete.
func (g *Guard) completes() bool {
	c := g.Capabilities
	return c.Completions != nil || c.Prompts != nil || c.Resources != nil
}

// incomplete reports a member that a message needs, or one of its _meta, that the guard could not
// decide about.
func incomplete(m *Message) error {
	switch p := m.Params.(type) {
	case *mcp.CompleteParams:
		if p.Ref == nil || p.Argument.Name == "" {
			return wire.InvalidParams("a completion needs ref and argument.name")
		}
	case *mcp.UnsubscribeParams:
		if p.URI == "" {
			return wire.InvalidParams("missing params.uri")
		}
	}
	level, has := m.Meta[mcp.MetaKeyLogLevel]
	if !has || m.HasSessions() {
		return nil
	}
	name, _ := level.(string)
	if _, known := notify.ParseLevel(mcp.LoggingLevel(name)); !known {
		return wire.InvalidParams("params._meta[%q] is not one of debug, info, notice, warning, "+
			"error, critical, alert, emergency", mcp.MetaKeyLogLevel)
	}
	return nil
}
