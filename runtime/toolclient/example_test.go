package toolclient_test

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolclient"
)

// A failed call of a generated client.
func ExampleToolError() {
	err := error(&toolclient.ToolError{Tool: "book", Result: &mcp.CallToolResult{
		IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "sold out"}}}})

	var failed *toolclient.ToolError
	var unfit *toolclient.ArgumentsError
	switch {
	case errors.As(err, &unfit):
		fmt.Println("nothing was sent:", unfit.Err)
	case errors.As(err, &failed):
		fmt.Println(failed.Tool, "failed:", failed)
	}
	// Output: book failed: tool book failed: sold out
}
