package debugtools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var (
	eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

	debug = []string{debugtools.ToolGetHTTPHeaders, debugtools.ToolGetServerInfo, debugtools.ToolGetUserClaims, debugtools.ToolPrintEnv}
)

// callers are one of each kind, by token.
var callers = map[string]access.Principal{
	"":            {},
	"demo-nobody": {Issuer: "desk", Subject: "noel"},
	"demo-guest":  {Issuer: "desk", Subject: "gus", Roles: []string{"Guest"}},
	"demo-clerk":  {Issuer: "desk", Subject: "clara", Roles: []string{"Clerk"}},
	"demo-boss": {
		Issuer: "desk", Subject: "bea", Client: "cli", User: "bea7", Roles: []string{"Boss"},
		Scopes: []string{"read", "write"}, Groups: []string{"night"},
		Orgs: []access.Membership{{Name: "acme", Standing: access.Owner}}, Teams: []access.Membership{{Name: ghp, Standing: access.Lead}},
	},
}

// desk is a service with roles of its own. Its whoami is a debug tool under another rule.
func desk(inspector *debugtools.Inspector) toolset.Toolset {
	done := func(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/desk", Server: toolset.ServerInfo{Name: "desk", Version: "1.4.0"},
		Table: access.Table{Roles: [][]string{{"Guest", "Clerk", "Boss"}}, Rules: []access.Rule{
			{Tool: "book", MinRole: []string{"Clerk"}}, {Tool: "close", MinRole: []string{"Boss"}},
			{Tool: "look", MinRole: []string{"Guest"}}, {Tool: "whoami", Public: true},
		}},
		Tools: []toolset.Tool{
			{Name: "book", Input: `{"type":"object"}`, Call: done}, {Name: "close", Input: `{"type":"object"}`, Call: done}, {Name: "look", Input: `{"type":"object"}`, Call: done},
			{Name: "whoami", Input: `{"type":"object"}`, Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				return toolset.Native(inspector.GetUserClaims(ctx, toolset.Request[mcp.CallToolRequest](call), debugtools.Nothing{}))
			}},
		},
	})
}

// newServer serves the desk to callers and the debug tools beside it.
func newServer(t *testing.T, o runtime.Options, toolsets ...toolset.Toolset) *runtime.Server {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Identity == nil {
		byHash := map[string]access.Principal{}
		for token, caller := range callers {
			if token != "" {
				byHash[identity.HashToken(token)] = caller
			}
		}
		o.Identity = identity.Static(byHash)
	}
	s, err := runtime.New(o, toolsets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventIDs are the ids of events, which are random.
var eventIDs = regexp.MustCompile(`(?m)^id: \S+$`)

// wire is a client's connection: what it sends along with each request, and all that comes back.
type wire struct {
	header http.Header
	mu     sync.Mutex
	heard  bytes.Buffer
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.header)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost { // others end when they like
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	header := res.Header.Clone()
	header.Del("Date")
	header.Del("Mcp-Session-Id")
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.heard, "%d %v\n%s\n", res.StatusCode, header, eventIDs.ReplaceAll(body, nil))
	return res, nil
}

// Write implements io.Writer, for what comes over pipes.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard.Write(p)
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard.String()
}

// dial opens a session over HTTP.
func (w *wire) dial(t *testing.T, url, token, era string) *mcp.ClientSession {
	t.Helper()
	if w.header == nil {
		w.header = http.Header{}
	}
	if token != "" {
		w.header.Set("Authorization", "Bearer "+token)
	}
	return w.connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: w}, MaxRetries: -1, DisableStandaloneSSE: true}, era)
}

// pipe opens a session as stdio does.
func (w *wire) pipe(t *testing.T, s *runtime.Server, caller access.Principal, era string) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, caller) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	return w.connect(t, &mcp.IOTransport{Reader: io.NopCloser(io.TeeReader(fromServer, w)), Writer: toServer}, era)
}

func (w *wire) connect(t *testing.T, transport mcp.Transport, era string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "wire", Version: "1"}, nil).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may have closed it
	return session
}

// call fills out with what a tool answers, and holds its text against it.
func call(t *testing.T, session *mcp.ClientSession, tool string, out any) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil || res.IsError {
		t.Fatalf("%s: %v %s", tool, err, mcptest.Text(res))
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(structured))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		t.Errorf("%s: %s: %v", tool, structured, err)
	}
	checkText(t, res, res.StructuredContent)
}
