// Command adopt serves an existing server of the official go-sdk with access rules. It has no
// generated code.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

func main() {
	server, err := guarded(existing())
	if err != nil {
		log.Fatal(err)
	}
	if err := runtime.ListenAndServe(context.Background(), "127.0.0.1:8080", server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) })); err != nil {
		log.Fatal(err)
	}
}

// guarded puts the guard in front of a server. A tool without a rule is refused to every caller.
func guarded(server *mcp.Server) (*runtime.Server, error) {
	rules, err := access.ParseRules(nil, map[string]string{ // nil: the default roles
		"count_issues": "public",
		"get_issue":    "minrole=Viewer",
		"close_issue":  "minrole=Manager",
	})
	if err != nil {
		return nil, err
	}
	return runtime.Adopt(server, runtime.Options{
		Anonymous: true,
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("demo-vera"): {Issuer: "demo", Subject: "vera", Roles: []string{"Viewer"}},
			identity.HashToken("demo-mara"): {Issuer: "demo", Subject: "mara", Roles: []string{"Manager"}},
		}),
	}, rules)
}

// existing is the server as it was before. Its tools only return their names.
func existing() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1.0.0"}, nil)
	for _, tool := range []*mcp.Tool{
		{Name: "count_issues", Description: "Count the open issues."},
		{Name: "get_issue", Description: "Get an issue."},
		{Name: "close_issue", Description: "Close an issue."},
	} {
		mcp.AddTool(server, tool, func(context.Context, *mcp.CallToolRequest,
			struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: tool.Name}}}, nil, nil
		})
	}
	return server
}
