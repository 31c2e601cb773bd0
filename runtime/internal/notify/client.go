// Package notify sends log messages, progress and advice from a handler to the client of a message,
// also from the process of an isolated handler.
package notify

//lint:file-ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

const (
	maxPending      = 256          // log messages that wait to be sent; more are dropped and counted
	maxPendingBytes = 1 << 20      // of these
	maxLogBytes     = 64 << 10     // of each
	idKey           = "request_id" // of the message, in each
)

// Config configures a [Client].
type Config struct {
	FlushTimeout time.Duration // how long a response waits for the notifications before it
}

// Client sends log messages and progress to a message's client, in a goroutine of its own.
type Client struct {
	cfg      Config
	levels   *Levels
	info     *request.Info
	ctx      context.Context // go-sdk finds the stream of the response by it
	reporter *Reporter       // nil if the client did not request progress
	own      slog.Level      // that the request has in its _meta, if hasOwn
	hasOwn   bool

	mu       sync.Mutex
	pending  []*mcp.LoggingMessageParams
	bytes    int                             // of pending
	dropped  int                             // log messages
	progress *mcp.ProgressNotificationParams // the newest that is not sent; nil for none
	closed   bool                            // nothing more is accepted
	stopped  bool                            // nothing more is sent
	sent     chan struct{}                   // closed when the sender ends; nil while none runs
}

// New returns the client of a message with this _meta. Without a notifier, it is sent nothing.
func New(cfg Config, levels *Levels, info *request.Info, meta map[string]any) *Client {
	c := &Client{cfg: cfg, levels: levels, info: info}
	if info.Notifier == nil {
		return c
	}
	// A token is a string or an integer (2025-11-25, basic/utilities/progress) that echoes exactly.
	token := meta["progressToken"]
	n, isNumber := token.(float64)
	if _, ok := token.(string); ok || isNumber && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		c.reporter = newReporter(info.Server.Masker, func(p progress, _ bool) { c.report(token, p) })
	}
	if name, ok := meta[mcp.MetaKeyLogLevel].(string); ok && !info.HasSessions() {
		c.own, c.hasOwn = ParseLevel(mcp.LoggingLevel(name))
	}
	return c
}

// Attach returns the context by which [Logger] and [Progress] find the client.
func (c *Client) Attach(ctx context.Context) context.Context {
	c.ctx = context.WithValue(ctx, key[Client]{}, c)
	return c.ctx
}

// level returns the least level of the log messages that the client wants, false if it wants none.
func (c *Client) level() (slog.Level, bool) {
	if c.hasOwn {
		return c.own, true
	}
	return c.levels.Get(c.info.Session)
}

// wants reports whether the client wants log messages of a level. c may be nil.
func (c *Client) wants(level slog.Level) bool {
	if c == nil {
		return false
	}
	least, ok := c.level()
	return ok && level >= least
}

func (c *Client) log(level slog.Level, data json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
	case len(c.pending) >= maxPending || c.bytes+len(data) > maxPendingBytes:
		c.dropped++
	default:
		c.pending = append(c.pending, c.message(level, data))
		c.bytes += len(data)
		c.start()
	}
}

func (c *Client) message(level slog.Level, data json.RawMessage) *mcp.LoggingMessageParams {
	return &mcp.LoggingMessageParams{Logger: c.info.Server.Name, Level: LevelName(level), Data: data}
}

func (c *Client) report(token any, p progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.progress = &mcp.ProgressNotificationParams{ProgressToken: token,
			Progress: p.Done, Total: p.Total, Message: p.Message} // in place of older progress
		c.start()
	}
}

// start starts the sender unless it runs. c.mu is held.
func (c *Client) start() {
	if c.sent != nil {
		return
	}
	c.sent = make(chan struct{})
	go func() {
		for send := c.next(); send != nil; send = c.next() {
			c.try(send)
		}
	}()
}

// next returns the func that sends the next notification. Without one, the sender ends.
func (c *Client) next() (send func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m *mcp.LoggingMessageParams
	switch {
	case len(c.pending) > 0:
		m, c.pending = c.pending[0], c.pending[1:]
		c.bytes -= len(m.Data.(json.RawMessage))
	case c.dropped > 0:
		least, _ := c.level()
		// Every client that wants log messages gets this one.
		m = c.message(max(least, mcp.LevelWarning), fmt.Appendf(nil,
			`{"msg":"%d log messages were left out: more came than could be sent"}`, c.dropped))
		c.dropped = 0
	case c.progress != nil:
		p := c.progress
		c.progress = nil
		return func() error { return c.info.Notifier.NotifyProgress(c.ctx, p) }
	default:
		close(c.sent)
		c.sent = nil
		return nil
	}
	return func() error { return c.info.Notifier.Log(c.ctx, m) }
}

// try sends one notification. The owner of an adopted server may have middleware that panics.
func (c *Client) try(send func() error) {
	defer func() {
		if p := recover(); p != nil {
			c.stop(fmt.Errorf("it panicked: %v", p))
		}
	}()
	if err := send(); err != nil {
		c.stop(err)
	}
}

// Close waits until everything is sent, but no longer than Config.FlushTimeout.
func (c *Client) Close() {
	if c.reporter != nil {
		c.reporter.close()
	}
	c.mu.Lock()
	c.closed = true
	sent := c.sent
	c.mu.Unlock()
	if sent == nil {
		return
	}
	select {
	case <-sent:
		return
	case <-time.After(c.cfg.FlushTimeout):
	case <-c.ctx.Done():
	}
	c.stop(nil)
	c.info.Conn.SetDeadline()
}

// stop discards the notifications that are not sent, and logs the first error.
func (c *Client) stop(err error) {
	c.mu.Lock()
	first := !c.stopped
	c.closed, c.stopped, c.pending, c.dropped, c.progress = true, true, nil, 0, nil
	c.mu.Unlock()
	if first && err != nil {
		defer func() { _ = recover() }() // the program's log handler must not end the process
		c.info.Server.Log.DebugContext(c.ctx,
			"a log message or progress could not be sent to the client", "error", err)
	}
}
