package notes

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

func TestClear(t *testing.T) {
	notes := &Notes{text: "milk"}
	server, err := runtime.New(runtime.Options{Identity: mcptest.Roles("Member")}, Toolset(notes))
	if err != nil {
		t.Fatal(err)
	}
	notes.Server = server

	updated := make(chan string, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			updated <- r.Params.URI
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: mcptest.Serve(t, server), HTTPClient: mcptest.HTTPClient("Member"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })

	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "notes://note"}); err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "clear"})
	if err != nil || result.IsError {
		t.Fatal(err, mcptest.Text(result))
	}
	select {
	case uri := <-updated:
		if uri != "notes://note" {
			t.Error(uri)
		}
	case <-time.After(10 * time.Second):
		t.Error("no update")
	}
}
