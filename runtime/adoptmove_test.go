package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// picky is an existing server that lists the tool "ask" to clients that support elicitation.
func picky() *mcp.Server {
	server := existing("ask", "fetch", "zip")
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListToolsResult)
			session, inSession := req.GetSession().(*mcp.ServerSession)
			if !ok || !inSession {
				return res, err
			}
			client := session.InitializeParams()
			if client == nil || client.Capabilities == nil ||
				client.Capabilities.Elicitation == nil {
				list.Tools = slices.DeleteFunc(slices.Clone(list.Tools),
					func(t *mcp.Tool) bool { return t.Name == "ask" })
			}
			return res, err
		}
	})
	return server
}

// hinted is an existing server with annotations: "get" has readOnlyHint, "put" denies it, and
// "bare" has none.
func hinted() *mcp.Server {
	server := existing("bare")
	for name, hints := range map[string]*mcp.ToolAnnotations{"get": {ReadOnlyHint: true},
		"put": {IdempotentHint: true}} {
		server.AddTool(&mcp.Tool{Name: name, Annotations: hints,
			InputSchema: &jsonschema.Schema{Type: "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
			})
	}
	return server
}

func TestRulesFollowHints(t *testing.T) {
	reads := access.Rule{Authenticated: true, Scopes: []string{"r"}}
	writes := access.Rule{MinRole: admin}
	rules, err := runtime.RulesByHint(hinted(), reads, writes)
	want := map[string]access.Rule{"get": reads, "put": writes, "bare": writes}
	if err != nil || fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", rules, err)
	}
	rules["get"].Scopes[0] = "changed"
	if reads.Scopes[0] != "r" {
		t.Error("the rules share their scopes")
	}
	rules, err = runtime.RulesByHint(hinted(), reads, access.Rule{Denial: access.Forbid})
	if err != nil || len(rules) != 1 {
		t.Errorf("tools have a rule that requires nothing: %+v, %v", rules, err)
	}
	for name, test := range map[string]struct {
		server        *mcp.Server
		reads, writes access.Rule
		want          string
	}{
		"no server": {nil, reads, writes, "RulesByHint has no server"},
		"public reads": {hinted(), access.Rule{Public: true}, writes,
			"the rule readOnly is public"},
		"public others":  {hinted(), reads, access.Rule{Public: true}, "the rule others is public"},
		"a tool's name":  {hinted(), access.Rule{Tool: "a"}, writes, `has the tool "a"`},
		"a prompt's one": {hinted(), reads, access.Rule{Prompt: "p"}, `has the prompt "p"`},
	} {
		rules, err := runtime.RulesByHint(test.server, test.reads, test.writes)
		if err == nil || rules != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v", name, rules, err)
		}
	}
}
