package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

type roleKey struct{}

func mcpgoPeer(name string, fresh func() *server.MCPServer) peer {
	return peer{
		name: name,
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return server.NewStdioServer(fresh()).Listen(withRole(ctx, "Member"), in, out)
		},
		web: func(string) (http.Handler, error) {
			mux := http.NewServeMux()
			mux.Handle("/mcp", server.NewStreamableHTTPServer(fresh(),
				server.WithHTTPContextFunc(func(ctx context.Context, r *http.Request) context.Context {
					if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && bearer == token {
						return withRole(ctx, "Member")
					}
					return ctx
				})))
			return mux, nil
		},
	}
}

func withRole(ctx context.Context, role string) context.Context {
	return context.WithValue(ctx, roleKey{}, role)
}

func role(ctx context.Context) string {
	role, _ := ctx.Value(roleKey{}).(string)
	return role
}

// bookMCPGo is mcp-go's structured handler with its validation of arguments switched on.
func bookMCPGo() *server.MCPServer {
	s := server.NewMCPServer("freight", "1.0.0", server.WithInputSchemaValidation())
	s.AddTool(mcp.NewToolWithRawSchema(toolName, "Book books a parcel.", json.RawMessage(bookingSchema)),
		mcp.NewStructuredToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, in freight.Booking) (freight.Receipt, error) {
			if role(ctx) != "Member" {
				return freight.Receipt{}, fmt.Errorf("refused")
			}
			return freight.Book(ctx, in)
		}))
	return s
}
