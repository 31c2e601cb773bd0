// Package moved has a handler that was registered by mcp.AddTool.
//
//mcp:server name=moved
package moved

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// CloseIssueInput names an issue.
type CloseIssueInput struct {
	Number int `json:"number"`
}

// CloseIssueOutput is an issue after its change.
type CloseIssueOutput struct {
	State string `json:"state"`
}

// CloseIssue closes an issue.
//
//mcp:tool name=close_issue minrole=Manager
func CloseIssue(ctx context.Context, _ *mcp.CallToolRequest, in CloseIssueInput) (
	*mcp.CallToolResult, CloseIssueOutput, error) {
	text := fmt.Sprint("issue ", in.Number, " is closed")
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}},
		CloseIssueOutput{State: "closed"}, nil
}
