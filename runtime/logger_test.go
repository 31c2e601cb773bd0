package runtime_test

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"context"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// TestLogMessagesToOtherSessionsNameNoTool has a handler of an adopted server that logs to every
// session. A session that may not use its tool receives neither its name nor the id of its call.
func TestLogMessagesToOtherSessionsNameNoTool(t *testing.T) {
	t.Parallel()
	old := existing()
	old.AddTool(&mcp.Tool{Name: "broadcast", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for session := range old.Sessions() {
				err := session.Log(ctx, &mcp.LoggingMessageParams{Level: "info",
					Data: map[string]any{"msg": "to all"}})
				if err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	s := adopt(t, old, runtime.Options{},
		map[string]access.Rule{"broadcast": {MinRole: 4}}, directory(&desk{}))
	admin := overPipe(t, s, principalOf("Admin"), "2025-11-25").wants(t, "debug")
	viewer := newPipe(t, s, principalOf("Viewer"), "2025-11-25")
	viewer.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	viewer.write(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel",`+
		`"params":{"level":"debug"}}`)
	viewer.until(t, 1)
	received := make(chan serverMessages)
	go func() { received <- viewer.until(t, "") }() // until the first notification
	own := admin.askAs(t, `"mine"`, "tools/call", "broadcast", `"name":"broadcast","arguments":{}`)
	got := <-received
	if len(own) != 2 || own[0].Params.Logger != "broadcast" {
		t.Errorf("the caller's own session: %s", own)
	}
	if text := fmt.Sprint(got); len(got) != 1 || got[0].Params.Data["msg"] != "to all" ||
		strings.Contains(text, "broadcast") || strings.Contains(text, "mine") {
		t.Errorf("another session: %s", text)
	}
}

// TestLogMessagesOfARefusedCallNameNoTool has an audit sink that logs to the caller. For a hidden
// tool, the caller receives what it receives for an unknown one, in every denial mode.
func TestLogMessagesOfARefusedCallNameNoTool(t *testing.T) {
	t.Parallel()
	sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		runtime.Logger(ctx).Info("recorded")
		return nil
	})
	for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		for _, listAll := range []bool{false, true} {
			s := newServer(t, runtime.Options{Anonymous: true,
				Access: runtime.AccessOptions{Denial: denial},
				Lists:  runtime.ListOptions{ListAll: listAll},
				Audit:  runtime.AuditOptions{Sink: sink}}, directory(&desk{}))
			for column, user := range callers {
				p := principalOf(user)
				if user == "Roleless" {
					p.Role = ""
				}
				l := overPipe(t, s, p, "2026-07-28").wants(t, "debug")
				for tool, who := range expected {
					want := "team"
					if who[column] == 'y' {
						want = tool
					}
					got := l.call(t, tool, `{"id":"ada"}`)
					if got.logs() == nil {
						t.Fatalf("%v, %q, %s: %s", denial, user, tool, got)
					}
					for _, m := range got[:len(got)-1] {
						if m.Method == "notifications/message" && m.Params.Logger != want {
							t.Errorf("%v, %q, %s: %s", denial, user, tool, got)
						}
					}
				}
				got := l.call(t, "no_such_tool", `{}`)
				if got[0].Params.Logger != "team" {
					t.Errorf("%v, %q: %s", denial, user, got)
				}
			}
		}
	}
}

func TestLogOfAnAnonymousCallerNamesNobody(t *testing.T) {
	t.Parallel()
	var log lines
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo), Anonymous: true},
		toolsetOf([]toolset.Tool{{Name: "work", Input: `{"type":"object"}`,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				runtime.Logger(ctx).Info("m")
				return toolset.Done(nil)
			}}}, access.Rule{Tool: "work", Public: true}))
	overHTTP(t, serve(t, s), "", "2026-07-28").call(t, "work", `{}`)
	all := log.of(t, "m")
	if len(all) != 1 || all[0]["tool"] != "work" ||
		len(without(all[0], "time", "level", "msg", "tool", "request_id")) != 0 {
		t.Errorf("%v", all)
	}
}

// Middleware of an adopted server may panic when a handler sends a log message. The call fails, and
// the server goes on.
func TestSendingMiddlewareThatPanicsIsACrashOfItsCall(t *testing.T) {
	t.Parallel()
	old := existing("works")
	old.AddTool(&mcp.Tool{Name: "speaks", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}}, r.Session.Log(ctx,
				&mcp.LoggingMessageParams{Level: "info", Data: "m"})
		})
	s := adopt(t, old, runtime.Options{}, map[string]access.Rule{
		"speaks": {Authenticated: true}, "works": {Authenticated: true}})
	old.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/message" {
				panic("hunter2")
			}
			return next(ctx, method, req)
		}
	})
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		l.wants(t, "debug")
		if got := l.call(t, "speaks", `{}`); !strings.Contains(got.response(t).text,
			"internal error") || strings.Contains(got.String(), "hunter2") {
			t.Errorf("%s", got)
		}
		if got := l.call(t, "works", `{}`); !strings.Contains(got.response(t).text,
			"works answered") {
			t.Errorf("%s", got)
		}
	})
}

// crowd is an identity source of any number of people: the token is the name.
func crowd() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: token,
			Role: "Member"}}, nil
	})
}

// Each of a hundred clients receives the messages of its own calls, on the answer to each, and
// nothing of any other's; and the server's log has each line under the right ids.
func TestLogsOfConcurrentCallersNeverCross(t *testing.T) {
	t.Parallel()
	const clients, calls, says = 100, 3, 4
	var log lines
	var all sync.WaitGroup // of handlers: they run at once, some of each client
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo), Identity: crowd(),
		HTTP: runtime.HTTPOptions{MaxSessions: 2 * clients}},
		oneTool("work", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			marker := strings.Trim(string(call.Arguments), `{}"m:`)
			l := runtime.Logger(ctx)
			for i := range says {
				l.Info("m", "marker", marker, "i", i, "id", runtime.RequestID(ctx))
				runtime.Progress(ctx).Report(float64(i+1), says, marker)
				goruntime.Gosched()
			}
			return toolset.Structured(map[string]any{"marker": marker,
				"id": runtime.RequestID(ctx)}, nil)
		}))
	s.Linger()
	url := serve(t, s)
	for client := range clients {
		all.Go(func() {
			who, era := fmt.Sprintf("user-%d", client), eras[client%len(eras)]
			var l *listener
			if client%10 == 9 {
				l = overPipe(t, s, access.Principal{Issuer: "test", Subject: who, Role: "Member"},
					era)
			} else {
				l = overHTTP(t, url, who, era)
			}
			l.wants(t, "info")
			var own sync.WaitGroup
			for call := range calls {
				own.Go(func() {
					marker := fmt.Sprintf("%s-%d", who, call)
					mine := *l
					mine.meta = strings.TrimPrefix(mine.meta+fmt.Sprintf(`,"progressToken":%q`,
						marker), ",")
					got := mine.call(t, "work", `{"m":"`+marker+`"}`)
					id := ""
					for i, m := range got {
						if m.Method == "notifications/message" &&
							(m.Params.Data["marker"] != marker ||
								m.Params.Data["id"] != m.Params.Data["request_id"]) ||
							m.Method == "notifications/progress" && (m.Params.Message != marker ||
								string(m.Params.ProgressToken) != fmt.Sprintf("%q", marker)) {
							t.Errorf("%s received %s", marker, m.text)
						}
						if last := i == len(got)-1; last != (m.ID != nil) || last &&
							!strings.Contains(string(m.Result.StructuredContent), `"`+marker+`"`) {
							t.Errorf("%s is answered %s", marker, m.text)
						}
						if m.Method == "notifications/message" {
							id, _ = m.Params.Data["id"].(string)
						}
					}
					p := got.progress()
					if len(got.logs()) != says || len(p) == 0 ||
						p[len(p)-1].Params.Progress != says ||
						!strings.Contains(got[len(got)-1].text, id) {
						t.Errorf("%s received %s", marker, got)
					}
				})
			}
			own.Wait()
		})
	}
	all.Wait()
	written := log.of(t, "m")
	for _, line := range written {
		marker, _ := line["marker"].(string)
		if line["id"] != line["request_id"] || line["tool"] != "work" ||
			!strings.HasPrefix(marker, fmt.Sprint(line["principal"])+"-") {
			t.Errorf("the server's log has %v", line)
		}
	}
	if want := clients * calls * says; len(written) != want {
		t.Errorf("the server's log has %d lines, want %d", len(written), want)
	}
}
