package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// administer makes a catalog through the admin API and prints what each user's list has of it. Then
// it disables a tool while a client is connected.
func administer(ctx context.Context, w io.Writer, url string) error {
	admin := func(method, path string, body, result any) error {
		return visitor.Admin(ctx, url, "demo-ada", method, "/mcp"+path, body, result)
	}
	const name = "research-kit"
	var catalog struct{ ID string }
	if err := admin(http.MethodPost, "/tool_catalogs", map[string]any{"name": name},
		&catalog); err != nil {
		return err
	}
	tools := []string{directory.ToolGetAll, directory.ToolPromoteToManager, directory.ToolUpdate}
	for _, tool := range tools {
		if err := admin(http.MethodPost, "/tool_catalogs/"+catalog.ID+"/entries",
			map[string]any{"tool_name": tool}, nil); err != nil {
			return err
		}
	}
	visitor.Printf(w, "The catalog %s contains %s.", name, strings.Join(tools, ", "))
	visitor.Printf(w, "With ?catalog=%s in the URL of the server, each user lists:", name)
	changed := make(chan struct{}, 1)
	var vera *mcp.ClientSession
	for _, user := range users[1:] {
		session, err := visitor.Listen(ctx, visitor.HTTP(url+"?catalog="+name, user.token), "",
			&mcp.ClientOptions{ToolListChangedHandler: func(context.Context,
				*mcp.ToolListChangedRequest) {
				if user.name == "vera" {
					select {
					case changed <- struct{}{}:
					default: // an earlier notification is not received yet
					}
				}
			}})
		if err != nil {
			return err
		}
		defer session.Close()
		if user.name == "vera" {
			vera = session
		}
		listed, err := visitor.Tools(ctx, session)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %-6s %s\n", user.name, listed)
	}
	if err := admin(http.MethodPatch, "/tools/"+directory.ToolGetAll,
		map[string]any{"enabled": false}, nil); err != nil {
		return err
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return errors.New("the client got no notification")
	}
	listed, err := visitor.Tools(ctx, vera)
	if err != nil {
		return err
	}
	visitor.Printf(w, "ada disables %s. The server notifies vera, whose list changes:",
		directory.ToolGetAll)
	fmt.Fprintf(w, "  %-6s %s\n", "vera", listed)
	report(w, "call", directory.ToolGetAll,
		visitor.Call(ctx, vera, directory.ToolGetAll, nil), nil)
	return nil
}
