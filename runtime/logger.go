package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Logger returns the logger of a handler. What it logs goes to the server's log (Options.Logger), with the ids of the
// request and its trace, the principal and what was called; and to the client that called, from the level on that this has
// set, as long as the call lasts. Other clients see nothing of it, and the server's own log none of them. Secrets are
// masked on both ways.
//
// What a client is sent must be fit for it: nothing of what the caller may not know belongs into it. Use the server's own
// logger for the rest.
//
// Sending never holds up the handler. Where the client does not keep up, messages to it are dropped, and a last one says
// how many. Outside of a call it is slog.Default().
//
// A handler in a process of its own (isolate=process) has a logger like any other. Its attributes stand in the group "isolated" of
// the server's log, where they cannot pass for the server's own; and what it says beyond some thousand messages is dropped, and counted.
//
// Levels between those of the protocol are sent as the next lower one.
func Logger(ctx context.Context) *slog.Logger {
	if emit := emitterOf(ctx); emit != nil {
		return slog.New(emit.handler())
	}
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok || r.server == nil {
		return slog.Default()
	}
	h := callHandler{server: r.server.log.Handler().WithAttrs(r.attrs(ctx))}
	if r.talk != nil && r.talk.session != nil {
		h.client = newClientLog(r)
	}
	return slog.New(h)
}

// attrs say in the server's log whose line it is.
func (r *record) attrs(ctx context.Context) []slog.Attr {
	attrs := []slog.Attr{slog.String("request_id", r.requestID)}
	if caller, ok := Caller(ctx); ok && !caller.Anonymous() {
		attrs = append(attrs, slog.String("principal", caller.Subject))
	}
	if r.doing.kind != "" {
		attrs = append(attrs, slog.String(r.doing.kind, r.doing.name))
	}
	if r.traceID != "" {
		attrs = append(attrs, slog.String("trace_id", r.traceID))
	}
	if r.spanID != "" {
		attrs = append(attrs, slog.String("span_id", r.spanID))
	}
	return attrs
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
		h.client = h.client.with(h.client.json.WithAttrs(attrs))
	}
	return h
}

func (h callHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h.server = h.server.WithGroup(name)
	if h.client != nil {
		h.client = h.client.with(h.client.json.WithGroup(name))
	}
	return h
}

func (h callHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.client != nil && h.client.talk.listens(r.Level) {
		h.client.say(ctx, r.Clone())
	}
	if !h.server.Enabled(ctx, r.Level) {
		return nil
	}
	return h.server.Handle(ctx, r)
}

// clientLog writes what is sent to a client, a JSON object each.
type clientLog struct {
	talk *talk
	json slog.Handler // masks, and writes to page
	page *page
}

// page is what a record is written to, one at a time.
type page struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what slog.JSONHandler writes of a record, which it does at once.
func (p *page) Write(text []byte) (int, error) {
	p.text = append(p.text[:0], text...)
	return len(text), nil
}

func newClientLog(r *record) *clientLog {
	p := &page{}
	written := slog.NewJSONHandler(p, &slog.HandlerOptions{Level: slog.Level(-1 << 30), ReplaceAttr: withoutLevel})
	return &clientLog{talk: r.talk, page: p, json: r.server.opts.Masker.Handler(written).WithAttrs([]slog.Attr{slog.String("request_id", r.requestID)})}
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

func (c *clientLog) with(json slog.Handler) *clientLog {
	return &clientLog{talk: c.talk, json: json, page: c.page}
}

func (c *clientLog) say(ctx context.Context, r slog.Record) {
	c.page.mu.Lock()
	err := c.json.Handle(ctx, r)
	data := json.RawMessage(append([]byte(nil), c.page.text...))
	c.page.mu.Unlock()
	if err != nil || !json.Valid(data) || len(data) > maxSaid {
		short, err := json.Marshal(map[string]any{
			"msg": c.talk.server.opts.Masker.Text(shortened(r.Message, 1024)), "note": fmt.Sprintf("its attributes were left out: %d bytes are too many, or no JSON", len(data))})
		if err != nil {
			return
		}
		data = short
	}
	c.talk.say(&mcp.LoggingMessageParams{Logger: c.talk.server.info.Name, Level: nameOf(r.Level), Data: data})
}
