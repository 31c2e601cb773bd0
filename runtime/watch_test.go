package runtime_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// watchClient is a client that notes which lists have changed for it.
type watchClient struct {
	*mcp.ClientSession
	kinds chan string
	token atomic.Value // string; sent with each request over HTTP
}

// RoundTrip sends the token along.
func (c *watchClient) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token.Load().(string))
	return http.DefaultTransport.RoundTrip(r)
}

// listening opens a session that listens, over HTTP, or over pipes where url is empty.
func listening(t testing.TB, s *runtime.Server, url, token, era string) *watchClient {
	t.Helper()
	c := &watchClient{kinds: make(chan string, 100)}
	c.token.Store(token)
	client := mcp.NewClient(&mcp.Implementation{Name: "told", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.kinds <- "tools"
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			c.kinds <- "prompts"
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			c.kinds <- "resources"
		},
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: c}, MaxRetries: -1}
	if url == "" {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		parts := strings.Split(token, "_")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.RunIO(ctx, serverIn, serverOut, access.Principal{Subject: "sub-" + parts[0],
				User: parts[0], Role: parts[1]})
			_ = serverOut.Close()
		}()
		t.Cleanup(func() { cancel(); <-ended })
		transport = &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
	}
	session, err := client.Connect(context.Background(), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	c.ClientSession = session
	mcptest.Tools(t, session)
	return c
}

// notified returns the kinds of lists that the client was notified of since the last time, sorted.
// It is for bubbles: the second is longer than anything that is under way.
func (c *watchClient) notified() (kinds []string) {
	time.Sleep(time.Second)
	for len(c.kinds) > 0 {
		kinds = append(kinds, <-c.kinds)
	}
	slices.Sort(kinds)
	return kinds
}

// The host is queried because of a request only, however long a query takes and its answer counts.
func TestHostIsNotQueriedWithoutRequests(t *testing.T) {
	t.Parallel()
	const takes = 10 * time.Second
	// nothing is kept, for less than a query takes, and for less than two take
	for _, ttl := range []time.Duration{0, takes / 2, takes * 3 / 2} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			h.failing(func(context.Context) error { time.Sleep(takes); return nil })
			url := serve(t, aware(t, h, runtime.Options{
				Host: runtime.HostOptions{TTL: ttl, Timeout: 2 * takes}}))
			// each is queried for apart
			for _, token := range []string{"ada_Viewer", "ada_Member", "ada_Manager",
				"ada_Admin"} {
				newRaw(t, url, token, "2025-11-25").ask(t, "tools/list", "", nil)
			}
			time.Sleep(10 * takes)
			before := h.times("ada")
			if time.Sleep(100 * takes); h.times("ada") != before || before == 0 {
				t.Errorf("with a period of %s the host was queried %d times, then %d", ttl, before,
					h.times("ada"))
			}
		})
	}
}
