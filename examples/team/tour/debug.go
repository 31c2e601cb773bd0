package main

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/served"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// inspect starts the server with its debug tools, looks into it as the highest role, listens to what a call of hers logs, and
// tries the same as a role below.
func inspect(ctx context.Context, w io.Writer, server, dir string, flags []string) (err error) {
	const variable = "TEAM_DATABASE"
	if err := os.Setenv(variable, "postgres://team:hunter2@db.example/team"); err != nil {
		return err
	}
	endpoint, stop, err := served.Start(ctx, server, append([]string{"-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "team.db"), "-debug"}, flags...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	logged := make(chan *mcp.LoggingMessageParams, 1)
	connect := func(token string) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, &mcp.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) { logged <- req.Params },
		})
		return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint + "?api_key=hunter2", HTTPClient: &http.Client{Transport: served.Bearer(token)}}, nil)
	}
	ada, err := connect("demo-ada")
	if err != nil {
		return err
	}
	defer ada.Close()
	fmt.Fprintln(w, "the server is started with -debug; ada looks into it")
	for _, look := range []struct {
		tool string
		at   []string
	}{
		{"debug_print_env", []string{"variables", variable}},
		{"debug_get_http_headers", []string{"headers", "Authorization"}},
		{"debug_get_http_headers", []string{"queryString"}},
		{"debug_get_user_claims", []string{"claims", "sub"}},
	} {
		res, err := ada.CallTool(ctx, &mcp.CallToolParams{Name: look.tool})
		if err != nil {
			return err
		}
		found := res.StructuredContent
		for _, name := range look.at {
			members, ok := found.(map[string]any)
			if !ok {
				return fmt.Errorf("%s has no %s", look.tool, name)
			}
			found = members[name]
		}
		fmt.Fprintf(w, "  calls  %-22s %s: %v\n", look.tool, look.at[len(look.at)-1], found)
	}
	if _, err := ada.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{mcp.MetaKeyLogLevel: "info"}, Name: directory.ToolPromoteToManager, Arguments: map[string]int{"id": 1}}); err != nil {
		return err
	}
	select {
	case said := <-logged:
		message, _ := said.Data.(map[string]any)
		delete(message, "time")
		delete(message, "request_id")
		text, err := json.Marshal(message)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  calls  %s, asks for what it logs, and hears: %s %s\n", directory.ToolPromoteToManager, said.Level, text)
	case <-ctx.Done():
		return errors.New("nothing was logged to the client")
	}
	vera, err := connect("demo-vera")
	if err != nil {
		return err
	}
	defer vera.Close()
	listed, err := listedTo(ctx, vera)
	if err != nil {
		return err
	}
	_, err = vera.CallTool(ctx, &mcp.CallToolParams{Name: "debug_print_env"})
	fmt.Fprintf(w, "vera sees %s\n  tries  %-22s %s\n", listed, "debug_print_env", failed(err))
	return nil
}
