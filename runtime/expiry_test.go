package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const shortLife = time.Second

// shortLived verifies every token as ada's, for shortLife from its first use.
func shortLived() identity.Source {
	ends := map[string]time.Time{}
	lock := make(chan struct{}, 1)
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		lock <- struct{}{}
		defer func() { <-lock }()
		if ends[token].IsZero() {
			ends[token] = time.Now().Add(shortLife)
		}
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Admin"},
			Expires: ends[token]}, nil
	})
}

func TestNothingIsSentOnceTheCredentialHasEnded(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, heeds := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				sink, told := &keeper{}, make(chan error, 1)
				s := newServer(t, runtime.Options{Identity: shortLived(),
					Audit: runtime.AuditOptions{Sink: sink}},
					oneSDKTool("slow",
						func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
							session := toolset.Request[mcp.CallToolRequest](call).Session
							tell := func(ctx context.Context, text string) error {
								return session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
									ProgressToken: "p", Message: text})
							}
							if err := tell(ctx, "early"); err != nil {
								t.Errorf("%s: %v", era, err)
							}
							if heeds {
								// ends with the credential, long before the tool's time limit
								<-ctx.Done()
							} else {
								time.Sleep(shortLife)
							}
							told <- tell(context.WithoutCancel(ctx), "too late")
							return toolset.Structured(map[string]string{"secret": "hunter2"}, nil)
						}))
				c := newRaw(t, serve(t, s), "abc", era)
				got := c.call(t, "slow", "", nil)
				if err := <-told; err == nil || !strings.Contains(err.Error(), "expired") {
					t.Errorf("%s: the handler was told %v", era, err)
				}
				if strings.Contains(got.body, "too late") ||
					strings.Contains(got.body, "hunter2") ||
					!strings.Contains(got.body, "the credential has expired") {
					t.Errorf("%s: %s", era, got)
				}
				events := sink.taken()
				if e := events[len(events)-1]; e.Failure != audit.Errored ||
					!strings.Contains(e.Missing, "expired") {
					t.Errorf("%s: recorded as %+v", era, e)
				}
			})
		}
	}
}

func TestAdoptedToolsAnswerIsWithheldOnceTheCredentialHasEnded(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			release, told := make(chan struct{}), make(chan error, 1)
			defer close(release)
			server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "stuck", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					<-release // heeds nothing
					return &mcp.CallToolResult{}, nil
				})
			server.AddTool(&mcp.Tool{Name: "tell", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					<-ctx.Done()
					told <- req.Session.NotifyProgress(context.WithoutCancel(ctx),
						&mcp.ProgressNotificationParams{ProgressToken: "p", Message: "too late"})
					return &mcp.CallToolResult{
						Content: []mcp.Content{&mcp.TextContent{Text: "hunter2"}}}, nil
				})
			s, err := runtime.Adopt(server,
				runtime.Options{Identity: shortLived(), Logger: quiet()}, map[string]access.Rule{
					"stuck": {Authenticated: true}, "tell": {Authenticated: true}})
			if err != nil {
				t.Fatal(err)
			}
			url := serve(t, s)
			for _, tool := range []string{"stuck", "tell"} {
				c := newRaw(t, url, tool, era)
				start := time.Now()
				got := c.call(t, tool, `,"arguments":{}`, nil)
				if time.Since(start) > 2*shortLife || strings.Contains(got.body, "hunter2") ||
					strings.Contains(got.body, "too late") ||
					!strings.Contains(got.body, "the credential has expired") {
					t.Errorf("%s, %s: after %s: %s", era, tool, time.Since(start), got)
				}
			}
			if err := <-told; err == nil {
				t.Errorf("%s: the handler was told that it was sent", era)
			}
			if got := (&raw{url: url, token: "stuck"}).send(t, "POST", ping,
				nil); got.status != http.StatusUnauthorized {
				t.Errorf("%s", got)
			}
		})
	}
}

// Under the race detector this is a test of what a call that was given up still touches.
func TestCallsGivenUpInMiddlewareShareNothingWithTheirAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan struct{}, 8)
		late := func(next intercept.Next) intercept.Next {
			return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
				if m.Method == "tools/call" {
					<-ctx.Done()
					time.Sleep(worker.Grace) // when the guard gives up
					defer func() { reached <- struct{}{} }()
				}
				return next(ctx, m)
			}
		}
		s := newServer(t, runtime.Options{Interceptors: []intercept.Middleware{late},
			Identity: shortLived()}, directory(&desk{}))
		url := serve(t, s)
		for i := range cap(reached) {
			c := newRaw(t, url, fmt.Sprint("late", i), "2026-07-28")
			got := c.call(t, "get_all", "", nil)
			if strings.Contains(got.body, "structuredContent") {
				t.Errorf("an answer leaves after the credential: %s", got)
			}
		}
		if synctest.Wait(); len(reached) != cap(reached) {
			t.Error("a call was not given up, it never began")
		}
	})
}
