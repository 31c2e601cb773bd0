package systemtest

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// TestLongRunningToolsByCurl runs the shell commands of docs/howto/long-running-tools.md against
// the tool of the page.
func TestLongRunningToolsByCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		testdb.Unavailable(t, "curl is not installed: run make setup")
	}
	run := make(chan struct{})
	server, err := runtime.New(runtime.Options{
		Identity: mcptest.Identities{"demo-mel": {Roles: []string{"Member"}}},
	}, toolset.NewToolset(toolset.Generated{Package: "example.com/search",
		Server: toolset.ServerInfo{Name: "search", Version: "1.0.0"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "build_index", MinRole: []string{"Member"}}}},
		Tools: []toolset.Tool{{Name: "build_index", Input: `{"type":"object"}`,
			Task: toolset.TaskOptional,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				select {
				case <-run:
				case <-ctx.Done():
				}
				return toolset.Structured(map[string]int{"documents": 3}, ctx.Err())
			}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	url := mcptest.Serve(t, server)
	var script string
	for _, b := range blocks(t) {
		if b.page == "long-running-tools" && b.language == "sh" {
			script += b.text
		}
	}
	const address, last = "http://127.0.0.1:8080/mcp", "\nmcp tasks/get "
	if strings.Count(script, address) != 1 || strings.Count(script, last) != 1 {
		t.Fatalf("the page has the commands\n%s", script)
	}
	script = strings.Replace(script, address, url, 1)
	start, get, _ := strings.Cut(script, last)
	shell := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-eu")
		cmd.Stdin, cmd.Env = strings.NewReader(script), append(os.Environ(), "NO_PROXY=*",
			"no_proxy=*")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	working := shell(script + `echo "$task"`)
	id := regexp.MustCompile(`"taskId":"(\w+)"`).FindStringSubmatch(working)
	if id == nil || !strings.Contains(working, `"status":"working"`) ||
		!strings.HasSuffix(working, id[1]+"\n") {
		t.Fatalf("the page prints\n%s", working)
	}
	close(run)
	function, _, _ := strings.Cut(start, "\ntask=")
	ended := ""
	for !strings.Contains(ended, `"status":"completed"`) && t.Context().Err() == nil {
		ended = shell(function + "\ntask=" + id[1] + last + get)
	}
	if !strings.Contains(ended, `"structuredContent":{"documents":3}`) {
		t.Errorf("the result is\n%s", ended)
	}
}
