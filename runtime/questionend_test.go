package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

const (
	hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{` +
		`"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},` +
		`"clientInfo":{"name":"raw","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	meet  = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"meet"}}`
)

// askers are servers whose tool "meet" sends a request to its client: by the runtime, and by an
// adopted server, which sends another one after each that fails.
func askers(t *testing.T, options runtime.Options) map[string]*runtime.Server {
	t.Helper()
	adopted := func(ask func(context.Context, *mcp.ServerSession) error) *runtime.Server {
		own := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
		own.AddTool(&mcp.Tool{Name: "meet", InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var err error
				for range 3 {
					err = errors.Join(err, ask(ctx, req.Session))
				}
				return &mcp.CallToolResult{}, err
			})
		return adopt(t, own, options, map[string]access.Rule{"meet": {MinRole: []string{"Viewer"}}})
	}
	return map[string]*runtime.Server{
		"toolset": newServer(t, options, visits(visit)),
		"elicitation": adopted(func(ctx context.Context, on *mcp.ServerSession) error {
			_, err := on.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
			return err
		}),
	}
}

// leave calls the tool in a session of its own, and disconnects once it waits for the client.
func leave(t *testing.T, s *runtime.Server) *raw {
	t.Helper()
	return leaveBy(t, &raw{url: serve(t, s), token: tokens["Viewer"], era: "2025-11-25",
		client: http.Client{Timeout: time.Minute}})
}

func leaveBy(t *testing.T, c *raw) *raw {
	t.Helper()
	c.session = c.send(t, http.MethodPost, hello, nil).header.Get("Mcp-Session-Id")
	c.send(t, http.MethodPost, ready, nil)
	stream := c.stream(t, http.MethodPost, meet, "")
	for !strings.Contains(stream.next(t).data, `"method":`) {
	}
	stream.drop()
	return c
}

// A session and a shutdown end while a call waits for a client that has left.
func TestQuestionsEndWithTheirSession(t *testing.T) {
	for name, s := range askers(t, runtime.Options{}) {
		t.Run("DELETE/"+name, func(t *testing.T) {
			c := leave(t, s)
			if got := c.send(t, http.MethodDelete, "", nil); got.status != http.StatusNoContent {
				t.Errorf("%s", got)
			}
			leave(t, s) // others still ask
		})
	}
	for name := range askers(t, runtime.Options{}) {
		t.Run("idle/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := askers(t, runtime.Options{
					HTTP: runtime.HTTPOptions{SessionTimeout: time.Minute, MaxPerUser: 1}})[name]
				url, client := serve(t, s), mcptest.HTTPClient(tokens["Viewer"])
				c := leaveBy(t, &raw{url: url, token: tokens["Viewer"], era: "2025-11-25",
					client: *client})
				time.Sleep(2 * time.Minute)
				c.session = ""
				if got := c.send(t, http.MethodPost, hello, nil); got.status != http.StatusOK {
					t.Errorf("the idle session keeps its slot: %s", got)
				}
			})
		})
	}
	for name, s := range askers(t, runtime.Options{}) {
		t.Run("Shutdown/"+name, func(t *testing.T) {
			leave(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestQuestionsOnStdioEndWithTheConnection(t *testing.T) {
	for way, end := range map[string]func(*runtime.Server, context.CancelFunc, io.Closer){
		"input":   func(_ *runtime.Server, _ context.CancelFunc, in io.Closer) { in.Close() },
		"context": func(_ *runtime.Server, cancel context.CancelFunc, _ io.Closer) { cancel() },
		"Shutdown": func(s *runtime.Server, _ context.CancelFunc, _ io.Closer) {
			go func() { _ = s.Shutdown(context.Background()) }()
		},
	} {
		for name, s := range askers(t, runtime.Options{}) {
			t.Run(way+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				toServer, in := io.Pipe()
				out, toClient := io.Pipe()
				done := make(chan error, 1)
				go func() { done <- s.RunIO(ctx, toServer, toClient, principalOf("Viewer")) }()
				lines := bufio.NewScanner(out)
				_, _ = io.WriteString(in, hello+"\n")
				lines.Scan()
				_, _ = io.WriteString(in, ready+"\n"+meet+"\n")
				for lines.Scan() && !strings.Contains(lines.Text(), `"method":`) {
				}
				go func() { _, _ = io.Copy(io.Discard, out) }()
				end(s, cancel, in)
				select {
				case <-done:
				case <-time.After(8 * time.Second):
					t.Error("the question keeps the connection")
				}
				in.Close()
				toClient.Close()
			})
		}
	}
}
