package runtime_test

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"errors"
	"math"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// typedNil is an error whose nil pointer panics when it is asked for its words.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

// angry panics when it is marshalled.
type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic("hunter2") }

// liar marshals as something that is not JSON.
type liar struct{}

func (liar) MarshalJSON() ([]byte, error) { return []byte(`{"a":`), nil }

// badContent is a content that panics when it is marshalled.
func badContent() mcp.Content {
	var c *mcp.TextContent
	return c
}

// killers are handlers that end a go-sdk server's process, or leave its caller waiting, or its
// session dumb. Each was run against go-sdk alone.
var killers = map[string]func(context.Context, toolset.Call) (toolset.Result, error){
	"a panic": func(context.Context, toolset.Call) (toolset.Result, error) {
		panic("hunter2")
	},
	"a panic with nil": func(context.Context, toolset.Call) (toolset.Result, error) { panic(nil) },
	"a panicking error": func(context.Context, toolset.Call) (toolset.Result, error) {
		panic(&typedNil{"hunter2"})
	},
	"Goexit": func(context.Context, toolset.Call) (toolset.Result, error) {
		goruntime.Goexit()
		panic("unreached")
	},
	"a typed nil error": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done((*typedNil)(nil))
	},
	"a wrapped typed nil": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done(errors.Join((*typedNil)(nil)))
	},
	"a typed nil RPC error": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done((*jsonrpc.Error)(nil))
	},
	"a panicking MarshalJSON": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": angry{}}, nil)
	},
	"invalid JSON": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(liar{}, nil)
	},
	"NaN": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": math.NaN()}, nil)
	},
	"infinity": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(math.Inf(1), nil)
	},
	"the year 10000": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	},
	"a channel": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"a": make(chan int)}, nil)
	},
	"a cycle": func(context.Context, toolset.Call) (toolset.Result, error) {
		m := map[string]any{}
		m["m"] = m
		return toolset.Structured(m, nil)
	},
	"NaN in a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{
			StructuredContent: map[string]any{"a": math.NaN()}}, nil, nil)
	},
	"a panic in a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{StructuredContent: angry{}}, nil, nil)
	},
	"NaN in a native result's _meta": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Meta: mcp.Meta{"a": math.NaN()}}, nil, nil)
	},
	"a panic in a native result's _meta": func(context.Context, toolset.Call) (toolset.Result,
		error) {
		return toolset.Native(&mcp.CallToolResult{Meta: mcp.Meta{"a": angry{}}}, nil, nil)
	},
	"NaN beside a native result": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(nil, map[string]any{"a": math.NaN()}, nil)
	},
	"a nil content": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{nil}}, nil, nil)
	},
	"a typed nil content": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{badContent()}}, nil, nil)
	},
	"content and input requests": func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: 1,
			InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{}}}, nil, nil)
	},
}

// survives holds a server to answering each of the handlers with an internal error, and to
// living on.
func survives(t *testing.T, killers map[string]func(context.Context, toolset.Call) (toolset.Result,
	error)) {
	t.Helper()
	for name, call := range killers {
		var log journal
		var events []audit.Event
		var mu sync.Mutex
		sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
			return nil
		})
		s := newServer(t, runtime.Options{Logger: log.logger(),
			Audit: runtime.AuditOptions{Sink: sink}}, oneTool("bad", call),
			directory(&desk{}))
		url := serve(t, s)
		for _, era := range eras {
			for transport, session := range map[string]*mcp.ClientSession{
				"http":  connectHTTP(t, url, tokens["Admin"], era),
				"stdio": connectIO(t, s, principalOf("Admin"), era),
			} {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "bad"})
				if err != nil || !res.IsError || text(res) != "internal error" {
					t.Errorf("%s, %s %s: %v %q", name, transport, era, err, text(res))
				}
				if _, err := session.CallTool(ctx,
					&mcp.CallToolParams{Name: "get_all"}); err != nil {
					t.Errorf("%s, %s %s: the session is dead: %v", name, transport, era, err)
				}
				cancel()
			}
		}
		mu.Lock()
		crashed := 0
		for _, e := range events {
			if e.Tool == "bad" && e.Failure == audit.Crashed {
				crashed++
			}
		}
		if crashed != 2*len(eras) {
			t.Errorf("%s: %d records of it, want %d", name, crashed, 2*len(eras))
		}
		mu.Unlock()
		if name == "a panic" && (!strings.Contains(log.String(), "hunter2") ||
			!strings.Contains(log.String(), "goroutine")) {
			t.Errorf("the log does not hold the panic and its stack:\n%s", log.String())
		}
	}
}

func TestControlCharactersInAResourceURIAreAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for transport, session := range map[string]*mcp.ClientSession{
		"http": connectHTTP(t, url, tokens["Viewer"], "2025-11-25"), "stdio": connectIO(t, s,
			principalOf("Viewer"), "2025-11-25"),
	} {
		for _, uri := range []string{"file:///a\x00b", "file:///\x07\x1b", "file:///\u2028", "\x7f",
			strings.Repeat("\x01", 1000), ""} {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			_, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if !isInvalidParams(err) {
				t.Errorf("%s, %q: %v", transport, uri, err)
			}
			cancel()
		}
		if _, err := session.ListTools(context.Background(), nil); err != nil {
			t.Errorf("%s: the session is dumb: %v", transport, err)
		}
	}
}

func TestPanicInSendingIsAnError(t *testing.T) {
	t.Parallel()
	got := make(chan error, 1)
	s := newServer(t, runtime.Options{},
		oneSDKTool("tell", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			got <- toolset.Request[mcp.CallToolRequest](call).Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{Meta: mcp.Meta{"a": angry{}}, ProgressToken: "t"})
			return toolset.Done(nil)
		}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	if res := c.call(t, "tell", "", nil); !strings.Contains(res.body, `"content"`) {
		t.Errorf("%s", res)
	}
	select {
	case err := <-got:
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("sending: %v", err)
		}
	default:
		t.Error("sending has ended the handler")
	}
}

func TestMiddlewareThatMisbehavesIsAnInternalError(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() (mcp.Result, error){
		"panics":          func() (mcp.Result, error) { panic("hunter2") },
		"returns nothing": func() (mcp.Result, error) { return nil, nil },
		"returns a typed nil": func() (mcp.Result, error) {
			return (*mcp.CallToolResult)(nil), nil
		},
		"returns a plain error": func() (mcp.Result, error) {
			return nil, errors.New("hunter2")
		},
		"returns a typed nil err": func() (mcp.Result, error) {
			return nil, (*jsonrpc.Error)(nil)
		},
		"returns what has no JSON": func() (mcp.Result, error) {
			return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
		},
		"returns a panic to come": func() (mcp.Result, error) {
			return &mcp.CallToolResult{StructuredContent: angry{}}, nil
		},
	} {
		for _, method := range []string{"tools/call", "tools/list"} {
			var log journal
			interceptor := func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					if m.Method == method {
						return answer()
					}
					return next(ctx, m)
				}
			}
			s := newServer(t, runtime.Options{Logger: log.logger(),
				Interceptors: []intercept.Middleware{interceptor}}, directory(&desk{}))
			url := serve(t, s)
			for _, era := range eras {
				c := newRaw(t, url, tokens["Admin"], era)
				params := ""
				further := map[string]string{}
				if method == "tools/call" {
					params, further["Mcp-Name"] = `"name":"get_all"`, "get_all"
				}
				got := c.ask(t, method, params, further)
				if !strings.Contains(got.body, `"code":-32603,"message":"internal error"`) ||
					strings.Contains(got.body, "hunter2") {
					t.Errorf("an interceptor that %s, %s %s: %s", name, method, era, got)
				}
			}
			if !strings.Contains(log.String(), "level=ERROR") {
				t.Errorf("an interceptor that %s: nothing in the log", name)
			}
		}
	}
}

// asks is a handler that asks its caller something.
func asks(q mcp.InputRequest) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": q}}, nil,
			nil)
	}
}

// deadly are questions that end a go-sdk server's process, or leave its caller waiting, when an
// older client is to be asked them.
var deadly = map[string]func(context.Context, toolset.Call) (toolset.Result, error){
	"a nil question":               asks(nil),
	"a typed nil elicitation":      asks((*mcp.ElicitParams)(nil)),
	"a typed nil sampling":         asks((*mcp.CreateMessageParams)(nil)),
	"a typed nil sampling, tools":  asks((*mcp.CreateMessageWithToolsParams)(nil)),
	"a typed nil roots":            asks((*mcp.ListRootsParams)(nil)),
	"a nil message":                asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{nil}}),
	"a nil message, tools":         asks(&mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{nil}}),
	"a message of nil":             asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user"}}}),
	"a message of typed nil":       asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: badContent()}}}),
	"a message of nil, tools":      asks(&mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{nil}}}}),
	"a panicking schema asked for": asks(&mcp.ElicitParams{Message: "?", RequestedSchema: angry{}}),
	"NaN in a question":            asks(&mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{}, Temperature: math.NaN()}),
}

func TestNoQuestionKillsTheProcessOrASession(t *testing.T) { survives(t, deadly) }
