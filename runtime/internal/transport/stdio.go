package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/bridge"
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
	err := c.Bridge.Run(ctx, &lineConn{
		Config: c, in: in, out: out, caller: caller, conn: NewStdioConn(c.Sessions),
		lines: make(chan line), closed: make(chan struct{})})
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.ErrClosedPipe):
		return nil // the client has left before its answer
	}
	return err
}

// lineConn is a transport for go-sdk that validates as on HTTP and answers a malformed line.
type lineConn struct {
	Config
	in      io.Reader
	out     io.Writer
	caller  identity.Identity
	conn    request.Conn
	lines   chan line
	closing sync.Once
	closed  chan struct{}
	writing sync.Mutex // concurrent messages do not mix
}

type line struct {
	text []byte // its beginning if it is longer than MaxBodyBytes
	err  error
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
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if msg, err := c.receive(l); msg != nil || err != nil {
				return msg, err
			}
		}
	}
}

// receive returns the message in a line. It answers a malformed line and returns nil.
func (c *lineConn) receive(l line) (msg jsonrpc.Message, err error) {
	var checked wire.Checked
	var refused *wire.MessageError
	switch {
	case l.err != nil:
		return nil, l.err
	case l.longer(c.MaxBodyBytes):
		refused = wire.NotRequest("the line is too long")
	case l.blank():
		return nil, nil
	default:
		checked, refused = wire.CheckMessage(l.text, c.Masker)
	}
	if refused == nil {
		if msg, err = jsonrpc.DecodeMessage(checked.Body); err != nil {
			refused = wire.NotRequest("not a JSON-RPC 2.0 message")
		}
	}
	if refused != nil && refused.Mute {
		return nil, nil
	} else if refused != nil {
		return nil, c.write(refused.Response(c.Masker))
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		info := request.New(c.caller, nil)
		info.Catalog, info.Conn = checked.Catalog, c.conn
		req.Extra = &mcp.RequestExtra{TokenInfo: bridge.TokenInfo(info)}
	}
	return msg, nil
}

func (c *lineConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
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
