package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// engines make a database for the store, and return its URL.
var engines = testdb.Stores

func postgres(t testing.TB) string { return testdb.PostgreSQL(t).URL() }

// process is the example as a process of its own, on a free port.
type process struct {
	*exec.Cmd
	base string // http://127.0.0.1:PORT
}

// start runs the example with its flags, and the directory in a file of the test's.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	args = append([]string{"-addr", "127.0.0.1:0", "-db", filepath.Join(t.TempDir(), "team.db")}, args...)
	p.Env = append(os.Environ(), "TEAM_SERVE="+strings.Join(args, " "))
	var log bytes.Buffer
	p.Stderr = &log
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the log of %v:\n%s", args, log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		p.kill()
		t.Fatalf("the example does not start: %q, %v\n%s", line, err, log.String())
	}
	go io.Copy(io.Discard, out)
	p.base = strings.TrimSuffix(address, "/mcp")
	return p
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	if p.ProcessState == nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// ask sends a request to the API as one of the users. The error is of the connection.
func ask(base, caller, method, path string, body any, header ...string) (status int, answer map[string]any, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(method, base+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: as(caller), Timeout: time.Minute}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err
	}
	if len(got) > 0 {
		err = json.Unmarshal(got, &answer)
	}
	return res.StatusCode, answer, err
}

// must is ask where an answer of that status is the only one that will do.
func (p *process) must(t testing.TB, want int, caller, method, path string, body any, header ...string) map[string]any {
	t.Helper()
	status, answer, err := ask(p.base, caller, method, path, body, header...)
	if err != nil || status != want {
		t.Fatalf("%s %s by %s: %d %v, %v", method, path, caller, status, answer, err)
	}
	return answer
}

// fill makes a global catalog through the API and returns its id.
func (p *process) fill(t testing.TB, name string, tools ...string) string {
	t.Helper()
	id := p.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs", map[string]any{"name": name})["id"].(string)
	for _, tool := range tools {
		p.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs/"+id+"/entries", map[string]any{"tool_name": tool})
	}
	return id
}
