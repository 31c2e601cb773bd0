package wire

//lint:file-ignore SA1019 deprecated in 2026-07-28, and still what older clients support

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// InputKind returns the kind of input that a request asks for or a response contains: "e" for
// elicitation, "s" for sampling, "r" for roots. It is empty for nil and for other values.
func InputKind(v any) string {
	if request.IsNil(v) {
		return ""
	}
	switch v.(type) {
	case *mcp.ElicitParams, *mcp.ElicitResult:
		return "e"
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams,
		*mcp.CreateMessageResult, *mcp.CreateMessageWithToolsResult:
		return "s"
	case *mcp.ListRootsParams, *mcp.ListRootsResult:
		return "r"
	}
	return ""
}

var errNilMessage = errors.New("a nil message or content: leave it out")

// CheckInputRequest returns the kind of an input request. It refuses one that is nil, contains nil
// or is of no known kind.
func CheckInputRequest(r mcp.InputRequest) (kind string, err error) {
	if request.IsNil(r) {
		return "", errors.New("it is nil: leave it out")
	}
	isNil := func(c mcp.Content) bool { return request.IsNil(c) }
	switch p := r.(type) {
	case *mcp.CreateMessageParams:
		for _, m := range p.Messages {
			if m == nil || isNil(m.Content) {
				return "", errNilMessage
			}
		}
	case *mcp.CreateMessageWithToolsParams:
		for _, m := range p.Messages {
			if m == nil || slices.ContainsFunc(m.Content, isNil) {
				return "", errNilMessage
			}
		}
	}
	if kind = InputKind(r); kind == "" {
		err = fmt.Errorf("a %T is not one: ask by elicitation, sampling or roots", r)
	}
	return kind, err
}

// CopyInputRequests checks and copies a handler's input requests, by way of JSON: go-sdk sends them
// without recover, so that they must not panic. Call it under recover: requests marshal themselves.
func CopyInputRequests(requests mcp.InputRequestMap) (mcp.InputRequestMap, error) {
	if requests == nil {
		return nil, nil
	}
	for key, r := range requests {
		if _, err := CheckInputRequest(r); err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
	}
	var copied mcp.InputRequestMap
	raw, err := json.Marshal(requests)
	if err == nil {
		err = json.Unmarshal(raw, &copied)
	}
	if err != nil {
		return nil, fmt.Errorf("input requests: %w", err)
	}
	for key, r := range copied {
		to, _ := r.(*mcp.ElicitParams)
		from, _ := requests[key].(*mcp.ElicitParams)
		if to == nil || from == nil || to.RequestedSchema == nil {
			continue
		}
		// The original text: decoding would round its numbers.
		schema, err := Marshal(from.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("input request %q: its schema: %w", key, err)
		}
		to.RequestedSchema = json.RawMessage(schema)
	}
	return copied, nil
}
