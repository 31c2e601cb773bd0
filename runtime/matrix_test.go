package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// expected says by hand who may use what: one letter for each of anonymous, a caller without
// a known role, Viewer, Member, Manager and Admin; y may, n may not.
var expected = map[string]string{
	"get_public_info":    "yyyyyy",
	"get_all":            "nyyyyy",
	"get_by_id":          "nnyyyy",
	"create":             "nnnyyy",
	"update":             "nnnnyy",
	"promote_to_manager": "nnnnny",
}

// callers are the columns of expected.
var callers = []string{"", "Roleless", "Viewer", "Member", "Manager", "Admin"}

// refusedWith says by hand what a forbidding server tells of each tool.
var refusedWith = map[string]string{
	"get_all":            "needs an authenticated caller",
	"get_by_id":          "role Viewer",
	"create":             "role Member",
	"update":             "role Manager",
	"promote_to_manager": "role Admin",
}

func TestListAndCallAgreeForEveryRoleToolTransportAndEra(t *testing.T) {
	t.Parallel()
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		for _, listAll := range []bool{false, true} {
			s := newServer(t, runtime.Options{Anonymous: true,
				Access: runtime.AccessOptions{Denial: denial},
				Lists:  runtime.ListOptions{ListAll: listAll}},
				directory(&desk{}))
			checkExpectationsAreComplete(t, s)
			url := serve(t, s)
			for _, era := range eras {
				for column, user := range callers {
					name := fmt.Sprintf("%v/all=%v/%s/%s", denial, listAll, era, user)
					t.Run(name+"/http", func(t *testing.T) {
						checkCaller(t, connectHTTP(t, url, tokens[user], era), column, denial,
							listAll)
					})
					p := principalOf(user)
					if p.Role == "viewer" {
						p.Role = "" // on stdio a role that nobody knows is an error at start
					}
					t.Run(name+"/stdio", func(t *testing.T) {
						checkCaller(t, connectIO(t, s, p, era), column, denial, listAll)
					})
				}
			}
		}
	}
}

func checkExpectationsAreComplete(t *testing.T, s *runtime.Server) {
	t.Helper()
	for _, tool := range s.Table().Tools() {
		if len(expected[tool]) != len(callers) {
			t.Fatalf("tool %s has no complete expectation", tool)
		}
	}
	if len(s.Table().Tools()) != len(expected) {
		t.Fatalf("expectations for tools that are not there: %v", expected)
	}
}

func checkCaller(t *testing.T, session *mcp.ClientSession, column int, denial access.Denial,
	listAll bool) {
	t.Helper()
	ctx := context.Background()
	var want []string
	for tool, who := range expected {
		if listAll || who[column] == 'y' {
			want = append(want, tool)
		}
	}
	slices.Sort(want)
	listed := mcptest.Tools(t, session)
	if !slices.Equal(listed, want) {
		t.Errorf("listed %v, want %v", listed, want)
	}
	for tool, who := range expected {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool,
			Arguments: map[string]any{"id": "ada"}})
		switch {
		case who[column] == 'y':
			if err != nil || res.IsError {
				t.Errorf("%s: refused: %v %s", tool, err, text(res))
			} else if got := text(res); got != `{"id":"ada","tags":[]}` {
				t.Errorf("%s: text %s", tool, got)
			} else if structured,
				_ := json.Marshal(res.StructuredContent); string(structured) != got {
				t.Errorf("%s: structured content %s, text %s", tool, structured, got)
			}
		case denial == access.Forbid || listAll:
			if err != nil || !res.IsError || !strings.Contains(text(res), "403") ||
				!strings.Contains(text(res), refusedWith[tool]) {
				t.Errorf("%s: want a result that says 403 and %q, got %v %s", tool,
					refusedWith[tool], err, text(res))
			}
		default:
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams ||
				rpc.Message != fmt.Sprintf("unknown tool %q", tool) {
				t.Errorf("%s: want the answer of an unknown tool, got %v %s", tool, err, text(res))
			}
		}
	}
}

// TestForbiddenCallsOverRawHTTP: what a refusal that may be talked about looks like on the wire,
// and that ListAll shows everything to everybody and lets nobody use more.
func TestForbiddenCallsOverRawHTTP(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]runtime.Options{
		"forbid":           {Access: runtime.AccessOptions{Denial: access.Forbid}, Anonymous: true},
		"list all":         {Lists: runtime.ListOptions{ListAll: true}},
		"list all, public": {Lists: runtime.ListOptions{ListAll: true}, Anonymous: true},
	} {
		url := serve(t, newServer(t, options, directory(&desk{})))
		for _, era := range eras {
			for column, user := range callers {
				if user == "" && !options.Anonymous {
					if got := (&raw{url: url, era: era}).call(t, "get_all", "",
						nil); got.status != http.StatusUnauthorized {
						t.Errorf("%s, %s: without a token: %s", name, era, got)
					}
					continue
				}
				c := newRaw(t, url, tokens[user], era)
				list := c.ask(t, "tools/list", "", nil).body
				for tool, who := range expected {
					if listed := strings.Contains(list, `"name":"`+tool+
						`"`); listed != (options.Lists.ListAll || who[column] == 'y') {
						t.Errorf("%s, %s, %q: %s listed %v", name, era, user, tool, listed)
					}
					if who[column] == 'y' {
						continue
					}
					for _, v := range variants {
						got := c.call(t, tool, v.rest, v.headers)
						if got.status != http.StatusOK ||
							!strings.Contains(got.body, "403 Forbidden: tool") ||
							!strings.Contains(got.body, refusedWith[tool]) ||
							!strings.Contains(got.body, `"isError":true`) ||
							strings.Contains(got.body, "structuredContent") ||
							strings.Contains(got.body,
								`"resultType":"complete"`) != (era == "2026-07-28") {
							t.Errorf("%s, %s, %q, %s with %s: %s", name, era, user, tool, v.name,
								got)
						}
					}
				}
			}
		}
	}
}

// text is the text of a result.
func text(res *mcp.CallToolResult) string { return mcptest.Text(res) }
