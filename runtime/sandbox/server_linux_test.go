package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func init() {
	Register("fork itself", func(context.Context, Job) ([]byte, error) {
		for {
			pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0,
				0, 0, 0)
			if errno != 0 {
				return nil, errno
			}
			if pid == 0 {
				for {
					// the child of a process with threads may do little
					syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
				}
			}
		}
	})
}

// isolated is a toolset of handlers in processes of their own, in the manner of generated code, and
// of one that is not.
func isolated(names map[string]string, l toolset.Limits,
	timeouts map[string]time.Duration) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/hostile",
		Server: toolset.ServerInfo{Name: "hostile"}}
	for tool, handler := range names {
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: tool, Authenticated: true})
		g.Tools = append(g.Tools, toolset.Tool{
			Name: tool, Input: `{"type":"object"}`, Output: `{}`, Timeout: timeouts[tool],
			Limits: l, Isolate: handler,
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				return toolset.Structured(call.Isolated(ctx))
			},
		})
	}
	g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: "plain", Authenticated: true})
	g.Tools = append(g.Tools, toolset.Tool{
		Name: "plain", Input: `{"type":"object"}`,
		Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			space, err := Workspace(ctx)
			if err != nil {
				return toolset.Result{}, err
			}
			return toolset.Structured(len(space.Variables()), nil)
		},
	})
	return toolset.NewToolset(g)
}

// taken is what a server takes of its system.
type taken struct {
	resident                         int64
	goroutines, descriptors, helpers int
}

func takenNow(t *testing.T) taken {
	t.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes int64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return taken{kilobytes << 10, goruntime.NumGoroutine(), openDescriptors(t), len(children(t))}
}

// TestAServerOutlivesHostileHandlers serves handlers that do the worst they can, over HTTP, to one
// client, and well-behaved ones to another meanwhile.
func TestAServerOutlivesHostileHandlers(t *testing.T) {
	hostile := map[string]struct{ handler, limit string }{
		"allocate":       {"allocate", "memory (64 MiB)"},
		"allocate_more":  {"allocate slowly", "memory (64 MiB)"},
		"spin":           {"spin", "cpu (5s of processor time)"},
		"ignore_context": {"wait", "timed out after 300ms"},
		"fork":           {"fork itself", "processes (64)"},
		"open_files":     {"open files", "open files (256)"},
		"fill_file":      {"fill the disk", "workspace (16 MiB)"},
		"fill_disk":      {"many long files", "workspace (16 MiB)"},
		"fill_folder":    {"many files", "workspace (1000 files)"},
		"dig":            {"deep folders", "workspace (folders 64 deep)"},
		"fill_aside":     {"fill behind a pipe", "workspace (16 MiB)"},
		"reserve":        {"reserve space", unix.EOPNOTSUPP.Error()},
		"map_stack":      {"map a stack", "memory (64 MiB)"},
		"flood":          {"forge begun", "internal error"},
		"answer_long":    {"answer two megabytes", "output (1 MiB)"},
		"forge":          {"forge an answer", "output (1 MiB)"},
	}
	names := map[string]string{"echo": "echo", "sockets": "sockets"}
	for tool, h := range hostile {
		names[tool] = h.handler
	}
	const warmed = 2
	box := newSandbox(t, Options{
		Warm: warmed, Workspaces: t.TempDir(), Workspace: WorkspaceOptions{Bytes: 16 << 20,
			Files: 1000},
		// Processor time enough for those that write to reach the limit that they are about, also
		// on a busy machine.
		Limits: Limits{CPU: 5 * time.Second, Processes: 64},
		Log:    func(string, string) {}, // helpers that end by themselves are what this is about
	})
	server, err := runtime.New(runtime.Options{
		Sandbox: box, Logger: slog.New(slog.DiscardHandler),
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("mallory"): {Subject: "mallory"},
			identity.HashToken("ann"):     {Subject: "ann"},
		}),
	}, isolated(names, toolset.Limits{Memory: 64 << 20, Output: 1 << 20},
		map[string]time.Duration{"ignore_context": quickly.Timeout}))
	if err != nil {
		t.Fatal(err)
	}
	url := mcptest.Serve(t, server)
	mallory, other := mcptest.Connect(t, url, "mallory", ""), mcptest.Connect(t, url, "ann", "")
	call := func(session *mcp.ClientSession, tool string) (string, bool) {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool,
			Arguments: map[string]any{"a": 1}})
		if err != nil {
			return err.Error(), true
		}
		return mcptest.Text(res), res.IsError
	}
	good := func() {
		t.Helper()
		if text, failed := call(other, "echo"); failed || !strings.Contains(text, `{"a":1}`) {
			t.Errorf("another client's call: %q", text)
		}
		if text, failed := call(other, "plain"); failed {
			t.Errorf("another client's plain call: %q", text)
		}
	}
	tidy := func() {
		t.Helper()
		ctx, leave := box.Enter(t.Context(), isolate.Client{ID: "mallory"})
		defer leave()
		space, err := Workspace(ctx)
		if err == nil {
			err = space.Clear()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// round makes each hostile call, and a good one meanwhile.
	round := func(without ...string) {
		t.Helper()
		for tool, h := range hostile {
			if slices.Contains(without, tool) {
				continue
			}
			var both sync.WaitGroup
			both.Go(func() {
				text, failed := call(mallory, tool)
				if !failed || !strings.Contains(text, h.limit) {
					t.Errorf("%s: failed %v, %q, want %q", tool, failed, text, h.limit)
				}
			})
			good()
			both.Wait()
			tidy()
		}
		if text, failed := call(mallory, "sockets"); failed || !strings.Contains(text, `"[]"`) {
			t.Errorf("sockets: %q", text)
		}
	}
	settled := func() taken {
		t.Helper()
		idle(box.pool.Load())
		warm(box.pool.Load(), warmed)
		if n := len(children(t)); n != warmed {
			t.Errorf("there are %d helpers", n)
		}
		// as many as calls ran at a time
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		return takenNow(t)
	}
	good()
	var costly []string
	if testing.Short() { // TestEachLimitEndsTheWork and TestNoCallFillsTheDisk have them
		costly = []string{"spin", "allocate_more", "map_stack", "answer_long", "reserve",
			"fill_file", "fill_disk", "fill_folder", "fill_aside", "dig"}
	}
	// Connections, buffers and helpers are there after it.
	round(append(costly, "spin", "ignore_context")...)
	before := settled()

	round(costly...)

	after := settled()
	// A connection more or less is not the handlers', of which each would leave something.
	most := taken{goroutines: before.goroutines + 3, descriptors: before.descriptors + 3}
	if !settles(func() bool {
		return goruntime.NumGoroutine() <= most.goroutines && openDescriptors(t) <= most.descriptors
	}) {
		t.Errorf("there are %d goroutines and %d descriptors", goruntime.NumGoroutine(),
			openDescriptors(t))
	}
	if after.resident > before.resident+32<<20 {
		t.Errorf("the server has %d MiB resident, %d before", after.resident>>20,
			before.resident>>20)
	}
	t.Logf("before %+v, after %+v", before, after)
}

func init() {
	Register("answer two megabytes", func(context.Context, Job) ([]byte, error) {
		return make([]byte, 2<<20), nil
	})
}
