// Package mcptest has real clients for tests of services: over HTTP on loopback, over HTTP in
// memory and over a pair of pipes, in any protocol version. It also has assertions about what
// callers may use and see.
//
//	url := mcptest.Serve(t, server)
//	session := mcptest.Connect(t, url, "token-of-a-viewer", "")
//	if got := mcptest.Tools(t, session); !slices.Equal(got, []string{"get_all", "get_by_id"}) { … }
//
// Everything is closed when its test ends.
package mcptest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// Serve serves on a free loopback port and returns the URL of the endpoint.
func Serve(t testing.TB, server *runtime.Server) string {
	t.Helper()
	ts := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("mcptest: shutting the server down: %v", err)
		}
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.URL + server.Path()
}

// Connect opens a session over HTTP. The token is sent as a bearer token, none where it is
// empty. version is a protocol version, the newest where it is empty; the test fails where
// another one is negotiated.
func Connect(t testing.TB, url, token, version string) *mcp.ClientSession {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: HTTPClient(token), MaxRetries: -1}, version)
}

// HTTPClient sends a bearer token along with every request.
func HTTPClient(token string) *http.Client { return &http.Client{Transport: bearer(token)} }

type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Pipe opens a session over a pair of pipes, as stdio does, for a principal.
func Pipe(t testing.TB, server *runtime.Server, principal access.Principal,
	version string) *mcp.ClientSession {
	t.Helper()
	reader, writer := pipe(t, server, principal)
	return connect(t, &mcp.IOTransport{Reader: reader, Writer: writer}, version)
}

// pipe serves a principal over a pair of pipes and returns the client's ends.
func pipe(t testing.TB, server *runtime.Server, principal access.Principal) (io.ReadCloser,
	io.WriteCloser) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := server.RunIO(ctx, serverIn, serverOut, principal)
		serverOut.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("mcptest: serving the pipe: %v", err)
		}
	})
	return clientIn, clientOut
}

func connect(t testing.TB, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	session, err := connectTo(transport, version)
	return opened(t, session, err, version)
}

func connectTo(transport mcp.Transport, version string) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "mcptest", Version: "1"}, nil).
		Connect(context.Background(), transport,
			&mcp.ClientSessionOptions{ProtocolVersion: version})
}

// opened checks a session, and closes it when the test ends.
func opened(t testing.TB, session *mcp.ClientSession, err error,
	version string) *mcp.ClientSession {
	t.Helper()
	if err != nil {
		t.Fatalf("mcptest: connecting: %v", err)
	}
	t.Cleanup(func() {
		// A session that its server has closed already is as good.
		_ = session.Close()
	})
	if got := session.InitializeResult().ProtocolVersion; version != "" && got != version {
		t.Fatalf("mcptest: requested protocol %s, negotiated %s", version, got)
	}
	return session
}

// Tools returns the names that a session is shown, in the order of the list, through all pages.
func Tools(t testing.TB, session *mcp.ClientSession) []string {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(context.Background(), nil) {
		if err != nil {
			t.Fatalf("mcptest: listing tools: %v", err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// Values returns the enum of a tool's argument, as a session is listed it: nil if the tool is not
// listed, or the argument has no enum. With //mcp:rule it depends on the caller.
func Values(t testing.TB, session *mcp.ClientSession, tool, argument string) (values []string) {
	t.Helper()
	for listed, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		schema, _ := listed.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		property, _ := properties[argument].(map[string]any)
		enum, _ := property["enum"].([]any)
		for _, value := range enum {
			if text, ok := value.(string); ok && listed.Name == tool {
				values = append(values, text)
			}
		}
	}
	return values
}

// Text returns the text of a result's contents, joined by line ends.
func Text(result *mcp.CallToolResult) string {
	text := ""
	if result == nil {
		return text
	}
	for i, content := range result.Content {
		if i > 0 {
			text += "\n"
		}
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text
}
