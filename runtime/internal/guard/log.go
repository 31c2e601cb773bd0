package guard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// logDecision logs a decision with all of its verdicts, at debug level.
func (g *Guard) logDecision(ctx context.Context, m *Message, s subject) {
	table := g.Policy.Table.Of(s.Kind)
	var verdicts []string
	for _, v := range table.Explain(m.Principal, s.Name) {
		verdicts = append(verdicts, v.String())
	}
	allowed := g.Policy.Decide(m.Principal, m.Catalog.ReadOnly, s.Kind, s.Name).Allowed
	g.Log.DebugContext(ctx, "decided", "kind", s.Kind.String(),
		"name", g.maskOf(m).TextWithin(s.Name, 256), "allowed", allowed,
		"verdicts", strings.Join(verdicts, "; "),
		"host_unanswered", m.Permissions != nil && m.Permissions.Unavailable,
		"principal", m.Principal.Subject, "user", m.Principal.User, m.IDs())
}

// logDenied logs what was denied.
func (g *Guard) logDenied(ctx context.Context, m *Message) {
	e := m.event
	message, about := "call refused", []slog.Attr{slog.String("tool", e.Tool)}
	if e.Type != audit.ToolCalled {
		message = "request refused"
		about = []slog.Attr{slog.String("event_type", string(e.Type)),
			slog.String("prompt", e.Prompt), slog.String("resource", e.Resource)}
	}
	g.Log.LogAttrs(ctx, slog.LevelInfo, message, append(about,
		slog.String("principal", m.Principal.Subject), slog.String("role", m.Principal.Role),
		slog.String("axis", e.Axis), slog.String("missing", e.Missing), m.IDs())...)
}

var failureLevels = map[audit.Failure]slog.Level{
	audit.Errored: slog.LevelInfo, audit.Limited: slog.LevelInfo,
	audit.Timeout: slog.LevelWarn, audit.Invalid: slog.LevelDebug,
}

// logFailed logs what was allowed and failed, unless another line has it. Words that repeat
// arguments are left out.
func (g *Guard) logFailed(ctx context.Context, m *Message, err error) {
	e := m.event
	level, logged := failureLevels[e.Failure]
	failure := cmp.Or(m.failure, err)
	misfit := e.Failure == audit.Invalid || errors.As(failure, new(*decode.Error))
	if misfit {
		level = slog.LevelDebug
	}
	elsewhere := errors.Is(err, worker.ErrAbandoned) || m.failure == nil && err != nil &&
		!errors.As(err, new(*jsonrpc.Error)) && !errors.Is(err, context.Canceled)
	if !logged || elsewhere || !g.Log.Enabled(ctx, level) {
		return
	}
	text := e.Missing // of a credential that ended
	switch {
	case misfit:
		text = "the arguments do not match the schema"
	case failure != nil:
		text = wire.MaskedWords(g.maskOf(m), wire.WithoutValues(failure))
		text = redact.Shorten(text, 4<<10)
	}
	attrs := []slog.Attr{slog.String("event_type", string(e.Type)),
		slog.String(m.Target.Kind.String(), m.Target.Name),
		slog.String("principal", m.Principal.Subject), slog.String("failure", string(e.Failure))}
	if m.outcome.Limit != "" {
		attrs = append(attrs, slog.String("limit", m.outcome.Limit))
	}
	g.Log.LogAttrs(ctx, level, "call failed",
		append(attrs, m.IDs(), slog.String("error", text))...)
}
