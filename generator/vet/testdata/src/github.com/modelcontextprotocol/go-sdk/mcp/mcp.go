// Package mcp has the declarations of go-sdk that the cases use.
package mcp

type (
	Server                      struct{}
	Tool                        struct{ Name string }
	ToolHandler                 func()
	ToolHandlerFor[In, Out any] func(In) Out
)

func NewServer() *Server { return nil }

func (s *Server) AddTool(t *Tool, h ToolHandler) {}

func AddTool[In, Out any](s *Server, t *Tool, h ToolHandlerFor[In, Out]) {}
