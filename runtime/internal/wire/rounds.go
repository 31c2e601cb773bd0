package wire

//lint:file-ignore SA1019 deprecated in 2026-07-28, and still what older clients support

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// A multi-round-trip request (SEP-2322) is a call of a tool, a prompt or a resource. Its result can
// have input requests instead of content; the client sends it again with the responses. The types
// differ by method, and their members for this do not.

// InputOf returns the input requests of a result and its state; nil for a result without them.
func InputOf(res mcp.Result) (mcp.InputRequestMap, string) {
	if request.IsNil(res) {
		return nil, ""
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return r.InputRequests, r.RequestState
	case *mcp.GetPromptResult:
		return r.InputRequests, r.RequestState
	case *mcp.ReadResourceResult:
		return r.InputRequests, r.RequestState
	}
	return nil, ""
}

// WithState returns a copy of a result that has input requests, with another state.
func WithState(res mcp.Result, state string) mcp.Result {
	switch r := res.(type) {
	case *mcp.CallToolResult:
		c := *r
		c.RequestState = state
		return &c
	case *mcp.GetPromptResult:
		c := *r
		c.RequestState = state
		return &c
	case *mcp.ReadResourceResult:
		c := *r
		c.RequestState = state
		return &c
	}
	return res
}

// InputRequired returns a result of input requests alone. R is the type of a multi-round-trip
// result.
func InputRequired[R any](requests mcp.InputRequestMap, state string) (result R) {
	switch r := any(&result).(type) {
	case **mcp.CallToolResult:
		*r = &mcp.CallToolResult{InputRequests: requests, RequestState: state}
	case **mcp.GetPromptResult:
		*r = &mcp.GetPromptResult{InputRequests: requests, RequestState: state}
	case **mcp.ReadResourceResult:
		*r = &mcp.ReadResourceResult{InputRequests: requests, RequestState: state}
	}
	return result
}

// ResponsesOf returns the input responses of params, and the state that came with them.
func ResponsesOf(params mcp.Params) (mcp.InputResponseMap, string) {
	if request.IsNil(params) {
		return nil, ""
	}
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		return p.InputResponses, p.RequestState
	case *mcp.GetPromptParams:
		return p.InputResponses, p.RequestState
	case *mcp.ReadResourceParams:
		return p.InputResponses, p.RequestState
	}
	return nil, ""
}

// WithResponses returns a copy of multi-round-trip params with other responses and another state.
func WithResponses(params mcp.Params, responses mcp.InputResponseMap, state string) mcp.Params {
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		c := *p
		c.InputResponses, c.RequestState = responses, state
		return &c
	case *mcp.GetPromptParams:
		c := *p
		c.InputResponses, c.RequestState = responses, state
		return &c
	case *mcp.ReadResourceParams:
		c := *p
		c.InputResponses, c.RequestState = responses, state
		return &c
	}
	return params
}

// FittingResponses returns those of the responses that fit an input request of their key, nil for
// none.
func FittingResponses(requests mcp.InputRequestMap,
	responses mcp.InputResponseMap) (fit mcp.InputResponseMap) {
	for key, r := range requests {
		schema, err := ElicitSchema(r)
		response := responses[key]
		if kind := InputKind(response); err == nil && kind != "" && kind == InputKind(r) &&
			CheckInputResponse(schema, response) == nil {
			if fit == nil {
				fit = mcp.InputResponseMap{}
			}
			fit[key] = response
		}
	}
	return fit
}

// NotDeclared is the error for input requests of kinds for which the client has declared no MCP
// capability.
type NotDeclared struct{ Missing request.Inputs }

// Error implements error.
func (e NotDeclared) Error() string {
	return "the client does not support " + strings.Join(e.capabilities(), ", ")
}

func (e NotDeclared) capabilities() (names []string) {
	for _, kind := range []struct {
		missing bool
		name    string
	}{
		{e.Missing.Form, "elicitation"}, {e.Missing.URL, "elicitation.url"},
		{e.Missing.Sampling, "sampling"}, {e.Missing.SamplingTools, "sampling.tools"},
		{e.Missing.Roots, "roots"},
	} {
		if kind.missing {
			names = append(names, kind.name)
		}
	}
	return names
}

// RPC returns the error of 2026-07-28, which names the MCP capabilities.
func (e NotDeclared) RPC() *jsonrpc.Error {
	required := map[string]map[string]struct{}{}
	for _, name := range e.capabilities() {
		kind, part, _ := strings.Cut(name, ".")
		if required[kind] == nil {
			required[kind] = map[string]struct{}{}
		}
		if part != "" {
			required[kind][part] = struct{}{}
		}
	}
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": required}) // names alone
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: e.Error(),
		Data: data}
}

// CheckDeclared returns a [NotDeclared] if a client does not support one of the input requests.
func CheckDeclared(has request.Inputs, requests ...mcp.InputRequest) error {
	var missing request.Inputs
	for _, r := range requests {
		switch p := r.(type) {
		case *mcp.ElicitParams:
			if p.Mode == "url" || p.Mode == "" && p.URL+p.ElicitationID != "" {
				missing.URL = !has.URL
			} else {
				missing.Form = !has.Form
			}
		case *mcp.CreateMessageParams:
			missing.Sampling = !has.Sampling
		case *mcp.CreateMessageWithToolsParams:
			missing.Sampling = !has.Sampling
			if len(p.Tools) > 0 || p.ToolChoice != nil {
				missing.SamplingTools = !has.SamplingTools
			}
		case *mcp.ListRootsParams:
			missing.Roots = !has.Roots
		}
	}
	if missing != (request.Inputs{}) {
		return NotDeclared{missing}
	}
	return nil
}

// TooManyQuestions refuses a message that asks while too many questions of its session wait.
func TooManyQuestions(most int) error {
	return newError(jsonrpc.CodeInvalidRequest,
		"%d questions of this session wait for an answer: answer one, or cancel its call", most)
}

// NotInitialized refuses a message that asks before the client is ready for requests.
func NotInitialized() error {
	return newError(jsonrpc.CodeInvalidRequest,
		"the client has not sent notifications/initialized, and cannot be asked before")
}

// NoResponse refuses a message whose question ends without the response of its client.
func NoResponse(why string) error {
	return newError(jsonrpc.CodeInvalidRequest, "the client has not responded: %s", why)
}
