// Package otherserver has a guarded server and another one.
package otherserver

import (
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func answer(string) string { return "" }

func serve() {
	server := mcp.NewServer()
	mcp.AddTool(server, &mcp.Tool{}, answer)                 // want `MCP048: .* without the guard`
	mcp.AddTool[string, string](server, &mcp.Tool{}, answer) // want `MCP048`
	server.AddTool(&mcp.Tool{}, func() {})                   // want `MCP048`
	runtime.New(runtime.Options{})
}
