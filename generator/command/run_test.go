package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

const clock = `// Package clock tells the time.
//
//mcp:server name=clock
package clock

import "context"

// Now tells the time.
//
//mcp:tool minrole=Viewer scopes=time:read
func Now(ctx context.Context) (string, error) { return "noon", nil }

// Wind is for the house.
//
//mcp:ignore reason="done by hand"
func Wind(ctx context.Context) error { return nil }
`

// step is one command in the module that the steps before it have left behind.
type step struct {
	args   string
	edit   func(string) string // of clock.go, before the command
	exit   int
	stdout []string // each is in it; none: it is empty
	stderr []string // likewise
}

func TestExitCodesAndStreams(t *testing.T) {
	dir := t.TempDir()
	err := testrepo.WriteModule(testrepo.Root(t), "example.com/clock", dir, "runtime/sandbox")
	if err != nil {
		t.Fatal(err)
	}
	ctx := loadtest.Context(t)
	t.Chdir(dir)
	source := filepath.Join(dir, "clock.go")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(clock)
	for _, s := range []step{
		{args: "check", exit: 1, stderr: []string{"mcp_gen.go is missing"}},
		{args: "", stdout: []string{"mcp_gen.go", "MCP.md"}},
		{args: ""},
		{args: "check ./..."},
		{args: "matrix", stdout: []string{"now", "Viewer"}},
		{args: "list", stdout: []string{"minrole=Viewer scopes=time:read", "clock.go:11", "(ignored)"}},
		{args: "explain MCP001", stdout: []string{"\nFix\n"}},
		{args: "explain", stdout: []string{"//mcp:tool", "MCP002"}},
		{args: "explain //mcp:roles", stdout: []string{"partial order"}},
		{args: "explain nonsense", exit: 2, stderr: []string{`no code, directive or key "nonsense"`}},
		{args: "version", stdout: []string{"mcpgen"}},
		{args: "--version", stdout: []string{"mcpgen"}},
		{args: "--help", stdout: []string{"Examples:"}},
		{args: "--nonsense", exit: 2, stderr: []string{"--nonsense"}},
		{args: "vet -fix", exit: 2,
			stderr: []string{"unknown shorthand flag: 'f' in -fix: write --fix\n"}},
		{args: "-format=json", exit: 2, stderr: []string{": write --format\n"}},
		{args: "matirx", exit: 2, stderr: []string{`did you mean "matrix"?`}},
		{args: "frob", exit: 2, stderr: []string{`mcpgen: unknown command "frob"; ` +
			"`mcpgen --help` lists the commands (a package in this directory is ./frob)"}},
		{args: "frob --help", exit: 2, stderr: []string{`unknown command "frob"; `}},
		{args: "help frob", exit: 2, stderr: []string{`unknown command "frob"; `}},
		{args: "matirx -h", exit: 2, stderr: []string{`did you mean "matrix"?`}},
		{args: "help matrix", stdout: []string{"mcpgen matrix [packages] [flags]"}},
		{args: "help help", stdout: []string{"mcpgen help [command] [flags]"}},
		{args: "completion --help", stdout: []string{"mcpgen completion"}},
		{args: "all --help", stdout: []string{"mcpgen [packages] [flags]"}},
		{args: "__complete --help", stdout: []string{":4"}, stderr: []string{"directive"}},
		{args: "vet nowhere", exit: 2, stderr: []string{
			"is not in std", ": write ./ before the name of a package in this directory"}},
		{args: "./nowhere", exit: 2, stderr: []string{"nowhere"}},
		{args: "check ./nowhere", exit: 2, stderr: []string{"nowhere"}},
		{args: "matrix ./nowhere", exit: 2, stderr: []string{"nowhere"}},
		{args: "list ./nowhere", exit: 2, stderr: []string{"nowhere"}},
		{
			args: "check", exit: 1, stderr: []string{"mcp_gen.go is stale", "-"},
			edit: func(s string) string { return strings.Replace(s, "minrole=Viewer", "minrole=Admin", 1) },
		},
		{
			args: "", exit: 1, stdout: []string{"aa_mcp_error.go"},
			stderr: []string{"clock.go:10:20", "MCP009"},
			edit:   func(s string) string { return strings.Replace(s, "minrole=Admin", "minrole=Boss", 1) },
		},
		{args: "check", exit: 1, stderr: []string{"Boss"}},
		{args: "matrix", exit: 1, stderr: []string{"Boss"}},
		{args: "list", exit: 1, stderr: []string{"Boss"}},
		{
			args: "", exit: 1, stderr: []string{"clock.go:6"}, stdout: []string{"aa_mcp_error.go"},
			edit: func(string) string { return "package clock\n\n//mcp:server name=clock\n\n\nfunc (" },
		},
		{args: "", edit: func(string) string { return strings.ReplaceAll(clock, "noon", "one") }},
		{
			args: "", stdout: []string{"MCP.md", "mcp.manifest.json", "mcp_gen.go", "mcp_gen_test.go"},
			stderr: []string{"no //mcp: directive"},
			edit:   func(string) string { return "package clock\n" },
		},
	} {
		if s.edit != nil {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			write(s.edit(string(text)))
		}
		var stdout, stderr bytes.Buffer
		if got := run(ctx, strings.Fields(s.args), &stdout, &stderr); got != s.exit {
			t.Errorf("mcpgen %s: exit %d, want %d\n%s%s", s.args, got, s.exit, &stdout, &stderr)
		}
		holds(t, s.args, "standard output", stdout.String(), s.stdout)
		holds(t, s.args, "standard error", stderr.String(), s.stderr)
	}
}

func holds(t *testing.T, args, stream, text string, want []string) {
	t.Helper()
	if len(want) == 0 && text != "" {
		t.Errorf("mcpgen %s: %s holds %q, want nothing", args, stream, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("mcpgen %s: %s holds %q, want %q in it", args, stream, text, w)
		}
	}
}

// init changes no go.work that only GOWORK names.
func TestWorkspaceIsThatOfAFolderAbove(t *testing.T) {
	dir := t.TempDir()
	above, elsewhere := filepath.Join(dir, "above"), filepath.Join(dir, "elsewhere")
	shop := filepath.Join(above, "shop")
	for _, d := range []string{shop, elsewhere} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(shop)
	file := filepath.Join(above, "go.work")
	for gowork, want := range map[string]string{file: file, "off": "",
		filepath.Join(elsewhere, "go.work"): ""} {
		t.Setenv("GOWORK", gowork)
		if got, err := workspaceAbove(t.Context()); err != nil || got != want {
			t.Errorf("GOWORK=%s: %q, %v", gowork, got, err)
		}
	}
}
