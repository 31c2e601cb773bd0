package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// adopted answers a message by the adopted server.
func (s *Server) adopted(ctx context.Context, x *Exchange, m *guard.Message) (mcp.Result, error) {
	if s.Adopted == nil {
		return nil, guard.Unknown(m.Params)
	}
	if err := s.admit(ctx, x, m); err != nil {
		return nil, err
	}
	res, err := x.do(ctx, m.Method, m.Params)
	switch {
	case err != nil:
		return res, err
	case !m.HasSessions():
		return x.unsolicited(ctx, m, res)
	}
	res, err = wire.InSession(res, s.headers.form(m.Target.Name))
	if errors.Is(err, structured.ErrNull) {
		return wire.NilResult(m.Target.Name), nil
	}
	return res, err
}

// unsolicited answers what an adopted handler asks with responses that came with the first call of
// a client of 2026-07-28, as go-sdk alone does. Only those count that fit a question of this call.
// None does if the handler gave a state of its own, which the client must return.
func (x *Exchange) unsolicited(ctx context.Context, m *guard.Message,
	asked mcp.Result) (mcp.Result, error) {
	requests, own := wire.InputOf(asked)
	responses, state := wire.ResponsesOf(x.Sent)
	undeclared := wire.CheckDeclared(m.Inputs, slices.Collect(maps.Values(requests))...)
	if own != "" || state != "" || undeclared != nil {
		return asked, nil
	}
	fit := wire.FittingResponses(requests, responses)
	if fit == nil {
		return asked, nil
	}
	if denied := x.Server.Guard.Reauthorize(ctx, m); denied != nil {
		return nil, x.deny(denied)
	}
	return x.do(ctx, m.Method, wire.WithResponses(m.Params, fit, ""))
}

// maxListing bounds how long the adopted server may take to list.
const maxListing = 10 * time.Second

// sender sends a request to the adopted server.
type sender func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error)

// list returns what the adopted server lists to the client of a list request now. If the server
// does not list, the request fails: the server may refuse the client, or list fewer items than it
// did before.
func (s *Server) list(ctx context.Context, x *Exchange,
	m *guard.Message) (*discovery.Items, error) {
	items, err := s.present(ctx, x.do, m.Meta, m.Method)
	if err != nil && !errors.As(err, new(*jsonrpc.Error)) {
		err = fmt.Errorf("the adopted server did not list: %w", err)
	}
	return items, err
}

// Listed returns what the adopted server lists to a client now, of some kinds. It returns nil
// without an error before the server has a session of the client.
func (s *Server) Listed(ctx context.Context, to request.Session, meta map[string]any,
	kinds []access.Kind) (*discovery.Items, error) {
	session, ok := to.(*Session)
	if !ok {
		return nil, fmt.Errorf("a session of another server: %T", to)
	}
	session.mu.Lock()
	up := session.upstream
	session.mu.Unlock()
	if up == nil {
		return nil, nil
	}
	send := func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
		text, err := wire.Marshal(params)
		if err != nil {
			return nil, err
		}
		return up.Do(ctx, &upstream.Call{Method: method, Params: text,
			UserID: userID(session.owner)})
	}
	var methods []string
	for _, k := range kinds {
		methods = append(methods, listsOf(k)...)
	}
	items, err := s.present(ctx, send, meta, methods...)
	if err != nil {
		s.Guard.Log.DebugContext(ctx, "the adopted server did not list for a notification",
			"error", err)
	}
	return items, err
}

// present returns what the adopted server lists now, by some methods; nil with an error.
func (s *Server) present(ctx context.Context, send sender, meta map[string]any,
	methods ...string) (*discovery.Items, error) {
	ctx, cancel := context.WithTimeout(ctx, maxListing)
	defer cancel()
	items := &discovery.Items{}
	for _, method := range methods {
		if err := s.read(ctx, send, method, meta, items); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func listsOf(k access.Kind) []string {
	switch k {
	case access.Tools:
		return []string{"tools/list"}
	case access.Prompts:
		return []string{"prompts/list"}
	}
	return []string{"resources/list", "resources/templates/list"}
}

const maxPages = 1000

// read adds all pages of a list to items, because the client's page is one of the guard's list.
func (s *Server) read(ctx context.Context, send sender, method string, meta mcp.Meta,
	items *discovery.Items) error {
	cursor := ""
	for range maxPages {
		// The params of every list have these members.
		res, err := send(ctx, method, &mcp.ListToolsParams{Meta: maps.Clone(meta), Cursor: cursor})
		if err != nil {
			return err
		}
		list, next := items.Add(res)
		if list != method {
			return fmt.Errorf("the result is a %T", res)
		}
		if cursor = next; cursor != "" {
			continue
		}
		if method == "tools/list" {
			s.headers.note(items.Tools) // before other descriptions make other tools of them
			s.describe(items.Tools)
		}
		return nil
	}
	return fmt.Errorf("the list has more than %d pages", maxPages)
}

// describe replaces descriptions by those of Options.Texts.Descriptions.
func (s *Server) describe(tools map[string]*mcp.Tool) {
	for name, text := range s.Adopted.Descriptions {
		if tools[name] != nil {
			tools[name] = new(*tools[name])
			tools[name].Description = text
		}
	}
}
