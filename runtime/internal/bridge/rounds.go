package bridge

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// maxRounds bounds how often a handler runs for one message in a session.
const maxRounds = 16

// rounds runs a tool, a prompt or a resource. In versions with sessions it asks the client what the
// handler asks, on the session, and runs the handler again with the answers. Each run decides
// again. go-sdk does so once, and does not check the answers.
func (b *Bridge) rounds(ctx context.Context, info *request.Info, on mcp.Session, params mcp.Params,
	run func(mcp.Params) (mcp.Result, error)) (mcp.Result, error) {
	session, ok := on.(*mcp.ServerSession)
	if !ok || !info.HasSessions() {
		return run(params)
	}
	for round := 1; ; round++ {
		res, err := run(params)
		requests, state := wire.InputOf(res)
		if err != nil || len(requests) == 0 {
			return res, err
		}
		if round == maxRounds {
			return nil, fmt.Errorf("the handler has run %d times, and asks once more", maxRounds)
		}
		responses, err := askAll(ctx, session, requests)
		if err != nil {
			return nil, err
		}
		params = wire.WithResponses(params, responses, state)
	}
}

// askAll asks the client all input requests, one after the other, and checks the answers.
func askAll(ctx context.Context, session *mcp.ServerSession,
	requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	responses := mcp.InputResponseMap{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		schema, err := wire.ElicitSchema(requests[key])
		if err != nil {
			return nil, err
		}
		response, err := ask(ctx, session, requests[key])
		var denied refused
		switch {
		case errors.As(err, &denied):
			return nil, denied.error
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // its words may contain the answer, and be logged
			return nil, wire.InvalidParams("the client did not answer %q as requested", key)
		}
		if err := wire.CheckInputResponse(schema, response); err != nil {
			return nil, wire.InvalidParams("the answer to %q: %v", key, err)
		}
		responses[key] = response
	}
	return responses, nil
}

func ask(ctx context.Context, session *mcp.ServerSession,
	r mcp.InputRequest) (mcp.InputResponse, error) {
	switch p := r.(type) {
	case *mcp.ElicitParams:
		return session.Elicit(ctx, p)
	case *mcp.CreateMessageParams:
		return session.CreateMessage(ctx, p)
	case *mcp.CreateMessageWithToolsParams:
		return session.CreateMessageWithTools(ctx, p)
	case *mcp.ListRootsParams:
		return session.ListRoots(ctx, p)
	}
	return nil, fmt.Errorf("a %T is not an input request", r)
}

// supported reports an input request whose schema is none, or that the client does not support. It
// is for what a handler asks on its session, and for what go-sdk asks for an adopted server.
func supported(on mcp.Session, r mcp.InputRequest) error {
	if _, err := wire.ElicitSchema(r); err != nil {
		return err
	}
	session, ok := on.(*mcp.ServerSession)
	if !ok || session.InitializeParams() == nil {
		return nil
	}
	return wire.CheckDeclared(request.InputsOf(session.InitializeParams().Capabilities), r)
}

// cannotElicit are the words of go-sdk's own check, which has no type.
var cannotElicit = regexp.MustCompile(
	`^multi-round-trip: fulfilling input request ".*": client does not support .*elicitation$`)

// unsolicited answers what an adopted handler asks with responses that came with the first call of
// a client of 2026-07-28, as go-sdk alone does. Only those count that fit a question of this call.
// None does if the handler gave a state of its own: it wants to have it back from the client.
func (b *Bridge) unsolicited(ctx context.Context, c *carrier, params mcp.Params, asked mcp.Result,
	run func(mcp.Params) (mcp.Result, error)) (mcp.Result, error) {
	requests, own := wire.InputOf(asked)
	responses, state := wire.ResponsesOf(c.request.GetParams())
	undeclared := wire.CheckDeclared(c.info.Inputs, slices.Collect(maps.Values(requests))...)
	if own != "" || state != "" || undeclared != nil {
		return asked, nil
	}
	fit := wire.FittingResponses(requests, responses)
	if fit == nil {
		return asked, nil
	}
	if denied := b.Guard.Reauthorize(ctx, c.inside); denied != nil {
		return nil, refused{denied}
	}
	return run(wire.WithResponses(params, fit, ""))
}

// adopted lets the adopted server answer. Its go-sdk asks a client of a version with sessions once;
// rounds does so if the handler asks again.
func (b *Bridge) adopted(ctx context.Context, c *carrier, next mcp.MethodHandler,
	method string, req mcp.Request) (mcp.Result, error) {
	run := func(params mcp.Params) (mcp.Result, error) {
		return next(ctx, method, withParams(req, params))
	}
	res, err := b.rounds(ctx, c.info, req.GetSession(), req.GetParams(), run)
	if err == nil && !c.info.HasSessions() && c.inside != nil {
		res, err = b.unsolicited(ctx, c, req.GetParams(), res, run)
	}
	var undeclared wire.NotDeclared
	var denied refused
	switch {
	case errors.As(err, &denied):
		return nil, denied.error
	case errors.As(err, &undeclared):
	case err != nil && cannotElicit.MatchString(err.Error()):
		undeclared.Missing.URL = strings.Contains(err.Error(), `"url"`)
		undeclared.Missing.Form = !undeclared.Missing.URL
	default:
		return res, err
	}
	if method == "tools/call" {
		return wire.ErrorResult(undeclared.Error()), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: undeclared.Error()}
}
