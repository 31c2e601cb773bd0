package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func server(t *testing.T) *runtime.Server {
	t.Helper()
	answer := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "one"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}, &mcp.TextContent{Text: "three"},
		}}, nil, nil)
	}
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: answer}
	}
	s, err := runtime.New(runtime.Options{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Anonymous: true,
		Lists:    runtime.ListOptions{PageSize: 1},
		Identity: identity.Static(map[string]access.Principal{identity.HashToken("abc"): {Subject: "ada"}}),
	}, toolset.NewToolset(toolset.Generated{
		Package: "example.com/p", Server: toolset.ServerInfo{Name: "p"},
		Table: access.Table{Rules: []access.Rule{{Tool: "b", Authenticated: true}, {Tool: "a", Public: true}}},
		Tools: []toolset.Tool{tool("b"), tool("a")},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestClientsSeeWhatTheirCallerSees(t *testing.T) {
	s := server(t)
	url := mcptest.Serve(t, s)
	for _, version := range []string{"", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for name, test := range map[string]struct {
			session *mcp.ClientSession
			want    string
		}{
			"a token over HTTP":        {mcptest.Connect(t, url, "abc", version), "a b"},
			"no token over HTTP":       {mcptest.Connect(t, url, "", version), "a"},
			"a principal over a pipe":  {mcptest.Pipe(t, s, access.Principal{Subject: "ada"}, version), "a b"},
			"no principal over a pipe": {mcptest.Pipe(t, s, access.Principal{}, version), "a"},
		} {
			if got := mcptest.Tools(t, test.session); !slices.Equal(got, strings.Fields(test.want)) {
				t.Errorf("%s, %q: %v", name, version, got)
			}
			res, err := test.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "a"})
			if err != nil || mcptest.Text(res) != "one\n\nthree" {
				t.Errorf("%s, %q: %q, %v", name, version, mcptest.Text(res), err)
			}
		}
	}
	if mcptest.Text(nil) != "" {
		t.Error("no result has a text")
	}
}

// failed is a test that records that it failed, and ends its goroutine where it must.
type failed struct {
	testing.TB
	cleanups []func()
	fatal    bool
	text     string // of all failures
}

var errFatal = errors.New("fatal")

func (f *failed) Helper()           {}
func (f *failed) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *failed) Errorf(format string, args ...any) {
	f.text += fmt.Sprintf(format, args...) + "\n"
}
func (f *failed) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	f.fatal = true
	panic(errFatal)
}

// run returns the test after it has run f and its cleanups.
func run(t *testing.T, test func(testing.TB)) *failed {
	f := &failed{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != errFatal {
				panic(p)
			}
		}()
		test(f)
	}()
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
	return f
}

func TestSessionThatCannotBeOpenedFailsItsTest(t *testing.T) {
	s := server(t)
	url := mcptest.Serve(t, s)
	for name, open := range map[string]func(testing.TB){
		"a wrong token": func(f testing.TB) { mcptest.Connect(f, url, "wrong", "") },
		"no principal": func(f testing.TB) {
			mcptest.Pipe(f, s, access.Principal{Roles: []string{
				"Admin"}}, "")
		},
		"another version": func(f testing.TB) { mcptest.Connect(f, url, "abc", "2099-01-01") },
	} {
		f := run(t, open)
		if !f.fatal {
			t.Errorf("%s: the test goes on", name)
		}
	}
}
