package session

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Session is what outlives a message: the handshake, the level, the calls in flight, the questions
// that wait, and the session of an adopted server. Between messages it has no goroutine of its own.
//
// A message of 2026-07-28 that needs an adopted server, or listens, has a session of its own, which
// ends with the message and whose client it cannot ask.
type Session struct {
	server *Server
	id     string // over HTTP; empty on stdio and for one message
	owner  request.Owner
	out    Out    // gets what belongs to no message of the client
	table  *Table // over HTTP; nil for others
	place  place  // in the table

	mu          sync.Mutex
	client      *mcp.InitializeParams            // nil before the handshake
	started     bool                             // the client has sent notifications/initialized
	level       slog.Level                       // of log messages, if named is not empty
	named       mcp.LoggingLevel                 // as the client has set it
	calls       map[string]*Exchange             // in flight, by id
	many        bool                             // calls has had more than a few
	pending     map[string]chan<- clientResponse // requests that wait for a response, by id
	lastRequest int
	noQuestions error         // why the client is asked nothing any more; nil while it is
	closing     chan struct{} // nil until no call begins any more; closed when none is in flight
	ended       bool
	onEnd       []func()
	upstream    *upstream.Session // nil until it is needed
	opening     chan struct{}     // holds an item while it is opened; nil before the first time
}

// Out sends one message to a client: on the stream of a response, or on the one of a session.
type Out interface {
	Event(text []byte) error
}

// Notifier sends notifications on an [Out].
type Notifier struct{ Out }

// Notify implements [request.Notifier].
func (n Notifier) Notify(method string, params any) error {
	text, err := wire.Notification(method, params)
	if err != nil {
		return err
	}
	return n.Event(text)
}

// nowhere is the [Out] of a session without a stream.
type nowhere struct{}

// Event implements [Out].
func (nowhere) Event([]byte) error { return errors.New("the client has no stream for it") }

// newSession returns a session before its handshake.
func (s *Server) newSession(id string, owner request.Owner, out Out) *Session {
	return &Session{server: s, id: id, owner: owner, out: out}
}

// ID implements [request.Session].
func (s *Session) ID() string { return s.id }

// InitializeParams implements [request.Session].
func (s *Session) InitializeParams() *mcp.InitializeParams {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// User returns the user who owns the session.
func (s *Session) User() request.User { return s.owner.User }

// Out returns where messages of the server leave that belong to no message of the client.
func (s *Session) Out() Out {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// setClient keeps the params of initialize.
func (s *Session) setClient(p *mcp.InitializeParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client := *p
	client.Meta = nil
	s.client = &client
}

// Level implements [request.Session].
func (s *Session) Level() (slog.Level, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level, s.named != ""
}

// SetLevel implements [request.Session].
func (s *Session) SetLevel(named mcp.LoggingLevel, level slog.Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named, s.level = named, level
}

// OnEnd implements [request.Session].
func (s *Session) OnEnd(f func()) {
	s.mu.Lock()
	ended := s.ended
	if !ended {
		s.onEnd = append(s.onEnd, f)
	}
	s.mu.Unlock()
	if ended {
		f()
	}
}

// Notify implements [request.Notifier].
func (s *Session) Notify(method string, params any) error {
	return Notifier{s.Out()}.Notify(method, params)
}

// End ends the session: it cancels its calls and questions, and then calls the funcs of OnEnd. It
// does not wait for the handlers of an adopted server.
func (s *Session) End() {
	s.endQuestions(errSessionEnds)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	for _, x := range s.calls {
		x.ctx.End()
	}
	functions, up, table := s.onEnd, s.upstream, s.table
	s.onEnd = nil
	s.mu.Unlock()
	s.server.forget(s)
	if table != nil {
		table.remove(s)
	}
	for _, f := range functions {
		f()
	}
	if up != nil {
		go func() { _ = up.Close() }() // every end is the same here
	}
}

// Ended reports whether the session has ended.
func (s *Session) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// begin notes a call in flight.
func (s *Session) begin(x *Exchange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended || s.closing != nil:
		return ErrEnds
	case s.calls[x.key] != nil:
		return ErrInFlight
	case s.calls == nil:
		s.calls = map[string]*Exchange{}
	}
	s.calls[x.key] = x
	s.many = s.many || len(s.calls) > 8
	return nil
}

// finish notes the end of a call, and reports whether the client has cancelled it.
func (s *Session) finish(x *Exchange) (cancelled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[x.key] != x {
		return x.cancelled
	}
	if delete(s.calls, x.key); len(s.calls) == 0 {
		if s.many {
			s.calls, s.many = nil, false // an idle session keeps no large map
		}
		if s.closing != nil {
			close(s.closing)
		}
	}
	return x.cancelled
}

// drain refuses new calls, and ends the questions to the client. The channel is closed when no call
// is in flight.
func (s *Session) drain() <-chan struct{} {
	s.endQuestions(errSessionEnds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing == nil {
		if s.closing = make(chan struct{}); len(s.calls) == 0 {
			close(s.closing)
		}
	}
	return s.closing
}

// Cancel cancels the call with an id, if it is in flight.
func (s *Session) Cancel(id wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.calls[id.Key]; x != nil {
		x.cancelled = true
		x.ctx.End()
	}
}

// byProgress returns the call in flight with a progress token, nil for none.
func (s *Session) byProgress(params json.RawMessage) *Exchange {
	var p struct {
		Token any `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil || p.Token == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.calls {
		if x.Message.Meta["progressToken"] == p.Token {
			return x
		}
	}
	return nil
}
