package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
)

var eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// world is the server over HTTP with a real provider and a real host.
type world struct {
	*app
	t        testing.TB
	host     host
	provider *provider
	url      string
}

// newWorld serves a host to clients of a provider: for each, what its tokens say.
func newWorld(t testing.TB, db *testdb.Database, h host, clients map[string]claims,
	change func(*settings)) *world {
	t.Helper()
	p := newProvider(t, clients)
	web := httptest.NewUnstartedServer(nil)
	s := settings{
		file: filepath.Join(t.TempDir(), "inventory.db"), django: hostURL(db), cache: time.Hour,
		issuer: p.issuer, audience: "http://" + web.Listener.Addr().String() + runtime.PathMCP,
		userClaim: "host_user", roleClaim: "roles",
	}
	change(&s)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	inventory, err := dcim.Open(t.Context(), s.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := inventory.Demonstrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := inventory.Close(); err != nil {
		t.Fatal(err)
	}
	source, err := s.identity(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	a, err := open(t.Context(), s, source, quiet)
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = a.server.Handler()
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	return &world{app: a, t: t, host: h, provider: p, url: s.audience}
}

// token is a fresh one of a client for this server.
func (w *world) token(client string) string {
	w.t.Helper()
	return w.provider.token(client, w.url)
}

// client is a session of go-sdk's, which keeps the notifications of changes.
type client struct {
	*mcp.ClientSession
	t       testing.TB
	token   atomic.Value // string; sent with each request
	changes chan string
}

// RoundTrip sends the token along.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token.Load().(string))
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens a session in a version of the protocol, and its stream of notifications.
func (w *world) connect(token, era string) *client {
	w.t.Helper()
	c := &client{t: w.t, changes: make(chan string, 100)}
	c.token.Store(token)
	options := &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context,
			*mcp.ToolListChangedRequest) {
			c.changes <- "tools"
		},
		PromptListChangedHandler: func(context.Context,
			*mcp.PromptListChangedRequest) {
			c.changes <- "prompts"
		},
		ResourceListChangedHandler: func(context.Context,
			*mcp.ResourceListChangedRequest) {
			c.changes <- "resources"
		},
	}
	transport := &mcp.StreamableClientTransport{Endpoint: w.url,
		HTTPClient: &http.Client{Transport: c}, MaxRetries: -1}
	session, err := visitor.Listen(context.WithoutCancel(w.t.Context()), transport, era, options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != era {
		w.t.Fatalf("the session speaks %s, want %s", got, era)
	}
	c.ClientSession = session
	return c
}

// tools are the names that it lists.
func (c *client) tools() []string {
	c.t.Helper()
	list := []string{}
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		list = append(list, tool.Name)
	}
	return list
}

// prompts are the names that it lists.
func (c *client) prompts() []string {
	c.t.Helper()
	list := []string{}
	for prompt, err := range c.Prompts(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		list = append(list, prompt.Name)
	}
	return list
}

// resources are the templates that it lists; there are no others.
func (c *client) resources() []string {
	c.t.Helper()
	list := []string{}
	for template, err := range c.ResourceTemplates(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		list = append(list, template.URITemplate)
	}
	return list
}

// use asks for a part as its kind is asked for; args are as in part.ask.
func (c *client) use(kind, name string, args any) error {
	var err error
	switch kind {
	case "tool":
		_, err = c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	case "prompt":
		_, err = c.GetPrompt(c.t.Context(), &mcp.GetPromptParams{Name: name,
			Arguments: args.(map[string]string)})
	case "resource":
		_, err = c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: args.(string)})
	}
	return err
}

// next waits for the next notification.
func (c *client) next() string {
	c.t.Helper()
	select {
	case kind := <-c.changes:
		return kind
	case <-time.After(time.Minute):
		c.t.Fatal("it got no notification")
		return ""
	}
}
