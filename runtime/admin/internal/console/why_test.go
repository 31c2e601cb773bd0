package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// ends are tools of which each call ends in another way.
func ends(held chan<- struct{}) map[string]toolset.Tool {
	answer := func(err error) func(context.Context, toolset.Call) (toolset.Result, error) {
		return func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{}, err
		}
	}
	return map[string]toolset.Tool{
		"fine": {Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		}},
		"admins": {Call: answer(nil)},
		"error":  {Call: answer(errors.New("hunter2"))},
		"arguments": {Call: answer(&decode.Error{
			Problems: []decode.Problem{{Message: "hunter2"}}})},
		"unsent": {Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{Out: func() {}, HasOut: true}, nil
		}},
		"panics": {Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			panic("hunter2")
		}},
		"late": {Timeout: 5 * time.Second,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				<-ctx.Done()
				return toolset.Result{}, ctx.Err()
			}},
		"long": {Limits: toolset.Limits{Output: 1},
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}},
		"cancelled": {Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			close(held)
			<-ctx.Done()
			return toolset.Result{}, ctx.Err()
		}},
	}
}

// TestTrailShowsWhyACallFailed serves calls that end in each way there is, and reads the pages
// about their events.
func TestTrailShowsWhyACallFailed(t *testing.T) {
	s := must(store.Open(t.Context(), engines["sqlite"](t)))
	defer s.Close()
	held := make(chan struct{})
	g := toolset.Generated{Package: "example.com/ends", Receivers: []any{new(int)},
		Server: toolset.ServerInfo{Name: "ends", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}}
	tools := ends(held)
	names := make([]string, 0, len(tools))
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		tool := tools[name]
		tool.Name, tool.Input = name, `{"type":"object"}`
		rule := access.Rule{Tool: name, MinRole: []string{"Viewer"}}
		if name == "admins" {
			rule.MinRole = []string{"Admin"}
		}
		g.Tools, g.Table.Rules = append(g.Tools, tool), append(g.Table.Rules, rule)
	}
	var log bytes.Buffer
	server := must(runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("vera"): {Subject: "vera", Roles: []string{"Viewer"}},
			identity.HashToken("ada"):  {Subject: "ada", Roles: []string{"Admin"}}}),
		Catalogs: runtime.CatalogOptions{Source: stored.New(s, stored.Stored)},
		Audit:    runtime.AuditOptions{Sink: s.Audit()},
		Protocol: runtime.ProtocolOptions{StateKey: bytes.Repeat([]byte("k"), 32)},
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		Admin: func(server runtime.Administered) (http.Handler, error) {
			return console.New(server, s, authority.New(server, s, stored.Stored),
				console.Options{}), nil
		},
	}, toolset.NewToolset(g)))
	defer server.Shutdown(context.Background())
	handler := server.Handler()
	call := func(ctx context.Context, method, name, more string) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":%q%s,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, name, more)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{"Authorization": "Bearer vera",
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
			r.Header.Set(name, value)
		}
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, name := range names {
		ctx, cancel := context.WithCancel(t.Context())
		if name == "cancelled" {
			go func() { <-held; cancel() }()
		}
		call(ctx, "tools/call", name, "")
		cancel()
	}
	call(t.Context(), "tools/call", "fine", `,"requestState":"forged"`)

	get := func(at string) string {
		r := httptest.NewRequest(http.MethodGet, at, nil)
		r.Host, r.RemoteAddr = "127.0.0.1:1", "127.0.0.1:2"
		r.AddCookie(&http.Cookie{Name: "mcpgen-console", Value: "ada"})
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		return page(t, rec, http.StatusOK)
	}
	var got []string
	body := get("/console/audit?type=tool_called")
	for _, row := range rows(t, body)[1:] {
		got = append(got, strings.Join(strings.Split(row, "|")[3:], "|"))
	}
	slices.Sort(got)
	equal(t, got, []string{
		"admins|failed: denied|needs role Admin",
		"arguments|failed: invalid|the arguments do not fit the schema",
		"cancelled|failed: error|the client cancelled it, or the server stopped",
		"error|failed: error|the handler returned an error",
		"fine|failed: invalid|the request is not valid, as with an old cursor or state",
		"fine|success|role",
		"late|failed: timeout|the handler did not end within its time limit",
		"long|failed: limited|a limit: output",
		"panics|failed: crashed|the handler panicked, or its result could not be sent",
		"unsent|failed: crashed|the handler panicked, or its result could not be sent",
	})
	for _, row := range []struct {
		search, why string
		more        bool
	}{
		{"tool=error", "the handler returned an error", true},
		{"tool=late", "the handler did not end within its time limit", true},
		{"tool=fine&status=success", "", false},
	} {
		_, at, _ := strings.Cut(get("/console/audit?"+row.search), `<a href="/console/audit/`)
		at, _, _ = strings.Cut(at, `"`)
		event := get("/console/audit/" + at)
		if !strings.Contains(event, row.why) ||
			strings.Contains(event, "<dt>Why</dt>") != (row.why != "") ||
			strings.Contains(event, "See the server's log") != row.more {
			t.Errorf("%s: %s", row.search, event)
		}
	}
	if strings.Contains(body, "hunter2") || !strings.Contains(log.String(), "hunter2") {
		t.Error("the words of an error are in the trail, or not in the log")
	}
}
