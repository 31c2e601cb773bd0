package runtime_test

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and older clients can still be asked by them

import (
	"context"
	"math"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// asks is a handler that asks its caller something.
func asks(q mcp.InputRequest) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": q}}, nil,
			nil)
	}
}

// deadly are questions that end a go-sdk server's process, or leave its caller waiting, when an
// older client is to be asked them.
var deadly = map[string]func(context.Context, toolset.Call) (toolset.Result, error){
	"a nil question":               asks(nil),
	"a typed nil elicitation":      asks((*mcp.ElicitParams)(nil)),
	"a typed nil sampling":         asks((*mcp.CreateMessageParams)(nil)),
	"a typed nil sampling, tools":  asks((*mcp.CreateMessageWithToolsParams)(nil)),
	"a typed nil roots":            asks((*mcp.ListRootsParams)(nil)),
	"a nil message":                asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{nil}}),
	"a nil message, tools":         asks(&mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{nil}}),
	"a message of nil":             asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user"}}}),
	"a message of typed nil":       asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: badContent()}}}),
	"a message of nil, tools":      asks(&mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{nil}}}}),
	"a panicking schema asked for": asks(&mcp.ElicitParams{Message: "?", RequestedSchema: angry{}}),
	"NaN in a question":            asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{}, Temperature: math.NaN()}),
}

func TestNoQuestionKillsTheProcessOrASession(t *testing.T) { survives(t, deadly) }
