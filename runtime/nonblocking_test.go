package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// nonBlocking returns a toolset all of whose handlers have NonBlocking, unless they have go-sdk's
// shape.
func nonBlocking(set toolset.Toolset) toolset.Toolset {
	g := set.Generated()
	g.Timeout = time.Minute // of those without NonBlocking
	for i := range g.Tools {
		if !g.Tools[i].SDK {
			g.Tools[i].Timeout, g.Tools[i].NonBlocking = 0, true
		}
	}
	for i := range g.Prompts {
		g.Prompts[i].Timeout, g.Prompts[i].NonBlocking = 0, true
	}
	for i := range g.Resources {
		g.Resources[i].Timeout, g.Resources[i].NonBlocking = 0, true
	}
	return toolset.NewToolset(g)
}

// outcomes are what a handler that only computes can come to.
var outcomes = []struct {
	name string
	fail func(context.Context) error
}{
	{"fine", func(context.Context) error { return nil }},
	{"fails", func(context.Context) error { return errors.New("no stock, password=t0psecret99") }},
	{"panics", func(context.Context) error { panic("at the disco") }},
	{"ends its goroutine", func(context.Context) error { goruntime.Goexit(); return nil }},
	{"panics while it ends", func(context.Context) error {
		defer func() { panic("at the exit") }()
		goruntime.Goexit()
		return nil
	}},
	{"keeps its thread", func(context.Context) error { goruntime.LockOSThread(); return nil }},
	{"panics in its words", func(context.Context) error { return (*wordless)(nil) }},
	{"chooses its error", func(context.Context) error {
		return &jsonrpc.Error{Code: -32050, Message: "no stock"}
	}},
	{"reaches a limit", func(context.Context) error { return reached("rate") }},
	{"refuses arguments", func(context.Context) error {
		return decode.NewError([]decode.Problem{{Pointer: "/id", Message: "is no number"}})
	}},
	{"returns a deadline", func(context.Context) error { return context.DeadlineExceeded }},
	{"is cancelled", func(context.Context) error { return context.Canceled }},
	{"reads its caller", func(ctx context.Context) error {
		caller, _ := runtime.Caller(ctx)
		return fmt.Errorf("%s, %v", caller.Roles, ctx.Err())
	}},
	{"reports", func(ctx context.Context) error {
		runtime.Logger(ctx).Log(ctx, slog.LevelError, "computing")
		runtime.Advise(ctx, 1, "compute less")
		return nil
	}},
	{"asks", func(ctx context.Context) error { _, err := runtime.Roots(ctx); return err }},
	{"is fine again", func(context.Context) error { return nil }},
}

// wordless is an error that panics when it is nil.
type wordless struct{ text string }

func (e *wordless) Error() string { return e.text }

// requestIDs are random.
var requestIDs = regexp.MustCompile(`\b[a-z2-7]{26}\b`)

// Each outcome, of a tool, a prompt and a resource, gives the same bytes to the client and the same
// events and lines of the log, with NonBlocking and without. The bubble ends when no goroutine is
// left.
func TestNonBlockingHandlersAnswerAsOthersDo(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, transport := range []string{"http", "stdio"} {
			t.Run(era+"/"+transport, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					set := func(fail func(context.Context) error) toolset.Toolset {
						return unlucky(time.Minute, fail)
					}
					want := observed(t, era, transport == "http", set)
					got := observed(t, era, transport == "http",
						func(fail func(context.Context) error) toolset.Toolset {
							return nonBlocking(set(fail))
						})
					for i := range want {
						if got[i] != want[i] {
							t.Errorf("%s\nwant %s", got[i], want[i])
						}
					}
				})
			})
		}
	}
}

// observed returns all that the outcomes give the client, the sink and the log, a text for each
// request.
func observed(t *testing.T, era string, http bool,
	set func(func(context.Context) error) toolset.Toolset) (all []string) {
	var fail func(context.Context) error
	var log lines
	sink := &record{}
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug),
		Audit: runtime.AuditOptions{Sink: sink}},
		set(func(ctx context.Context) error { return fail(ctx) }))
	l := over(t, s, era, http).wants(t, "debug")
	for i, outcome := range outcomes {
		fail = outcome.fail
		for j, use := range everyUse[:3] {
			before := len(log.String())
			text := fmt.Sprintf("%s, %s:\n%s", outcome.name, use.kind,
				l.askAs(t, 100*i+j, use.method, use.name, use.params))
			synctest.Wait()
			for _, e := range sink.taken() {
				text += fmt.Sprintf("%+v\n", e)
			}
			for line := range strings.Lines(log.String()[before:]) {
				var m map[string]any
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err)
				}
				text += fmt.Sprintln(without(m, "stack", "time"))
			}
			all = append(all, requestIDs.ReplaceAllString(text, "ID"))
		}
	}
	return all
}

// A worker is used again after a handler that kept its thread, and then runs the interceptors of
// another call. Its goroutine cannot switch to a coroutine: Go would end the process.
func TestNonBlockingHandlersRunAfterOthersKeptTheirThread(t *testing.T) {
	t.Parallel()
	through := func(next intercept.Next) intercept.Next { return next }
	for _, interceptors := range [][]intercept.Middleware{nil, {through}} {
		synctest.Test(t, func(t *testing.T) {
			tool := func(name string, do func(), nonBlocking bool) toolset.Tool {
				return toolset.Tool{Name: name, Input: `{"type":"object"}`, NonBlocking: nonBlocking,
					Call: func(context.Context, toolset.Call) (toolset.Result, error) {
						do()
						return toolset.Done(nil)
					}}
			}
			s := newServer(t, runtime.Options{Interceptors: interceptors}, toolsetOf([]toolset.Tool{
				tool("work", func() {}, true), tool("lock", goruntime.LockOSThread, false)}))
			l := over(t, s, "2025-11-25", false)
			for range 20 {
				for _, tool := range []string{"work", "lock"} {
					if got := l.call(t, tool, `{}`).response(t); got.Error != nil || got.Result.IsError {
						t.Fatal(got.text)
					}
				}
			}
		})
	}
}

// unlucky is a tool, a prompt and a resource that fail alike.
func unlucky(timeout time.Duration, fail func(context.Context) error) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/failing", Server: toolset.ServerInfo{Name: "failing", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: "work", MinRole: []string{"Viewer"}},
				{Tool: "result", MinRole: []string{"Viewer"}}},
			Prompts:   []access.Rule{{Prompt: "greet", MinRole: []string{"Viewer"}}},
			Resources: []access.Rule{{Resource: "lib://books/{id}", MinRole: []string{"Viewer"}}},
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
