package runtime

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// CarrierKey is where a record travels, and NilRecord a record that is none.
const CarrierKey = carrierKey

var NilRecord = (*record)(nil)

// MCP is the go-sdk server behind the guard.
func MCP(s *Server) *mcp.Server { return s.mcp }

// Guarded is the guard around a go-sdk that answers nothing.
func Guarded(s *Server) mcp.MethodHandler {
	return s.receiving(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
}

// Carrier is what the front sends along with a message.
func Carrier(p access.Principal) *mcp.RequestExtra {
	rec := newRecord(identity.Identity{Principal: p}, nil)
	rec.seats = newSeats(Options{MaxSessions: 1, MaxUserSessions: 1})
	return &mcp.RequestExtra{TokenInfo: rec.tokenInfo()}
}

// Visible is what a principal is shown, by way of the views that are kept.
func (s *Server) Visible(p access.Principal) []string {
	var names []string
	for _, t := range s.lists.tools.visible(p, nil).items {
		names = append(names, t.Name)
	}
	return names
}

// Watched is how many clients are told when what they see changes.
func Watched(s *Server) int {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return len(s.watch.watched)
}

// Asking is how many questions wait for the host.
func Asking(s *Server) int { return len(s.host.cache.asking) }

// ParamsTypes are the params that messages are checked for, by method.
var ParamsTypes = paramsTypes

// CheckParams says what is wrong with params, or nothing.
func CheckParams(method string, params []byte) string {
	if err := paramsShapes()[method].misfit(params); err != nil {
		return err.text
	}
	return ""
}

// Hasten bounds how long a body may take to come.
func (s *Server) Hasten(patience time.Duration) { s.patience = patience }

// Linger has answers wait for what handlers say for as long as that takes, also on a machine that is busy with other tests.
func (s *Server) Linger() { s.parting = time.Hour }

// Hear takes emissions of an isolated call of a principal's as the process of the server does, and returns the advice among them.
func Hear(ctx context.Context, s *Server, p access.Principal, tool string, emissions ...string) []mcp.Content {
	r := &toolRun{}
	r.server, r.record = s, newRecord(identity.Identity{Principal: p}, nil)
	r.record.server, r.record.doing = s, work{kind: "tool", name: tool}
	r.call.values, r.call.record, r.call.caller, r.call.deadline = ctx, r.record, p, time.Now().Add(time.Minute)
	r.call.takes()
	h := &heard{run: r}
	for _, emission := range emissions {
		h.take(ctx, []byte(emission))
	}
	h.end(ctx)
	return r.call.taken()
}
