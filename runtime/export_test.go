package runtime

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Values of options that are zero, for the tests of other packages.
const (
	DefaultCapabilityTimeout = defaultHostTimeout
	DefaultCapabilityRecheck = defaultRecheck
	DefaultTaskTTL           = defaultTaskTTL
)

// Administer returns a server as Options.Admin gets it.
func Administer(s *Server) Administered { return administered{Server: s} }

// CloseSessions ends all sessions.
func CloseSessions(s *Server) { s.sessions.CloseSessions() }

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

// ParamsTypes are the params that messages are checked for, by method.
var ParamsTypes = wire.ParamsTypes()

// Refused reports whether a message is refused before its method is looked at.
func Refused(message string) bool {
	_, err := wire.CheckMessage([]byte(message), redact.Masker{})
	return err != nil
}

// Hasten bounds how long a body may take to come.
func (s *Server) Hasten(timeout time.Duration) { s.transport.BodyReadTimeout = timeout }

// Linger has answers wait for their notifications as long as that takes, also on a machine that is
// busy with other tests.
func (s *Server) Linger() { s.guard.Notify.FlushTimeout = time.Hour }

// VersionOf is the version of a build.
var VersionOf = versionOf

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

// Strangers sets the number of connections without an authenticated request.
func Strangers(most int) ListenOption { return func(c *listenConfig) { c.strangers = most } }
