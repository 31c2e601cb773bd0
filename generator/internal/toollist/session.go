package toollist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session is a connection to a server, which lists and calls. Its responses are bounded.
type Session struct {
	session  *mcp.ClientSession
	tap      *tap
	log      *labelled    // nil for a server over HTTP
	client   *http.Client // nil for a stdio server
	endpoint string
}

var (
	implementation = &mcp.Implementation{Name: "mcpgen", Version: "import"}
	extensions     = map[string]any{tasksExtension: map[string]any{}}
)

// Start starts a program that is a stdio server. Close ends it. A line that the program writes to
// its standard error begins with "server: " in stderr.
func Start(ctx context.Context, stderr io.Writer, name string, args ...string) (*Session, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	log := &labelled{to: stderr}
	cmd.Stderr = log
	cmd.WaitDelay = time.Second
	tap := &tap{Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}}
	s, err := tap.open(ctx, &Session{tap: tap, log: log}, tap)
	if err != nil {
		log.flush()
	}
	return s, err
}

// Dial connects to a server over HTTP. The headers go to the URL's own scheme and host only.
func Dial(ctx context.Context, endpoint string, headers http.Header) (*Session, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("write an http or https URL with a host")
	}
	if len(headers) > 0 {
		if err := MaySend(u); err != nil {
			return nil, err
		}
	}
	tap := &tap{}
	client := &http.Client{
		Transport: &httpTap{ctx, tap, u, headers},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			// A redirect repeats the arguments of a call.
			if r.URL.Scheme != u.Scheme || r.URL.Host != u.Host || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	s, err := tap.open(ctx, &Session{tap: tap, client: client, endpoint: endpoint},
		&mcp.StreamableClientTransport{
			Endpoint: endpoint, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true,
		})
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, tap.hint(u))
	}
	return s, nil
}

// MaySend is an error if a credential would go to a URL in plain text: not by https, and to another
// machine.
func MaySend(u *url.URL) error {
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("a token or header would be sent in plain text: write an https URL, or one of " +
		"localhost")
}

// hint is the cure of a connection that a server refused.
func (t *tap) hint(u *url.URL) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.status == http.StatusUnauthorized:
		return `: send a valid token, for example by --header "Authorization: Bearer …"`
	case t.status == http.StatusNotFound && !strings.Contains(u.Path, "/mcp"):
		return ": servers of mcpgen serve at /mcp, so add it to the URL"
	}
	return ""
}

func (t *tap) open(ctx context.Context, s *Session, transport mcp.Transport) (*Session, error) {
	client := mcp.NewClient(implementation, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Extensions: extensions},
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", NetworkError(ctx, err))
	}
	s.session = session
	return s, nil
}

// Close ends the connection, and the program.
func (s *Session) Close() {
	_ = s.session.Close()
	if s.log != nil {
		s.log.flush()
	}
}

// Call calls a tool. The structured content of the result is a json.RawMessage as it was sent, or
// nil. If the call becomes a task, it waits for the result, and progress gets the task's messages.
func (s *Session) Call(ctx context.Context, tool string, arguments map[string]any,
	progress func(string)) (*mcp.CallToolResult, error) {
	result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, fmt.Errorf("tools/call: %w", NetworkError(ctx, err))
	}
	s.tap.mu.Lock()
	s.tap.readBodies()
	started := s.tap.started
	s.tap.mu.Unlock()
	if started != nil {
		return s.wait(ctx, *started, progress)
	}
	if result.StructuredContent != nil && s.tap.structured != nil {
		result.StructuredContent = s.tap.structured
	}
	return result, nil
}
