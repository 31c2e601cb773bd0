package runtime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// lineConn is a connection of one message a line. Unlike go-sdk's own it puts the carrier into
// each request, holds messages to the same spelling as the HTTP front does, and answers a line
// that is no message instead of ending the session.
type lineConn struct {
	record func() *record
	limit  int // bytes in a line
	masker redact.Masker

	in     io.Closer // nil where there is nothing to close
	lines  chan line
	closed chan struct{}
	once   sync.Once

	mu  sync.Mutex // lines of concurrent answers do not mix
	out io.Writer
}

type line struct {
	text []byte
	err  error
	long bool // the line is over the limit, and text is empty
}

// SessionID is empty: the streams are the session.
func (c *lineConn) SessionID() string { return "" }

// read feeds lines until the input ends. It is a goroutine of its own because a read of
// standard input cannot be interrupted.
func (c *lineConn) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := c.next(r)
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

// next reads one line. Of one that is too long it keeps nothing and reads to its end.
func (c *lineConn) next(r *bufio.Reader) line {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if !l.long {
			l.text = append(l.text, part...)
		}
		if len(l.text) > c.limit {
			l.text, l.long = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(bytes.TrimSpace(l.text)) > 0 && errors.Is(err, io.EOF) {
			return l // the last line has no end; the next read says so again
		}
		l.err = err
		return l
	}
}

// Read returns the next message, with the carrier in it.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l = <-c.lines:
		}
		var (
			refused *messageError
			asks    asked
		)
		switch {
		case l.err != nil:
			return nil, l.err
		case l.long:
			refused = notRequest("the line is too long")
		case len(bytes.TrimSpace(l.text)) == 0:
			continue
		default:
			l.text, asks, refused = checkMessage(l.text, c.masker)
		}
		if refused == nil {
			msg, err := jsonrpc.DecodeMessage(l.text)
			if err == nil {
				if req, ok := msg.(*jsonrpc.Request); ok {
					rec := c.record()
					rec.asked = asks
					req.Extra = &mcp.RequestExtra{TokenInfo: rec.tokenInfo()}
				}
				return msg, nil
			}
			refused = notRequest("not a JSON-RPC 2.0 message")
		}
		if refused.mute {
			continue
		}
		if err := c.write(refused.response(c.masker)); err != nil {
			return nil, err
		}
	}
}

// Write sends one message.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close ends Read.
func (c *lineConn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		if c.in != nil {
			err = c.in.Close()
		}
	})
	return err
}
