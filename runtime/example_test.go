package runtime_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// ExampleAdopt puts the guard around a server from before mcpgen. Rules follow the hints of its
// tools, and two tools get their rules by name.
func ExampleAdopt() {
	old := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1.0.0"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, tool := range []*mcp.Tool{
		{Name: "about", Annotations: reads}, {Name: "get_issue", Annotations: reads},
		{Name: "close_issue"}, {Name: "delete_issue"},
	} {
		mcp.AddTool(old, tool, func(context.Context, *mcp.CallToolRequest,
			struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	byName, err := access.ParseRules(nil, map[string]string{ // nil: the default roles
		"reads": "authenticated", "writes": "minrole=Member",
		"about": "public", "delete_issue": "minrole=Admin scopes=issues",
	})
	if err != nil {
		log.Fatal(err)
	}
	rules, err := runtime.RulesByHint(old, byName["reads"], byName["writes"])
	if err != nil {
		log.Fatal(err)
	}
	rules["about"], rules["delete_issue"] = byName["about"], byName["delete_issue"]
	server, err := runtime.Adopt(old, runtime.Options{Logger: quiet()}, rules)
	if err != nil {
		log.Fatal(err)
	}
	table := server.Table()
	for _, caller := range []access.Principal{
		{}, {Subject: "vera", Role: "Viewer"}, {Subject: "mel", Role: "Member"},
		{Subject: "ada", Role: "Admin", Scopes: []string{"issues"}},
	} {
		fmt.Println(caller.Role, table.Visible(caller).Names())
	}
	// Output:
	//  [about]
	// Viewer [about get_issue]
	// Member [about close_issue get_issue]
	// Admin [about close_issue delete_issue get_issue]
}
