package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// asKilled makes the test binary a server whose call kills it, with a trail in this file.
const asKilled = "MCPGEN_TEST_KILLED"

var trailKey = []byte(strings.Repeat("k", chain.MinKey))

func killedServer(trail string) int {
	file, err := audit.Rotating(trail, audit.RotateOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sealed, err := chain.New(file, chain.Options{Key: trailKey, Replica: "a"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	self, _ := os.FindProcess(os.Getpid())
	s, err := runtime.New(runtime.Options{Audit: runtime.AuditOptions{Sink: sealed},
		Logger: quiet(), Identity: users()},
		oneTool("pay", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			if strings.Contains(string(c.Arguments), "last") {
				_ = self.Kill()
				select {}
			}
			return toolset.Done(nil)
		}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, arguments := range []string{`{}`, `{"last":true}`} {
		r := httptest.NewRequest(http.MethodPost, runtime.PathMCP,
			strings.NewReader((&raw{era: "2026-07-28"}).request("tools/call",
				`"name":"pay","arguments":`+arguments)))
		r.Header = http.Header{"Content-Type": {"application/json"},
			"Accept":               {"application/json, text/event-stream"},
			"Authorization":        {"Bearer " + tokens["Member"]},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
			"Mcp-Name": {"pay"}}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		fmt.Fprintln(os.Stderr, w.Code, w.Body)
	}
	return 1
}

func TestKilledServerLeavesTheIntentOfItsCall(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trail := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asKilled+"="+trail)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("it was not killed: %s", out)
	}
	file, err := os.Open(trail)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := chain.Verify(chain.Lines("trail", file), chain.VerifyOptions{Key: trailKey})
	if err != nil || !got.Sound() || got.Records != 3 || got.NoOutcome != 1 ||
		len(got.Findings) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if f := got.Findings[0]; f.Kind != chain.NoOutcome || f.Line != 3 ||
		!strings.Contains(f.String(), `called "pay"`) {
		t.Error(f)
	}
}
