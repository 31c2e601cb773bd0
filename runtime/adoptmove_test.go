package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
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

// toolsOf lists all pages of a client, and reports whether it may call a tool.
func toolsOf(t *testing.T, url, user, era string,
	elicits bool) (names []string, calls func(string) bool) {
	t.Helper()
	var options mcp.ClientOptions
	if elicits {
		options.ElicitationHandler = func(context.Context,
			*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("nobody is asked")
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: clientOf(user), MaxRetries: -1, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names, func(tool string) bool {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
		return err == nil && !res.IsError
	}
}

func TestConditionalToolsAreListedToWhomTheServerListsThem(t *testing.T) {
	rules := map[string]access.Rule{"ask": {MinRole: member}, "fetch": {Authenticated: true},
		"zip": {Authenticated: true}}
	for _, size := range []int{0, 1} {
		options := runtime.Options{Lists: runtime.ListOptions{PageSize: size},
			Adopt: runtime.AdoptOptions{Conditional: []string{"ask"}}}
		url := serve(t, adopt(t, picky(), options, rules))
		for _, era := range eras {
			for _, user := range []string{"Viewer", "Member"} {
				for _, elicits := range []bool{false, true} {
					want := []string{"fetch", "zip"}
					if user == "Member" && elicits {
						want = []string{"ask", "fetch", "zip"}
					}
					names, calls := toolsOf(t, url, user, era, elicits)
					if !slices.Equal(names, want) {
						t.Errorf("%s, %s, elicits %v: %v", era, user, elicits, names)
					}
					if may := user == "Member"; calls("ask") != may || !calls("fetch") {
						t.Errorf("%s, %s: calls do not follow the rules", era, user)
					}
					names, calls = toolsOf(t, url+"?readonly=true", user, era, elicits)
					if len(names) > 0 || calls("ask") || calls("fetch") {
						t.Errorf("%s, %s: %v without a hint are readonly", era, user, names)
					}
				}
			}
		}
	}
	for _, test := range []struct {
		rules       map[string]access.Rule
		conditional []string
		want        string
	}{
		{rules, nil, `the adopted server has no tool "ask", which has a rule: correct the name, ` +
			`or remove the rule; if the server lists it later, or to some clients only, add "ask" to ` +
			"Options.Adopt.Conditional"},
		{nil, []string{"ask"}, `Options.Adopt.Conditional has "ask", which is not a key of the ` +
			"rules: correct it, or give it a rule"},
	} {
		_, err := runtime.Adopt(picky(), runtime.Options{Logger: quiet(),
			Adopt: runtime.AdoptOptions{Conditional: test.conditional}}, test.rules)
		if err == nil || err.Error() != "mcp server: "+test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

// A toolset replaces a conditional tool too, and narrowing it does not bring the tool back.
func TestToolsetsReplaceConditionalTools(t *testing.T) {
	rules := map[string]access.Rule{"ask": {Authenticated: true}, "fetch": {Authenticated: true},
		"zip": {Authenticated: true}}
	for _, name := range []string{"ask", "zip"} {
		set := toolsetOf([]toolset.Tool{{Name: name, Input: anyInput, Call: nothing},
			{Name: "other", Input: anyInput, Call: nothing}},
			access.Rule{Tool: name, MinRole: admin}, access.Rule{Tool: "other", MinRole: admin})
		for _, narrowed := range []bool{false, true} {
			used := set
			if narrowed {
				used = set.Without(name)
			}
			s, err := runtime.Adopt(picky(), runtime.Options{Logger: quiet(), Identity: users(),
				Adopt: runtime.AdoptOptions{Conditional: []string{"ask"}, Replace: true}}, rules, used)
			if err != nil {
				t.Errorf("%s, narrowed %v: %v", name, narrowed, err)
				continue
			}
			url := serve(t, s)
			for _, role := range []string{"Viewer", "Admin"} {
				may := role == "Admin" && !narrowed
				names, calls := toolsOf(t, url, role, "2025-11-25", true)
				if slices.Contains(names, name) != may || calls(name) != may {
					t.Errorf("%s, narrowed %v: %s lists %v, calls: %v", name, narrowed, role, names,
						calls(name))
				}
			}
		}
	}
}

func TestToolsetsReplaceWhatTheAdoptedServerHas(t *testing.T) {
	rules := map[string]access.Rule{"update": {Public: true}, "old": {Authenticated: true},
		"a": {Prompt: "p", Public: true}, "b": {Resource: "file:///r", Public: true}}

	_, err := runtime.Adopt(existing("update", "old"), runtime.Options{Logger: quiet()}, nil, moved())
	if err == nil || !strings.Contains(err.Error(), "rename one, or set Options.Adopt.Replace") {
		t.Errorf("%v", err)
	}

	var log journal
	server := existing("old")
	// The bound header is that of the old tool alone.
	server.AddTool(&mcp.Tool{Name: "update", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"id":{"type":"string","x-mcp-header":"Id"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("the old tool ran")
		})
	options := runtime.Options{Logger: log.logger(), Anonymous: true,
		Adopt: runtime.AdoptOptions{Replace: true}}
	url := serve(t, adopt(t, server, options, rules, moved()))
	for _, era := range eras {
		// The rule of the toolset counts, and not the laxer one that the old tool had.
		for user, want := range map[string]string{"": "unknown tool", "Member": "unknown tool",
			"Manager": "structuredContent"} {
			c := newRaw(t, url, tokens[user], era)
			if got := c.call(t, "update", `,"arguments":{"id":"ada"}`,
				nil); !strings.Contains(got.body, want) {
				t.Errorf("%s, %q: %s", era, user, got)
			}
		}
		c := newRaw(t, url, tokens["Manager"], era)
		if got := c.call(t, "old", "", nil); !strings.Contains(got.body, "old answered") {
			t.Errorf("%s: %s", era, got)
		}
		for method, ask := range map[string][2]string{"prompts/get": {`"name":"p"`, "p"},
			"resources/read": {`"uri":"file:///r"`, "file:///r"}} {
			got := c.ask(t, method, ask[0], map[string]string{"Mcp-Name": ask[1]})
			if !strings.Contains(got.body, "new "+method[:6]) ||
				strings.Contains(got.body, "secret") {
				t.Errorf("%s, %s: %s", era, method, got)
			}
		}
	}
	for _, kind := range []string{"tools=[update]", "prompts=[p]", "resources=[file:///r]"} {
		if !strings.Contains(log.String(), kind) {
			t.Errorf("the log does not have %s:\n%s", kind, log.String())
		}
	}

	// A narrowed toolset does not bring the old tool back.
	options.Logger = quiet()
	for name, s := range map[string]*runtime.Server{
		"without": adopt(t, existing("update", "old"), options, rules, moved().Without("update")),
		"readonly": adopt(t, existing("update", "old"), runtime.Options{Anonymous: true,
			ReadOnly: true, Adopt: options.Adopt}, rules, moved()),
	} {
		c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
		if got := c.call(t, "update", "", nil); !strings.Contains(got.body, "unknown tool") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := runtime.New(runtime.Options{Logger: quiet(), Adopt: options.Adopt},
		moved()); err == nil || !strings.Contains(err.Error(), "Options.Adopt is for runtime.Adopt") {
		t.Errorf("New: %v", err)
	}
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
