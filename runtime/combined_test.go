package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// An interceptor may change the list of one caller. No other caller gets the change.
func TestMetadataThatMiddlewareChangesIsItsCallersOwn(t *testing.T) {
	change := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			res, err := next(ctx, m)
			if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
				caller, _ := runtime.Caller(ctx)
				for _, tool := range list.Tools {
					tool.Meta["example.org/for"].(map[string]any)[caller.Subject] = true
					tool.Icons[0].Source += "/" + caller.Subject
					tool.Icons[0].Sizes[0] = caller.Subject
					*tool.Annotations.DestructiveHint = caller.Role == "Admin"
				}
			}
			return res, err
		}
	}
	set := toolsetOf([]toolset.Tool{{Name: "look", Input: anyInput, Call: nothing,
		Annotations: toolset.Annotations{DestructiveHint: new(false)},
		Meta:        `{"example.org/for":{}}`,
		Icons: []toolset.Icon{{Source: "https://example.org/i",
			Sizes: []string{"48x48"}}}}}, access.Rule{Tool: "look", Authenticated: true})
	url := serve(t, newServer(t, runtime.Options{Interceptors: []intercept.Middleware{change}}, set))
	for _, user := range []string{"Admin", "Viewer"} {
		got := newRaw(t, url, tokens[user], eras[0]).ask(t, "tools/list", "", nil).body
		if own := strings.Count(got, "user-"+user); own != 3 || strings.Count(got, "user-") != own {
			t.Errorf("%s is listed %s", user, got)
		}
		if strings.Contains(got, `"destructiveHint":true`) != (user == "Admin") {
			t.Errorf("%s is listed %s", user, got)
		}
	}
}

// Instructions name no tool that narrowing has removed.
func TestInstructionsNameNoRemovedTool(t *testing.T) {
	set := toolsetOf([]toolset.Tool{{Name: "peek", Input: anyInput, Call: nothing,
		Annotations: toolset.Annotations{ReadOnlyHint: true}},
		{Name: "delete_user", Input: anyInput, Call: nothing, Aliases: []string{"rm_user"}}},
		access.Rule{Tool: "peek", Authenticated: true},
		access.Rule{Tool: "delete_user", MinRole: admin})
	for _, text := range []string{"Use delete_user.", "Use `rm_user`."} {
		for name, o := range map[string]runtime.Options{"all": {}, "ReadOnly": {ReadOnly: true},
			"Without": {}} {
			o.Logger, o.Texts.Instructions = quiet(), text
			served := set
			if name == "Without" {
				served = set.Without("delete_user")
			}
			if _, err := runtime.New(o, served); err == nil ||
				!strings.Contains(err.Error(), "which is hidden from some callers: remove the name, "+
					"or write the text in Options.Texts.InstructionsFor") {
				t.Errorf("%s, %s: %v", name, text, err)
			}
		}
	}
	own := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"},
		&mcp.ServerOptions{Instructions: "Use `delete_user`."})
	mcp.AddTool(own, &mcp.Tool{Name: "delete_user"}, func(context.Context, *mcp.CallToolRequest,
		struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	url := serve(t, adopt(t, own, runtime.Options{ReadOnly: true},
		map[string]access.Rule{"delete_user": {MinRole: admin}}))
	for _, user := range []string{"Viewer", "Admin"} {
		got := connectHTTP(t, url, tokens[user], eras[0]).InitializeResult().Instructions
		if got != "" {
			t.Errorf("%s gets %q", user, got)
		}
	}
}
