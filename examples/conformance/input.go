//lint:file-ignore SA1019 the suite needs sampling and roots, which are deprecated since 2026-07-28

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

// Prompt is the input of [TestSampling].
type Prompt struct {
	Prompt string `json:"prompt"`
}

// TestSampling requests a message of the client's model.
//
//mcp:tool
func TestSampling(ctx context.Context, req *mcp.CallToolRequest, in Prompt) (*mcp.CallToolResult,
	any, error) {
	res, err := req.Session.CreateMessage(ctx, sampling(in.Prompt))
	if err != nil {
		return nil, nil, err
	}
	answer, _ := res.Content.(*mcp.TextContent)
	if answer == nil {
		return nil, nil, fmt.Errorf("the message is a %T", res.Content)
	}
	return contents(text("LLM response: " + answer.Text))
}

func sampling(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100,
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: text(prompt)}}}
}

// Message is the input of [TestElicitation].
type Message struct {
	Message string `json:"message"`
}

// TestElicitation requests data of the person at the client.
//
//mcp:tool
func TestElicitation(ctx context.Context, req *mcp.CallToolRequest,
	in Message) (*mcp.CallToolResult, any, error) {
	return elicit(ctx, req, in.Message, `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},
		"required":["username","email"]}`)
}

// TestElicitationSep1034Defaults requests data with defaults (SEP-1034).
//
//mcp:tool name=test_elicitation_sep1034_defaults
func TestElicitationSep1034Defaults(ctx context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	return elicit(ctx, req, "Please review the defaults", `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},
		"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}}`)
}

// TestElicitationSep1330Enums requests data with every form of enum (SEP-1330).
//
//mcp:tool name=test_elicitation_sep1330_enums
func TestElicitationSep1330Enums(ctx context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	const titled = `[{"const":"value1","title":"First Option"},
		{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]`
	return elicit(ctx, req, "Please select options", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":`+titled+`},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
			"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,
			"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":`+titled+`}}}}`)
}

func elicit(ctx context.Context, req *mcp.CallToolRequest, message,
	schema string) (*mcp.CallToolResult, any, error) {
	res, err := req.Session.Elicit(ctx, form(message, schema))
	if err != nil {
		return nil, nil, err
	}
	return contents(text(fmt.Sprintf("User response: action=%s, content=%v", res.Action,
		res.Content)))
}

func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

// TestMissingCapability needs a client with sampling.
//
//mcp:tool elicits
func TestMissingCapability(ctx context.Context) (string, error) {
	answer, err := runtime.Sample(ctx, "any", sampling("Say anything."))
	if err != nil {
		return "", err
	}
	return "The message is by " + answer.Model + ".", nil
}

// The tools below request input by their result (SEP-2322). Each returns requests until the
// responses to all of them are there.

var (
	askName    = form("What is your name?", oneField("name", "string"))
	askConfirm = form("Please confirm", oneField("ok", "boolean"))
)

func oneField(name, kind string) string {
	return fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%[1]q]}`, name,
		kind)
}

func request(state string, requests mcp.InputRequestMap) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil, nil
}

// field returns a text that the person at the client has entered, or "".
func field(req *mcp.CallToolRequest, key, name string) string {
	res, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok || res.Action != "accept" {
		return ""
	}
	s, _ := res.Content[name].(string)
	return s
}

// TestInputRequiredResultElicitation requests a name. The suite also sends it with the first call,
// which counts for a handler in go-sdk's shape.
//
//mcp:tool
func TestInputRequiredResultElicitation(_ context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	if name := field(req, "user_name", "name"); name != "" {
		return contents(text("Hello, " + name + "!"))
	}
	return request("", mcp.InputRequestMap{"user_name": askName})
}

// TestInputRequiredResultSampling requests a message of the client's model.
//
//mcp:tool elicits
func TestInputRequiredResultSampling(ctx context.Context) (string, error) {
	answer, err := runtime.Sample(ctx, "capital_question", sampling("What is the capital of France?"))
	if err != nil {
		return "", err
	}
	return "The message is by " + answer.Model + ".", nil
}

// TestInputRequiredResultListRoots requests the roots of the client.
//
//mcp:tool elicits
func TestInputRequiredResultListRoots(ctx context.Context) (string, error) {
	roots, err := runtime.Roots(ctx)
	return fmt.Sprintf("The client has %d roots.", len(roots)), err
}

// TestInputRequiredResultPrompt requests the context of a prompt.
//
//mcp:prompt elicits
func TestInputRequiredResultPrompt(ctx context.Context) (string, error) {
	form, err := runtime.Elicit[Context](ctx, "user_context",
		"What context should the prompt use?")
	return "The context is " + form.Context, err
}

// Context is a form.
type Context struct {
	Context string `json:"context"`
}

// TestInputRequiredResultRequestState requests a confirmation, and gets its state back.
//
//mcp:tool
func TestInputRequiredResultRequestState(_ context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	if _, ok := req.Params.InputResponses["confirm"]; ok && req.Params.RequestState == "asked" {
		return contents(text("state-ok"))
	}
	return request("asked", mcp.InputRequestMap{"confirm": askConfirm})
}

// TestInputRequiredResultTamperedState is as above. The runtime refuses a state that was changed.
//
//mcp:tool
func TestInputRequiredResultTamperedState(ctx context.Context, req *mcp.CallToolRequest,
	in Nothing) (*mcp.CallToolResult, any, error) {
	return TestInputRequiredResultRequestState(ctx, req, in)
}

// TestInputRequiredResultMultipleInputs requests a name, a message and the roots at once.
//
//mcp:tool
func TestInputRequiredResultMultipleInputs(_ context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	if len(req.Params.InputResponses) == 3 {
		return contents(text("Hello, " + field(req, "user_name", "name") + "!"))
	}
	return request("asked", mcp.InputRequestMap{"user_name": askName,
		"greeting": sampling("Generate a greeting"), "client_roots": &mcp.ListRootsParams{}})
}

// TestInputRequiredResultMultiRound requests a name, and then a color.
//
//mcp:tool elicits
func TestInputRequiredResultMultiRound(ctx context.Context) (string, error) {
	who, err := runtime.Elicit[person](ctx, "step1", "What is your name?")
	if err != nil {
		return "", err
	}
	form, err := runtime.Elicit[Color](ctx, "step2", "What is your favorite color?")
	return "Hello, " + who.Name + "! Your color is " + form.Color + ".", err
}

// Color is a form.
type Color struct {
	Color string `json:"color"`
}

// TestInputRequiredResultCapabilities requests what the client has declared.
//
//mcp:tool
func TestInputRequiredResultCapabilities(_ context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	requests := mcp.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil && c.Elicitation != nil {
		requests["user_name"] = askName
	} else if c != nil && c.Sampling != nil {
		requests["greeting"] = sampling("Generate a greeting")
	}
	if len(requests) == len(req.Params.InputResponses) {
		return contents(text("The client has responded to all requests."))
	}
	return request("", requests)
}
