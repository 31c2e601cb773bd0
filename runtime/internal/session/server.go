// Package session answers the messages that the guard has allowed, and keeps what outlives them.
//
// A [Server] is the end of the guard's chain: it answers the handshake, notifications, lists, calls
// and listen requests, by itself, by the handlers of toolsets, or by an adopted go-sdk server. A
// [Session] is one connection of a client, a [Table] has those of an HTTP handler, and an
// [Exchange] is one message and the way of its answer.
package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Config is what a [Server] reads.
type Config struct {
	Guard *guard.Guard
	// Upstream is the adopted server. Without one it is an empty server, for the sessions of handlers
	// in go-sdk's shape.
	Upstream *upstream.Server
	// Adopted is nil without an adopted server.
	Adopted  *Adopted
	Versions []string // of the protocol, newest first
}

// Adopted is what was read from an adopted server, and what replaces it.
type Adopted struct {
	Instructions string
	Tools        map[string]*mcp.Tool // as listed at adoption; not changed
	Descriptions map[string]string    // in place of the server's own, by tool
}

// Server answers messages. It is safe for concurrent use.
type Server struct {
	Config
	chain    guard.Next
	detaches bool

	mu      sync.Mutex
	open    map[*Session]struct{} // that have a client
	headers headers
}

// New returns a server, which is the end of the guard's chain.
func New(c Config) *Server {
	s := &Server{Config: c, open: map[*Session]struct{}{}}
	s.chain = c.Guard.Chain(s.answer)
	if s.detaches = c.Adopted != nil; s.detaches {
		s.headers.note(c.Adopted.Tools)
	}
	for _, t := range c.Guard.Tools {
		s.detaches = s.detaches || t.SDK
	}
	return s
}

// answer answers an allowed message.
func (s *Server) answer(ctx context.Context, m *guard.Message) (guard.Answer, error) {
	x := m.Origin.(*Exchange)
	switch p := m.Params.(type) {
	case *mcp.InitializeParams:
		x.Session.setClient(p)
		return guard.Answer{Result: &mcp.InitializeResult{ProtocolVersion: p.ProtocolVersion,
			ServerInfo: s.Guard.Server, Instructions: s.instructions()}}, nil
	case *mcp.SubscriptionsListenParams:
		return s.listen(ctx, x, m)
	}
	switch m.Method {
	case "ping":
		return guard.Answer{Result: &wire.Empty{}}, nil
	case "server/discover":
		return guard.Answer{Result: &mcp.DiscoverResult{SupportedVersions: s.Versions,
			Instructions: s.instructions()}}, nil
	case "logging/setLevel":
		x.Session.forwardLevel(ctx, x)
		return guard.Answer{Result: &wire.Empty{}}, nil
	case "notifications/initialized", "notifications/progress", "notifications/roots/list_changed":
		x.Session.forward(ctx, x)
		return guard.Answer{}, nil
	case "notifications/cancelled": // the transport has cancelled the call
		return guard.Answer{}, nil
	case "resources/unsubscribe": // of a resource of the adopted server
		_, err := x.do(ctx, m.Method, m.Params)
		return guard.Answer{Result: &wire.Empty{}}, err
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		if adopted := m.Filter.Adopted; adopted != nil {
			items, err := s.list(ctx, x, m)
			if err != nil {
				return guard.Answer{}, err
			}
			adopted.Store(items)
		}
		if a, own, err := s.Guard.TryInvoke(ctx, m); own {
			return a, err
		}
		return guard.Answer{}, guard.Unknown(m.Params)
	}
	return s.run(ctx, x, m)
}

func (s *Server) instructions() string {
	if s.Adopted == nil {
		return ""
	}
	return s.Adopted.Instructions
}

// run answers by the handler of a toolset or of the adopted server, which may ask the client. The
// report is that of a toolset's last run.
func (s *Server) run(ctx context.Context, x *Exchange, m *guard.Message) (guard.Answer, error) {
	var own guard.Answer
	adopted := false
	res, err := x.rounds(ctx, m, func(params mcp.Params) (mcp.Result, error) {
		round := m
		if params != m.Params {
			round = new(*m)
			round.Params = params
		}
		if call, ok := params.(*mcp.CallToolParamsRaw); ok {
			if t := s.Guard.Tools[call.Name]; t != nil && t.SDK {
				res, report, err := s.sdkTool(ctx, x, t, round)
				own = guard.Answer{Report: report}
				return res, err
			}
		}
		a, is, err := s.Guard.TryInvoke(ctx, round)
		if is {
			own = a
			return a.Result, err
		}
		adopted = true
		return s.adopted(ctx, x, round)
	})
	if res, err = x.conclude(m, res, err, adopted); err == nil && own.Encoded != nil {
		return own, nil
	}
	return guard.Answer{Result: res, Report: own.Report}, err
}

// sdkTool runs a handler of go-sdk's shape in a session of go-sdk's.
func (s *Server) sdkTool(ctx context.Context, x *Exchange, t *invoke.Tool,
	m *guard.Message) (mcp.Result, *invoke.Report, error) {
	var report atomic.Pointer[invoke.Report] // an abandoned handler may still set it
	res, err := x.call(ctx, m.Method, m.Params, func(ctx context.Context,
		req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		params := *m.Params.(*mcp.CallToolParamsRaw)
		res, r, err := s.Guard.Runner.Tool(ctx, m.Info, t, mcp.CallToolRequest{
			Session: req.Session, Params: &params, Extra: req.Extra})
		report.Store(&r)
		return res, err
	})
	return res, report.Load(), err
}

// Detaches reports whether a call may close the stream of its response before its end, as the
// handlers of go-sdk's shape can.
func (s *Server) Detaches() bool { return s.detaches }

// CloseSessions ends all sessions.
func (s *Server) CloseSessions() {
	for _, session := range s.sessions() {
		session.End()
	}
}

// EndQuestions ends all questions to clients, for good.
func (s *Server) EndQuestions() {
	for _, session := range s.sessions() {
		session.endQuestions(errShutdown)
	}
}

func (s *Server) sessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

func (s *Server) remember(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[session] = struct{}{}
}

func (s *Server) forget(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, session)
}

// userID identifies an owner to handlers of go-sdk's. It is never empty, since go-sdk binds nothing
// to an empty one. The lengths keep any two owners apart.
func userID(o request.Owner) string {
	if o == (request.Owner{}) {
		return "anonymous"
	}
	id := fmt.Sprintf("principal %d:%s%d:%s%d:%s",
		len(o.Issuer), o.Issuer, len(o.Subject), o.Subject, len(o.Client), o.Client)
	if a := o.Actor; a.Subject != "" {
		id += fmt.Sprintf(" by %d:%s%d:%s", len(a.Issuer), a.Issuer, len(a.Subject), a.Subject)
	}
	return id
}

// Connect returns the session of a client on its own connection, before its handshake.
func (s *Server) Connect(owner request.Owner, out Out) *Session {
	session := s.newSession("", owner, out)
	s.remember(session)
	return session
}
