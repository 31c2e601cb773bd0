package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

var errShutdown = errors.New("shutting down")

// drainTimeout is how long calls in flight may take at the end of the input.
const drainTimeout = 10 * time.Second

// ServeIO serves one client, a message a line. Only an end of ctx and a broken stream are errors.
// At the end of the input it answers what was read, and cancels the calls that take longer than
// drainTimeout.
func ServeIO(ctx, stop context.Context, c Config,
	in io.Reader, out io.Writer, caller identity.Identity) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(stop, func() { cancel(errShutdown) })()
	l := newLines(ctx, c, in, out, caller)
	defer l.workers.Close()
	err := l.read(ctx)
	if errors.Is(err, io.EOF) {
		err = nil
		l.session.EndQuestions() // its client cannot answer any more
		l.endListens()
		l.wait(ctx, drainTimeout)
	}
	l.cancel()
	l.wait(ctx, flushTimeout) // the client may not read
	l.session.End()
	l.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(l.broken, io.ErrClosedPipe):
		return nil // the client has left before its answer
	}
	return cmp.Or(l.broken, err)
}

// wait waits for the messages in flight, for a time, for a broken output, or for the end of ctx.
func (l *lines) wait(ctx context.Context, most time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.running.Wait()
	}()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-ended:
	case <-limit.C:
	case <-l.closed:
	case <-ctx.Done():
	}
}

// lines is one client on two streams: a session of its own, and any number of messages of
// 2026-07-28. It is the [session.Out] of its session.
type lines struct {
	Config
	in      io.Reader
	out     io.Writer
	caller  identity.Identity
	table   *session.Table // for the slots of listen requests
	session *session.Session
	modern  bool // the client has sent a message of 2026-07-28 before any handshake

	ctx        context.Context // of messages
	cancel     context.CancelFunc
	listens    context.Context // of listen requests, which end with the input
	endListens context.CancelFunc
	running    sync.WaitGroup // messages in flight
	workers    *worker.Pool   // for messages alone: no handler has locked one to its thread
	closing    sync.Once
	closed     chan struct{}
	writing    sync.Mutex // concurrent messages do not mix

	mu     sync.Mutex
	broken error // of writing
}

func newLines(ctx context.Context, c Config, in io.Reader, out io.Writer,
	caller identity.Identity) *lines {
	l := &lines{Config: c, in: in, out: out, caller: caller, closed: make(chan struct{}),
		workers: worker.NewPool(),
		table:   c.Sessions.NewTable(c.Limits, c.SessionTimeout)}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.listens, l.endListens = context.WithCancel(l.ctx)
	l.session = c.Sessions.Connect(request.OwnerOf(caller.Principal), l)
	return l
}

type line struct {
	text []byte // its beginning if it is longer than MaxBodyBytes
	err  error
}

// read takes lines until the input ends, or the output is broken, or ctx ends. The lines are read
// in a goroutine of their own, because a read of standard input cannot be interrupted.
func (l *lines) read(ctx context.Context) error {
	next := make(chan line)
	go func() {
		r := bufio.NewReaderSize(l.in, 64<<10)
		for {
			line := readLine(r, l.MaxBodyBytes)
			select {
			case next <- line:
			case <-l.closed:
				return
			}
			if line.err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.closed:
			return nil
		case line := <-next:
			if line.err != nil {
				return line.err
			}
			l.receive(line)
		}
	}
}

// readLine reads a line to its end, and keeps little more of it than the limit.
func readLine(r *bufio.Reader, limit int64) (l line) {
	l.err = bufio.ErrBufferFull
	for errors.Is(l.err, bufio.ErrBufferFull) {
		var part []byte
		if part, l.err = r.ReadSlice('\n'); !l.longer(limit) {
			l.text = append(l.text, part...)
		}
	}
	if errors.Is(l.err, io.EOF) && !l.blank() {
		l.err = nil // the last line has no end; the next read reports io.EOF again
	}
	return l
}

func (l line) longer(limit int64) bool { return int64(len(l.text)) > limit }
func (l line) blank() bool             { return len(bytes.TrimSpace(l.text)) == 0 }

// receive takes the message of a line, and answers one that is none.
func (l *lines) receive(text line) {
	if text.blank() {
		return
	}
	var m wire.Checked
	var refused *wire.MessageError
	if text.longer(l.MaxBodyBytes) {
		refused = wire.NotRequest("the line is too long")
	} else {
		m, refused = wire.CheckMessage(text.text, l.Masker)
	}
	switch {
	case refused != nil && !refused.Mute:
		_ = l.Event(refused.Response(l.Masker)) // a broken stream ends the connection
	case refused != nil:
	case m.Method == "":
		l.session.Respond(m)
	default:
		l.dispatch(m)
	}
}

// dispatch answers a request, or passes a notification on.
func (l *lines) dispatch(m wire.Checked) {
	handshake := m.Method == "initialize"
	greeted := l.session.InitializeParams() != nil
	newer := m.Version == "" || m.Version >= request.Stateless
	modern := !handshake && (m.Versioned && (!greeted || newer) || l.modern)
	var err error
	switch {
	case m.ID.Key == "":
		modern = false
	case modern:
		if err = checkModern(m, l.Guard.Tasks != nil, l.Masker); err == nil && !greeted {
			l.modern = true
		}
	case handshake && greeted:
		err = wire.InvalidRequest("the session is initialized already")
	case !handshake && !greeted && m.Method != "ping":
		err = wire.InvalidRequest("send initialize first, or a message of " + request.Stateless)
	}
	if err != nil {
		_ = l.Event(wire.ErrorResponse(m.ID, err))
		return
	}
	info := request.New(l.caller)
	info.Server, info.Catalog = l.Facts, m.Catalog
	if !info.Catalog.Set {
		info.Catalog = l.Catalog
	}
	describe(info, m, l.session, modern)
	if l.StdioValue != nil && request.RunsHandler(m.Method) {
		info.Credential = credential.Later(l.caller, info.ID, l.value)
	}
	x := session.NewExchange(l.Sessions, l.session,
		guard.Message{Info: info, Method: m.Method, Params: m.Params, Meta: m.Meta})
	if modern {
		x.Session = nil
	}
	if m.ID.Key == "" {
		l.session.Cancel(m.Cancels)
		info.Conn, x.Out = noConn{}, l
		_, _ = x.Serve(l.ctx) // the guard logs and records an error
		return
	}
	until := l.ctx
	if m.Method == "subscriptions/listen" {
		until = l.listens
	}
	ctx, err := x.Begin(until, m.ID)
	switch {
	case errors.Is(err, session.ErrEnds): // by a handler of an adopted server, or a block
		err = wire.InvalidRequest("the session has ended: connect again")
		if refused := l.Rights.Attach(l.ctx, info); errors.Is(refused, principal.ErrBlocked) {
			l.Guard.Refused(l.ctx, info, m.Method, refused)
			err = wire.Refused()
		}
		_ = l.Event(wire.ErrorResponse(m.ID, err))
		return
	case err != nil:
		l.Log.Debug("a request is dropped: its id is in flight") // an answer would be that of the first
		return
	}
	r := &lineReply{lines: l, info: info}
	info.Conn, info.Notifier, x.Out = r, session.Notifier{Out: r}, r
	if handshake { // what follows needs its session
		l.serve(ctx, x, r, m.ID)
		return
	}
	l.running.Add(1)
	l.workers.Go(func() {
		defer l.running.Done()
		l.serve(ctx, x, r, m.ID)
	})
}

// value returns the caller's value for one message.
func (l *lines) value(ctx context.Context) (identity.Value, error) {
	v, err := l.StdioValue(ctx)
	if err != nil {
		l.Log.ErrorContext(ctx, "Options.Protocol.StdioValue failed; the handler has no value",
			"error", err)
	}
	return v, err
}

// serve answers a request.
func (l *lines) serve(ctx context.Context, x *session.Exchange, r *lineReply, id wire.ID) {
	var out wire.Text // empty for a panic, and for runtime.Goexit
	defer func() {
		p := recover()
		if out.JSON == nil {
			out.JSON = wire.ErrorResponse(id, wire.InternalError())
		}
		if x.Finish() {
			out = wire.Text{} // a cancelled request has no response
		}
		if r.finish(id, out.JSON) == nil { // else the output may still read it
			out.Free()
		}
		if p != nil {
			defer func() { _ = recover() }() // the program's log handler must not end the process
			l.Log.Error("the transport panicked",
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	_ = l.Rights.Attach(ctx, r.info) // the guard refuses an unknown user
	a, err := x.Serve(ctx)
	if err != nil && l.ctx.Err() != nil { // also if the handler has ignored the end of its context
		err = wire.WireError(context.Canceled)
	}
	out = wire.Response(id, a.Encoded, err)
}

// Event implements [session.Out]. A broken stream ends the connection.
func (l *lines) Event(text []byte) error {
	err := l.write(append(text, '\n'))
	if err != nil {
		l.mu.Lock()
		l.broken = cmp.Or(l.broken, err)
		l.mu.Unlock()
		l.close()
	}
	return err
}

// write writes a line. A panic of an output of the program's own is an error.
func (l *lines) write(line []byte) (err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the output panicked: %v", p)
		}
	}()
	_, err = l.out.Write(line)
	return err
}

func (l *lines) close() {
	l.closing.Do(func() {
		close(l.closed)
		if in, ok := l.in.(io.Closer); ok {
			_ = in.Close() // nothing is read any more
		}
	})
}

// lineReply is the [request.Conn] and the [session.Out] of a request.
type lineReply struct {
	*lines
	noConn
	info *request.Info
	mu   sync.Mutex
	over bool // nothing more leaves
}

// Reserve implements [request.Conn].
func (r *lineReply) Reserve(u request.User) (release func(), status int) {
	return r.table.Reserve(u)
}

// Event implements [session.Out].
func (r *lineReply) Event(text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.info.Expired() {
		return errOver
	}
	return r.lines.Event(text)
}

// finish writes the response to an id, nil for none, and nothing after it.
func (r *lineReply) finish(id wire.ID, text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over = true; text == nil {
		return nil
	}
	if r.info.Expired() {
		text = wire.ErrorResponse(id, wire.Ended(r.info))
	}
	return r.lines.Event(text) // a broken stream ends the connection
}
