package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// calling returns a server with a tool "work", and "sdk" in go-sdk's shape.
func calling(t *testing.T,
	call func(context.Context, toolset.Call) (toolset.Result, error)) *runtime.Server {
	t.Helper()
	s, err := runtime.New(runtime.Options{Anonymous: true,
		Logger: slog.New(slog.DiscardHandler)}, toolset.NewToolset(toolset.Generated{
		Package: "p", Server: toolset.ServerInfo{Name: "n", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "sdk", Public: true}, {Tool: "work", Public: true}}},
		Tools: []toolset.Tool{{Name: "sdk", Input: `{"type":"object"}`, SDK: true, Call: call},
			{Name: "work", Input: `{"type":"object"}`, Call: call}}}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lineOf returns a call of 2026-07-28 for a client that wants progress.
func lineOf(tool string, id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{`+
		`"progressToken":%d,"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", id, tool, id)
}

// breaking is an output that fails with err.
type breaking struct{ err error }

func (b breaking) Write([]byte) (int, error) { return 0, b.err }

func TestBrokenOutputEndsTheConnection(t *testing.T) {
	gone := errors.New("gone")
	for _, progress := range []bool{false, true} {
		for written, want := range map[error]error{gone: gone, io.ErrClosedPipe: nil} {
			s := calling(t, func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				if progress {
					runtime.Progress(ctx).Report(1, 2, "half")
				}
				return toolset.Done(nil)
			})
			in, toServer := io.Pipe()
			go io.WriteString(toServer, lineOf("work", 1))
			err := s.RunIO(t.Context(), in, breaking{written}, access.Principal{})
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("progress %t, %v: %v", progress, written, err)
			}
			if _, err := toServer.Write([]byte("\n")); err == nil {
				t.Error("the input is still read")
			}
		}
	}
}

// clinging is an output that fails, and still reads a line after that.
type clinging struct{ line []byte }

func (c *clinging) Write(b []byte) (int, error) {
	c.line = b
	return 0, io.ErrClosedPipe
}

func TestLineOfAFailedWriteIsNoOthersMemory(t *testing.T) {
	s := calling(t, func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Done(nil)
	})
	in, toServer := io.Pipe()
	go io.WriteString(toServer, lineOf("work", 1))
	var out clinging
	if err := s.RunIO(t.Context(), in, &out, access.Principal{}); err != nil {
		t.Fatal(err)
	}
	before := string(out.line)
	for range 100 {
		_ = wire.Response(wire.ID{JSON: "8"},
			&wire.Encoded{Body: []byte(`{"of":"another"}`)}, nil)
	}
	if !strings.Contains(before, "result") || string(out.line) != before {
		t.Errorf("%s\nis %s", before, out.line)
	}
}

// panicking is an output of the program's own.
type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("at the disco") }

// The others would wait for the output without an end.
func TestPanicOfTheOutputEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := calling(t, func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		})
		in, toServer := io.Pipe()
		go io.WriteString(toServer, lineOf("work", 1)+lineOf("work", 2))
		err := s.RunIO(t.Context(), in, panicking{}, access.Principal{})
		if err == nil || !strings.Contains(err.Error(), "at the disco") {
			t.Error(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentCallsDoNotMixLines(t *testing.T) {
	const calls = 200
	s := calling(t, func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		runtime.Progress(ctx).Report(1, 2, strings.Repeat("x", 500))
		return toolset.Structured(map[string]string{"a": strings.Repeat("y", 10_000)}, nil)
	})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, access.Principal{}) }()
	go func() {
		for id := range calls {
			io.WriteString(toServer, lineOf([]string{"work", "work", "sdk"}[id%3], id))
		}
	}()
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	open := map[int]int{}
	for answers := 0; answers < calls && lines.Scan(); {
		var m struct {
			ID     *int
			Result *struct{ IsError bool }
			Params struct{ ProgressToken int }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%v: %.200s", err, lines.Text())
		}
		if m.ID == nil {
			open[m.Params.ProgressToken]++
			continue
		}
		if answers++; m.Result == nil || m.Result.IsError || open[*m.ID] != 1 {
			t.Errorf("%d has %d notifications before its answer: %.200s", *m.ID, open[*m.ID], lines.Text())
		}
	}
	toServer.Close()
	if err := <-done; err != nil || len(open) != calls {
		t.Errorf("%v, %d calls", err, len(open))
	}
}

// At the end of its input the server answers what it has read. A call that takes longer than ten
// seconds is cancelled, and answered.
func TestOneShotInputIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := calling(t, func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Result{}, ctx.Err()
		})
		const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{` +
			`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
		call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work"}}`
		for name, in := range map[string]string{
			"sessions": handshake + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + call,
			"2026-07-28": strings.ReplaceAll(lineOf("work", 2), "\n", "") + "\n" +
				strings.Replace(strings.Replace(lineOf("x", 1), "tools/call", "tools/list", 1),
					`"name":"x",`, "", 1),
		} {
			var out strings.Builder
			began := time.Now()
			err := s.RunIO(t.Context(), strings.NewReader(in), &out, access.Principal{})
			if err != nil || time.Since(began) != 10*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			if got := out.String(); !strings.Contains(got, `"id":1,"result":{`) ||
				!strings.Contains(got, `"id":2,"`) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
