package permissionrequest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/permissionrequest"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// guarded are the tools of the tests, one for each kind of rule. Of users, each character is y if
// the user may call the tool: the order is that of users. "off" is switched off.
var guarded = []struct {
	rule  access.Rule
	users string
}{
	{access.Rule{Tool: "all", Authenticated: true}, "yyyyyy"},
	{access.Rule{Tool: "concealed", MinRole: []string{"Admin"}, Denial: access.Conceal}, "nnnnyn"},
	{access.Rule{Tool: "host", Authenticated: true,
		Permission: access.Permission{App: "q", Action: "push", Object: "job"}}, "nnnnny"},
	{access.Rule{Tool: "off", Authenticated: true}, "nnnnnn"},
	{access.Rule{Tool: "open", Public: true}, "yyyyyy"},
	{access.Rule{Tool: "role1", MinRole: []string{"Viewer"}}, "nyyyyn"},
	{access.Rule{Tool: "role2", MinRole: []string{"Member"}}, "nnyyyn"},
	{access.Rule{Tool: "role3", MinRole: []string{"Manager"}}, "nnnyyn"},
	{access.Rule{Tool: "role4", MinRole: []string{"Admin"}}, "nnnnyn"},
	{access.Rule{Tool: "scoped", Scopes: []string{"jobs"}}, "nnnnny"},
}

var users = []access.Principal{{Subject: "none"}, {Subject: "one", Roles: []string{"Viewer"}},
	{Subject: "two", Roles: []string{"Member"}}, {Subject: "three", Roles: []string{"Manager"}},
	{Subject: "four", Roles: []string{"Admin"}}, {Subject: "scoped", Scopes: []string{"jobs"}}}

// host gives one user a permission.
type host struct{ capability.Source }

func (host) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	return capability.User{ID: p.Subject, Name: p.Subject}, nil
}

func (host) Capabilities(_ context.Context, p access.Principal) (capability.Set, error) {
	var set capability.Set
	if p.Subject == "scoped" {
		set.Add("q.push_job")
	}
	return set, nil
}

func (host) MapAction(permission string) (string, error) { return permission, nil }

// switches has the tool "off" switched off, and no catalog.
type switches struct{ catalog.Source }

func (switches) Catalog(context.Context, access.Principal, catalog.Ref) (catalog.Found, error) {
	return catalog.Found{}, catalog.ErrUnknown
}
func (switches) ToolsOff(context.Context) ([]string, error) { return []string{"off"}, nil }
func (switches) Changes(ctx context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change)
	context.AfterFunc(ctx, func() { close(changes) })
	return changes
}

// sandbox admits every call and runs none in a process.
type sandbox struct{ isolate.Sandbox }

func (sandbox) Start(isolate.Start) error { return nil }
func (sandbox) Enter(ctx context.Context, _ isolate.Client) (context.Context, func()) {
	return ctx, func() {}
}

const emptyInput = `{"type":"object","properties":{},"additionalProperties":false}`

// guardedTool needs queue.push for q and queue.pull for p. It checks queue.push as a call does.
func guardedTool(name string) toolset.Tool {
	return toolset.Tool{Name: name, Input: emptyInput,
		Allow: []toolset.Allow{{Kind: "queue.push", Argument: "q"},
			{Kind: "queue.pull", Argument: "p"}},
		Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Structured(map[string]bool{"done": true}, nil)
		}}
}

func toolsetOf(tools []toolset.Tool, rules []access.Rule) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.org/queue", Server: toolset.ServerInfo{Name: "queue"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: rules}, Tools: tools})
}

func serverOf(t *testing.T, o runtime.Options, store permissionrequest.Store,
	sets ...toolset.Toolset) *runtime.Server {
	t.Helper()
	o.Logger, o.Grants.Source, o.Anonymous = slog.New(slog.DiscardHandler), store, true
	s, err := runtime.New(o, append(sets, permissionrequest.Toolset(
		permissionrequest.New(store)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

// TestListHasTheToolsThatTheCallerMayUse compares the result for each user, in each denial mode, to
// the tools that the user may call, and to the result of a server without all other tools.
func TestListHasTheToolsThatTheCallerMayUse(t *testing.T) {
	store := grant.NewMemory()
	for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		for _, listAll := range []bool{false, true} {
			options := runtime.Options{Access: runtime.AccessOptions{Denial: denial},
				Lists:    runtime.ListOptions{ListAll: listAll},
				Host:     runtime.HostOptions{Source: host{}},
				Catalogs: runtime.CatalogOptions{Source: switches{}}}
			set := func(column int) toolset.Toolset {
				tools := []toolset.Tool{{Name: "plain", Input: emptyInput,
					Call: guardedTool("").Call}}
				rules := []access.Rule{{Tool: "plain", Public: true}}
				for _, g := range guarded {
					if !g.rule.Public && g.rule.Permission == (access.Permission{}) {
						g.rule.Permission = access.NoPermission()
					}
					if column < 0 || g.users[column] == 'y' {
						tools = append(tools, guardedTool(g.rule.Tool))
						rules = append(rules, g.rule)
					}
				}
				return toolsetOf(tools, rules)
			}
			s := serverOf(t, options, store, set(-1))
			for column, user := range users {
				name := fmt.Sprintf("%v/all=%v/%s", denial, listAll, user.Subject)
				session := mcptest.Pipe(t, s, user, "")
				var want, callable []string
				for _, g := range guarded {
					if g.users[column] == 'y' {
						want = append(want, g.rule.Tool)
					}
					got := call(t, session, g.rule.Tool, `{}`)
					if got == `{"done":true}` {
						callable = append(callable, g.rule.Tool)
					}
				}
				listed := call(t, session, "list_permissions", `{}`)
				var list permissionrequest.Permissions
				if err := json.Unmarshal([]byte(listed), &list); err != nil {
					t.Fatalf("%s: %s: %v", name, listed, err)
				}
				var got []string
				for _, tool := range list.Tools {
					got = append(got, tool.Name)
				}
				if !slices.Equal(got, want) || !slices.Equal(callable, want) || list.Next != "" {
					t.Errorf("%s: it lists %q, calls of %q work, want %q", name, got, callable,
						want)
				}
				alone := serverOf(t, options, store, set(column))
				if only := call(t, mcptest.Pipe(t, alone, user, ""), "list_permissions",
					`{}`); only != listed {
					t.Errorf("%s: %s\nwithout the other tools: %s", name, listed, only)
				}
				for _, after := range []string{"concealed", "off", "role9", "unknown"} {
					input := fmt.Sprintf(`{"after":%q}`, after)
					part := call(t, session, "list_permissions", input)
					only := call(t, mcptest.Pipe(t, alone, user, ""), "list_permissions", input)
					if part != only {
						t.Errorf("%s, after %s: %s\nwithout the other tools: %s", name, after, part,
							only)
					}
				}
			}
		}
	}
}

// TestListReportsGrantsAsACallDecides calls each tool, with grants in every state.
func TestListReportsGrantsAsACallDecides(t *testing.T) {
	allow := []toolset.Allow{{Kind: "queue.push", Argument: "q"}}
	decide := func(ctx context.Context, c toolset.Call) error {
		_, err := c.Allow(ctx, toolset.Named{
			Argument: "q", Kinds: []string{"queue.push"}, Values: []string{"mail"}})
		return err
	}
	run := func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
		if err := decide(ctx, c); err != nil {
			return toolset.Result{}, err
		}
		return toolset.Structured(map[string]bool{"done": true}, nil)
	}
	tools := []toolset.Tool{
		{Name: "apart", Input: emptyInput, Allow: allow, Isolate: "apart", Call: run},
		{Name: "here", Input: emptyInput, Allow: allow, Call: run}}
	rules := []access.Rule{{Tool: "apart", Public: true}, {Tool: "here", Public: true}}
	user := access.Principal{Issuer: "a", Subject: "ann", Client: "desk"}
	restricted := grant.Permission{Type: "queue.push", Resource: "mail"}
	push := restricted
	push.Unrestricted = true
	other := grant.Permission{Type: "queue.pull", Resource: "mail", Unrestricted: true}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		permission  grant.Permission
		expires     time.Time
		client      string
		apart, here bool
	}{
		"unrestricted":          {push, time.Time{}, "desk", true, true},
		"restricted":            {restricted, time.Time{}, "desk", true, false},
		"not expired":           {push, future, "desk", true, true},
		"expired":               {push, past, "desk", false, false},
		"restricted, expired":   {restricted, past, "desk", false, false},
		"of another kind":       {other, time.Time{}, "desk", false, false},
		"of another client":     {push, time.Time{}, "other", false, false},
		"restricted, of others": {restricted, time.Time{}, "other", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := grant.NewMemory(grant.Grant{Permission: test.permission, Issuer: "a",
				Client: test.client, Expires: test.expires})
			s := serverOf(t, runtime.Options{Sandbox: sandbox{}}, store, toolsetOf(tools, rules))
			session := mcptest.Pipe(t, s, user, "")
			want := fmt.Sprintf(
				`"tools":[{"name":"apart","allow":[{"kind":"queue.push","argument":"q",`+
					`"granted":%v}]},{"name":"here","allow":[{"kind":"queue.push","argument":"q",`+
					`"granted":%v}]}]}`, test.apart, test.here)
			if got := call(t, session, "list_permissions", `{}`); !strings.HasSuffix(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
			for tool, want := range map[string]bool{"apart": test.apart, "here": test.here} {
				if got := call(t, session, tool, `{}`); (got == `{"done":true}`) != want {
					t.Errorf("a call of %s: %s", tool, got)
				}
			}
			if _, _, err := store.Grants(t.Context(), "a", "desk"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestListOfManyToolsHasPages(t *testing.T) {
	const many = 250
	var tools []toolset.Tool
	var rules []access.Rule
	for i := range many {
		name := fmt.Sprintf("tool%03d", i)
		tools, rules = append(tools, guardedTool(name)), append(rules,
			access.Rule{Tool: name, Public: true})
	}
	s := serverOf(t, runtime.Options{}, grant.NewMemory(), toolsetOf(tools, rules))
	session := mcptest.Pipe(t, s, users[0], "")
	var sizes []int
	var names []string
	for after := ""; len(sizes) == 0 || after != ""; {
		var page permissionrequest.Permissions
		input := fmt.Sprintf(`{"after":%q}`, after)
		if err := json.Unmarshal([]byte(call(t, session, "list_permissions", input)),
			&page); err != nil {
			t.Fatal(err)
		}
		sizes, after = append(sizes, len(page.Tools)), page.Next
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
	}
	if !slices.Equal(sizes, []int{100, 100, 50}) || !slices.IsSorted(names) ||
		len(slices.Compact(names)) != many {
		t.Errorf("pages of %v, %d names", sizes, len(names))
	}
}

// TestListHasGuardedToolsBesideAnAdoptedServer adopts a server. Its own tools have no //mcp:allow.
func TestListHasGuardedToolsBesideAnAdoptedServer(t *testing.T) {
	old := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	old.AddTool(&mcp.Tool{Name: "old", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.ErrUnsupported
		})
	store := grant.NewMemory()
	s, err := runtime.Adopt(old, runtime.Options{Anonymous: true,
		Grants: runtime.GrantOptions{Source: store},
		Logger: slog.New(slog.DiscardHandler)}, map[string]access.Rule{"old": {Public: true}},
		toolsetOf([]toolset.Tool{guardedTool("admin"), guardedTool("push")}, []access.Rule{
			{Tool: "admin", MinRole: []string{"Admin"}}, {Tool: "push", Authenticated: true}}),
		permissionrequest.Toolset(permissionrequest.New(store)))
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, mcptest.Pipe(t, s, users[0], ""), "list_permissions", `{}`)
	if want := `"tools":[{"name":"push","allow":[{"kind":"queue.push","argument":"q",` +
		`"granted":false},{"kind":"queue.pull","argument":"p","granted":false}]}]}`; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
