package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// maxRounds bounds how often a handler runs for one message in a session.
const maxRounds = 16

// rounds runs a handler. In versions with sessions it asks the client what the handler asks, and
// runs the handler again with the answers. Each run decides again. In 2026-07-28 the questions are
// the result, and the client sends the message again.
func (x *Exchange) rounds(ctx context.Context, m *guard.Message,
	run func(mcp.Params) (mcp.Result, error)) (mcp.Result, error) {
	params := m.Params
	for round := 1; ; round++ {
		res, err := run(params)
		requests, state := wire.InputOf(res)
		if err != nil || len(requests) == 0 || !m.HasSessions() {
			return res, err
		}
		if round == maxRounds {
			return nil, fmt.Errorf("the handler has run %d times, and asks once more", maxRounds)
		}
		responses, err := x.askAll(ctx, m, requests)
		if err != nil {
			return nil, err
		}
		params = wire.WithResponses(params, responses, state)
	}
}

// askAll asks the client all input requests, one after the other, and checks the answers. After
// each, the message is decided again.
func (x *Exchange) askAll(ctx context.Context, m *guard.Message,
	requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	responses := mcp.InputResponseMap{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		schema, err := wire.ElicitSchema(requests[key])
		if err != nil {
			return nil, err
		}
		if err := wire.CheckDeclared(m.Inputs, requests[key]); err != nil {
			return nil, err
		}
		response, err := x.askInput(ctx, requests[key])
		var ends refused
		switch {
		case errors.As(err, &ends):
			return nil, err
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		}
		if denied := x.Server.Guard.Reauthorize(ctx, m); denied != nil {
			return nil, x.deny(denied)
		}
		if err != nil { // its words may contain the answer, and be logged
			return nil, wire.InvalidParams("the client did not answer %q as requested", key)
		}
		if err := wire.CheckInputResponse(schema, response); err != nil {
			return nil, wire.InvalidParams("the answer to %q: %v", key, err)
		}
		responses[key] = response
	}
	return responses, nil
}

func (x *Exchange) askInput(ctx context.Context, r mcp.InputRequest) (mcp.InputResponse, error) {
	method, response, err := inputMethod(r)
	if err != nil {
		return nil, err
	}
	params, err := wire.Marshal(r)
	if err != nil {
		return nil, err
	}
	result, err := x.Session.ask(ctx, x, method, params)
	if err != nil {
		return nil, err
	}
	return response, json.Unmarshal(result, response)
}
