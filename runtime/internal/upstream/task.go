package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// TaskRequest returns the request for a handler of go-sdk's shape in a run of a task. Its session
// reaches no client: progress is that of ctx, log messages are dropped, and requests to the client
// fail, as go-sdk has it for 2026-07-28. The caller closes the session.
func TaskRequest(ctx context.Context, info *request.Info,
	params *mcp.CallToolParamsRaw) (*mcp.CallToolRequest, error) {
	progress := notify.Progress(ctx)
	server := mcp.NewServer(
		&mcp.Implementation{Name: info.Server.Name, Version: info.Server.Version}, nil)
	server.AddSendingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if p, ok := req.GetParams().(*mcp.ProgressNotificationParams); ok && p != nil {
				progress.Report(p.Progress, p.Total, p.Message)
				return nil, nil
			}
			return nil, fmt.Errorf("%s: the run of a task has no connection to its client", method)
		}
	})
	client := mcp.InitializeParams{ProtocolVersion: request.Stateless}
	text, _ := json.Marshal(map[string]any{ // decoded JSON
		"capabilities": params.Meta[mcp.MetaKeyClientCapabilities],
		"clientInfo":   params.Meta[mcp.MetaKeyClientInfo]})
	_ = json.Unmarshal(text, &client) // a member of another type counts as none
	transport, _ := mcp.NewInMemoryTransports()
	session, err := server.Connect(context.WithoutCancel(ctx), transport,
		&mcp.ServerSessionOptions{State: &mcp.ServerSessionState{InitializeParams: &client}})
	return &mcp.CallToolRequest{Session: session, Params: params}, err
}
