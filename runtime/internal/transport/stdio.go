package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/bridge"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

var errShutdown = errors.New("shutting down")

// ServeIO serves one client, a message a line. Only an end of ctx and a broken stream are errors.
func ServeIO(ctx, stop context.Context, c Config,
	in io.Reader, out io.Writer, caller identity.Identity) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(stop, func() { cancel(errShutdown) })()
	l := newLineConn(ctx, c, in, out, caller)
	err := c.Bridge.Run(ctx, l)
	l.cancel()
	l.wait(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case l.broken != nil:
		err = l.broken
	}
	if errors.Is(err, io.ErrClosedPipe) {
		return nil // the client has left before its answer
	}
	return err
}

// wait waits for direct calls, and after the end of ctx no longer than flushTimeout: their client
// may not read.
func (c *lineConn) wait(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.running.Wait()
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	select {
	case <-ended:
	case <-time.After(flushTimeout):
	}
}

// lineConn is a transport for go-sdk that validates as on HTTP and answers a malformed line. What
// takes the direct door it answers itself, each message in a goroutine of its own.
type lineConn struct {
	Config
	in      io.Reader
	out     io.Writer
	caller  identity.Identity
	conn    request.Conn
	lines   chan line
	passed  chan passed // to go-sdk, by goroutines of the direct door
	again   line        // is read next: a cancellation that came before its call was passed
	closing sync.Once
	closed  chan struct{}
	writing sync.Mutex // concurrent messages do not mix

	ctx     context.Context // of direct calls; ends with the input
	cancel  context.CancelFunc
	running sync.WaitGroup // direct calls

	mu      sync.Mutex
	session request.Session // nil before the handshake
	calls   calls           // in flight by the direct door
	waiting map[string]bool // calls that go-sdk has to answer, by id
	broken  error           // of writing by the direct door

	stateless bool // go-sdk was passed a call of 2026-07-28
}

func newLineConn(ctx context.Context, c Config, in io.Reader, out io.Writer,
	caller identity.Identity) *lineConn {
	l := &lineConn{Config: c, in: in, out: out, caller: caller,
		lines: make(chan line), passed: make(chan passed), closed: make(chan struct{}),
		calls: calls{}, waiting: map[string]bool{}}
	l.conn = NewStdioConn(c.Sessions, l.bind)
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

type line struct {
	text []byte // its beginning if it is longer than MaxBodyBytes
	err  error
}

// passed is a call for go-sdk that the direct door has looked at.
type passed struct {
	jsonrpc.Message
	id     string
	ctx    context.Context // has ended if the client has cancelled the call
	cancel context.CancelFunc
}

func (c *lineConn) Connect(context.Context) (mcp.Connection, error) {
	go c.readLines()
	return c, nil
}

func (c *lineConn) SessionID() string { return "" }

// readLines is a goroutine because a read of standard input cannot be interrupted.
func (c *lineConn) readLines() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		l := readLine(r, c.MaxBodyBytes)
		select {
		case c.lines <- l:
		case <-c.closed:
			return
		}
		if l.err != nil {
			return
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
	if errors.Is(l.err, io.EOF) && !l.blank() && !l.longer(limit) {
		l.err = nil // the last line has no end; the next read reports io.EOF again
	}
	return l
}

func (l line) longer(limit int64) bool { return int64(len(l.text)) > limit }
func (l line) blank() bool             { return len(bytes.TrimSpace(l.text)) == 0 }

func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if l := c.again; l.text != nil {
			c.again = line{}
			if msg, err := c.receive(l); msg != nil || err != nil {
				return msg, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case p := <-c.passed:
			c.handOver(p)
			return p.Message, nil
		case l := <-c.lines:
			if msg, err := c.receive(l); msg != nil || err != nil {
				return msg, err
			}
		}
	}
}

// handOver forgets a call of the direct door before go-sdk gets it, so that its id is free once
// go-sdk has answered. go-sdk ignores a cancellation that comes before its call, so it gets
// another.
func (c *lineConn) handOver(p passed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, p.id)
	if p.ctx.Err() != nil {
		c.again.text = []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled",` +
			`"params":{"requestId":` + p.id + `}}`)
	}
	p.cancel()
}

// receive returns the message in a line for go-sdk, and nil for one that it answers itself.
func (c *lineConn) receive(l line) (msg jsonrpc.Message, err error) {
	var checked wire.Checked
	var refused *wire.MessageError
	switch {
	case l.err != nil:
		c.cancel() // what runs cannot be cancelled by the client any more
		return nil, l.err
	case l.longer(c.MaxBodyBytes):
		refused = wire.NotRequest("the line is too long")
	case l.blank():
		return nil, nil
	default:
		checked, refused = wire.CheckMessage(l.text, c.Masker)
	}
	if refused == nil {
		info := request.New(c.caller, nil)
		info.MessageID = checked.ID
		info.Catalog, info.Arguments = checked.Catalog, checked.Arguments
		info.TaskIDs = checked.TaskIDs
		if c.StdioValue != nil && request.RunsHandler(checked.Method) {
			info.Credential = credential.Later(c.caller, info.ID, c.value)
		}
		if !info.Catalog.Set {
			info.Catalog = c.Catalog
		}
		if c.startDirect(info, checked) {
			return nil, nil
		}
		if msg, err = c.message(info, checked); err == nil {
			return msg, nil
		}
		refused = wire.NotRequest("not a JSON-RPC 2.0 message")
	}
	if refused.Mute {
		return nil, nil
	}
	return nil, c.write(refused.Response(c.Masker))
}

// value returns the caller's value for one message.
func (c *lineConn) value(ctx context.Context) (identity.Value, error) {
	v, err := c.StdioValue(ctx)
	if err != nil {
		c.Log.ErrorContext(ctx, "Options.StdioValue failed; the handler has no value",
			"error", err)
	}
	return v, err
}

// message returns a message as go-sdk takes it.
func (c *lineConn) message(info *request.Info, checked wire.Checked) (jsonrpc.Message, error) {
	msg, err := jsonrpc.DecodeMessage(checked.Body)
	if req, ok := msg.(*jsonrpc.Request); ok && err == nil {
		info.Conn = c.conn
		req.Extra = &mcp.RequestExtra{TokenInfo: bridge.TokenInfo(info)}
		if checked.ID != "" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.waiting[checked.ID] = true
		}
	}
	return msg, err
}

// bind notes the session once its handshake has begun.
func (c *lineConn) bind(s request.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
}

// startDirect starts a message that takes the direct door. It reports false for one that go-sdk
// gets. go-sdk does not answer a call whose id is in flight; here neither.
func (c *lineConn) startDirect(info *request.Info, checked wire.Checked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if checked.Method == "notifications/cancelled" {
		if id, ok := wire.ID(checked.Params.Member("requestId")); ok {
			c.calls.cancel(id)
		}
		return false
	}
	if checked.Method != "" && c.calls[checked.ID] != nil {
		c.Log.Debug("a call is dropped: its id is in flight")
		return true
	}
	d := &candidate{Checked: checked, info: info, session: c.session}
	if c.Direct == nil || c.waiting[checked.ID] || !d.passes() {
		return false
	} else if c.session == nil && !c.stateless && !wire.IsTaskMethod(checked.Method) {
		// go-sdk remembers that a client without handshake has named 2026-07-28.
		c.stateless = true
		return false
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.calls.begin(checked.ID, cancel)
	c.running.Go(func() {
		c.serveDirect(ctx, cancel, d)
	})
	return true
}

func (c *lineConn) serveDirect(ctx context.Context, cancel context.CancelFunc, d *candidate) {
	r := &lineReply{lineConn: c, info: d.info}
	var out []byte
	handedOver := false
	defer func() {
		p := recover()
		if handedOver {
			return
		} else if p != nil {
			out = wire.ErrorResponse(d.ID, wire.InternalError())
		}
		cancel()
		c.mu.Lock()
		delete(c.calls, d.ID) // before the response leaves: then the client may use the id again
		c.mu.Unlock()
		r.finish(out)
		if p != nil {
			defer func() { _ = recover() }() // the program's log handler must not end the process
			c.Log.Error("the transport panicked",
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	m := d.message(c.Facts)
	_ = c.Host.Attach(ctx, d.info) // the guard refuses an unknown user
	if needsSDK(c.Guard, m) {
		if msg, err := c.message(d.info, d.Checked); err == nil {
			handedOver = true
			select {
			case c.passed <- passed{msg, d.ID, ctx, cancel}:
			case <-c.closed:
				cancel()
			}
			return
		}
	}
	d.info.Conn, d.info.Notifier = r, r
	a, err := c.Direct(ctx, m)
	out = d.response(a, err)
}

// send writes a message of the direct door. A broken stream ends the connection.
func (c *lineConn) send(text []byte) error {
	err := c.write(text)
	if err != nil {
		c.mu.Lock()
		c.broken = cmp.Or(c.broken, err)
		c.mu.Unlock()
		_ = c.Close() // the first error is the one that counts
	}
	return err
}

// lineReply is the [request.Conn] and [request.Notifier] of a message of the direct door on stdio.
type lineReply struct {
	*lineConn
	info *request.Info
	mu   sync.Mutex
	over bool // nothing more leaves
}

func (r *lineReply) Release()                  {}
func (r *lineReply) Challenge(string) bool     { return false }
func (r *lineReply) Bind(request.Session) bool { return false }
func (r *lineReply) Reserve(request.User) (func(), int) {
	return nil, http.StatusServiceUnavailable
}
func (r *lineReply) Log(_ context.Context, m *logMessage) error {
	return r.notify("notifications/message", m)
}
func (r *lineReply) NotifyProgress(_ context.Context, p *mcp.ProgressNotificationParams) error {
	return r.notify("notifications/progress", p)
}

func (r *lineReply) notify(method string, params any) error {
	text, err := wire.Notification(method, params)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.info.Expired() {
		return errOver
	}
	return r.send(text)
}

// finish writes the response, and nothing after it. A broken stream ends the connection.
func (r *lineReply) finish(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over = true; text != nil {
		_ = r.send(text)
	}
}

func (c *lineConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if response, ok := msg.(*jsonrpc.Response); ok {
		if id, err := wire.Marshal(response.ID.Raw()); err == nil {
			c.mu.Lock()
			delete(c.waiting, string(id))
			c.mu.Unlock()
		}
	}
	return c.write(text)
}

func (c *lineConn) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

func (c *lineConn) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		if in, ok := c.in.(io.Closer); ok {
			err = in.Close()
		}
	})
	return err
}
