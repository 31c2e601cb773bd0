package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// fallible is a toolset of one of everything, that fails with what it is given.
func fallible(tool func() (toolset.Result, error), other error) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/fallible", Server: toolset.ServerInfo{Name: "fallible", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "work", Authenticated: true},
				{Tool: "sk-hidden-from-all-others", MinRole: admin}},
			Prompts:   []access.Rule{{Prompt: "greet", Authenticated: true}},
			Resources: []access.Rule{{Resource: "lib://book", Authenticated: true}},
		},
		Tools: []toolset.Tool{
			{Name: "work", Input: `{"type":"object"}`,
				Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					return tool()
				}},
			{Name: "sk-hidden-from-all-others", Input: `{"type":"object"}`,
				Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					return tool()
				}},
		},
		Prompts: []toolset.Prompt{{Name: "greet",
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptResult{}, other
			}}},
		Resources: []toolset.Resource{{URI: "lib://book", Name: "book",
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceResult{}, other
			}}},
	})
}

// What is wrong with arguments names members before colons, which elsewhere are names of secrets.
// It is said as it is.
func TestProblemOfASecretArgumentIsReportedInFull(t *testing.T) {
	t.Parallel()
	malformed := func() error {
		return decode.NewError([]decode.Problem{
			{Pointer: "/password", Message: "must have at least 8 characters"},
			{Pointer: "/token/key", Message: "is required"},
			decode.NewProblem("/color", `"`+ghp+`"`, `is not one of "red" and "green"`),
			{Pointer: "/" + ghp, Message: "is not a property"},
			{Pointer: decode.Pointer("", "https://"+strings.Repeat("q7", 12)+"@h"),
				Message: "is not a property"},
		})
	}
	const want = `/` + redact.Mask + `: is not a property; /color: \"` + redact.Mask +
		`\" is not one of \"red\" and \"green\"; ` +
		`/https:~1~1` + redact.Mask +
		`@h: is not a property; /password: must have at least 8 characters; /token/key: is required`
	s := newServer(t, runtime.Options{}, fallible(func() (toolset.Result, error) {
		return toolset.Done(malformed())
	}, malformed()))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Member"], era)
		for what, got := range map[string]reply{
			"tool":   c.call(t, "work", "", nil),
			"prompt": c.ask(t, "prompts/get", `"name":"greet"`, nameOf(era, "greet")),
		} {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s, %s: %s", era, what, got.body)
			}
		}
	}
}

// A JSON-RPC error that a handler chooses keeps its code, and its words and data but for secrets.
func TestErrorsThatHandlersChooseAreMasked(t *testing.T) {
	t.Parallel()
	chosen := &jsonrpc.Error{Code: -32050, Message: "no entry with " + ghp,
		Data: json.RawMessage(`{"big": 12345678901234567890, "api_key":"x1","list":["` + ghp +
			`"]}`)}
	plain := &jsonrpc.Error{Code: -32051, Message: "token: expired",
		Data: json.RawMessage(`{"b": 1,  "a": [1.50]}`)}
	for _, test := range []struct {
		err  error
		want string
	}{
		{chosen, `"error":{"code":-32050,"message":"no entry with ` + redact.Mask +
			`","data":{"api_key":"` + redact.Mask + `","big":12345678901234567890,"list":["` +
			redact.Mask + `"]}}`},
		{fmt.Errorf("password=x1: %w", chosen), `"error":{"code":-32050,"message":"password=` +
			redact.Mask + `: no entry with ` + redact.Mask + `"`},
		{plain, `"error":{"code":-32051,"message":"token: expired","data":{"b":1,"a":[1.50]}}`},
	} {
		s := newServer(t, runtime.Options{}, fallible(func() (toolset.Result, error) {
			return toolset.Done(test.err)
		}, test.err))
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Member"], era)
			for what, got := range map[string]reply{
				"tool": c.call(t, "work", "", nil), "prompt": c.ask(t, "prompts/get",
					`"name":"greet"`, nameOf(era, "greet")),
				"resource": c.ask(t, "resources/read", `"uri":"lib://book"`,
					nameOf(era, "lib://book")),
			} {
				if !strings.Contains(got.body, test.want) {
					t.Errorf("%s, %s: %s, want %s", era, what, got.body, test.want)
				}
			}
		}
	}
	if !strings.Contains(chosen.Message, ghp) || !strings.Contains(string(chosen.Data), ghp) {
		t.Error("the handler's error was written to")
	}
}

// An error that a handler or an adopted server makes itself is masked, and the value, which it may
// share, is not written to.
func TestResultsThatAreErrorsAreMaskedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	meta := func() mcp.Meta { return mcp.Meta{"of/key": "x1", "about": []any{ghp}} }
	blob := base64.StdEncoding.EncodeToString([]byte("e " + redact.Mask))
	made := func(failed bool) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{
			&mcp.TextContent{Text: "a " + ghp, Meta: meta()},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://" + ghp, Text: "b " +
				ghp, MIMEType: "a/" + ghp, Meta: meta()}, Meta: meta()},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://1",
				Blob: []byte("e " + ghp)}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://2",
				Blob: []byte{0xff, 1}}},
			&mcp.ResourceLink{URI: "y://" + ghp, Name: ghp, Title: ghp, Description: "c " + ghp,
				MIMEType: "b/" + ghp, Meta: meta()},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}, Meta: meta()},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte{1}, Meta: meta()},
		}, StructuredContent: map[string]any{"token": "x1", "n": 7, "text": "d " + ghp},
			Meta: meta()}
	}
	for _, failed := range []bool{true, false} {
		res := made(failed)
		handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return res, nil
		}
		inner := mcp.NewServer(&mcp.Implementation{Name: "inner", Version: "1"}, nil)
		inner.AddTool(&mcp.Tool{Name: "theirs", InputSchema: map[string]any{"type": "object"}},
			handler)
		s, err := runtime.Adopt(inner, runtime.Options{Logger: quiet(), Identity: users()},
			map[string]access.Rule{"theirs": {Authenticated: true}},
			fallible(func() (toolset.Result, error) { return toolset.Native(res, nil, nil) }, nil))
		if err != nil {
			t.Fatal(err)
		}
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Member"], era)
			for _, tool := range []string{"work", "theirs"} {
				got := c.call(t, tool, "", nil).body
				if n := strings.Count(got, redact.Mask); failed && (strings.Contains(got, ghp) ||
					n != 11+2*7 || !strings.Contains(got, `"n":7`) ||
					!strings.Contains(got, blob) || !strings.Contains(got, `"/wE="`)) || !failed &&
					(n != 0 || !strings.Contains(got, ghp)) {
					t.Errorf("%s, %s, an error: %v: %s", era, tool, failed, got)
				}
			}
		}
		if before, now := fmt.Sprint(made(failed).Content[0]),
			fmt.Sprint(res.Content[0]); before != now ||
			res.Content[0].(*mcp.TextContent).Text != "a "+ghp {
			t.Errorf("the handler's result was written to: %s", now)
		}
	}
}

// A name that looks like a secret is masked in the refusal of a tool that is hidden just as in that
// of one that there is not.
func TestRefusalsOfHiddenAndUnknownNamesAreMaskedAlike(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, fallible(func() (toolset.Result, error) {
		return toolset.Done(nil)
	}, nil))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Viewer"], era)
		hidden, unknown := c.call(t, "sk-hidden-from-all-others", "", nil),
			c.call(t, "sk-unknown-to-everybody", "", nil)
		if hidden.String() != unknown.String() || !strings.Contains(hidden.body, `unknown tool \"`+
			redact.Mask+`\"`) {
			t.Errorf("%s: %s and %s", era, hidden, unknown)
		}
	}
}

// A refusal repeats values of the message, apart from secrets.
func TestRefusalsOfTheSDKAreMasked(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Viewer"], era)
		for what, got := range map[string]reply{
			"an unknown method":    c.ask(t, ghp, "", nil),
			"another, with params": c.ask(t, ghp, `"a":1`, nil),
			"another method in the header": c.ask(t, "tools/list", "",
				map[string]string{"Mcp-Method": ghp}),
			"another name in the header": c.call(t, "get_all", "",
				map[string]string{"Mcp-Name": ghp}),
			"another version in the header": c.ask(t, "tools/list", "",
				map[string]string{"Mcp-Protocol-Version": "2026-07-28-" + ghp}),
			"a member that does not fit": c.ask(t, "tools/call", `"name":"get_all","`+ghp+
				`":1,"_meta2":{}`, nil),
			"an event that there is not": c.send(t, "GET", "",
				map[string]string{"Last-Event-Id": ghp, "Accept": "text/event-stream"}),
		} {
			if strings.Contains(got.body, ghp) || got.status >= 400 && got.body == "" {
				t.Errorf("%s, %s: %s", era, what, got)
			}
		}
	}
	if got := newRaw(t, url, tokens["Viewer"], "2025-11-25").ask(t, ghp, "",
		nil); !strings.Contains(got.body, redact.Mask) {
		t.Errorf("the refusal does not name the method: %s", got)
	}
}
