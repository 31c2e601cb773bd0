package workspacetools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
	"github.com/mcpgen/mcpgen/runtime/sandbox/workspacetools"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// using is a toolset whose tool use does something with the workspace of its caller.
func using(do func(*sandbox.ClientWorkspace) error) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/user", Server: toolset.ServerInfo{Name: "user"}}
	g.Table.Rules = []access.Rule{{Tool: "use", Authenticated: true}}
	g.Tools = []toolset.Tool{{
		Name: "use", Input: `{"type":"object"}`,
		Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			space, err := sandbox.Workspace(ctx)
			if err != nil {
				return toolset.Result{}, err
			}
			return toolset.Done(do(space))
		},
	}}
	return toolset.NewToolset(g)
}

func newServer(t *testing.T, box *sandbox.Sandbox, all ...toolset.Toolset) *runtime.Server {
	t.Helper()
	server, err := runtime.New(runtime.Options{Sandbox: box, Anonymous: true,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func newSandbox(t *testing.T, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

func call(t *testing.T, session *mcp.ClientSession, tool string) string {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	switch {
	case err != nil:
		return err.Error()
	case res.IsError:
		return "!" + mcptest.Text(res)
	}
	return ""
}

func TestAClientClearsItsOwnWorkspace(t *testing.T) {
	box := newSandbox(t, sandbox.Options{Workspaces: t.TempDir(),
		Workspace: sandbox.WorkspaceOptions{Files: 10}})
	fill := func(space *sandbox.ClientWorkspace) error {
		for i := range 11 {
			if err := space.Dir().WriteFile(fmt.Sprint(i), nil, 0o600); err != nil {
				return err
			}
		}
		return space.Set("name", "value")
	}
	var found []string
	look := func(space *sandbox.ClientWorkspace) error {
		if _, err := space.Dir().Stat("0"); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, "a file")
		}
		if len(space.Variables()) > 0 {
			found = append(found, "a variable")
		}
		return nil
	}
	do := fill
	server := newServer(t, box, workspacetools.Tools(box),
		using(func(space *sandbox.ClientWorkspace) error {
			return do(space)
		}))
	ann := mcptest.Pipe(t, server, access.Principal{Issuer: "a", Subject: "ann", Client: "desk"},
		"")
	// Another person at the same client shares the workspace, the client of another issuer has its
	// own.
	ben := mcptest.Pipe(t, server, access.Principal{Issuer: "a", Subject: "ben", Client: "desk"},
		"")
	eve := mcptest.Pipe(t, server, access.Principal{Issuer: "b", Subject: "eve", Client: "desk"},
		"")
	for _, session := range []*mcp.ClientSession{ann, eve} {
		if got := call(t, session, "use"); got != "" {
			t.Fatal(got)
		}
	}
	cleared := func() string {
		res, err := ann.CallTool(t.Context(), &mcp.CallToolParams{Name: "clear_workspace"})
		if err != nil {
			t.Fatal(err)
		}
		return mcptest.Text(res)
	}
	if got := cleared(); got != `{"found":true}` {
		t.Fatal(got)
	}
	do = look
	if got := call(t, ben, "use"); got != "" || len(found) > 0 {
		t.Errorf("%s; there is %v", got, found)
	}
	if got := call(t, eve, "use"); got != "" || len(found) != 2 {
		t.Errorf("%s; of the other client there is %v", got, found)
	}
	if got := cleared(); got != `{"found":true}` { // ben's call made one
		t.Error(got)
	}
	if got := cleared(); got != `{"found":false}` {
		t.Error(got)
	}

	list, err := ann.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if a := tool.Annotations; tool.Name == "clear_workspace" &&
			(a.ReadOnlyHint || a.DestructiveHint == nil || !*a.DestructiveHint) {
			t.Errorf("its hints are %+v", a)
		}
	}
	nobody := mcptest.Pipe(t, server, access.Principal{}, "")
	if hidden, unknown := call(t, nobody, "clear_workspace"),
		call(t, nobody, "clear_workspacf"); hidden == "" || len(hidden) != len(unknown) {
		t.Errorf("to anonymous callers it says %q, and %q of an unknown one", hidden, unknown)
	}
}

func TestTheToolIsUnknownWithoutWorkspaces(t *testing.T) {
	box := newSandbox(t, sandbox.Options{})
	server := newServer(t, box, workspacetools.Tools(box), using(nil))
	ann := mcptest.Pipe(t, server, access.Principal{Issuer: "a", Subject: "ann",
		Roles: []string{"Admin"}}, "")
	list, err := ann.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "use" {
		t.Errorf("%+v, %v", list, err)
	}
	if hidden, unknown := call(t, ann, "clear_workspace"),
		call(t, ann, "clear_workspacf"); hidden == "" || len(hidden) != len(unknown) {
		t.Errorf("it says %q, and %q of an unknown one", hidden, unknown)
	}
}

// broken are workspaces that cannot be cleared.
type broken struct{ isolate.Workspaces }

func (broken) Folder() string { return "/" }
func (broken) ClearWorkspace(context.Context, isolate.Client) (bool, error) {
	return true, errors.New("/var/lib/secret: the disk is gone")
}

func TestWhatFailedStaysWithTheServer(t *testing.T) {
	server := newServer(t, newSandbox(t, sandbox.Options{}), workspacetools.Tools(broken{}))
	ann := mcptest.Pipe(t, server, access.Principal{Subject: "ann"}, "")
	if got := call(t, ann, "clear_workspace"); got != "!the workspace could not be fully cleared: "+
		"try again, then contact an administrator" {
		t.Error(got)
	}
}
