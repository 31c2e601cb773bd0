package notify

//lint:file-ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28

import (
	"context"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Logger returns a handler's logger. Outside of a message it is slog.Default with secrets masked.
func Logger(ctx context.Context) *slog.Logger {
	if n := from[childNotifier](ctx); n != nil {
		return slog.New(n.logs)
	}
	info := request.From(ctx)
	if info == nil || info.Server == nil {
		return slog.New(redact.Handler(slog.Default().Handler()))
	}
	return slog.New(&callHandler{ctx: ctx, info: info, client: from[Client](ctx)})
}

// callHandler is the log handler of a message. Most messages log nothing, so it is made when used.
type callHandler struct {
	ctx    context.Context
	info   *request.Info
	client *Client // nil outside of the guard
	once   sync.Once
	behind slog.Handler
}

func (h *callHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.client.wants(level) || h.info.Server.Log.Enabled(ctx, level)
}

func (h *callHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.made().Handle(ctx, r)
}

func (h *callHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.made().WithAttrs(attrs) }
func (h *callHandler) WithGroup(name string) slog.Handler       { return h.made().WithGroup(name) }

func (h *callHandler) made() slog.Handler {
	h.once.Do(func() { h.behind = handlerOf(h.ctx, "") })
	return h.behind
}

// handlerOf returns a handler for the client and, with attributes in a group, the server's log.
func handlerOf(ctx context.Context, group string) slog.Handler {
	info, client := request.From(ctx), from[Client](ctx)
	attrs := []slog.Attr{info.IDs()}
	if caller, _ := request.Caller(ctx); caller.Subject != "" {
		attrs = append(attrs, slog.String("principal", caller.Subject))
	}
	if info.Target.Name != "" {
		attrs = append(attrs, slog.String(info.Target.Kind.String(), info.Target.Name))
	}
	server := info.Server.Log.Handler().WithAttrs(attrs)
	if group != "" {
		server = server.WithGroup(group)
	}
	mask := info.Mask(info.Server.Masker)
	// of calls without a context too, which the server's own does not mask
	if info.Credential != nil {
		server = mask.Handler(server)
	}
	if client == nil || info.Notifier == nil {
		return server
	}
	out := &jsonOutput{id: info.ID, limit: maxLogBytes, wants: client.wants, send: client.log}
	return slog.NewMultiHandler(mask.Handler(newJSONHandler(out)), server)
}

// logLevels are the levels of the protocol (server/utilities/logging).
var logLevels = map[mcp.LoggingLevel]slog.Level{
	"debug": mcp.LevelDebug, "info": mcp.LevelInfo, "notice": mcp.LevelNotice,
	"warning": mcp.LevelWarning, "error": mcp.LevelError, "critical": mcp.LevelCritical,
	"alert": mcp.LevelAlert, "emergency": mcp.LevelEmergency,
}

// ParseLevel returns the level of a name, false for an unknown name.
func ParseLevel(name mcp.LoggingLevel) (slog.Level, bool) {
	level, ok := logLevels[name]
	return level, ok
}

// LevelName returns the name of the highest level of the protocol that is not above a level.
func LevelName(level slog.Level) mcp.LoggingLevel {
	highest := mcp.LoggingLevel("debug")
	for name, l := range logLevels {
		if l <= level && l > logLevels[highest] {
			highest = name
		}
	}
	return highest
}
