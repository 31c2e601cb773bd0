// Package notify sends log messages, progress and advice from a handler to the client of a message,
// also from the process of an isolated handler.
package notify

//lint:file-ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

const (
	// log messages that wait to be sent; more are dropped and counted
	maxPending      = 256
	maxPendingBytes = 1 << 20      // of these
	maxLogBytes     = 64 << 10     // of each
	idKey           = "request_id" // of the message, in each
)

// Config configures a [Client].
type Config struct {
	FlushTimeout time.Duration // how long a response waits for the notifications before it
	Quiet        bool          // the server has not declared the capability logging
}

// Client sends log messages and progress to a message's client, in a goroutine of its own. The
// fields that are exported are set before its first use. Most handlers send nothing, so that the
// rest is made when it is used. Without Info.Notifier, the client is sent nothing.
type Client struct {
	Config Config
	Info   *request.Info
	Meta   map[string]any // of the message
	// That of the message. The client is a context itself, with itself as [ClientKey].
	context.Context
	State atomic.Int32 // Unused, used, or Closed before its first use

	once     sync.Once
	ready    bool       // it was used before it was closed
	reporter *Reporter  // nil if the client did not request progress
	own      slog.Level // that the request has in its _meta, if hasOwn
	hasOwn   bool

	mu       sync.Mutex
	pending  []*mcp.LoggingMessageParams
	bytes    int                               // of pending
	dropped  int                               // log messages
	progress []*mcp.ProgressNotificationParams // that wait to be sent, at most progressBurst
	closed   bool                              // nothing more is accepted
	stopped  bool                              // nothing more is sent
	sent     chan struct{}                     // closed when the sender ends; nil while none runs
}

// The states of a [Client]. A used one needs Close.
const (
	Unused int32 = iota
	used
	Closed
)

// ClientKey is where [Logger] and [Progress] find the client of a message.
var ClientKey any = key[Client]{}

// Value implements [context.Context].
func (c *Client) Value(key any) any {
	switch key {
	case ClientKey:
		return c
	case request.InfoKey:
		return c.Info
	}
	return c.Context.Value(key)
}

// use prepares a client, and reports false for one that was closed unused. c may be nil.
func (c *Client) use() bool {
	if c == nil {
		return false
	}
	c.once.Do(func() {
		if c.State.CompareAndSwap(Unused, used) {
			c.prepare()
			c.ready = true
		}
	})
	return c.ready
}

func (c *Client) prepare() {
	if c.Info.Notifier == nil {
		return
	}
	// A token is a string or an integer (2025-11-25, basic/utilities/progress) that echoes exactly.
	token := c.Meta["progressToken"]
	n, isNumber := token.(float64)
	if _, ok := token.(string); ok || isNumber && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		c.reporter = newReporter(c.Info.Mask(c.Info.Server.Masker), func(p progress, _ bool) bool {
			c.report(token, p)
			return true
		})
	}
	if name, ok := c.Meta[mcp.MetaKeyLogLevel].(string); ok && !c.Info.HasSessions() &&
		!c.Config.Quiet {
		c.own, c.hasOwn = ParseLevel(mcp.LoggingLevel(name))
	}
}

// level returns the least level of the log messages that the client wants, false if it wants none.
func (c *Client) level() (slog.Level, bool) {
	if c.hasOwn {
		return c.own, true
	}
	if c.Info.Session == nil {
		return 0, false
	}
	return c.Info.Session.Level()
}

// wants reports whether the client wants log messages of a level. c may be nil.
func (c *Client) wants(level slog.Level) bool {
	if !c.use() {
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
	case len(c.pending) >= maxPending || c.bytes+c.size(data) > maxPendingBytes:
		c.dropped++
	default:
		c.pending = append(c.pending, c.message(level, data))
		c.bytes += c.size(data)
		c.start()
	}
}

// size counts the id too: a client may choose a long one, which each of its log messages repeats.
func (c *Client) size(data json.RawMessage) int { return len(data) + len(c.Info.MessageID) }

func (c *Client) message(level slog.Level, data json.RawMessage) *mcp.LoggingMessageParams {
	m := mcp.LoggingMessageParams{Level: LevelName(level), Data: data}
	return Identify(c.Info, &m)
}

// Identify returns a log message with the name of what its message is for as the logger, unless it
// has one, and with the JSON-RPC id of its request.
func Identify(info *request.Info, m *mcp.LoggingMessageParams) *mcp.LoggingMessageParams {
	identified := *m
	identified.Logger = cmp.Or(m.Logger, info.Target.Name, info.Server.Name)
	if info.MessageID != "" {
		identified.Meta = mcp.Meta{}
		maps.Copy(identified.Meta, m.Meta)
		identified.Meta[wire.MetaRequestID] = json.RawMessage(info.MessageID)
	}
	return &identified
}

func (c *Client) report(token any, p progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if n := len(c.progress); n == progressBurst {
		c.progress = c.progress[:n-1] // a slow client gets the newest
	}
	c.progress = append(c.progress, &mcp.ProgressNotificationParams{ProgressToken: token,
		Progress: p.Done, Total: p.Total, Message: p.Message})
	c.start()
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
		c.bytes -= c.size(m.Data.(json.RawMessage))
	case c.dropped > 0:
		least, _ := c.level()
		// Every client that wants log messages gets this one.
		m = c.message(max(least, mcp.LevelWarning), fmt.Appendf(nil,
			`{"msg":"%d log messages were dropped: there were more than the server could send"}`, c.dropped))
		c.dropped = 0
	case len(c.progress) > 0:
		p := c.progress[0]
		c.progress = c.progress[1:]
		return func() error { return c.Info.Notifier.Notify("notifications/progress", p) }
	default:
		close(c.sent)
		c.sent = nil
		return nil
	}
	return func() error { return c.Info.Notifier.Notify("notifications/message", m) }
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

// End closes the client, also an unused one.
func (c *Client) End() {
	if !c.State.CompareAndSwap(Unused, Closed) {
		c.Close()
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
	case <-time.After(c.Config.FlushTimeout):
	case <-c.Done():
	}
	c.stop(nil)
}

// stop discards the notifications that are not sent, and logs the first error.
func (c *Client) stop(err error) {
	c.mu.Lock()
	first := !c.stopped
	c.closed, c.stopped, c.pending, c.dropped, c.progress = true, true, nil, 0, nil
	c.mu.Unlock()
	if first && err != nil {
		defer func() { _ = recover() }() // the program's log handler must not end the process
		c.Info.Server.Log.DebugContext(c,
			"a log message or progress could not be sent to the client", "error", err)
	}
}
