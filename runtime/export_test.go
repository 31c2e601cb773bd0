package runtime

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/bridge"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// CarrierKey is where the facts about a message travel, and NilCarrier a carrier that is none.
const CarrierKey = bridge.CarrierKey

var NilCarrier = bridge.NilCarrier

// MCP is the go-sdk server behind the guard.
func MCP(s *Server) *mcp.Server { return s.bridge.Server }

// Guarded is the guard around a go-sdk that answers nothing.
func Guarded(s *Server) mcp.MethodHandler {
	return s.bridge.Receiving(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, nil
	})
}

// Carrier is what a transport sends along with a message.
func Carrier(p access.Principal) *mcp.RequestExtra {
	info := request.New(identity.Identity{Principal: p}, nil)
	info.Conn = transport.NewStdioConn(transport.SessionLimits{Total: 1, PerUser: 1},
		func(request.Session) {})
	return &mcp.RequestExtra{TokenInfo: bridge.TokenInfo(info)}
}

// Visible is what a principal is shown, by way of the views that are kept.
func (s *Server) Visible(p access.Principal) (names []string) {
	for params := (&mcp.ListToolsParams{}); ; {
		res, _, err := s.lists.Result(p, discovery.Filter{}, params)
		if err != nil {
			panic(err)
		}
		list := res.(*mcp.ListToolsResult)
		for _, t := range list.Tools {
			names = append(names, t.Name)
		}
		if params.Cursor = list.NextCursor; params.Cursor == "" {
			return names
		}
	}
}

// Watched is how many clients are notified when their lists change.
func Watched(s *Server) int { return s.changes.Count() }

// HostQueries is how many queries wait for the host.
func HostQueries(s *Server) int { return s.host.Queries() }

// ParamsTypes are the params that messages are checked for, by method.
var ParamsTypes = wire.ParamsTypes()

// CheckParams says what is wrong with params, or nothing.
func CheckParams(method string, params []byte) string {
	if err := wire.CheckParams(method, params); err != nil {
		return string(err.Response(redact.Masker{}))
	}
	return ""
}

// Hasten bounds how long a body may take to come.
func (s *Server) Hasten(timeout time.Duration) { s.transport.BodyReadTimeout = timeout }

// Linger has answers wait for their notifications as long as that takes, also on a machine that is
// busy with other tests.
func (s *Server) Linger() { s.bridge.Guard.Notify.FlushTimeout = time.Hour }

// VersionOf is the version of a build.
var VersionOf = versionOf

// KeptEvents is how many sessions have events that are kept, and their bytes.
func KeptEvents(s *Server) (sessions, bytes int) { return s.transport.Events.Size() }

// Subscriptions is how many subscriptions to resources all clients have.
func Subscriptions(s *Server) int { return s.updates.Count() }

// StartLine is the record of the start as a line of text, without its date.
func (s *Server) StartLine() string {
	var text strings.Builder
	handler := slog.NewTextHandler(&text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
	slog.New(handler).LogAttrs(context.Background(), slog.LevelInfo, "MCP server",
		s.startRecord()...)
	line := strings.TrimSuffix(text.String(), "\n")
	return strings.Replace(line, `level=INFO msg="MCP server"`, "INFO MCP server", 1)
}
