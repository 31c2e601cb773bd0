package systemtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/internal/testserver"
)

// TestVerifyReadsTheAdminAPIOfAServer compares examples/team, with its store, and this checkout.
func TestVerifyReadsTheAdminAPIOfAServer(t *testing.T) {
	root, dir := testrepo.Root(t), t.TempDir()
	server := testserver.Run(t, exec.Command(program(t, "team"), "-addr", "127.0.0.1:0",
		"-debug", "-db", filepath.Join(dir, "team.db"),
		"-store", "sqlite:"+filepath.Join(dir, "store.db")))
	const team, debugtools = "./examples/team/...", "runtime/debugtools/mcp.manifest.json"
	for _, test := range []struct {
		token, path string
		args        []string
		code        int
		want        []string
	}{
		{"demo-ada", "", []string{team, debugtools}, 0, []string{
			"equal: package github.com/mcpgen/mcpgen/examples/team/directory has digest sha256:",
			"equal: package github.com/mcpgen/mcpgen/runtime/debugtools has digest sha256:"}},
		{"demo-ada", "", []string{team}, 1, []string{"additional: ", "runtime/debugtools"}},
		{"demo-ada", "", []string{team, debugtools, "examples/quickstart/mcp.manifest.json"}, 1,
			[]string{"missing: ", "examples/quickstart"}},
		{"demo-mara", "", []string{team}, 2, []string{"the caller is no admin of the server"}},
		{"demo-nobody", "", []string{team}, 2, []string{"the server does not accept the token"}},
		{"demo-ada", "/mcp", []string{team}, 2, []string{"without the path of the MCP endpoint"}},
	} {
		verify := exec.Command(program(t, "mcpgen"), append([]string{"verify",
			server.Base + test.path, "--token-env", "TOKEN"}, test.args...)...)
		verify.Dir, verify.Env = root, append(os.Environ(), "TOKEN="+test.token)
		var printed bytes.Buffer
		verify.Stdout, verify.Stderr = &printed, &printed
		err, exit := verify.Run(), (*exec.ExitError)(nil)
		code := 0
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != test.code {
			t.Errorf("%s %v: exit code %d: %s", test.token, test.args, code, &printed)
		}
		for _, want := range test.want {
			if !strings.Contains(printed.String(), want) {
				t.Errorf("%s %v: %s, want %s", test.token, test.args, &printed, want)
			}
		}
	}
}
