// Package adopted adds tools to the server that it adopts.
package adopted

import (
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func answer(string) string { return "" }

func serve() {
	server, other := mcp.NewServer(), mcp.NewServer()
	mcp.AddTool(server, &mcp.Tool{}, answer)
	register(server)
	runtime.Adopt(server, runtime.Options{}, nil)
	mcp.AddTool(server, &mcp.Tool{}, answer) // want `after runtime.Adopt`
	server.AddTool(&mcp.Tool{}, func() {})   // want `after runtime.Adopt`
	other.AddTool(&mcp.Tool{}, func() {})
}

func register(server *mcp.Server) {
	server.AddTool(&mcp.Tool{}, func() {})
}
