package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

func TestInterceptorsGetAllowedMessages(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	var target string // of a call of get_all
	note := func(name string) intercept.Middleware {
		return func(next intercept.Next) intercept.Next {
			return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
				p, ok := runtime.Caller(ctx)
				if !strings.HasPrefix(m.Method, "notifications/") { // they may come late
					mu.Lock()
					seen = append(seen, name+" "+m.Method+" "+p.Subject)
					mu.Unlock()
				}
				if call, isCall := m.Params.(*mcp.CallToolParamsRaw); isCall &&
					call.Name == "get_all" {
					other := *call // is decided again
					other.Name = target
					m.Params = &other
				}
				res, err := next(ctx, m)
				if list, isList := res.(*mcp.ListToolsResult); isList && ok {
					list.Tools[0].Description = "changed"
				}
				return res, err
			}
		}
	}
	s := newServer(t, runtime.Options{
		Interceptors: []intercept.Middleware{note("first"), note("second")}}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Member"], era)
		mu.Lock()
		seen = nil
		mu.Unlock()
		if got := c.call(t, "promote_to_manager", `,"arguments":{"id":"a"}`,
			nil); !strings.Contains(got.body, "unknown tool") {
			t.Errorf("%s: %s", era, got)
		}
		if len(seen) > 0 {
			t.Errorf("%s: a refused message passes: %q", era, seen)
		}
		var hidden reply
		for _, target = range []string{"no_such_tool_there", "promote_to_manager"} {
			seen = nil
			got := c.call(t, "get_all", `,"arguments":{"id":"a"}`, nil)
			if !strings.Contains(got.body, "unknown tool") {
				t.Errorf("%s: another tool is not decided again: %s", era, got)
			}
			got.body = strings.ReplaceAll(got.body, target, "*")
			got.header.Del("Date")
			got.header.Del("Content-Length")
			if hidden.status != 0 && got.String() != hidden.String() {
				t.Errorf("%s: a hidden tool is\n%s\nand an unknown one\n%s", era, got, hidden)
			}
			hidden = got
		}
		got := strings.Join(seen, ", ")
		if want := "first tools/call user-Member, second tools/call user-Member"; got != want {
			t.Errorf("%s: %s", era, got)
		}
		for range 2 { // what is shared does not change
			if got := c.ask(t, "tools/list", "", nil); strings.Count(got.body,
				`"changed"`) != 1 {
				t.Errorf("%s: %s", era, got)
			}
		}
	}
}

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
		return identity.Identity{Principal: access.Principal{Subject: "ada", Roles: []string{"Admin"}},
			Expires: ends[token]}, nil
	})
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
