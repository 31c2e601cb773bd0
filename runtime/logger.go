package runtime

import (
	"context"
	"log/slog"
	"math"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Logger returns the logger of a handler. What it logs goes to the server's log (Options.Logger), with the ids of the
// request and its trace, the principal and what was called; and to the client that called, from the level on that this has
// set, as long as the call lasts. Other clients see nothing of it, and the server's own log none of them. Secrets are
// masked on both ways.
//
// What a client is sent must be fit for it: nothing of what the caller may not know belongs into it. Use the server's own
// logger for the rest.
//
// A client is sent each message as a JSON object: time, msg, request_id, and the attributes beside them. An attribute of one of these
// names is sent as attr_time, attr_msg or attr_request_id.
//
// No client holds up a handler. Where it does not keep up, messages to it are dropped, and a last one says how many. The
// server's log is written to before the logger returns. Outside of a call, where there is no server to ask, it is slog.Default() behind
// redact.Handler: what it logs is masked by the rules of package redact, and by no Options.Masker.
//
// A handler in a process of its own (isolate=process) has a logger as well. It writes to a pipe, and waits while the server,
// which writes each message to its log before it reads the next, is behind; what it says beyond some thousand messages is dropped, and
// counted. Its attributes stand in the group "isolated" of the server's log, where they cannot pass for the server's own, and
// there are 1024 of a message at most, with the items of lists. It has no levels above error: what it logs at one is an error.
//
// Levels between those of the protocol are sent as the next lower one.
func Logger(ctx context.Context) *slog.Logger {
	if emit := emitterOf(ctx); emit != nil {
		return slog.New(emit.logs)
	}
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok || r.server == nil {
		return slog.New(redact.Handler(slog.Default().Handler()))
	}
	caller, _ := Caller(ctx)
	return slog.New(&callLog{record: r, principal: caller.Subject})
}

// callLog is the handler of a call's logger. What it hands records to is made once there is one that anybody wants.
type callLog struct {
	record    *record
	principal string // empty for an anonymous caller

	once sync.Once
	both callHandler
}

// Enabled implements [slog.Handler].
func (h *callLog) Enabled(ctx context.Context, level slog.Level) bool {
	return h.record.talk.listens(level) || h.record.server.log.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *callLog) Handle(ctx context.Context, r slog.Record) error { return h.made().Handle(ctx, r) }

// WithAttrs implements [slog.Handler].
func (h *callLog) WithAttrs(attrs []slog.Attr) slog.Handler { return h.made().WithAttrs(attrs) }

// WithGroup implements [slog.Handler].
func (h *callLog) WithGroup(name string) slog.Handler { return h.made().WithGroup(name) }

func (h *callLog) made() callHandler {
	h.once.Do(func() {
		h.both = callHandler{server: h.record.server.log.Handler().WithAttrs(h.record.attrs(h.principal))}
		if h.record.talk.session != nil {
			h.both.client = newClientLog(h.record)
		}
	})
	return h.both
}

// attrs say in the server's log whose line it is.
func (r *record) attrs(principal string) []slog.Attr {
	attrs := []slog.Attr{r.ids()}
	if principal != "" {
		attrs = append(attrs, slog.String("principal", principal))
	}
	if r.doing.kind != "" {
		attrs = append(attrs, slog.String(r.doing.kind, r.doing.name))
	}
	return attrs
}

// ids are what a line of the server's log knows a request by: those of the request, of its trace and of its span. They are
// made where the line is written. R may be nil, for a line of none.
func (r *record) ids() slog.Attr { return slog.Attr{Value: slog.AnyValue(ids{r})} }

// ids is a [slog.LogValuer]: a group without a name, whose attributes stand in the line itself.
type ids struct{ of *record }

// LogValue implements [slog.LogValuer].
func (i ids) LogValue() slog.Value {
	if i.of == nil {
		return slog.GroupValue()
	}
	attrs := []slog.Attr{slog.String("request_id", i.of.requestID)}
	if i.of.traceID != "" {
		attrs = append(attrs, slog.String("trace_id", i.of.traceID))
	}
	if i.of.spanID != "" {
		attrs = append(attrs, slog.String("span_id", i.of.spanID))
	}
	return slog.GroupValue(attrs...)
}

// callHandler is a handler of two: the server's log, and the client's.
type callHandler struct {
	server slog.Handler
	client *clientLog // nil where there is none
}

func (h callHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.client != nil && h.client.talk.listens(level) || h.server.Enabled(ctx, level)
}

func (h callHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.server = h.server.WithAttrs(attrs)
	if h.client != nil {
		h.client = &clientLog{h.client.talk, h.client.json.withAttrs(attrs)}
	}
	return h
}

func (h callHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h.server = h.server.WithGroup(name)
	if h.client != nil {
		h.client = &clientLog{h.client.talk, h.client.json.withGroup(name)}
	}
	return h
}

func (h callHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.client != nil && h.client.talk.listens(r.Level) {
		h.client.say(r.Clone())
	}
	if !h.server.Enabled(ctx, r.Level) {
		return nil
	}
	return h.server.Handle(ctx, r)
}

// clientLog writes what is sent to a client, a JSON object each.
type clientLog struct {
	talk *talk
	json jsonLog
}

func newClientLog(r *record) *clientLog {
	// Whether the client wants a level is asked before.
	p := paper{least: math.MinInt, replace: withoutLevel, beside: []slog.Attr{slog.String("request_id", r.requestID)}}
	return &clientLog{talk: &r.talk, json: newJSONLog(r.server.opts.Masker, maxSaid, "", p)}
}

// withoutLevel leaves the level out, which stands beside the data.
func withoutLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.LevelKey {
		if _, own := a.Value.Any().(slog.Level); own {
			return slog.Attr{}
		}
	}
	return a
}

func (c *clientLog) say(r slog.Record) { c.talk.say(r.Level, c.json.object(r)) }
