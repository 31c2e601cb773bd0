package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// person is what the tools of the directory return.
type person struct {
	ID   string   `json:"id"`
	Tags []string `json:"tags"`
}

const (
	anyInput     = `{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}`
	personOutput = `{"type":"object","properties":{"id":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["id","tags"],"additionalProperties":false}`
)

// desk answers the calls of the directory.
type desk struct{}

func (*desk) find(_ context.Context, id string) (person, error) {
	if id == "nobody" {
		return person{}, errors.New("no such person")
	}
	return person{ID: id}, nil
}

// directory is a toolset as mcpgen writes them: six tools over four roles.
func directory(d *desk) toolset.Toolset {
	call := func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		var in struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return toolset.Result{}, err
		}
		return toolset.Structured(d.find(ctx, in.ID))
	}
	tool := func(name, description string) toolset.Tool {
		return toolset.Tool{Name: name, Description: description, Input: anyInput,
			Output: personOutput, Timeout: 30 * time.Second, Call: call}
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/team", Manifest: "sha256:1", Server: toolset.ServerInfo{Name: "team", Version: "1.0.0"},
		Table: access.Table{
			Roles: [][]string{{"Viewer", "Member", "Manager", "Admin"}},
			Rules: []access.Rule{
				{Tool: "create", MinRole: []string{"Member"}},
				{Tool: "get_all", Authenticated: true},
				{Tool: "get_by_id", MinRole: []string{"Viewer"}},
				{Tool: "get_public_info", Public: true},
				{Tool: "promote_to_manager", MinRole: []string{"Admin"}},
				{Tool: "update", MinRole: []string{"Manager"}},
			},
		},
		Receivers: []any{d},
		Tools: []toolset.Tool{
			tool("create", "create makes a person."),
			tool("get_all", "get_all returns everybody."),
			tool("get_by_id", "get_by_id returns one person."),
			tool("get_public_info", "get_public_info returns what anybody may know."),
			tool("promote_to_manager", "promote_to_manager makes a person a manager."),
			tool("update", "update changes a person."),
		},
	})
}

// toolset makes one with the given tools, each open to authenticated callers unless ruled
// otherwise.
func toolsetOf(tools []toolset.Tool, rules ...access.Rule) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/odd", Server: toolset.ServerInfo{Name: "odd",
		Version: "1"}, Tools: tools}
	g.Table.Roles = access.DefaultRoles()
	for _, t := range tools {
		rule := access.Rule{Tool: t.Name, Authenticated: true}
		for _, r := range rules {
			if r.Tool == t.Name {
				rule = r
			}
		}
		g.Table.Rules = append(g.Table.Rules, rule)
	}
	return toolset.NewToolset(g)
}

// oneTool is a toolset of one tool, open to authenticated callers.
func oneTool(name string, call func(context.Context, toolset.Call) (toolset.Result,
	error)) toolset.Toolset {
	return toolsetOf([]toolset.Tool{{Name: name, Input: `{"type":"object"}`, Call: call}})
}

// oneSDKTool is oneTool for a handler that has go-sdk's signature.
func oneSDKTool(name string, call func(context.Context, toolset.Call) (toolset.Result,
	error)) toolset.Toolset {
	return toolsetOf([]toolset.Tool{{Name: name, Input: `{"type":"object"}`, SDK: true,
		Call: call}})
}

// tokens are the users of the directory, one a role, and one whose role nobody knows.
var tokens = map[string]string{
	"Viewer": "token-viewer", "Member": "token-member", "Manager": "token-manager",
	"Admin":    "token-admin",
	"Roleless": "token-roleless",
}

func principalOf(user string) access.Principal {
	if user == "" {
		return access.Principal{}
	}
	role := user
	if user == "Roleless" {
		role = "viewer" // not a role: names match exactly
	}
	return access.Principal{Issuer: "test", Subject: "user-" + user, Roles: []string{role}}
}

func users() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		for user, known := range tokens {
			if token == known {
				return identity.Identity{Principal: principalOf(user)}, nil
			}
		}
		return identity.Identity{}, identity.ErrInvalidToken
	})
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// newServer makes a server of the given toolsets with the test's users.
func newServer(t testing.TB, options runtime.Options, sets ...toolset.Toolset) *runtime.Server {
	t.Helper()
	if options.Logger == nil {
		options.Logger = quiet()
	}
	if options.Identity == nil {
		options.Identity = users()
	}
	s, err := runtime.New(options, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// clientOf is an HTTP client of one of the users.
func clientOf(user string) *http.Client { return mcptest.HTTPClient(tokens[user]) }

// eras are the protocol versions that the tests speak.
var eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// connectHTTP is a real client over real HTTP.
func connectHTTP(t testing.TB, url, token, version string) *mcp.ClientSession {
	t.Helper()
	return mcptest.Connect(t, url, token, version)
}

// connectIO is a real client over a pair of pipes.
func connectIO(t testing.TB, s *runtime.Server, principal access.Principal,
	version string) *mcp.ClientSession {
	t.Helper()
	return mcptest.Pipe(t, s, principal, version)
}

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

// text is the text of a result.
func text(res *mcp.CallToolResult) string { return mcptest.Text(res) }

// keeper is a sink that keeps events, and intents apart from the others. It refuses an event
// without a status, a failed event without a failure, and any other event with one.
type keeper struct {
	mu              sync.Mutex
	events, intents []audit.Event
}

func (k *keeper) Record(_ context.Context, e audit.Event) error {
	if e.Status == "" || (e.Status == audit.Failed) != (e.Failure != "") {
		return fmt.Errorf("the status %q with the failure %q", e.Status, e.Failure)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Status == audit.Intent {
		k.intents = append(k.intents, e)
	} else {
		k.events = append(k.events, e)
	}
	return nil
}

// taken returns what was kept since the last time.
func (k *keeper) taken() []audit.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	events := k.events
	k.events = nil
	return events
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
