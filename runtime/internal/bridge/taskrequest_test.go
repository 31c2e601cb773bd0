package bridge

import (
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// TestClosedSessionOfATaskLeavesNothing fails if a goroutine remains. A handler that runs on may
// still have the session.
func TestClosedSessionOfATaskLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info := &request.Info{Server: &request.Server{Name: "s", Version: "1"}}
		params := &mcp.CallToolParamsRaw{Meta: mcp.Meta{
			mcp.MetaKeyClientInfo: map[string]any{"name": "ide", "version": "2"},
			// of another type than the protocol has
			mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": true}}}
		req, err := TaskRequest(t.Context(), info, params)
		if err != nil || req.Params != params {
			t.Fatal(req, err)
		}
		client := req.Session.InitializeParams()
		if client.ClientInfo == nil || client.ClientInfo.Name != "ide" ||
			client.Capabilities == nil || client.Capabilities.Elicitation == nil {
			t.Errorf("%+v", client)
		}
		if err := req.Session.Close(); err != nil {
			t.Error(err)
		}
		if err := req.Session.NotifyProgress(t.Context(),
			&mcp.ProgressNotificationParams{Progress: 1}); err != nil {
			t.Error(err)
		}
		if err := req.Session.Ping(t.Context(), nil); err == nil {
			t.Error("a client has responded")
		}
	})
}
