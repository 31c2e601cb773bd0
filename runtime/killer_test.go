package runtime_test

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// typedNil is an error whose nil pointer panics when it is asked for its words.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

// angry panics when it is marshalled.
type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic("hunter2") }

// liar marshals as something that is not JSON.
type liar struct{}

func (liar) MarshalJSON() ([]byte, error) { return []byte(`{"a":`), nil }

// badContent is a content that panics when it is marshalled.
func badContent() mcp.Content {
	var c *mcp.TextContent
	return c
}

type handlers = map[string]func(context.Context, toolset.Call) (toolset.Result, error)

// killers are handlers that end a go-sdk server's process, or leave its caller waiting, or its
// session dumb. Each was run against go-sdk alone.
var killers = handlers{
	"a panic": func(context.Context, toolset.Call) (toolset.Result, error) {
		panic("hunter2")
	},
	"a panic with nil": func(context.Context, toolset.Call) (toolset.Result, error) { panic(nil) },
	"a panicking error": func(context.Context, toolset.Call) (toolset.Result, error) {
		panic(&typedNil{"hunter2"})
	},
	"Goexit": func(context.Context, toolset.Call) (toolset.Result, error) {
		goruntime.Goexit()
		panic("unreached")
	},
	"a typed nil error": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done((*typedNil)(nil))
	},
	"a wrapped typed nil": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done(errors.Join((*typedNil)(nil)))
	},
	"a typed nil RPC error": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done((*jsonrpc.Error)(nil))
	},
	"a panicking MarshalJSON": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": angry{}}, nil)
	},
	"invalid JSON": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(liar{}, nil)
	},
	"NaN": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": math.NaN()}, nil)
	},
	"infinity": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(math.Inf(1), nil)
	},
	"the year 10000": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	},
	"a channel": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": make(chan int)}, nil)
	},
	"a cycle": func(context.Context, toolset.Call) (toolset.Result, error) {
		m := map[string]any{}
		m["m"] = m
		return toolset.Structured(m, nil)
	},
	"NaN in a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{
			StructuredContent: map[string]any{"a": math.NaN()}}, nil, nil)
	},
	"a panic in a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{StructuredContent: angry{}}, nil, nil)
	},
	"NaN in a native result's _meta": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Meta: mcp.Meta{"a": math.NaN()}}, nil, nil)
	},
	"a panic in a native result's _meta": func(context.Context, toolset.Call) (toolset.Result,
		error) {
		return toolset.Native(&mcp.CallToolResult{Meta: mcp.Meta{"a": angry{}}}, nil, nil)
	},
	"NaN beside a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(nil, map[string]any{"a": math.NaN()}, nil)
	},
	"a nil content": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{nil}}, nil, nil)
	},
	"a typed nil content": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{badContent()}}, nil, nil)
	},
	"content and input requests": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: 1,
			InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{}}}, nil, nil)
	},
}

// asks is a handler that asks its caller something.
func asks(q mcp.InputRequest) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": q}}, nil,
			nil)
	}
}

// unruly are interceptors that answer in place of the handler.
var unruly = map[string]func() (mcp.Result, error){
	"panics":      func() (mcp.Result, error) { panic("hunter2") },
	"exits":       func() (mcp.Result, error) { goruntime.Goexit(); return nil, nil },
	"nothing":     func() (mcp.Result, error) { return nil, nil },
	"typed-nil":   func() (mcp.Result, error) { return (*mcp.CallToolResult)(nil), nil },
	"nil-error":   func() (mcp.Result, error) { return nil, (*jsonrpc.Error)(nil) },
	"plain-error": func() (mcp.Result, error) { return nil, errors.New("hunter2") },
	"error": func() (mcp.Result, error) {
		return nil, &jsonrpc.Error{Code: -32050, Message: "no stock"}
	},
	"cancelling": func() (mcp.Result, error) {
		return nil, fmt.Errorf("upstream: %w", context.Canceled)
	},
	"NaN": func() (mcp.Result, error) {
		return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
	},
	"angry": func() (mcp.Result, error) {
		return &mcp.CallToolResult{StructuredContent: angry{}}, nil
	},
	"failed": func() (mcp.Result, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
			&mcp.TextContent{Text: "no stock"}, &mcp.TextContent{Text: "password=t0psecret"}}}, nil
	},
}

// roundedForm is a form with a number that clients in JavaScript round.
var roundedForm = &mcp.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(
	`{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}`)}

// deadly are questions that end a go-sdk server's process, or leave its caller waiting, when an
// older client is to be asked them.
var deadly = handlers{
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
	"a schema that is none": asks(&mcp.ElicitParams{Message: "?",
		RequestedSchema: json.RawMessage(`{"type":7}`)}),
	"a number that clients round": asks(roundedForm),
	"NaN in a question": asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{},
		Temperature: math.NaN()}),
}
