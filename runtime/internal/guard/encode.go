package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// encode turns a result into JSON, so that nothing can fail behind the guard.
func (g *Guard) encode(next Next) Next {
	return func(ctx context.Context, m *Message) (Answer, error) {
		a, err := next(ctx, m)
		if err != nil {
			return a, err
		}
		if strings.HasPrefix(m.Method, "notifications/") && request.IsNil(a.Result) {
			return Answer{}, nil
		}
		if a.Encoded == nil {
			res := g.declared(ctx, m, a.Result)
			if m.HasSessions() {
				res, err = wire.InSession(res, structured.ByValue)
			}
			if errors.Is(err, structured.ErrNull) { // of an interceptor
				failed := wire.NilResult(m.Target.Name)
				res, err, m.failure = failed, nil, wire.FailureOf(nil, failed)
				m.event.End(audit.Errored)
			}
			if err == nil {
				a.Encoded, err = wire.EncodeResult(res)
			}
			if err == nil {
				err = g.cutIntercepted(m, m.Target, a)
			}
		}
		if err == nil && !m.HasSessions() && m.Method == "server/discover" {
			a.Encoded.Identify(g.discover)
		} else if err == nil && !m.HasSessions() {
			a.Encoded.Identify(g.server)
		} else if err == nil {
			a.Encoded.ResultType = "" // clients of older versions do not know it
		}
		switch {
		case err == nil:
			a.Result = nil
			return a, nil
		case methods[m.Method].decides && m.event.Failure != audit.Denied:
			return Answer{Report: a.Report}, notEncoded(m, err)
		}
		g.Log.ErrorContext(ctx, "a result cannot be sent", "method", m.Method, m.IDs(), "error",
			err)
		return Answer{}, wire.InternalError()
	}
}

// cutIntercepted removes hidden fields from the result of a tool. An interceptor may have made the
// result, or kept it of another caller. It fails on a guarded field that no schema guards.
func (g *Guard) cutIntercepted(m *Message, of request.Target, a Answer) error {
	t := g.Tools[of.Name]
	if !g.intercepts() || of.Kind != access.Tools || t == nil {
		return nil
	}
	err := g.Runner.CheckIntercepted(t, a.Result)
	if err != nil {
		m.event.Axis, m.event.Missing = string(access.AxisFields), err.Error()
		return err
	}
	if cut := g.cutFor(m.Principal, of); cut != nil {
		a.Encoded.Body, err = cut(a.Encoded.Body)
	}
	return err
}

// notEncoded returns the error of an allowed message whose result cannot be encoded.
func notEncoded(m *Message, err error) error {
	m.event.End(audit.Crashed)
	return fmt.Errorf("%s %q: %w", m.Target.Kind, m.Target.Name, err)
}

// declared sets the MCP capabilities and the instructions in the result of a handshake.
func (g *Guard) declared(ctx context.Context, m *Message, res mcp.Result) mcp.Result {
	if request.IsNil(res) {
		return res
	}
	switch r := res.(type) {
	case *mcp.DiscoverResult:
		c := *r
		c.Capabilities = g.discovered()
		c.Instructions = g.Instructions.For(ctx, m.Principal, r.Instructions)
		return &c
	case *mcp.InitializeResult:
		c := *r
		c.Capabilities = g.Capabilities
		c.Instructions = g.Instructions.For(ctx, m.Principal, r.Instructions)
		return &c
	}
	return res
}
