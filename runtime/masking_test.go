package runtime_test

import (
	"context"
	"strings"
	"testing"

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
