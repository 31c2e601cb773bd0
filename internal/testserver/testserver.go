// Package testserver runs an example's server as a process of its own, for tests.
package testserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Process is a server on a free port of the loopback interface.
type Process struct {
	*exec.Cmd
	Base string // http://127.0.0.1:PORT
	log  bytes.Buffer
}

// Start runs the test's own program as a server, with flags in an environment variable, one a
// line. Its TestMain serves if the variable is set.
func Start(t testing.TB, variable string, flags ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	flags = append([]string{"-addr", "127.0.0.1:0"}, flags...)
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(flags, "\n"))
	return Run(t, cmd)
}

// Run runs an example that serves at a URL, which it prints first, until the test ends.
func Run(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd}
	p.Stderr = &p.log
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the log of %v:\n%s", cmd, p.log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		p.Kill()
		t.Fatalf("the example does not start: %q, %v\n%s", line, err, p.log.String())
	}
	go io.Copy(io.Discard, out)
	p.Base = strings.TrimSuffix(address, "/mcp")
	return p
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	if p.ProcessState == nil {
		_ = p.Cmd.Process.Kill()
		_ = p.Wait()
	}
}

// Send sends a request to the API of a server, with a bearer token unless that is empty. The error
// is of the connection.
func Send(base, token, method, path string, body any, header ...string) (
	status int, answer map[string]any, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequest(method, base+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Timeout: time.Minute}
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

// Must is Ask where an answer of that status is the only one that will do.
func (p *Process) Must(t testing.TB, want int, token, method, path string, body any,
	header ...string) map[string]any {
	t.Helper()
	status, answer, err := Send(p.Base, token, method, path, body, header...)
	if err != nil || status != want {
		t.Fatalf("%s %s: %d %v, %v", method, path, status, answer, err)
	}
	return answer
}
