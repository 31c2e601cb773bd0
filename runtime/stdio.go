package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// RunStdio serves one client over standard input and output until the client closes the
// input, which is no error, or ctx ends, whose error it returns.
//
// The caller is principal, for as long as it runs. The zero Principal is an anonymous caller,
// whom Options.Anonymous must admit; it is never an admin.
//
// The protocol has standard output to itself: while it runs, os.Stdout is standard error, and
// on Linux file descriptor 1 as well, so that what handlers and their libraries print does
// not end up between the messages. Only one RunStdio can run in a process at a time.
func (s *Server) RunStdio(ctx context.Context, principal access.Principal) error {
	if err := s.checkPrincipal(principal); err != nil {
		return err
	}
	out, restore, err := takeStdout()
	if err != nil {
		return fmt.Errorf("taking standard output for the protocol: %w", err)
	}
	defer restore()
	return s.RunIO(ctx, os.Stdin, out, principal)
}

// RunIO serves one client over any pair of streams, one message a line, as RunStdio does over
// the standard ones. It closes in where that is an io.Closer, and leaves out open. A client that
// leaves ends it without an error, also before it is answered, where that is [io.ErrClosedPipe].
func (s *Server) RunIO(ctx context.Context, in io.Reader, out io.Writer, principal access.Principal) error {
	if err := s.checkPrincipal(principal); err != nil {
		return err
	}
	if s.host != nil && !principal.Anonymous() {
		resolving, cancel := context.WithTimeout(ctx, s.opts.CapabilityTimeout)
		err := s.host.resolve(resolving, principal)
		cancel()
		if err != nil {
			return fmt.Errorf("the principal %q cannot be served with Options.PermissionAware: %w", principal.Subject, err)
		}
	}
	if !s.ready() {
		return errors.New("the server is shutting down")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The client may never close its end; Shutdown waits for its calls alone.
	defer context.AfterFunc(s.closing, func() { cancel(errShutdown) })()
	caller := identity.Identity{Principal: principal, ClientItself: identity.OfClientItself(principal)}
	room := newSeats(s.opts)
	err := s.mcp.Run(ctx, &lineTransport{
		in: in, out: out, limit: int(s.opts.MaxBodyBytes), masker: s.opts.Masker,
		record: func() *record {
			rec := newRecord(caller, nil)
			rec.seats = room
			return rec
		},
	})
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.ErrClosedPipe):
		return nil // the client has left before it was answered
	}
	return err
}

var errShutdown = errors.New("shutting down")

// checkPrincipal refuses a principal that was surely not meant: the program wrote it down itself.
func (s *Server) checkPrincipal(p access.Principal) error {
	switch {
	case p.IsZero() && !s.opts.Anonymous:
		return errors.New("no principal: pass the one that the client acts for, or set Options.Anonymous to serve the public tools alone")
	case p.Anonymous() && !p.IsZero():
		return errors.New("the principal has no Subject: name it, or pass the zero Principal for an anonymous caller")
	}
	return s.checkRole(p)
}

// lineTransport is go-sdk's view of a pair of streams.
type lineTransport struct {
	in     io.Reader
	out    io.Writer
	limit  int
	record func() *record
	masker redact.Masker
}

// Connect is called once, by go-sdk.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		out: t.out, record: t.record, limit: t.limit, masker: t.masker,
		lines: make(chan line), closed: make(chan struct{}),
	}
	if closer, ok := t.in.(io.Closer); ok {
		c.in = closer
	}
	go c.read(t.in)
	return c, nil
}
