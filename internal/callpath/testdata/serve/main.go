// This file replaces main.go of the example quickstart while the call path is measured. It serves
// the example over HTTP, sends the measured messages, and prints the entered functions as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/callpath/trace"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

const (
	token    = "a-token-of-the-call-path"
	protocol = "2025-11-25"

	// quiet is how long no function may be entered before the trace counts as complete.
	quiet = 20 * time.Millisecond
	// runs is how often each message is measured. Goroutines that run at once make the order of
	// functions differ a little from run to run.
	runs = 5

	initialize = `{"protocolVersion":"` + protocol + `","capabilities":{},` +
		`"clientInfo":{"name":"callpath","version":"1"}}`
	call = `{"name":"count_words","arguments":{"text":"three short words"}}`
)

// Now and CountWords are the handlers of the example, whose file this one replaces.

func Now(ctx context.Context) (time.Time, error) { return time.Now(), nil }

func CountWords(ctx context.Context, text string) (int, error) {
	return len(strings.Fields(text)), nil
}

func main() {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	member := access.Principal{Issuer: "callpath", Subject: "mel", Roles: []string{"Member"}}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{identity.HashToken(token): member}),
		Audit:    runtime.AuditOptions{Sink: audit.Slog(logger)},
		Logger:   logger,
	}, Toolset())
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	defer web.Close()

	c := &client{url: web.URL + runtime.PathMCP}
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + initialize + `}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	// The first messages fill caches and start workers. A running server does that once.
	for range 2 {
		c.call()
		c.list()
	}
	traces := map[string][][]trace.Entry{}
	for range runs {
		traces["tools/call"] = append(traces["tools/call"], traced(c.call))
		traces["tools/list"] = append(traces["tools/list"], traced(c.list))
	}
	if err := json.NewEncoder(os.Stdout).Encode(traces); err != nil {
		log.Fatal(err)
	}
}

// traced returns the functions that are entered because of the one message that do sends.
func traced(do func()) []trace.Entry {
	settle()
	trace.Take()
	do()
	settle()
	return trace.Take()
}

// settle waits until no function is entered any more: some run after the response was written.
func settle() {
	for before := -1; before != trace.Len(); {
		before = trace.Len()
		time.Sleep(quiet)
	}
}

// client is one session.
type client struct {
	url, session string
	id           int
}

func (c *client) call() { c.request("tools/call", call, `"structuredContent":`) }

func (c *client) list() { c.request("tools/list", `{}`, `"name":"count_words"`) }

// request sends a request and fails if the response does not contain want.
func (c *client) request(method, params, want string) {
	c.id++
	const message = `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`
	if body := c.send(fmt.Sprintf(message, c.id, method, params)); !strings.Contains(body, want) {
		log.Fatalf("%s: the response does not contain %s: %s", method, want, body)
	}
}

func (c *client) send(message string) string {
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(message))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", protocol)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		log.Fatal(err)
	}
	if res.StatusCode >= 300 {
		log.Fatalf("%s for %s: %s", res.Status, message, body)
	}
	if session := res.Header.Get("Mcp-Session-Id"); session != "" {
		c.session = session
	}
	return string(body)
}
