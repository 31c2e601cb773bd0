package runtime

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What one message may keep its client waiting with, or the server.
const (
	maxUnsent        = 256      // log messages that wait to be sent; more are dropped, and counted
	maxUnsentBytes   = 1 << 20  // and of how many bytes
	maxSaid          = 64 << 10 // bytes of one log message
	progressInterval = 50 * time.Millisecond
	parting          = 2 * time.Second // how long an answer waits for what is to be sent before it
)

// talk is what is said to a client while one of its messages is answered: log messages and progress. It is sent by a
// goroutine of its own, which there is from the first word on, so that no handler waits for a client that does not read.
// It belongs to the request alone, and so does what is sent: go-sdk sends it on the stream of the answer.
type talk struct {
	server   *Server
	ctx      context.Context    // of the message, by which go-sdk knows its stream
	session  *mcp.ServerSession // nil where nobody could be told anything
	answered *sdkAnswer         // what the client has to read it from; nil on stdio
	token    any                // the client's progress token; nil where it asked for none
	asked    bool               // the message says which log messages are wanted
	own      slog.Level

	mu       sync.Mutex
	reporter *ProgressReporter // made when a handler asks for it
	unsent   []unsent
	bytes    int // of unsent
	dropped  int
	progress *mcp.ProgressNotificationParams // the newest that was not sent; nil for none
	next     time.Time                       // when progress may be sent again
	over     bool                            // nothing is taken any more
	left     bool                            // and nothing is sent
	wake     chan struct{}                   // nil until there is something to send; of one place
	sent     chan struct{}                   // closed when all is
}

// unsent is a log message that waits to be sent.
type unsent struct {
	level mcp.LoggingLevel
	data  json.RawMessage
}

// with readies a talk with the client of a message, whose _meta says what it wants to hear.
func (t *talk) with(s *Server, session *mcp.ServerSession, meta map[string]any) {
	t.server, t.session = s, session
	switch token := meta["progressToken"].(type) { // specification 2025-11-25, basic/utilities/progress: a string or an integer
	case string:
		t.token = token
	case float64:
		if token == math.Trunc(token) && math.Abs(token) <= 1<<53 { // beyond that it would come back as another one
			t.token = token
		}
	}
	if name, said := meta[mcp.MetaKeyLogLevel].(string); said && !legacy(session) {
		t.own, t.asked = levelNamed(mcp.LoggingLevel(name))
	}
}

// level is from which level on the client wants log messages, and whether any.
func (t *talk) level() (slog.Level, bool) {
	if t.asked {
		return t.own, true
	}
	return t.server.levels.get(t.session) // none of a client that has no session
}

// listens reports whether the client wants log messages of a level.
func (t *talk) listens(level slog.Level) bool {
	least, wanted := t.level()
	return wanted && level >= least
}

// say has a log message sent.
func (t *talk) say(level slog.Level, data json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
	case len(t.unsent) >= maxUnsent || t.bytes+len(data) > maxUnsentBytes:
		t.dropped++
	default:
		t.unsent = append(t.unsent, unsent{nameOf(level), data})
		t.bytes += len(data)
		t.begin()
	}
}

// reporting is what a handler reports progress by, nil where the client did not ask for it.
func (t *talk) reporting() *ProgressReporter {
	if t.token == nil || t.session == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reporter == nil {
		t.reporter = &ProgressReporter{redact: t.server.opts.Masker.Text, send: func(p *mcp.ProgressNotificationParams) {
			p.ProgressToken = t.token
			t.report(p)
		}}
	}
	return t.reporter
}

// report has progress sent, in place of what has not been sent yet.
func (t *talk) report(p *mcp.ProgressNotificationParams) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.progress = p
		t.begin()
	}
}

// begin wakes the sender, or starts it. t.mu is held.
func (t *talk) begin() {
	if t.wake == nil {
		t.wake, t.sent = make(chan struct{}, 1), make(chan struct{})
		go t.send()
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// end lets nothing more be said, and waits for what was, so that it comes before the answer.
func (t *talk) end() {
	t.mu.Lock()
	t.over = true
	if t.wake == nil {
		t.mu.Unlock()
		return
	}
	t.begin()
	t.mu.Unlock()
	timer := time.NewTimer(t.server.parting)
	defer timer.Stop()
	select {
	case <-t.sent:
		return
	case <-timer.C:
	case <-t.ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
	t.answered.hurry()
}

// leave has nothing more sent. t.mu is held.
func (t *talk) leave() { t.left, t.unsent, t.progress = true, nil, nil }

func (t *talk) send() {
	defer close(t.sent)
	for {
		say, wait, over := t.following()
		switch {
		case say != nil:
			t.try(say)
		case over:
			return
		case wait > 0:
			timer := time.NewTimer(wait)
			select {
			case <-t.wake:
			case <-timer.C:
			}
			timer.Stop()
		default:
			<-t.wake
		}
	}
}

// try sends something. The owner of an adopted server may have middleware around what sends.
func (t *talk) try(say func()) {
	defer func() {
		if p := recover(); p != nil {
			t.sending(fmt.Errorf("it panicked: %v", p))
		}
	}()
	say()
}

// following is what to say next; or how long to wait with it, 0 for until there is something; or that all was said.
func (t *talk) following() (say func(), wait time.Duration, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return nil, 0, true
	}
	if len(t.unsent) > 0 {
		m := t.unsent[0]
		t.unsent, t.bytes = t.unsent[1:], t.bytes-len(m.data)
		return func() { t.log(m.level, m.data) }, 0, false
	}
	if n := t.dropped; n > 0 {
		t.dropped = 0
		return func() { t.log(t.noticed(), leftOut(n)) }, 0, false
	}
	if p := t.progress; p != nil {
		if wait := time.Until(t.next); wait > 0 && !t.over {
			return nil, wait, false
		}
		t.progress, t.next = nil, time.Now().Add(progressInterval)
		return func() { t.sending(t.session.NotifyProgress(t.ctx, p)) }, 0, false
	}
	return nil, 0, t.over
}

func (t *talk) log(level mcp.LoggingLevel, data any) {
	t.sending(t.session.Log(t.ctx, &mcp.LoggingMessageParams{Logger: t.server.info.Name, Level: level, Data: data}))
}

// noticed is the level of what every client that wants log messages should see, a warning at least.
func (t *talk) noticed() mcp.LoggingLevel {
	least, _ := t.level()
	return nameOf(max(least, mcp.LevelWarning))
}

func leftOut(n int) map[string]any {
	return map[string]any{"msg": fmt.Sprintf("%d log messages were left out: more came than could be sent", n)}
}

// sending notes what was in the way, once: the client may be gone.
func (t *talk) sending(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	first := !t.left
	t.leave()
	t.mu.Unlock()
	if first {
		defer func() { _ = recover() }() // the program's own handler, in a goroutine that nobody else looks after
		t.server.log.DebugContext(t.ctx, "a log message or progress could not be sent to the client", "error", err)
	}
}
