package transport

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// post answers a request or a notification.
func (h *Handler) post(v *visit) (lasts func()) {
	switch {
	case v.message.ID.Key == "":
		h.notify(v)
	case v.session == nil && !v.modern:
		h.handshake(v)
	default:
		return h.call(v)
	}
	return nil
}

// exchange returns the exchange of the message.
func (v *visit) exchange(server *session.Server) *session.Exchange {
	m := &v.message
	return session.NewExchange(server, v.session,
		guard.Message{Info: v.info, Method: m.Method, Params: m.Params, Meta: m.Meta})
}

// notify passes a notification on, which is accepted whatever becomes of it.
func (h *Handler) notify(v *visit) {
	x := v.exchange(h.Sessions)
	v.info.Conn, x.Out = noConn{}, noConn{}
	if v.session != nil {
		use := h.table.Use(v.session)
		defer use.Release()
		v.session.Cancel(v.message.Cancels)
		x.Out = v.session.Out() // for what the handler of an adopted server sends
	}
	v.w.served = true
	_, _ = x.Serve(v.r.Context()) // the guard logs and records an error
	v.w.WriteHeader(http.StatusAccepted)
}

// noConn is the [request.Conn] and the [session.Out] of a notification, which has no response.
type noConn struct{}

func (noConn) Release()                           {}
func (noConn) Challenges() bool                   { return false }
func (noConn) Challenge(string) bool              { return false }
func (noConn) Reserve(request.User) (func(), int) { return nil, http.StatusServiceUnavailable }
func (noConn) Event([]byte) error                 { return errOver }

// Watch implements [request.Conn].
func (noConn) Watch(func(request.Standing, *request.Info)) (stop func()) { return func() {} }

// handshake answers initialize. The session begins with a response that is no error.
func (h *Handler) handshake(v *visit) {
	s := h.newSession(v)
	if s == nil {
		return
	}
	added := false
	defer func() { // also if the program's log handler panics
		if !added {
			s.End()
		}
	}()
	x := v.exchange(h.Sessions)
	x.Session, v.info.Session = s, s
	re := newReply(h, v)
	defer re.close()
	v.info.Conn, x.Out = re, re
	ctx, _ := x.Begin(v.r.Context(), v.message.ID) // nothing else is in flight
	v.w.served = true
	a, err := x.Serve(ctx)
	x.Finish()
	if added = err == nil; added {
		h.table.Add(s, newStandalone(h, s))
		v.w.Header()[request.HeaderSession] = []string{s.ID()}
	}
	re.respond(wire.Response(v.message.ID, a.Encoded, err), v.prefersStream,
		wire.ErrorStatus(err, v.info.Version))
}

// newSession takes a slot for a session, if need be that of an idle session of the same user.
func (h *Handler) newSession(v *visit) *session.Session {
	s, status := h.table.New(request.OwnerOf(v.info.Principal))
	if s != nil {
		return s
	}
	h.Log.WarnContext(v.r.Context(),
		"no session is available: see Options.HTTP.MaxSessions and Options.HTTP.MaxPerUser",
		"principal", v.info.Principal.Subject, "status", status)
	text := "too many sessions on this server: try again later"
	if status == http.StatusTooManyRequests {
		text = "too many sessions of this caller: end one with DELETE, or try again later"
	}
	v.w.Header().Set("Retry-After", "60")
	v.refuse(status, jsonrpc.CodeInvalidRequest, "%s", text)
	return nil
}

// call answers a request. One that may close its stream before its end has a goroutine of its own.
func (h *Handler) call(v *visit) (lasts func()) {
	re := newReply(h, v)
	re.session, re.challenges = v.session, h.Challenges
	v.info.Conn = re
	if v.stream {
		v.info.Notifier = re
	}
	if v.session == nil || !h.detaches || v.message.Method != "tools/call" || !v.stream {
		return h.answer(v, re, nil)
	}
	closeStream, detached := re.detachable()
	done := make(chan any, 1)
	h.Active.Enter() // a shutdown waits for the call, and not for its request alone
	go func() {
		defer h.Active.End()
		defer worker.Contain(v.r.Context(), h.Log, "the transport panicked")
		defer func() {
			p := recover()
			select {
			case <-detached: // the request has ended
				if p != nil {
					panic(p)
				}
			default:
				done <- p
			}
		}()
		h.answer(v, re, closeStream) // which does not last
	}()
	select {
	case p := <-done:
		if p != nil {
			panic(p)
		}
	case <-detached:
	}
	return nil
}

// answer passes a request through the guard, and sends the response. In a session the message goes
// on when its connection has ended. lasts is not nil for a message that goes on.
func (h *Handler) answer(v *visit, re *reply,
	closeStream func(mcp.CloseSSEStreamArgs)) (lasts func()) {
	defer func() {
		if lasts == nil {
			re.close()
		}
	}()
	x := v.exchange(h.Sessions)
	x.Out, x.CloseStream = re, closeStream
	ctx, finished := v.r.Context(), false
	if v.session != nil {
		x.Gone, x.Table = ctx, h.table
		ctx = context.WithoutCancel(ctx)
	}
	ctx, err := x.Begin(ctx, v.message.ID)
	defer func() { // also if the program's log handler panics
		if !finished {
			x.Finish()
		}
	}()
	switch {
	case errors.Is(err, session.ErrEnds):
		v.refuse(http.StatusNotFound, jsonrpc.CodeInvalidRequest, sessionNotFound)
		return nil
	case err != nil:
		v.refuseWith(http.StatusBadRequest, wire.DuplicateID(v.message.ID.JSON))
		return nil
	}
	v.w.served = true
	a, err := x.Start(ctx)
	if finished = x.Lasts(); finished {
		v.message = wire.Checked{} // nobody reads it any more
		return func() { re.last(ctx, x, a) }
	}
	x.Finish() // before the response leaves: then the client may use the id again
	finished = true
	re.respond(wire.Response(v.message.ID, a.Encoded, err), err == nil && v.prefersStream,
		wire.ErrorStatus(err, v.info.Version))
	return nil
}

// last waits for the end of a message that lasts, and sends the response.
func (r *reply) last(ctx context.Context, x *session.Exchange, a guard.Answer) {
	defer r.close()
	defer x.Finish()
	a, err := x.Last(ctx, a)
	r.respond(wire.Response(r.id, a.Encoded, err), false, wire.ErrorStatus(err, r.info.Version))
}
