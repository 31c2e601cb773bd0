package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// unlucky is a tool, a prompt and a resource that fail alike.
func unlucky(timeout time.Duration, fail func(context.Context) error) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/failing", Server: toolset.ServerInfo{Name: "failing", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "work", MinRole: viewer},
				{Tool: "result", MinRole: viewer}},
			Prompts:   []access.Rule{{Prompt: "greet", MinRole: viewer}},
			Resources: []access.Rule{{Resource: "lib://books/{id}", MinRole: viewer}},
		},
		Tools: []toolset.Tool{
			{Name: "work", Input: `{"type":"object"}`, Timeout: timeout,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					return toolset.Done(fail(ctx))
				}},
			{Name: "result", Input: `{"type":"object"}`, Timeout: timeout,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					if err := fail(ctx); err != nil {
						return toolset.Native(&mcp.CallToolResult{IsError: true,
							Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil, nil)
					}
					return toolset.Done(nil)
				}},
		},
		Prompts: []toolset.Prompt{{Name: "greet", Timeout: timeout,
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("hello", fail(ctx))
			}}},
		Resources: []toolset.Resource{{URI: "lib://books/{id}", Name: "book", Timeout: timeout,
			Variables: []toolset.Variable{{Name: "id"}},
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("book", fail(ctx))
			}}},
	})
}

// What goes wrong behind a call has one line in the log, with an audit or without, that tells whose
// it is and why.
func TestCallsThatFailAreLoggedOnce(t *testing.T) {
	t.Parallel()
	const secret = "t0psecret"
	unread := json.Unmarshal([]byte(`{"pin":4711471147}`), &struct {
		Pin int8 `json:"pin"`
	}{})
	for name, test := range map[string]struct {
		fail func(context.Context) error
		want string // "" for no line
	}{
		"fine": {func(context.Context) error { return nil }, ""},
		"fails": {func(context.Context) error {
			return errors.New("connect postgres://app:" + secret + "@db/x: refused")
		}, "INFO error  connect postgres://app:***MASKED***@db/x: refused"},
		"is late": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, "WARN timeout timeout timed out after 50ms"},
		"reaches a limit": {func(context.Context) error {
			return fmt.Errorf("upstream: %w", reached("rate"))
		},
			"INFO limited rate upstream: the tool reached its limit on rate"},
		"refuses arguments": {func(context.Context) error {
			return decode.NewError([]decode.Problem{{Pointer: "/id", Message: secret +
				" is no number"}})
		}, "DEBUG invalid  the arguments do not match the schema"},
		"chooses its error": {func(context.Context) error {
			return &jsonrpc.Error{Code: -32050, Message: "no stock, token=" + secret}
		}, "INFO error  no stock, token=***MASKED***"},
		"cannot decode": {func(context.Context) error {
			return fmt.Errorf("upstream: %w", unread)
		}, `INFO error  upstream: a value that does not fit a int8 (field "pin")`},
		"fails at great length": {func(context.Context) error {
			return errors.New(strings.Repeat("long ", 4<<10))
		}, "INFO error  " + strings.Repeat("long ", 4<<10)[:4<<10]},
		"panics": {func(context.Context) error { panic(secret) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if name == "is late" {
				timeout = 50 * time.Millisecond
			}
			for _, sink := range []*kept{nil, {}} {
				var log lines
				o := runtime.Options{Logger: log.at(slog.LevelDebug),
					Observe: runtime.ObserveOptions{
						Observer: watchers{began: func(ctx context.Context,
							_ observe.Message) (context.Context, observe.Observation) {
							return ctx, observation{trace: "4bf92f3577b34da6a3ce929d0e0e4736",
								span: "00f067aa0ba902b7"}
						}}}}
				if sink != nil {
					o.Audit.Sink = sink
				}
				l := overPipe(t, newServer(t, o, unlucky(timeout, test.fail)),
					principalOf("Member"), "2025-11-25")
				for _, ask := range []struct{ method, params, kind, name string }{
					{"tools/call", `"name":"work"`, "tool", "work"},
					{"tools/call", `"name":"result"`, "tool", "result"},
					{"prompts/get", `"name":"greet"`, "prompt", "greet"},
					{"resources/read", `"uri":"lib://books/7"`, "resource", "lib://books/{id}"},
				} {
					if ask.name == "result" && name != "fails" && name != "fine" ||
						ask.kind == "resource" && name == "refuses arguments" {
						continue // a result has words alone; and there is no such resource
					}
					before := len(log.of(t, "call failed"))
					l.ask(t, ask.method, "", ask.params)
					got := log.of(t, "call failed")[before:]
					if test.want == "" && len(got) == 0 {
						continue
					}
					if len(got) != 1 {
						t.Errorf("%s: %v", ask.name, got)
						continue
					}
					limit, _ := got[0]["limit"].(string)
					if said := fmt.Sprint(got[0]["level"], " ", got[0]["failure"], " ", limit, " ",
						got[0]["error"]); said != test.want {
						t.Errorf("%s: %s\nwant %s", ask.name, said, test.want)
					}
					if got[0][ask.kind] != ask.name || got[0]["principal"] != "user-Member" ||
						got[0]["request_id"] == nil ||
						got[0]["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" ||
						got[0]["span_id"] != "00f067aa0ba902b7" {
						t.Errorf("%s: %v", ask.name, got[0])
					}
				}
				for _, left := range []string{secret, "4711471147"} {
					if name != "panics" && strings.Contains(log.String(), left) {
						t.Errorf("the log holds %s:\n%s", left, log.String())
					}
				}
			}
		})
	}
}

// Whatever the server says of a request can be found by its trace.
func TestLinesOfARequestNameItsTrace(t *testing.T) {
	t.Parallel()
	var log lines
	full := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		if e.Status == audit.Intent || e.Type == audit.Outage {
			return nil // handlers start, and the sink is not taken for down
		}
		return errors.New("the disk is full")
	})
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug),
		Audit: runtime.AuditOptions{Sink: full}},
		offering(func(context.Context) {
			panic("p")
		}), directory(&desk{}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		l.meta = traceparent
		for _, ask := range [][3]string{
			{"tools/call", "work", `"name":"work"`}, {"tools/call", "nothing", `"name":"nothing"`},
			{"tools/call", "delete", `"name":"delete"`},
			{"prompts/get", "greet", `"name":"greet"`}, {"prompts/get", "nothing",
				`"name":"nothing"`}, {"tools/list", "", ""},
		} {
			l.ask(t, ask[0], ask[1], ask[2])
		}
	})
	for text, atLeast := range map[string]int{
		"call refused": 12, "request refused": 6, "a handler panicked": 12, "decided": 30,
		"list filtered": 6,
		"an audit record could not be written; the request is refused": 24,
		"the outcome of a call could not be recorded; the call has run, and the server withholds its " +
			"response": 12,
	} {
		got := log.of(t, text)
		if len(got) < atLeast {
			t.Errorf("%s: %d times", text, len(got))
		}
		for _, line := range got {
			if line["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" ||
				line["request_id"] == nil || line["request_id"] == "" {
				t.Errorf("%v", line)
			}
		}
	}
}

// TestCallThatMayHaveRunIsNotLoggedAsRefused: a handler may decode other data than its arguments,
// and return that error after an effect.
func TestCallThatMayHaveRunIsNotLoggedAsRefused(t *testing.T) {
	t.Parallel()
	var log lines
	full := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		if e.Status == audit.Failed {
			return errors.New("the disk is full")
		}
		return nil
	})
	set := unlucky(time.Minute, func(context.Context) error {
		return fmt.Errorf("upstream: %w", decode.NewError(
			[]decode.Problem{{Message: "is no number"}}))
	})
	overPipe(t, newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug),
		Audit: runtime.AuditOptions{Sink: full}}, set),
		principalOf("Member"), "2025-11-25").call(t, "work", `{}`)
	const text = "the outcome of a call could not be recorded; the call has run, and the server " +
		"withholds its response"
	if len(log.of(t, text)) != 1 {
		t.Error(log.String())
	}
}

// The failure of an interceptor has one line in the log as well.
func TestFailuresOfMiddlewareAreLoggedOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		res  *mcp.CallToolResult
		err  error
		line string
		want string
	}{
		"a result": {&mcp.CallToolResult{IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "no stock"},
				&mcp.TextContent{Text: "password=t0psecret"}}}, nil, "call failed",
			"no stock\npassword=***MASKED***"},
		"an error": {nil, &jsonrpc.Error{Code: -32050, Message: "no stock"}, "call failed",
			"no stock"},
		"a plain one": {nil, errors.New("no stock"), "a request failed", "no stock"},
		"a cancelling": {nil, fmt.Errorf("upstream: %w", context.Canceled), "call failed",
			"upstream: context canceled"},
	} {
		var log lines
		s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo),
			Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					switch {
					case m.Method != "tools/call":
						return next(ctx, m)
					case test.err != nil:
						return nil, test.err
					}
					return test.res, nil
				}
			}}}, directory(&desk{}))
		overPipe(t, s, principalOf("Member"), "2026-07-28").call(t, "get_by_id", `{}`)
		got := append(log.of(t, "call failed"), log.of(t, "a request failed")...)
		if len(got) != 1 || got[0]["msg"] != test.line || got[0]["error"] != test.want ||
			got[0]["request_id"] == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
