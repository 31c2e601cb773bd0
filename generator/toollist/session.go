package toollist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session is a connection to a server, which lists and calls. Its responses are bounded.
type Session struct {
	session *mcp.ClientSession
	tap     *tap
}

// Start starts a program that is a stdio server. Close ends it.
func Start(ctx context.Context, stderr io.Writer, name string, args ...string) (*Session, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	tap := &tap{Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}}
	return tap.open(ctx, tap)
}

// Dial connects to a server over HTTP. The headers go to the URL's own scheme and host only.
func Dial(ctx context.Context, endpoint string, headers http.Header) (*Session, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("write an http or https URL with a host")
	}
	tap := &tap{}
	return tap.open(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint,
		HTTPClient: &http.Client{
			Transport: &httpTap{ctx, tap, u, headers},
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				// A redirect repeats the arguments of a call.
				if r.URL.Scheme != u.Scheme || r.URL.Host != u.Host || len(via) >= 10 {
					return http.ErrUseLastResponse
				}
				return nil
			},
		},
		MaxRetries:           -1,
		DisableStandaloneSSE: true,
	})
}

func (t *tap) open(ctx context.Context, transport mcp.Transport) (*Session, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpgen", Version: "import"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", cause(ctx, err))
	}
	return &Session{session, t}, nil
}

// Close ends the connection, and the program.
func (s *Session) Close() { _ = s.session.Close() }

// Call calls a tool. The structured content of the result is a json.RawMessage as it was sent, or
// nil.
func (s *Session) Call(ctx context.Context, tool string, arguments map[string]any) (
	*mcp.CallToolResult, error) {
	result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, fmt.Errorf("tools/call: %w", cause(ctx, err))
	}
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	s.tap.readBodies()
	if result.StructuredContent != nil && s.tap.structured != nil {
		result.StructuredContent = s.tap.structured
	}
	return result, nil
}
