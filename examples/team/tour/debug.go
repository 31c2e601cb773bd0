package main

//lint:file-ignore SA1019 2026-07-28 deprecates log messages; clients may still request them

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// debug starts the server with its debug tools and calls them as ada. It prints what a call of ada
// logs to the client, and what vera gets from a debug tool.
func debug(ctx context.Context, w io.Writer, program string, flags []string) (err error) {
	const variable = "TEAM_DATABASE"
	if err := os.Setenv(variable, "postgres://team:hunter2@db.example/team"); err != nil {
		return err
	}
	server, err := visitor.Start(ctx, program, append(flags, "-debug")...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	logged := make(chan *mcp.LoggingMessageParams, 1)
	url := server.URL + "?api_key=hunter2"
	ada, err := visitor.Connect(ctx, visitor.HTTP(url, "demo-ada"), &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			logged <- r.Params
		}})
	if err != nil {
		return err
	}
	defer ada.Close()
	fmt.Fprintln(w, "The server runs with -debug. ada:")
	for _, show := range []struct {
		tool string
		at   []string
	}{
		{"debug_print_env", []string{"variables", variable}},
		{"debug_get_http_headers", []string{"headers", "Authorization"}},
		{"debug_get_http_headers", []string{"queryString"}},
		{"debug_get_user_claims", []string{"claims", "sub"}},
	} {
		res, err := ada.CallTool(ctx, &mcp.CallToolParams{Name: show.tool})
		if err != nil {
			return err
		}
		found := res.StructuredContent
		for _, name := range show.at {
			members, ok := found.(map[string]any)
			if !ok {
				return fmt.Errorf("%s has no %s", show.tool, name)
			}
			found = members[name]
		}
		fmt.Fprintf(w, "  call %-22s %s: %v\n", show.tool, show.at[len(show.at)-1], found)
	}
	if _, err := ada.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{mcp.MetaKeyLogLevel: "info"},
		Name: directory.ToolPromoteToManager, Arguments: map[string]int{"id": 1}}); err != nil {
		return err
	}
	select {
	case message := <-logged:
		fields, _ := message.Data.(map[string]any)
		delete(fields, "time")
		delete(fields, "request_id")
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  call %-22s log message: %s %s\n", directory.ToolPromoteToManager,
			message.Level, text)
	case <-ctx.Done():
		return errors.New("the client got no log message")
	}
	vera, err := visitor.Connect(ctx, visitor.HTTP(url, "demo-vera"), nil)
	if err != nil {
		return err
	}
	defer vera.Close()
	listed, err := visitor.Tools(ctx, vera)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "vera lists %s:\n  call %-22s %s\n", listed, "debug_print_env",
		visitor.Call(ctx, vera, "debug_print_env", nil))
	return nil
}
