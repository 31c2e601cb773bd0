package transport_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// send returns the status, the headers that do not depend on the framing, and the body.
func send(t *testing.T, url string, c transport.DoorCase, session string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequest("POST", url, strings.NewReader(c.Body()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = c.Headers(session)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Date", "Content-Type", "Content-Length", "Connection"} {
		res.Header.Del(name)
	}
	return res.StatusCode, fmt.Sprint(res.Header), eventIDs.ReplaceAllString(string(body), "")
}

// eventIDs are the events that only name their place in a stream, and the ids of the others.
var eventIDs = regexp.MustCompile(`event: prime\nid: \S+\ndata: \n\n|(?m:^id: \S+\n)`)

func open(t *testing.T, url string) string {
	t.Helper()
	session := mcptest.Connect(t, url, "", "2025-11-25")
	return session.ID()
}

// Messages that fail a check have the same answer from a server without the direct door.
func TestRefusalsAreThoseOfGoSDK(t *testing.T) {
	var urls, sessions [2]string
	for i := range urls {
		s, err := runtime.New(runtime.Options{Anonymous: true, SDKOnly: i == 1,
			Logger: slog.New(slog.DiscardHandler)}, toolset.NewToolset(
			toolset.Generated{Package: "p", Server: toolset.ServerInfo{Name: "n", Version: "1"},
				Table: access.Table{Roles: access.DefaultRoles(),
					Rules: []access.Rule{{Tool: "work", Public: true}}},
				Tools: []toolset.Tool{{Name: "work", Input: `{"type":"object"}`,
					Call: func(context.Context, toolset.Call) (toolset.Result, error) {
						return toolset.Done(nil)
					}}}}))
		if err != nil {
			t.Fatal(err)
		}
		urls[i] = mcptest.Serve(t, s)
		sessions[i] = open(t, urls[i])
	}
	for _, c := range transport.DoorCases {
		status, header, body := send(t, urls[0], c, sessions[0])
		sdkStatus, sdkHeader, sdkBody := send(t, urls[1], c, sessions[1])
		body, sdkBody = strings.TrimSpace(body), strings.TrimSpace(sdkBody)
		if c.Check == "" {
			sdkBody = strings.TrimPrefix(sdkBody, "event: message\ndata: ")
		}
		if status != sdkStatus || header != sdkHeader || body != sdkBody {
			t.Errorf("%s, %s: %d %s %s\ngo-sdk: %d %s %s", c.Check, c.Name,
				status, header, body, sdkStatus, sdkHeader, sdkBody)
		}
	}
}

// An update of go-sdk that refuses other messages than the checks fails here.
func TestGoSDKRefusesWhatFailsACheck(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "n", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	serve := func(stateless bool) string {
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: stateless}))
		t.Cleanup(web.Close)
		return web.URL
	}
	stateless, stateful := serve(true), serve(false)
	session := open(t, stateful)
	for _, c := range transport.DoorCases {
		url := stateful
		if c.Headers("").Get("Mcp-Protocol-Version") >= "2026-07-28" {
			url = stateless
		}
		status, _, body := send(t, url, c, session)
		if refused := status >= 400 || strings.Contains(body, `"error":`); refused != (c.Check != "") {
			t.Errorf("%s, %s: go-sdk answers %d %s", c.Check, c.Name, status, body)
		}
	}
}
