// Package workspacetools serves one tool: clear_workspace removes the files and variables of the
// workspace of the client that calls it. A client whose workspace is full helps itself with it.
//
//	box, err := sandbox.New(sandbox.Options{Workspaces: "/var/lib/mcp/workspaces"})
//	...
//	server, err := runtime.New(runtime.Options{Sandbox: box}, workspacetools.Tools(box), ...)
//
//mcp:server name=workspace title="Workspace"
//mcp:default authenticated action=none
package workspacetools

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

//go:generate go tool mcpgen .

// Tools returns the tool for a server with this sandbox, and no tool if the sandbox keeps no
// workspaces: clear_workspace is then as unknown as a tool that does not exist.
func Tools(spaces isolate.Workspaces) toolset.Toolset {
	set := Toolset(New(spaces))
	if spaces == nil || spaces.Folder() == "" {
		return set.Without(ToolClearWorkspace)
	}
	return set
}

// Service implements the tool. It is safe for concurrent use.
type Service struct{ spaces isolate.Workspaces }

// New returns a service for the server's Options.Sandbox, which keeps workspaces.
func New(spaces isolate.Workspaces) *Service { return &Service{spaces} }

// Cleared is the result of clear_workspace.
type Cleared struct {
	// Found is false if you had no workspace.
	Found bool `json:"found"`
}

// ClearWorkspace removes all files and variables of your workspace. Calls of yours that run in it
// may end with an error. Call it if the workspace is full.
//
//mcp:tool destructive idempotent openworld=false title="Clear the workspace"
func (s *Service) ClearWorkspace(ctx context.Context) (Cleared, error) {
	caller, ok := runtime.Caller(ctx)
	if !ok || caller.Anonymous() {
		return Cleared{}, errors.New("a workspace belongs to a client: sign in")
	}
	client := isolate.Client{Issuer: caller.Issuer, ID: caller.ClientID()}
	found, err := s.spaces.ClearWorkspace(ctx, client)
	if err != nil {
		request, _ := runtime.RequestOf(ctx)
		slog.New(request.Masker.Handler(slog.Default().Handler())).ErrorContext(ctx,
			"a workspace could not be cleared", "request_id", runtime.RequestID(ctx), "error", err)
		return Cleared{}, errors.New("the workspace could not be fully cleared: try again, then " +
			"contact an administrator")
	}
	return Cleared{Found: found}, nil
}
