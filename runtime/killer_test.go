package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

func TestNoHandlerKillsTheProcessOrASession(t *testing.T) { survives(t, killers) }

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

// TestNilResultIsAnEmptyAnswer: (nil, nil) ends a go-sdk process under 2026-07-28.
func TestNilResultIsAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, toolset.Call) (toolset.Result, error){
		"native": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(nil, nil, nil)
		},
		"native typed": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(nil, (*person)(nil), nil)
		},
		"zero": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{}, nil
		},
	} {
		s := newServer(t, runtime.Options{}, oneTool("empty", call))
		url := serve(t, s)
		for _, era := range eras {
			res, err := connectHTTP(t, url, tokens["Admin"], era).CallTool(context.Background(),
				&mcp.CallToolParams{Name: "empty"})
			if err != nil || res.IsError || len(res.Content) != 0 || res.StructuredContent != nil {
				t.Errorf("%s, %s: %v %+v", name, era, err, res)
			}
		}
	}
}

func TestSharedResultIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	shared := &mcp.CallToolResult{Meta: mcp.Meta{"kept": "yes"},
		Content: []mcp.Content{&mcp.TextContent{Text: "same for all"}}}
	s := newServer(t, runtime.Options{},
		oneTool("shared", func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(shared, map[string]int{"n": 1}, nil)
		}))
	url := serve(t, s)
	var wg sync.WaitGroup
	for range 8 {
		c := newRaw(t, url, tokens["Admin"], "2026-07-28")
		wg.Go(func() {
			for range 20 {
				got := c.call(t, "shared", "", nil)
				if !strings.Contains(got.body, `"kept":"yes"`) ||
					!strings.Contains(got.body, "serverInfo") ||
					!strings.Contains(got.body, `"structuredContent":{"n":1}`) {
					t.Errorf("%s", got)
				}
			}
		})
	}
	wg.Wait()
	if len(shared.Meta) != 1 || shared.StructuredContent != nil {
		t.Errorf("written to: %+v", shared)
	}
}

func TestRequestsWithoutParamsAreAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range []string{"2025-06-18", "2025-11-25"} {
		c := newRaw(t, url, tokens["Viewer"], era)
		for _, method := range []string{"tools/list", "prompts/list", "resources/list",
			"resources/templates/list", "ping", "tools/call",
			"prompts/get", "resources/read", "completion/complete", "logging/setLevel",
			"resources/subscribe", "resources/unsubscribe",
			"subscriptions/listen", "initialize", "server/discover"} {
			for _, params := range []string{``, `,"params":null`, `,"params":{}`, `,"params":[]`,
				`,"params":7`, `,"params":{"_meta":null}`, `,"params":{"_meta":7}`,
				`,"params":{"name":null}`} {
				got := c.send(t, "POST", `{"jsonrpc":"2.0","id":7,"method":"`+method+`"`+params+`}`,
					nil)
				if got.body == "" || got.status >= 500 {
					t.Errorf("%s, %s with %q: %s", era, method, params, got)
				}
			}
		}
		for _, notification := range []string{"notifications/initialized",
			"notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
			"notifications/odd"} {
			for _, params := range []string{``, `,"params":null`, `,"params":{}`, `,"params":[]`,
				`,"params":{"requestId":{}}`} {
				c.send(t, "POST", `{"jsonrpc":"2.0","method":"`+notification+`"`+params+`}`, nil)
			}
		}
		if got := c.ask(t, "tools/list", "", nil); !strings.Contains(got.body, "get_by_id") {
			t.Errorf("%s: the session does not live on: %s", era, got)
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

func TestHandlersErrorIsTheModelsToRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		session := connectHTTP(t, url, tokens["Admin"], era)
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_by_id",
			Arguments: map[string]any{"id": "nobody"}})
		if err != nil || !res.IsError || text(res) != "no such person" {
			t.Errorf("%s: %v %q", era, err, text(res))
		}
		res, err = session.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_by_id",
			Arguments: map[string]any{"id": 5}})
		if err != nil || !res.IsError || !strings.Contains(text(res), "cannot unmarshal number") {
			t.Errorf("%s: %v %q", era, err, text(res))
		}
	}
}

func TestHandlersRPCErrorIsKeptAndMadeSafe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"as it is": {&jsonrpc.Error{Code: -32042, Message: "log in",
			Data: []byte(`{"a":1}`)}, `"error":{"code":-32042,"message":"log in","data":{"a":1}}`},
		"wrapped": {fmt.Errorf("outer: %w", &jsonrpc.Error{Code: -32042,
			Message: "log in"}), `"error":{"code":-32042,"message":"outer: log in"}`},
		"with wrong data": {&jsonrpc.Error{Code: -32042, Message: "log in", Data: []byte(`{"a":`)},
			`"error":{"code":-32042,"message":"log in"}`},
	} {
		s := newServer(t, runtime.Options{},
			oneTool("login", func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(test.err)
			}))
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		if got := c.call(t, "login", "", nil); !strings.Contains(got.body, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTimedOutCallIsAnsweredAndItsContextCancelled(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"a handler that heeds its context": true,
		"a handler that does not": false} {
		for _, era := range eras {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				events := make(chan audit.Event, 8)
				stuck, ended := make(chan struct{}), make(chan error, 8)
				sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
					events <- e
					return nil
				})
				const limit = 10 * time.Second
				s := newServer(t, runtime.Options{Logger: log.logger(),
					Audit: runtime.AuditOptions{Sink: sink}},
					toolsetOf([]toolset.Tool{{Name: "slow", Input: `{"type":"object"}`,
						Timeout: limit,
						Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
							<-ctx.Done()
							ended <- ctx.Err()
							if !heeds {
								<-stuck
							}
							return toolset.Result{}, fmt.Errorf("query: %w", ctx.Err())
						}}}))
				client := connectHTTP(t, serve(t, s), tokens["Admin"], era)
				start := time.Now()
				res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
				if took := time.Since(start); err != nil || !res.IsError ||
					text(res) != "timed out after 10s" || took < limit || took > limit+time.Second {
					t.Errorf("%s, %s: after %v: %v %q", name, era, took, err, text(res))
				}
				if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, %s: the context ended with %v", name, era, err)
				}
				if e := <-events; e.Status != audit.Intent {
					t.Errorf("%s, %s: recorded as %s before", name, era, e.Status)
				}
				if e := <-events; e.Failure != audit.Timeout {
					t.Errorf("%s, %s: recorded as %s", name, era, e.Status)
				}
				close(stuck)
				synctest.Wait()
				if reported := strings.Contains(log.String(),
					"goroutine is still running"); reported == heeds {
					t.Errorf("%s: reported %v:\n%s", name, reported, log.String())
				}
			})
		}
	}
}

func TestLateSuccessIsStillAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, runtime.Options{},
			toolsetOf([]toolset.Tool{{Name: "late", Input: `{"type":"object"}`,
				Timeout: time.Millisecond,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					<-ctx.Done()
					return toolset.Structured(map[string]bool{"done": true}, nil)
				}}}))
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		if got := c.call(t, "late", "", nil); !strings.Contains(got.body, `"done":true`) {
			t.Errorf("%s", got)
		}
	})
}

func TestCancelledCallEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	s := newServer(t, runtime.Options{},
		oneTool("slow", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			started <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return toolset.Result{}, ctx.Err()
		}))
	url := serve(t, s)
	for _, era := range eras {
		for transport, session := range map[string]*mcp.ClientSession{
			"http": connectHTTP(t, url, tokens["Admin"], era), "stdio": connectIO(t, s,
				principalOf("Admin"), era),
		} {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "slow"})
				done <- err
			}()
			<-started
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s %s: %v", transport, era, err)
			}
			if err := <-done; err == nil {
				t.Errorf("%s %s: answered", transport, era)
			}
		}
	}
}
