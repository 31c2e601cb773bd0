package debugtools_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/grant/permissionrequest"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// visit does what anybody could do to find the debug tools.
func visit(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	ctx := t.Context()
	if got := mcptest.Tools(t, session); slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, "debug_") }) {
		t.Errorf("listed: %v", got)
	}
	for _, tool := range debug {
		for _, arguments := range []map[string]any{nil, {"filter": "x"}} {
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q", tool)) {
				t.Errorf("%s: %v", tool, err)
			}
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: tool}, {Type: "ref/resource", URI: "debug://" + tool}} {
			if _, err := session.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "d"}}); err == nil {
				t.Errorf("completion of %s", tool)
			}
		}
		if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: tool}); err == nil {
			t.Errorf("prompt %s", tool)
		}
	}
	// A page and a call beside: neither a cursor nor a count differs.
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "debug_get"}); err == nil {
		t.Error("debug_get")
	}
}

// TestDebugToolsAreUnknownBelowTheHighestRole: all that such a caller gets from a server that has
// them is, byte for byte, what it gets from one that has not.
func TestDebugToolsAreUnknownBelowTheHighestRole(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	behind, before := []toolset.Toolset{desk(inspector), debugtools.Toolset(inspector)}, []toolset.Toolset{debugtools.Toolset(inspector), desk(inspector)}
	for _, test := range []struct {
		o        runtime.Options
		toolsets []toolset.Toolset
	}{
		{runtime.Options{}, behind},
		{runtime.Options{Lists: runtime.ListOptions{PageSize: 1}}, behind},
		{runtime.Options{Access: runtime.AccessOptions{Denial: access.Forbid}}, behind},
		{runtime.Options{Access: runtime.AccessOptions{Denial: access.Challenge}}, before},
	} {
		test.o.Anonymous = true
		with, without := newServer(t, test.o, test.toolsets...), newServer(t, test.o, desk(inspector))
		here, there := mcptest.Serve(t, with), mcptest.Serve(t, without)
		for _, era := range eras {
			for token, caller := range callers {
				if slices.Contains(caller.Roles, "Boss") {
					continue
				}
				var has, lacks wire
				visit(t, has.dial(t, here, token, era))
				visit(t, lacks.dial(t, there, token, era))
				if has.String() != lacks.String() || !strings.Contains(has.String(), "unknown tool") {
					t.Errorf("%s, %q over HTTP:\n%s\nwithout debug tools:\n%s", era, caller.Subject, &has, &lacks)
				}
				var pipe, other wire
				visit(t, pipe.pipe(t, with, caller, era))
				visit(t, other.pipe(t, without, caller, era))
				if pipe.String() != other.String() || !strings.Contains(pipe.String(), "unknown tool") {
					t.Errorf("%s, %q over stdio:\n%s\nwithout debug tools:\n%s", era, caller.Subject, &pipe, &other)
				}
			}
		}
	}
}

func TestDebugToolsFitAnyHierarchy(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	for name, test := range map[string]struct {
		toolsets []toolset.Toolset
		highest  string
		server   string
	}{
		"alone":                 {[]toolset.Toolset{debugtools.Toolset(inspector)}, "Admin", "debug"},
		"behind a service":      {[]toolset.Toolset{desk(inspector), debugtools.Toolset(inspector)}, "Boss", "desk"},
		"in front of a service": {[]toolset.Toolset{debugtools.Toolset(inspector), desk(inspector)}, "Boss", "desk"},
		"with others of its own": {[]toolset.Toolset{
			debugtools.Toolset(inspector), permissionrequest.Toolset(permissionrequest.New(nil)),
		}, "Admin", "debug"},
	} {
		s := newServer(t, runtime.Options{Identity: passing(nil)}, test.toolsets...)
		var info debugtools.ServerInfo
		call(t, new(wire).pipe(t, s, access.Principal{Subject: "top",
			Roles: []string{test.highest}}, ""), debugtools.ToolGetServerInfo, &info)
		if info.ServerName != test.server {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

// host is one whose users may do nothing.
type host struct{}

func (host) Resolve(context.Context, access.Principal) (capability.User, error) {
	return capability.User{ID: "7", Name: "bea7"}, nil
}

func (host) Capabilities(context.Context, access.Principal) (capability.Set, error) {
	return capability.Set{}, nil
}

func (host) MapAction(permission string) (string, error) { return permission, nil }

// The role alone decides: debug tools are no action of the host's.
func TestDebugToolsAskTheHostForNothing(t *testing.T) {
	s := newServer(t, runtime.Options{Host: runtime.HostOptions{Source: host{}},
		Identity: identity.Bearer(nobodyComes, identity.NamesUsers())},
		debugtools.Toolset(debugtools.New(debugtools.Options{})))
	for role, want := range map[string][]string{"Admin": debug, "Manager": nil} {
		p := access.Principal{Subject: "bea", User: "bea7", Roles: []string{role}}
		if got := mcptest.Tools(t, mcptest.Pipe(t, s, p, "")); !slices.Equal(got, want) {
			t.Errorf("%s: %v", role, got)
		}
	}
}

func nobodyComes(context.Context, string) (identity.Identity, error) {
	return identity.Identity{}, identity.ErrInvalidToken
}
